// Covering the bins of a selected result: state *= 1 - coverage * p. All threads of the block share the bins of one candidate.
#pragma once

#include "visitors.cuh"

// Lower a bin by its share p. Returns by how much it fell.
struct Lower {
    static DEVICE_MEMBER double change(double* bin, double p) {
        const double old = *bin, fall = p * old;
        *bin = old - fall;
        return fall;
    }
};

// Set a bin to p.
struct Put {
    static DEVICE_MEMBER double change(double* bin, double p) {
        *bin = p;
        return 0.0;
    }
};

// Return the part of a bin that one whole membership covers.
DEVICE double coverage_per_result(const Query& q, const Attribute& attribute) {
    return Config::balance ? q.arena[attribute.fit + FIT_COVERAGE] : 1.0;
}

template <class Change>
DEVICE double cover_mean(const Query& q, const Attribute& attribute, double coverage, int t) {
    double fall = 0.0;
    for (int j = t; j < attribute.slots; j += THREADS) {
        const bool copy = attribute.cycle && j >= attribute.cycle;
        const double mean = q.arena[attribute.mean + (copy ? j - attribute.cycle : j)];
        const double less = Change::change(q.state + attribute.origin + j, coverage * mean);
        if (!copy) fall += less;
    }
    return fall;
}

template <class Change>
DEVICE double cover_line(const Query& q, const Attribute& attribute, bool circle, double coverage, int i, int t) {
    const i64 most = q.plan.most;
    const double* data = q.arena + attribute.data;
    double* bins = q.state + attribute.origin;
    const u64 word = ((const u64*)data)[2 * most + i];
    const int count = (int)(word >> 32), size = (int)q.arena[attribute.fit + FIT_COUNT];
    double fall = 0.0;
    ROLLED for (int j = t; j < count; j += THREADS) {
        int bin = (int)(word & 0xffffffffu) + j;
        if (bin >= size) bin -= size;
        const double p = circle ? circle_membership(attribute, data[i], j, size)
                                : data[i] * power(data[most + i], j) * q.arena[attribute.table[0] + j];
        if (circle && !(p > 0.0)) continue;
        fall += Change::change(bins + bin, coverage * p);
        if (has_copy(attribute, bin)) Change::change(bins + bin + attribute.cycle, coverage * p);
    }
    return fall;
}

template <class Change>
DEVICE double cover_patch(const Query& q, const Attribute& attribute, bool tile, double coverage, int i, int t) {
    const Patch patch(q, attribute, tile, i);
    double fall = 0.0;
    for (int c0 = 0; c0 < patch.wide; c0 += COLUMNS) {
        ROLLED for (int cell = t; cell < patch.high * COLUMNS; cell += THREADS) {
            const int row = cell / COLUMNS, c = c0 + cell % COLUMNS;
            if (c >= patch.wide) continue;
            const double x = power(patch.rx, row) * patch.tx[row], y = power(patch.ry, c) * patch.ty[c];
            const double p = patch.x * x * (patch.y * y);
            if (tile ? (patch.mask >> (row * patch.wide + c) & 1) != 0 : p >= MASCOT_CUTOFF)
                fall += Change::change(q.state + patch.slot + row * patch.stride + c, coverage * p);
        }
    }
    return fall;
}

template <class Change>
DEVICE double cover_globe(const Query& q, const Attribute& attribute, double coverage, int i, int t) {
    const u64 word = ((const u64*)(q.arena + attribute.data))[i], at = word >> 32;
    if (word == ~0ull) return 0.0;
    const Slot* slots = (const Slot*)(q.arena + attribute.pool_slots);
    double* bins = q.state + attribute.origin;
    double fall = 0.0;
    for (int j = t; j < (int)(word & 0xffffffffu); j += THREADS)
        fall += Change::change(bins + slots[at + j], coverage * q.arena[attribute.pool + at + j]);
    return fall;
}

template <class Change>
DEVICE double cover_labels(const Query& q, const Attribute& attribute, double coverage, int i, int t) {
    const u64* words = (const u64*)(q.arena + attribute.data);
    double* bins = q.state + attribute.origin;
    double fall = 0.0;
    for (i64 j = (i64)words[i] + t; j < (i64)words[q.plan.most + i]; j += THREADS) {
        const double p = attribute.values ? attribute.values[j] : 1.0;
        fall += Change::change(bins + slot_of(attribute, q.arena, (i64)attribute.indices[j], false), coverage * p);
    }
    return fall;
}

// Change the bins of candidate i that belong to thread t by `share` of its memberships. Returns by how much they fell in all.
template <class Change>
DEVICE double change_bins(const Query& q, const Attribute& attribute, int shape, double share, int i, int t) {
    if (is_neutral(q, attribute, shape, i)) return cover_mean<Change>(q, attribute, share, t);
    if (shape == SHAPE_LINE || shape == SHAPE_CIRCLE) return cover_line<Change>(q, attribute, shape == SHAPE_CIRCLE, share, i, t);
    if (shape == SHAPE_PLANE || shape == SHAPE_TILE) return cover_patch<Change>(q, attribute, shape == SHAPE_TILE, share, i, t);
    if (shape == SHAPE_GLOBE) return cover_globe<Change>(q, attribute, share, i, t);
    return cover_labels<Change>(q, attribute, share, i, t);
}

// Cover the bins of candidate i that belong to thread t. Returns by how much they fell in all.
DEVICE double cover(const Query& q, const Attribute& attribute, int shape, int i, int t) {
    return change_bins<Lower>(q, attribute, shape, coverage_per_result(q, attribute), i, t);
}
