/* Novelty of vectors: 1 - (max_j s(i, j) + mean_j s(i, j)) / 2 over the selected j (see mascot/kernels/novelty.py).
 *
 * Vectors are stored in float32 and multiplied in double. Every candidate knows how many picks it has been compared with.
 * Comparing it with further picks can only raise its maximum and its sum of similarities, so its novelty by what it knows is
 * an upper bound. A spread therefore compares only the candidates that may be chosen next.
 */
#ifndef MASCOT_NOVELTY_H
#define MASCOT_NOVELTY_H

#include "bins.h"

/* Vectors, and the factor that scales each of them to length 1; 0: the vector is missing. */
typedef struct {
    const float *vectors;
    const double *inverse;
    int64_t size;
} UnitRows;

struct Novelty {
    UnitRows unit;
    double low, per_cosine;  /* s = (cosine - low) * per_cosine */
    double factor;           /* worth of one unit of novelty */
    double *pick;            /* [picks][size] the vectors of the picks, of length 1 */
    int64_t picks;           /* results so far that have a vector */
    double *nearest, *total; /* [n] the maximum and the sum of the similarities to the first `seen` picks */
    int64_t *seen;           /* [n] */
    int64_t known;           /* candidates that have a vector */
    int lazy;                /* candidates are compared when they may be chosen, not at every pick */
};

typedef float floats __attribute__((vector_size(4 * LANES), aligned(4), may_alias));

INLINE vector widen(const float *from) { return __builtin_convertvector(*(const floats *)from, vector); }

/* Return the product of a row of float32 and a vector of doubles. */
static double dot(const float *row, const double *pick, int64_t size) {
    vector sums[4] = {all(0.0), all(0.0), all(0.0), all(0.0)};
    int64_t j = 0;
    for (; j + 4 * LANES <= size; j += 4 * LANES)
        for (int lane = 0; lane < 4; lane++) sums[lane] += widen(row + j + lane * LANES) * load(pick + j + lane * LANES);
    double total = sum((sums[0] + sums[1]) + (sums[2] + sums[3]));
    for (; j < size; j++) total += (double)row[j] * pick[j];
    return total;
}

/* Write row r as doubles, of length 1. */
static void write_unit(const UnitRows *unit, int64_t row, double *out) {
    const float *from = unit->vectors + row * unit->size;
    for (int64_t j = 0; j < unit->size; j++) out[j] = (double)from[j] * unit->inverse[row];
}

/* Return the cosine of row r and a vector of length 1. */
static double cosine(const UnitRows *unit, int64_t row, const double *pick) {
    return dot(unit->vectors + row * unit->size, pick, unit->size) * unit->inverse[row];
}

static double similarity(const Novelty *v, int64_t row, const double *pick) {
    double s = (cosine(&v->unit, row, pick) - v->low) * v->per_cosine;
    return s < 0.0 ? 0.0 : s > 1.0 ? 1.0 : s;
}

/* Set up the vectors of n candidates, of which at most `most` will be picked. */
static void pack_vectors(Arena *arena, Bins *b, const Attribute *attribute, const int64_t *rows, int64_t n, int64_t query, int64_t most) {
    Novelty *v = arena_take(arena, sizeof(Novelty));
    double low = attribute->ranges[2 * query], high = attribute->ranges[2 * query + 1];
    *v = (Novelty){.unit = {attribute->vectors, attribute->inverse, attribute->size}, .low = low, .per_cosine = 1.0 / (high - low)};
    v->pick = take_doubles(arena, most * whole_blocks(attribute->size));
    v->nearest = take_doubles(arena, n);
    v->total = take_doubles(arena, n);
    v->seen = take_integers(arena, n);
    for (int64_t i = 0; i < n; i++) {
        b->unknown[i] = attribute->inverse[rows[i]] == 0.0 ? 1.0 : 0.0;
        v->known += b->unknown[i] == 0.0;
    }
    v->lazy = b->sign > 0 && (b->rule != MISSING_NEUTRAL || v->known == n);
    b->novelty = v;
}

/* Add a pick, the row of a candidate that has a vector. */
static void add_pick(Novelty *v, int64_t row) {
    write_unit(&v->unit, row, v->pick + v->picks * v->unit.size);
    v->picks++;
}

/* Compare candidate i, which has a vector, with all picks that it has not seen. */
static void catch_up(Novelty *v, int64_t i, int64_t row) {
    for (; v->seen[i] < v->picks; v->seen[i]++) {
        double s = similarity(v, row, v->pick + v->seen[i] * v->unit.size);
        v->nearest[i] = s > v->nearest[i] ? s : v->nearest[i];
        v->total[i] += s;
    }
}

/* Return what the novelty of candidate i, which has a vector, is worth: exactly, or an upper bound if it has not seen all picks. */
INLINE double novelty_worth(const Novelty *v, int64_t i) {
    double mean = v->picks ? v->total[i] / (double)v->picks : 0.0;
    return v->factor * (1.0 - (v->nearest[i] + mean) / 2.0);
}

#endif
