/* Novelty of vectors: how unlike a candidate is to the nearest result (see `Novelty` in mascot/kernels/objective.py).
 *
 * Vectors are stored in float32 and multiplied in double. Every candidate knows how many picks it has been compared with.
 * A cosine that is not known counts as 0 under a spread and as 1 under a focus, so that the gain is an upper bound. Only
 * candidates that may be chosen next are compared. Several lists and the strengths that `keep` tries pick the same candidates
 * again, so the cosines with a pick are stored.
 */
#ifndef MASCOT_NOVELTY_H
#define MASCOT_NOVELTY_H

#include "bins.h"

enum { MOST_STORED = 256 }; /* picks whose cosines are stored */

/* Rows of numbers. */
typedef struct {
    const float *vectors;
    int64_t size;
} Rows;

struct Novelty {
    Rows rows;
    double *inverse;  /* [n] 1 / length of each candidate's vector; 0: it is missing */
    double copies;    /* cosine from which two candidates are near-copies */
    double *pick;     /* [picks][size] the vectors of the picks, of length 1 */
    int64_t picks;    /* results so far that have a vector */
    double **cosines; /* [picks] the stored cosines of each pick; NULL: they are not stored */
    double **stored;  /* [n] cosines [n] of a candidate that was picked, NaN where they are not known; or NULL */
    int64_t stored_left; /* picks whose cosines may yet be stored */
    double *nearest;  /* [n] the largest cosine with the first `seen` picks, at least 0 */
    int64_t *seen;    /* [n] */
    int64_t known;    /* candidates that have a vector */
    int eager;        /* candidates are compared at every pick, because a missing vector has the mean novelty */
};

typedef float floats __attribute__((vector_size(4 * LANES), aligned(4), may_alias));

INLINE vector widen(const float *from) { return __builtin_convertvector(*(const floats *)from, vector); }

/* Compute the products of a row of float32 and `count` vectors of doubles, one after the other. `count` is a constant, at most 4.
 * Four sums are kept in all, so that one addition does not wait for another. */
INLINE void dots(const float *row, const double *picks, int64_t size, int count, double *out) {
    enum { SUMS = 4 };
    int blocks = count == 1 ? SUMS : count == 2 ? 2 : 1; /* of the row in one step */
    vector sums[4][SUMS];
    for (int p = 0; p < count; p++)
        for (int block = 0; block < blocks; block++) sums[p][block] = all(0.0);
    int64_t j = 0;
    for (; j + blocks * LANES <= size; j += blocks * LANES)
        for (int block = 0; block < blocks; block++) {
            vector part = widen(row + j + block * LANES);
            for (int p = 0; p < count; p++) sums[p][block] += part * load(picks + p * size + j + block * LANES);
        }
    for (int p = 0; p < count; p++) {
        vector total = sums[p][0];
        for (int block = 1; block < blocks; block++) total += sums[p][block];
        out[p] = sum(total);
        for (int64_t rest = j; rest < size; rest++) out[p] += (double)row[rest] * picks[p * size + rest];
    }
}

/* Return 1 / length of a row; 0 if it is missing. */
static double inverse_length(Rows rows, int64_t row) {
    const float *from = rows.vectors + row * rows.size;
    vector sums[4] = {all(0.0), all(0.0), all(0.0), all(0.0)};
    int64_t j = 0;
    for (; j + 4 * LANES <= rows.size; j += 4 * LANES)
        for (int block = 0; block < 4; block++) {
            vector part = widen(from + j + block * LANES);
            sums[block] += part * part;
        }
    double square = sum((sums[0] + sums[1]) + (sums[2] + sums[3]));
    for (; j < rows.size; j++) square += (double)from[j] * from[j];
    return square > 0.0 ? 1.0 / sqrt(square) : 0.0;
}

/* Write a row as doubles, of length 1. */
static void write_unit(Rows rows, int64_t row, double inverse, double *out) {
    const float *from = rows.vectors + row * rows.size;
    for (int64_t j = 0; j < rows.size; j++) out[j] = (double)from[j] * inverse;
}

/* Return the product of a row and a vector of length 1. */
static double dot(Rows rows, int64_t row, const double *unit) {
    double product;
    dots(rows.vectors + row * rows.size, unit, rows.size, 1, &product);
    return product;
}

/* Set up the vectors of n candidates, of which at most `most` will be picked. Cosines are stored if lists are `repeated`. */
static void pack_vectors(
    Arena *arena, Bins *b, const Attribute *attribute, const int64_t *rows, int64_t n, int64_t most, int repeated
) {
    Novelty *v = b->novelty = arena_take(arena, sizeof(Novelty));
    *v = (Novelty){.rows = {attribute->vectors, attribute->size}, .copies = attribute->copies};
    v->stored_left = repeated ? MOST_STORED : 0;
    v->inverse = take_doubles(arena, n);
    v->pick = take_rows(arena, most, attribute->size);
    v->nearest = take_doubles(arena, n);
    v->seen = take_integers(arena, n);
    v->cosines = arena_take(arena, (size_t)most * sizeof(double *));
    v->stored = arena_take(arena, (size_t)n * sizeof(double *));
    for (int64_t i = 0; i < n; i++) {
        v->stored[i] = NULL;
        v->inverse[i] = inverse_length(v->rows, rows[i]);
        b->unknown[i] = v->inverse[i] == 0.0 ? 1.0 : 0.0;
        v->known += b->unknown[i] == 0.0;
    }
    v->eager = b->neutral && v->known && v->known < n;
}

/* Return the cosine of two candidates; 0 if either has no vector. */
static double cosine(Novelty *v, const int64_t *rows, int64_t i, int64_t j) {
    if (v->inverse[i] == 0.0 || v->inverse[j] == 0.0) return 0.0;
    double *unit = v->pick + v->picks * v->rows.size; /* not in use */
    write_unit(v->rows, rows[j], v->inverse[j], unit);
    return dot(v->rows, rows[i], unit) * v->inverse[i];
}

/* Add a pick: candidate i, one of n, which has a vector. */
static void add_pick(Arena *arena, Novelty *v, int64_t i, int64_t row, int64_t n) {
    if (!v->stored[i] && v->stored_left > 0) {
        v->stored_left--;
        v->stored[i] = take_doubles(arena, n);
        for (int64_t j = 0; j < n; j++) v->stored[i][j] = NAN;
    }
    v->cosines[v->picks] = v->stored[i];
    write_unit(v->rows, row, v->inverse[i], v->pick + v->picks++ * v->rows.size);
}

/* Compare candidate i, which has a vector, with the next `count` picks that it has not seen. `count` is a constant. */
INLINE void compare(Novelty *v, int64_t i, int64_t row, int count) {
    double products[4];
    dots(v->rows.vectors + row * v->rows.size, v->pick + v->seen[i] * v->rows.size, v->rows.size, count, products);
    for (int p = 0; p < count; p++) {
        double near = products[p] * v->inverse[i], *cosines = v->cosines[v->seen[i]++];
        if (cosines) cosines[i] = near;
        v->nearest[i] = near > v->nearest[i] ? near : v->nearest[i];
    }
}

/* Compare candidate i, which has a vector, with all picks that it has not seen. */
static void catch_up(Novelty *v, int64_t i, int64_t row) {
    while (v->seen[i] < v->picks) {
        const double *cosines = v->cosines[v->seen[i]];
        int64_t left = v->picks - v->seen[i];
        if (cosines && cosines[i] == cosines[i]) { /* not NaN */
            v->nearest[i] = cosines[i] > v->nearest[i] ? cosines[i] : v->nearest[i];
            v->seen[i]++;
        } else if (left >= 4) {
            compare(v, i, row, 4);
        } else if (left >= 2) {
            compare(v, i, row, 2);
        } else {
            compare(v, i, row, 1);
        }
    }
}

/* Return what candidate i, which has a vector and has seen all picks, earns under a spread or pays under a focus. */
INLINE double novelty_worth(const Bins *b, int64_t i) {
    double nearest = b->novelty->nearest[i];
    return b->factor * (1.0 - (b->sign > 0.0 ? nearest * nearest * nearest : nearest));
}

#endif
