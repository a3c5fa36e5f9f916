// Describing a candidate's bins by as few numbers as they can be multiplied out from; see shapes.cuh.
#pragma once

#include "shapes.cuh"

// A bump on an even axis: its first value, its ratio, and the number and first of its bins.
struct Bump {
    double value, ratio;
    int count, first;

    DEVICE_MEMBER Bump() : value(0.0), ratio(-1.0), count(0), first(0) {}

    DEVICE_MEMBER Bump(const double* axis, double x, bool circle) : ratio(1.0), first(0) {
        const double inverse = 1.0 / axis[AXIS_STEP], step = axis[AXIS_STEP] / axis[AXIS_SIGMA];
        const double reach = MASCOT_REACH * axis[AXIS_SIGMA] * inverse;
        const double clipped = fmin(fmax(x, axis[AXIS_FLOOR]), axis[AXIS_CEILING]);
        const double u = (clipped - axis[AXIS_ORIGIN] - axis[AXIS_START]) * inverse;
        const bool periodic = axis[AXIS_PERIOD] > 0.0;
        const int size = (int)axis[AXIS_COUNT];
        value = u;
        count = size;
        if (circle) return;
        double from = ceil(u - reach), to = floor(u + reach);
        if (periodic) {
            to = fmin(to, from + size - 1);
        } else {
            from = fmax(from, 0.0);
            to = fmin(to, size - 1.0);
        }
        const double a = u - from;
        value = exp(-0.5 * a * step * a * step);
        ratio = exp(a * step * step);
        count = 0;
        if (to < from) return;
        first = (int)(periodic ? from - size * floor(from / size) : from);
        if (first >= size) first -= size;
        count = (int)(to - from) + 1;
    }
};

DEVICE void describe_line(const Query& q, const Attribute& attribute, const double* axis, bool circle, int i) {
    const i64 most = q.plan.most;
    double* data = q.arena + attribute.data;
    const double x = attribute.xs[q.row(i)];
    const Bump bump = x == x ? Bump(axis, x, circle) : Bump();  // a ratio below 0: missing
    data[i] = bump.value;
    data[most + i] = bump.ratio;
    ((u64*)data)[2 * most + i] = (u64)bump.count << 32 | (u32)bump.first;
}

// Return which bins of a tile reach the cutoff, one bit each.
DEVICE u64 tile_mask(const Query& q, const Attribute& attribute, const Bump& down, const Bump& along) {
    const double *tx = q.arena + attribute.table[0], *ty = q.arena + attribute.table[1];
    const int columns = (int)attribute.table_size[1];
    double gy = along.value;
    u64 mask = 0;
    for (int c0 = 0; c0 < along.count; c0 += COLUMNS) {
        double fy[COLUMNS], gx = down.value;
        UNROLL for (int c = 0; c < COLUMNS; ++c) {
            fy[c] = c0 + c < along.count ? gy * ty[c0 + c] : 0.0;
            gy *= along.ratio;
        }
        ROLLED for (int r = 0; r < down.count; ++r) {
            const double fx = gx * tx[r];
            u32 bits = 0;
            gx *= down.ratio;
            UNROLL for (int c = 0; c < COLUMNS; ++c) bits |= fx * fy[c] >= MASCOT_CUTOFF ? 1u << c : 0u;
            mask |= (u64)bits << (r * columns + c0);
        }
    }
    return mask;
}

DEVICE void describe_patch(const Query& q, const Attribute& attribute, const double* axes, bool tile, int i) {
    const i64 most = q.plan.most, row = q.row(i);
    double* data = q.arena + attribute.data;
    u64* words = (u64*)data;
    const double x = attribute.xs[row], y = attribute.ys[row];
    Bump down, along;
    along.ratio = 0.0;
    if (x == x && y == y) {
        down = Bump(axes, x, false);
        along = Bump(axes + AXIS_FIELDS, y, false);
        if (!down.count || !along.count) down.count = along.count = 0;
    }
    data[i] = tile ? down.value * along.value : down.value;
    data[most + i] = down.ratio;
    if (tile) {
        data[2 * most + i] = along.ratio;
        words[3 * most + i] = tile_mask(q, attribute, down, along);
        words[4 * most + i] = (u64)down.count << 32 | (u32)(down.first * (int)attribute.stride + along.first);
    } else {
        data[2 * most + i] = along.value;
        data[3 * most + i] = along.ratio;
        words[4 * most + i] =
            (u64)along.count << 48 | (u64)along.first << 32 | (u64)down.count << 16 | (u64)down.first;
    }
}

// Describe candidate i's bins of any shape but GLOBE.
DEVICE void describe(const Query& q, const Attribute& attribute, const double* axes, int shape, int i) {
    if (shape == SHAPE_LABELS) {
        const i64 row = q.row(i);
        u64* words = (u64*)(q.arena + attribute.data);
        words[i] = (u64)attribute.indptr[row];
        words[q.plan.most + i] = (u64)attribute.indptr[row + 1];
    } else if (shape == SHAPE_LINE || shape == SHAPE_CIRCLE) {
        describe_line(q, attribute, axes, shape == SHAPE_CIRCLE, i);
    } else {
        describe_patch(q, attribute, axes, shape == SHAPE_TILE, i);
    }
}
