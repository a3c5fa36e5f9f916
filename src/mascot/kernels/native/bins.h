/* The soft bins of one query's candidates, laid out so that sums over them are short dense loops.
 *
 * Every attribute has a range of `state`, which holds the worth of what is left to cover in each bin. A candidate has windows of
 * LANES neighbouring bins; memberships of bins that it does not have are 0. On a PLANE these are products of a row and a column,
 * which are stored. Labels are single bins, and vectors have no bins, see novelty.h.
 */
#ifndef MASCOT_BINS_H
#define MASCOT_BINS_H

#include <math.h>
#include <string.h>

#include "arena.h"
#include "kernel.h"
#include "vector.h"

typedef struct Novelty Novelty; /* see novelty.h */

typedef struct {
    int64_t shape, neutral;
    double sign;                  /* +1 spread, -1 focus */
    double factor;                /* what covering a whole bin earns or pays */
    double top;                   /* the largest coverage of a single candidate */
    double penalty;               /* what a missing value pays that comes last */
    int64_t origin, size;         /* its range of the state */
    int64_t *first;               /* [n + 1] candidate i has the windows or labels first[i] .. first[i + 1] - 1 */
    int64_t *slot;                /* the state index of a label, or of the first bin of a window */
    double *lanes;                /* the memberships of labels or windows; NULL for labels that are all 1 */
    int64_t windows, allocated;
    double *memberships;          /* [n] the sum of a candidate's memberships; NULL for a PLANE */
    int64_t blocks, rows, stride; /* PLANE: rows of so many windows, so many bins apart; slot [n] is the first bin */
    double *unknown;              /* [n] 1 if the value is missing, otherwise 0 */
    double *mean;                 /* [size] what a missing value covers if it is neutral, or NULL */
    double coverage_per_result;   /* part of a bin that one whole membership covers */
    Novelty *novelty;             /* VECTORS, which have no bins; otherwise NULL */
    double *site[3], reach[2];    /* [n] where a candidate's bins lie, see overlap.h; NULL: anywhere */
} Bins;

/* Set every bin to `value`. */
static void fill_bins(const Bins *b, double *state, double value) {
    for (int64_t j = 0; j < b->size; j++) state[b->origin + j] = value;
}

/* Return the sum over all bins. */
static double total_of_bins(const Bins *b, const double *state) { return sum_of(state + b->origin, b->size); }

/* Allocate the windows of n candidates. */
static void allocate_windows(Arena *arena, Bins *b, int64_t n, int64_t windows) {
    b->allocated = windows + LANES;
    b->slot = take_integers(arena, b->allocated);
    b->lanes = take_rows(arena, b->allocated, LANES);
    b->first = take_integers(arena, n + 1);
    b->memberships = take_doubles(arena, n);
}

/* Add a window from state index `slot` on. */
INLINE void add_window(Bins *b, int64_t slot, vector memberships) {
    store(b->lanes + b->windows * LANES, memberships);
    b->slot[b->windows++] = slot;
}

/* End the windows of candidate i, whose memberships have the sum `total`. */
INLINE void end_windows(Bins *b, int64_t i, vector total) {
    b->memberships[i] = sum(total);
    b->first[i + 1] = b->windows;
}

#endif
