/* The soft bins of one query's candidates, laid out so that sums over them are short dense loops.
 *
 * Every attribute has a range of `state`, which holds the worth of what is left to cover in each bin. The memberships of
 * a candidate are windows of neighbouring bins:
 *   LINE    one window of `blocks` vectors of bins
 *   PLANE   `rows` windows, one below the other
 *   GLOBE   one window or more for each ring of cells within reach
 *   LABELS  single bins
 *   VECTORS none: see novelty.h
 * LINE and PLANE pad their state with bins that are worth nothing, so that no window has to be clipped.
 */
#ifndef MASCOT_BINS_H
#define MASCOT_BINS_H

#include <math.h>
#include <string.h>

#include "arena.h"
#include "kernel.h"
#include "vector.h"

/* The blocks of a window's row that some value can reach: first .. last - 1. */
typedef struct {
    int64_t first, last;
} Range;

typedef struct Novelty Novelty; /* see novelty.h */

typedef struct {
    int64_t shape, rule;
    double sign;
    int64_t origin, size;         /* its range of the state */
    int64_t blocks, rows, stride; /* LINE: blocks; PLANE: rows x blocks, rows `stride` bins apart */
    int64_t pad, pad_rows, count, count_rows; /* LINE, PLANE: bins of padding and real bins along each axis */
    int64_t circle, mirror;       /* LINE on a circle: its bins, and how many of them are repeated after the last */
    int64_t per_candidate;        /* LINE, PLANE: stored values per candidate */
    int64_t *slot;                /* first state index of a candidate, of a GLOBE window or of a label */
    int64_t *first;               /* GLOBE, LABELS: [n + 1] a candidate's first window */
    double *lanes;                /* memberships; NULL for labels that are all 1 */
    double *memberships;          /* GLOBE: [n] the sum of a candidate's memberships; otherwise NULL */
    int64_t product;              /* PLANE, if it is large: `lanes` holds a row and a column to be multiplied */
    Range *range;                 /* product: [rows] */
    double *unknown;              /* [n] 1 if the value is missing, otherwise 0 */
    double *mean;                 /* [size] what a missing value covers under the rule NEUTRAL, or NULL */
    double coverage_per_result;   /* part of a bin that one whole membership covers */
    double *names, name_price;    /* [n] the name of each value under a focus, NaN: a name of its own; NULL: no names */
    Novelty *novelty;             /* VECTORS, which have no bins; otherwise NULL */
    double *site[3], reach[2];    /* [n] where a candidate's bins lie, see overlap.h; NULL: anywhere */
} Bins;

/* Copy the bins of a circle that exist twice from the originals. */
static void repeat_bins(const Bins *b, double *state) {
    double *bins = state + b->origin;
    for (int64_t j = 0; j < b->mirror; j++) bins[b->circle + j] = bins[j];
}

/* Set every real bin to `value` and the padding to 0. */
static void fill_bins(const Bins *b, double *state, double value) {
    double *bins = state + b->origin;
    int padded = b->shape == SHAPE_PLANE || (b->shape == SHAPE_LINE && !b->circle);
    for (int64_t j = 0; j < b->size; j++) bins[j] = padded ? 0.0 : value;
    if (!padded) return;
    for (int64_t row = 0; row < b->count_rows; row++)
        for (int64_t j = 0; j < b->count; j++) bins[(row + b->pad_rows) * b->stride + b->pad + j] = value;
}

/* Set all bins and the padding to 0. */
static void clear_bins(const Bins *b, double *state) {
    for (int64_t j = 0; j < b->size; j++) state[b->origin + j] = 0.0;
}

/* Return the sum over all real bins, each counted once. */
static double total_of_bins(const Bins *b, const double *state) {
    return sum_of(state + b->origin, b->circle ? b->circle : b->size);
}

#endif
