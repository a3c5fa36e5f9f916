/* The interface between Python and the native kernel.
 *
 * All arrays belong to the caller. Python fills these structures (see __init__.py, which repeats the layouts);
 * every field is eight bytes wide, so that no compiler adds padding.
 *
 * The kernel trusts what Python has checked: arrays are as long as the others require; rows and labels lie within their
 * arrays; scores, weights and coordinates are at most 1e150, latitudes and longitudes within a sphere; memberships,
 * strength and keep lie in 0..1; even axes have widths of 1e-12 to 1e12 steps; counts are at most 2**62. A size that
 * does not fit in memory is refused.
 */
#ifndef MASCOT_KERNEL_H
#define MASCOT_KERNEL_H

#include <stdint.h>

#include "constants.h"

/* The soft bins of one attribute, for all rows of the corpus. */
typedef struct {
    int64_t shape;
    int64_t missing;
    double sign;   /* +1 spread, -1 focus */
    double weight; /* > 0 */
    const double *x, *y;      /* LINE: x; PLANE: x, y; GLOBE: latitude and longitude in radians. NaN: missing */
    const int64_t *indptr;    /* LABELS: row r has bins indices[indptr[r] .. indptr[r + 1]] */
    const int64_t *indices;
    const double *values;     /* LABELS: memberships, NULL when all are 1 */
    double axis[2][AXIS_FIELDS]; /* LINE, PLANE: even axes (step 0: self-scaled); GLOBE: axis[0][SIGMA] in km, or 0 */
    const double *names;      /* LINE, GLOBE: the whole part is the name of a row's value, NaN a name of its own; NULL: no names */
    double name_price;        /* what a name costs a list that competes, in new bins */
    const float *vectors;     /* VECTORS: rows of `size` numbers; NaN and zeros: missing */
    int64_t size;
} Attribute;

/* At most capacity[label] results per label in every `length` consecutive results, or in the first ones. */
typedef struct {
    const int64_t *capacity; /* of the labels of a quota */
    int64_t length;          /* 0: no rule */
    int64_t first;           /* 1: only the first `length` results of the page */
} PlaceRule;

/* At most capacity[label] and at least least[label] results for each label; or, with vectors, at most `count` results that are near-copies of a candidate. */
typedef struct {
    const int64_t *indptr; /* row r has labels[indptr[r] .. indptr[r + 1]]; NULL: one label per row, labels[r] */
    const int64_t *labels; /* in 0 .. count - 1; -1: no label, never limited */
    const int64_t *capacity;
    const int64_t *least; /* smallest count of each label, where the candidates allow it; NULL: none */
    int64_t count;
    int64_t stages; /* the quota holds in this many of the three stages */
    const float *vectors; /* rows of `size` numbers; NULL: labels are counted */
    int64_t size;
    double threshold;      /* cosine from which two rows are near-copies */
    const int64_t *pinned; /* rows that are results from the start */
    int64_t pinned_count;
    PlaceRule places; /* in the shown order; for labels */
} Quota;

/* Q queries over one corpus; query q has the candidates ptr[q] .. ptr[q + 1]. */
typedef struct {
    int64_t attributes, quotas, k, protect, flags, starts;
    double strength, keep; /* keep > 0: the kernel searches for the strength */
    const int64_t *ptr;
    const int64_t *rows; /* corpus row of each candidate; NULL: candidate t is row t */
    const double *scores;
    const int64_t *already_ptr, *already; /* positions of results on earlier pages; NULL: none */
    const Attribute *attribute;
    const Quota *quota;
    /* Results. */
    int64_t *positions; /* [Q, k] in the order of selection; -1 after the last */
    int64_t *ranked;    /* [Q, k] the same positions, best first */
    double *strengths;  /* [Q] */
    double *gain_factors, *largest_gains, *coverage_per_result; /* [Q, A] */
    int64_t *stages;    /* [Q] how many stages the quotas needed: 1 if all were met */
    int64_t *arranged;  /* [Q] 1: `ranked` obeys the rules on places, without earlier pages and pinned results */
} Batch;

/* Items in the order in which they are wanted, and the rules that their order has to obey. */
typedef struct {
    int64_t items, before_count, count, pin_count;
    const int64_t *rows;   /* [items] */
    const int64_t *before; /* [before_count] rows of the results of earlier pages */
    const Quota *quota;    /* [count] whose rules on places hold */
    const int64_t *pins;   /* [pin_count, 2] place and item, by ascending places */
    int64_t *order;        /* result [items]: the items that have a place, in their order, then the others */
} PageRules;

/* Select for the queries first .. last - 1. Returns 0, or -1 if memory ran out. */
typedef int64_t (*SelectFunction)(const Batch *batch, int64_t first, int64_t last);

#if defined(_WIN32)
#define EXPORT __declspec(dllexport)
#else
#define EXPORT __attribute__((visibility("default")))
#endif
EXPORT int64_t mascot_select(const Batch *batch, int64_t first, int64_t last);
/* Arrange one page. Returns how many items have a place, or -1 if memory ran out. */
EXPORT int64_t mascot_arrange(const PageRules *rules);
EXPORT const char *mascot_variant(void);
EXPORT int64_t mascot_abi(void);

#endif
