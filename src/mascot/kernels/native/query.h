/* One query: what the method is given, what is computed once, and what the loop works with. */
#ifndef MASCOT_QUERY_H
#define MASCOT_QUERY_H

#include "novelty.h"
#include "visit.h"

#define NEVER (-1.7976931348623157e308) /* the gain of a candidate that may not be chosen */

typedef struct Counter Counter; /* see counters.h */

/* The results of a list, in the order of selection, and its log. */
typedef struct {
    int64_t *positions, count;
    int64_t level;             /* 1: shares gave way; more: limits with fill did */
    double relevance, wishes;  /* the sums of what the results gain by each; only if terms are measured */
    int64_t *entries;          /* [length, ENTRY_FIELDS]; of the log */
    double *gains;             /* [length, attributes] */
} Page;

typedef struct {
    const Batch *batch;
    Arena *arena;
    int64_t n, padded, attributes, pins;
    int64_t length;            /* results of a full page */
    const double *scores, *relevance, *ideal; /* [n] */
    const int64_t *rows;       /* [n] */
    const int64_t *already;    /* positions of results on earlier pages */
    int64_t already_count;
    int64_t *shown;            /* [n] 1 for results of earlier pages */
    int64_t *protected_positions, protected_count;
    int64_t focuses;           /* under a focus three lists compete */
    int log;                   /* whether to log */

    Bins *bins;
    int64_t size;              /* bins of all attributes */
    double *state, *live;      /* [size] worth at the start, and during a list */
    double *sums, *offset;     /* [n] sums over the bins of one attribute, and penalties of missing values */
    double **start;            /* [attributes][n] sums at the start */
    double *pin_gains;         /* [pins, attributes] */
    double best_relevance, total_worth; /* the scale on which gains are equal */

    Counter *counters;
    int64_t rules;
    int placed, fills, copy_rules; /* whether a rule is about places, one has fill, and one is about near-copies */
    int cut_short;             /* rules on places ended a list early */
    int64_t *slot, last;       /* [already + length] the result at each place, from the first of earlier pages on; -1: none */

    double strength, tie;
    double *base;              /* [n] the gain that no choice changes */
    double **worth;            /* [attributes][n] sums over bins: exact, or a bound if they have changed */
    double *bound;             /* [padded] the gain by these sums: exact, or an upper bound; NEVER: closed */
    int64_t *closed, *taken;   /* [n] why the candidate may not be chosen: how many reasons; 1 if it is no longer free */
    int64_t *everyone, *todo;  /* [n] 0 .. n - 1; a list of candidates */
    int64_t *changed;          /* [padded] bit a is set if bins of attribute a were covered since the last sum */
} Query;

/* Return the gain of a candidate by its sums: exact, or an upper bound if they have changed. */
INLINE double gain_by_sums(const Query *q, int64_t i) {
    double total = 0.0;
    for (int64_t a = 0; a < q->attributes; a++) total += q->bins[a].sign * q->worth[a][i];
    return q->base[i] + q->strength * total;
}

INLINE void close_candidate(const Query *q, int64_t i) {
    if (q->closed[i]++ == 0) q->bound[i] = NEVER;
}

INLINE void open_candidate(const Query *q, int64_t i) {
    if (--q->closed[i] == 0) q->bound[i] = gain_by_sums(q, i);
}

#endif
