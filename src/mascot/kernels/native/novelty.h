/* Novelty of vectors: 1 - (max_j s(i, j) + mean_j s(i, j)) / 2 over the selected j (see mascot/kernels/novelty.py).
 *
 * Vectors are stored in float32 and multiplied in double. Every candidate knows how many picks it has been compared with.
 * A similarity that is not known counts as 0 under a spread and as 1, the largest, under a focus, so that the gain is an upper
 * bound. Only candidates that may be chosen next are compared. Several starts and the strengths that `keep` tries pick the same
 * candidates again, so the similarities to a pick are stored.
 */
#ifndef MASCOT_NOVELTY_H
#define MASCOT_NOVELTY_H

#include "bins.h"
#include "relevance.h"

enum { MOST_STORED = 256 }; /* picks whose similarities are stored */

/* Rows of numbers. */
typedef struct {
    const float *vectors;
    int64_t size;
} Rows;

struct Novelty {
    Rows unit;
    double *inverse;         /* [n] 1 / length of each candidate's vector; 0: it is missing */
    double low, per_cosine;  /* s = (cosine - low) * per_cosine */
    double factor;           /* worth of one unit of novelty */
    double *pick;            /* [picks][size] the vectors of the picks, of length 1 */
    int64_t picks;           /* results so far that have a vector */
    double **similar;        /* [picks] the stored similarities of each pick; NULL: they are not stored */
    double **stored;         /* [n] similarities [n] of a candidate that was picked, NaN where they are not known; or NULL */
    int64_t stored_count;
    double unseen;           /* the similarity to a pick not seen: 0 for a spread, 1 for a focus */
    double most;             /* the largest similarity */
    Arena *arena;            /* of the stored similarities; NULL: nothing is stored */
    double *nearest, *total; /* [n] the maximum and the sum of the similarities to the first `seen` picks */
    int64_t *seen;           /* [n] */
    int64_t known;           /* candidates that have a vector */
    int nearest_only;        /* novelty is that of MMR */
    int lazy;                /* candidates are compared when they may be chosen, not at every pick */
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

/* Return the similarity of two candidates with this cosine. */
INLINE double scaled(const Novelty *v, double cosine) {
    double s = (cosine - v->low) * v->per_cosine;
    return s < 0.0 ? 0.0 : s > v->most ? v->most : s;
}

/* Set the scale of similarity: the 5% and 95% quantiles of the cosines of a sample of candidates, evenly spaced in the better
 * half of `order`; 0 and 1 if they hardly differ. `order` are the positions of all candidates that have a vector, best first. */
static void scale_similarity(Arena *arena, Novelty *v, const int64_t *rows, const int64_t *order) {
    int64_t size = v->known < MASCOT_SAMPLE ? v->known : MASCOT_SAMPLE, pairs = size * (size - 1) / 2;
    int64_t half = (v->known + 1) / 2 > size ? (v->known + 1) / 2 : size;
    double *cosines = take_doubles(arena, pairs + 1), *units = take_doubles(arena, 4 * v->unit.size), *next = cosines;
    int64_t sample[MASCOT_SAMPLE];
    for (int64_t i = 0; i < size; i++) sample[i] = order[i * half / size];
    for (int64_t i = 0; i < size; i += 4) { /* each row is compared with four others at once */
        for (int64_t p = 0; p < 4; p++) {
            int64_t other = sample[i + p < size ? i + p : i];
            write_unit(v->unit, rows[other], v->inverse[other], units + p * v->unit.size);
        }
        for (int64_t j = 0; j < i + 3 && j < size; j++) {
            double products[4];
            dots(v->unit.vectors + rows[sample[j]] * v->unit.size, units, v->unit.size, 4, products);
            for (int64_t p = 0; p < 4; p++)
                if (j < i + p && i + p < size) *next++ = products[p] * v->inverse[sample[j]];
        }
    }
    int64_t tail = (pairs - 1) / 20;
    double low = pairs > 0 ? order_statistic(cosines, pairs, tail) : 0.0;
    double high = pairs > 0 ? order_statistic(cosines, pairs, pairs - 1 - tail) : 0.0;
    if (high - low <= MASCOT_COPY_TOLERANCE) low = 0.0, high = 1.0;
    v->low = low;
    v->per_cosine = 1.0 / (high - low);
}

/* Set the scale of MMR, on which the cosines of the best match range from 0 to 1, and store its similarities. */
static void scale_to_best(Arena *arena, Novelty *v, const int64_t *rows, const int64_t *order, int64_t n) {
    double low = 1.0, high = -1.0, *cosines = v->stored[order[0]] = take_doubles(arena, n);
    write_unit(v->unit, rows[order[0]], v->inverse[order[0]], v->pick);
    for (int64_t j = 0; j < v->known; j++) {
        int64_t i = order[j];
        cosines[i] = dot(v->unit, rows[i], v->pick) * v->inverse[i];
        low = cosines[i] < low ? cosines[i] : low;
        high = cosines[i] > high ? cosines[i] : high;
    }
    if (high - low <= MASCOT_COPY_TOLERANCE) low = 0.0, high = 1.0;
    v->low = low;
    v->per_cosine = 1.0 / (high - low);
    for (int64_t j = 0; j < v->known; j++) cosines[order[j]] = scaled(v, cosines[order[j]]);
}

/* Set up the vectors of n candidates, of which at most `most` will be picked. `order` are all positions, best first. Similarities
 * are stored if passes are `repeated`. */
static void pack_vectors(
    Arena *arena, Bins *b, const Attribute *attribute, const int64_t *rows, int64_t n, const int64_t *order, int64_t most,
    int repeated
) {
    Novelty *v = arena_take(arena, sizeof(Novelty));
    *v = (Novelty){.unit = {attribute->vectors, attribute->size}, .inverse = take_doubles(arena, n)};
    v->pick = take_doubles(arena, most * whole_blocks(attribute->size));
    v->nearest = take_doubles(arena, n);
    v->total = take_doubles(arena, n);
    v->seen = take_integers(arena, n);
    int64_t *valued = take_integers(arena, n);
    for (int64_t j = 0; j < n; j++) {
        int64_t i = order[j];
        v->inverse[i] = inverse_length(v->unit, rows[i]);
        b->unknown[i] = v->inverse[i] == 0.0 ? 1.0 : 0.0;
        if (b->unknown[i] == 0.0) valued[v->known++] = i;
    }
    v->lazy = b->rule != MISSING_NEUTRAL || v->known == n;
    v->unseen = b->sign > 0 ? 0.0 : 1.0;
    v->most = attribute->axis[0][0] != 0.0 ? INFINITY : b->sign > 0 ? MASCOT_CLOSEST : 1.0;
    v->similar = arena_take(arena, (size_t)most * sizeof(double *));
    v->stored = arena_take(arena, (size_t)n * sizeof(double *));
    for (int64_t i = 0; i < n; i++) v->stored[i] = NULL;
    v->nearest_only = attribute->axis[0][0] != 0.0;
    if (repeated || v->nearest_only) v->arena = arena;
    if (!v->nearest_only) scale_similarity(arena, v, rows, valued);
    else if (v->known) scale_to_best(arena, v, rows, valued, n);
    b->novelty = v;
}

/* Add a pick: candidate i, one of n, which has a vector. */
static void add_pick(Novelty *v, int64_t i, int64_t row, int64_t n) {
    if (v->arena && !v->stored[i] && v->stored_count < MOST_STORED) {
        v->stored[i] = take_doubles(v->arena, n);
        v->stored_count++;
        for (int64_t j = 0; j < n; j++) v->stored[i][j] = NAN;
    }
    v->similar[v->picks] = v->stored[i];
    write_unit(v->unit, row, v->inverse[i], v->pick + v->picks * v->unit.size);
    v->picks++;
}

/* Count the similarity of candidate i and the next pick that it has not seen. */
INLINE void see(Novelty *v, int64_t i, double s) {
    v->nearest[i] = s > v->nearest[i] ? s : v->nearest[i];
    v->total[i] += s;
    v->seen[i]++;
}

/* Return the similarity of candidate i and the next pick that it has not seen, or NaN if it is not stored. */
INLINE double next_stored(const Novelty *v, int64_t i) {
    const double *similar = v->similar[v->seen[i]];
    return similar ? similar[i] : NAN;
}

/* Count what is stored of the picks that candidate i has not seen, up to the first that is not. */
INLINE void recall(Novelty *v, int64_t i) {
    while (v->arena && v->seen[i] < v->picks) {
        double s = next_stored(v, i);
        if (isnan(s)) return;
        see(v, i, s);
    }
}

/* Compare candidate i, which has a vector, with the next `count` picks that it has not seen. `count` is a constant. */
INLINE void compare(Novelty *v, int64_t i, int64_t row, int count) {
    double cosines[4];
    dots(v->unit.vectors + row * v->unit.size, v->pick + v->seen[i] * v->unit.size, v->unit.size, count, cosines);
    for (int p = 0; p < count; p++) {
        double s = scaled(v, cosines[p] * v->inverse[i]), *similar = v->similar[v->seen[i]];
        if (similar) similar[i] = s;
        see(v, i, s);
    }
}

/* Compare candidate i, which has a vector, with all picks that it has not seen. */
static void catch_up(Novelty *v, int64_t i, int64_t row) {
    for (recall(v, i); v->seen[i] < v->picks; recall(v, i)) {
        int64_t left = v->picks - v->seen[i];
        if (left >= 4) compare(v, i, row, 4);
        else if (left == 3) compare(v, i, row, 3);
        else if (left == 2) compare(v, i, row, 2);
        else compare(v, i, row, 1);
    }
}

/* Return what the novelty of candidate i, which has a vector, is worth: exactly, or a bound if it has not seen all picks. */
INLINE double novelty_worth(const Novelty *v, int64_t i) {
    double unseen = v->unseen * (double)(v->picks - v->seen[i]);
    double nearest = unseen > 0.0 ? 1.0 : v->nearest[i];
    double mean = v->nearest_only ? nearest : v->picks ? (v->total[i] + unseen) / (double)v->picks : 0.0;
    return v->factor * (1.0 - (nearest + mean) / 2.0);
}

#endif
