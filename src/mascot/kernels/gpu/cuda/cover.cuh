// Covering the bins of a selected result: state *= 1 - coverage * p. All threads of the block share the bins of one candidate.
#pragma once

#include "visitors.cuh"

// Lower a bin by its share p, and return by how much it fell.
DEVICE double lower_bin(double* bin, double p) {
    const double old = *bin, fall = p * old;
    *bin = old - fall;
    return fall;
}

// Return the part of a bin that one whole membership covers.
DEVICE double coverage_per_result(const Query& q, const Attribute& attribute) {
    return Config::balance ? q.arena[attribute.fit + FIT_COVERAGE] : 1.0;
}

DEVICE double cover_mean(const Query& q, const Attribute& attribute, double coverage, int t) {
    double fall = 0.0;
    for (int j = t; j < attribute.slots; j += THREADS) {
        const bool copy = attribute.cycle && j >= attribute.cycle;
        const double mean = q.arena[attribute.mean + (copy ? j - attribute.cycle : j)];
        const double less = lower_bin(q.state + attribute.origin + j, coverage * mean);
        if (!copy) fall += less;
    }
    return fall;
}

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
        fall += lower_bin(bins + bin, coverage * p);
        if (has_copy(attribute, bin)) lower_bin(bins + bin + attribute.cycle, coverage * p);
    }
    return fall;
}

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
                fall += lower_bin(q.state + patch.slot + row * patch.stride + c, coverage * p);
        }
    }
    return fall;
}

DEVICE double cover_globe(const Query& q, const Attribute& attribute, double coverage, int i, int t) {
    const u64 word = ((const u64*)(q.arena + attribute.data))[i], at = word >> 32;
    if (word == ~0ull) return 0.0;
    const Slot* slots = (const Slot*)(q.arena + attribute.pool_slots);
    double* bins = q.state + attribute.origin;
    double fall = 0.0;
    for (int j = t; j < (int)(word & 0xffffffffu); j += THREADS)
        fall += lower_bin(bins + slots[at + j], coverage * q.arena[attribute.pool + at + j]);
    return fall;
}

DEVICE double cover_labels(const Query& q, const Attribute& attribute, double coverage, int i, int t) {
    const u64* words = (const u64*)(q.arena + attribute.data);
    double* bins = q.state + attribute.origin;
    double fall = 0.0;
    for (i64 j = (i64)words[i] + t; j < (i64)words[q.plan.most + i]; j += THREADS) {
        const double p = attribute.values ? attribute.values[j] : 1.0;
        fall += lower_bin(bins + slot_of(attribute, q.arena, (i64)attribute.indices[j], false), coverage * p);
    }
    return fall;
}

// Cover the bins of candidate i that belong to thread t. Returns by how much they fell in all.
DEVICE double cover(const Query& q, const Attribute& attribute, int shape, int i, int t) {
    const double coverage = coverage_per_result(q, attribute);
    if (is_neutral(q, attribute, shape, i)) return cover_mean(q, attribute, coverage, t);
    if (shape == SHAPE_LINE || shape == SHAPE_CIRCLE) return cover_line(q, attribute, shape == SHAPE_CIRCLE, coverage, i, t);
    if (shape == SHAPE_PLANE || shape == SHAPE_TILE) return cover_patch(q, attribute, shape == SHAPE_TILE, coverage, i, t);
    if (shape == SHAPE_GLOBE) return cover_globe(q, attribute, coverage, i, t);
    return cover_labels(q, attribute, coverage, i, t);
}
