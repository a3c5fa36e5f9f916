// The bins of a candidate, multiplied out from a few numbers when they are needed.
//
// A Gaussian bump on even centres is f_j = f_0 * r^j * t_j with t_j = exp(-(j * step / sigma)^2 / 2), so a bump is two numbers per
// axis and a table that all candidates share. The numbers of candidate i are in `data` of its attribute:
//   LINE, CIRCLE  first value (CIRCLE: the value in bins), ratio (< 0: missing), number and first of its bins
//   PLANE         first values and ratios along both axes, sizes and first bins
//   TILE          product of the first values, both ratios, mask, rows and first bin
//   GLOBE         where its cells begin in the pool, and how many there are (all bits set: missing)
//   LABELS        where its pairs begin and end
#pragma once

#include "arithmetic.cuh"
#include "layout.cuh"

// Return the slot of a bin: open addressing, the slot is the place in the table. -1: the table is full.
DEVICE int slot_of(const Attribute& attribute, double* arena, i64 key, bool insert) {
    if (attribute.bits < 0) return (int)key;
    u64* keys = (u64*)(arena + attribute.keys);
    const u32 mask = (u32)attribute.slots - 1;
    u32 h = (u32)((u64)key * 0x9E3779B97F4A7C15ull >> (64 - attribute.bits)) & mask;
    for (u32 tries = 0; tries <= mask; ++tries, h = (h + 1) & mask) {
        u64 there = keys[h];
        if (insert && there == ~0ull) {
            there = claim_key(keys + h, (u64)key);
            if (there == ~0ull) there = (u64)key;
        }
        if (there == (u64)key) return (int)h;
    }
    return -1;
}

// A bump of a plane or a tile.
struct Patch {
    const double *tx, *ty;
    double x, rx, y, ry;
    u64 mask;
    int slot, high, wide, stride;

    DEVICE_MEMBER Patch(const Query& q, const Attribute& attribute, bool tile, int i) {
        const i64 most = q.plan.most;
        const double* data = q.arena + attribute.data;
        const u64* words = (const u64*)data;
        const u64 word = words[4 * most + i];
        tx = q.arena + attribute.table[0];
        ty = q.arena + attribute.table[1];
        x = data[i];
        rx = data[most + i];
        stride = (int)attribute.stride;
        if (tile) {
            y = 1.0;
            ry = data[2 * most + i];
            mask = words[3 * most + i];
            slot = (int)attribute.origin + (int)(word & 0xffffffffu);
            high = (int)(word >> 32);
            wide = (int)attribute.table_size[1];
        } else {
            y = data[2 * most + i];
            ry = data[3 * most + i];
            mask = 0;
            high = (int)(word >> 16 & 0xffff);
            wide = (int)(word >> 48);
            slot = (int)attribute.origin + (int)(word & 0xffff) * stride + (int)(word >> 32 & 0xffff);
        }
    }
};

DEVICE bool is_missing(const Query& q, const Attribute& attribute, int shape, int i) {
    const double* data = q.arena + attribute.data;
    if (shape == SHAPE_LABELS) return ((const u64*)data)[i] == ((const u64*)data)[q.plan.most + i];
    if (shape == SHAPE_GLOBE) return ((const u64*)data)[i] == ~0ull;
    return data[q.plan.most + i] < 0.0;
}

// Return whether candidate i has no value and counts as the mean of the others.
DEVICE bool is_neutral(const Query& q, const Attribute& attribute, int shape, int i) {
    if constexpr (!Config::neutral) return false;
    return attribute.neutral && q.arena[attribute.fit + FIT_UNKNOWN] > 0 && is_missing(q, attribute, shape, i);
}

// Return the membership in bin j of a circle of `size` bins, for a value at `u` bins; 0 below the cutoff.
DEVICE double circle_membership(const Attribute& attribute, double u, int j, int size) {
    double d = fmod(fabs(u - j), (double)size);
    d = fmin(d, size - d) * (attribute.axes[0][AXIS_STEP] / attribute.axes[0][AXIS_SIGMA]);
    const double p = exp(-0.5 * d * d);
    return p >= MASCOT_CUTOFF ? p : 0.0;
}

// Visitors (visitors.cuh) are called for the bins of candidate i that belong to a lane, one after the other: f(slot, p, second),
// f.pair(slot, p, next, both) for a bin and the one LANES further on, f.row(slot, bits, x, ys) for a row of a tile, of which `bits`
// says which bins count, or f.at(key, p) for bins that are looked up.
template <class F>
DEVICE void visit_line(const Query& q, const Attribute& attribute, int i, int lane, F& f) {
    const i64 most = q.plan.most;
    const double* data = q.arena + attribute.data;
    const u64 word = ((const u64*)data)[2 * most + i];
    const int count = (int)(word >> 32), first = (int)attribute.origin + (int)(word & 0xffffffffu);
    const double* table = q.arena + attribute.table[0];
    const double r = lanes_power(data[most + i]);
    double g = data[i] * lane_power(data[most + i], lane);
    ROLLED for (int j = lane; j < count; j += 2 * LANES) {
        const double p = g * table[j];
        g *= r;
        f.pair(first + j, p, g * table[j + LANES], j + LANES < count);
        g *= r;
    }
}

template <class F>
DEVICE void visit_circle(const Query& q, const Attribute& attribute, int i, int lane, F& f) {
    const double* data = q.arena + attribute.data;
    const int size = (int)q.arena[attribute.fit + FIT_COUNT], count = (int)(((const u64*)data)[2 * q.plan.most + i] >> 32);
    const double u = data[i];
    ROLLED for (int j = lane; j < count; j += LANES) {
        const double p = circle_membership(attribute, u, j, size);
        if (p > 0.0) f((int)attribute.origin + j, p, false);
    }
}

template <bool TILE, class F>
DEVICE void visit_patch(const Query& q, const Attribute& attribute, int i, int lane, F& f) {
    const Patch patch(q, attribute, TILE, i);
    const int wide = patch.wide, high = patch.high, shift = wide * LANES;
    const double r = lanes_power(patch.rx);
    double gy = patch.y;
    for (int c0 = 0; c0 < wide; c0 += COLUMNS) {
        double fy[COLUMNS];
        UNROLL for (int c = 0; c < COLUMNS; ++c) {
            fy[c] = c0 + c < wide ? gy * patch.ty[c0 + c] : 0.0;
            gy *= patch.ry;
        }
        u64 mask = patch.mask >> (wide * lane & 63) >> c0;
        double gx = patch.x * lane_power(patch.rx, lane);
        int slot = patch.slot + lane * patch.stride + c0;
        ROLLED for (int row = lane; row < high; row += LANES, slot += LANES * patch.stride) {
            const double fx = gx * patch.tx[row];
            gx *= r;
            if constexpr (TILE) {
                const u32 bits = (u32)mask & (wide - c0 < COLUMNS ? (1u << (wide - c0)) - 1 : ~0u);
                f.row(slot, bits, fx, fy);
                mask >>= shift & 63;  // if the shift is 64, no row is left
            } else {
                UNROLL for (int c = 0; c < COLUMNS; ++c) {
                    const double p = fx * fy[c];
                    if (p >= MASCOT_CUTOFF) f(slot + c, p, (c & 1) != 0);
                }
            }
        }
    }
}

template <class F>
DEVICE void visit_globe(const Query& q, const Attribute& attribute, int i, int lane, F& f) {
    const u64 word = ((const u64*)(q.arena + attribute.data))[i];
    if (word == ~0ull) return;
    const double* ps = q.arena + attribute.pool + (word >> 32);
    const Slot* slots = (const Slot*)(q.arena + attribute.pool_slots) + (word >> 32);
    const int count = (int)(word & 0xffffffffu);
    SOME_UNROLL for (int j = lane; j < count; j += LANES)
        f((int)attribute.origin + (int)slots[j], ps[j], (j / LANES & 1) != 0);
}

template <class F>
DEVICE void visit_labels(const Query& q, const Attribute& attribute, int i, int lane, F& f) {
    const u64* words = (const u64*)(q.arena + attribute.data);
    const int count = (int)(words[q.plan.most + i] - words[i]);
    const Index* keys = attribute.indices + words[i];
    const double* ps = attribute.values + words[i];
    if (attribute.values) {
        SOME_UNROLL for (int j = lane; j < count; j += LANES) f.at((i64)keys[j], ps[j]);
    } else {
        SOME_UNROLL for (int j = lane; j < count; j += LANES) f.at((i64)keys[j], 1.0);
    }
}

template <class F>
DEVICE void visit(const Query& q, const Attribute& attribute, int shape, int i, int lane, F& f) {
    if (shape == SHAPE_LINE) visit_line(q, attribute, i, lane, f);
    else if (shape == SHAPE_CIRCLE) visit_circle(q, attribute, i, lane, f);
    else if (shape == SHAPE_PLANE) visit_patch<false>(q, attribute, i, lane, f);
    else if (shape == SHAPE_TILE) visit_patch<true>(q, attribute, i, lane, f);
    else if (shape == SHAPE_GLOBE) visit_globe(q, attribute, i, lane, f);
    else visit_labels(q, attribute, i, lane, f);
}
