/* The interface between Python and the native kernel.
 *
 * All arrays belong to the caller. Python fills these structures (see __init__.py, which repeats the layouts);
 * every field is eight bytes wide, so that no compiler adds padding.
 *
 * The kernel trusts what Python has checked: arrays are as long as the others require; rows and labels lie within their
 * arrays; scores, relevance and coordinates are at most 1e150, latitudes and longitudes within a sphere; memberships,
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
    int64_t neutral; /* 1: a missing value covers what the others cover on average; 0: it comes last */
    double share;    /* the weight of the wish among all wishes, negative for a focus */
    const double *x, *y;      /* LINE: x; PLANE: x, y; GLOBE: latitude and longitude in radians. NaN: missing */
    const int64_t *indptr;    /* LABELS: row r has bins indices[indptr[r] .. indptr[r + 1]] */
    const int64_t *indices;
    const double *values;     /* LABELS: memberships, NULL when all are 1 */
    double axis[2][AXIS_FIELDS]; /* LINE, PLANE: even axes (step 0: self-scaled); GLOBE: axis[0][SIGMA] in km, or 0 */
    const float *vectors;     /* VECTORS: rows of `size` numbers; NaN and zeros: missing */
    int64_t size;
    double copies;            /* VECTORS: cosine from which two rows are near-copies */
} Attribute;

/* At most capacity[label] results for each label: on the page, in every `window` consecutive results, or among the `first`
 * results. With vectors: at most `most` results that are near-copies of a candidate. */
typedef struct {
    const int64_t *indptr, *labels; /* row r has labels[indptr[r] .. indptr[r + 1]] */
    const int64_t *capacity;
    int64_t gives;            /* SHARED, FILLED or HELD */
    int64_t window, first;    /* 0: on the page */
    int64_t session;          /* 1: the results of earlier pages count */
    const float *vectors;     /* rows of `size` numbers; NULL: labels are counted */
    int64_t size, most;
    double threshold;         /* cosine from which two rows are near-copies */
} Rule;

/* Q queries over one corpus; query q has the candidates ptr[q] .. ptr[q + 1]. */
typedef struct {
    int64_t attributes, rules, pins, k, protect, flags; /* k: results of a page, with the pinned ones */
    double strength, keep; /* keep > 0: the kernel searches for the strength */
    const int64_t *ptr;
    const int64_t *rows; /* corpus row of each candidate; NULL: candidate t is row t */
    const double *scores, *relevance, *ideal; /* relevance: in the gain; ideal: in 0..1 */
    const int64_t *already_ptr, *already; /* positions of results on earlier pages, in the order shown; NULL: none */
    const Attribute *attribute;
    const Rule *rule;
    const int64_t *places, *pinned; /* [pins] of a single query: ascending places and the positions of the results there */
    /* Results. */
    int64_t *positions; /* [Q, k] in the order of selection; -1 after the last */
    int64_t *ranked;    /* [Q, k] the same positions, best first */
    double *strengths;  /* [Q] */
    int64_t *levels;    /* [Q] which rules gave way; -1: rules on places cut a list short, see `loop.h` */
    int64_t *entries;   /* [Q, k, ENTRY_FIELDS] the log; NULL: it is not wanted */
    double *gains;      /* [Q, k, attributes] of the entries */
    double *worths;     /* [Q, attributes, 3] worth of one unit of coverage, largest coverage, coverage per result; with a log */
} Batch;

/* Select for the queries first .. last - 1. Returns 0, or -1 if memory ran out. */
typedef int64_t (*SelectFunction)(const Batch *batch, int64_t first, int64_t last);

#if defined(_WIN32)
#define EXPORT __declspec(dllexport)
#else
#define EXPORT __attribute__((visibility("default")))
#endif
EXPORT int64_t mascot_select(const Batch *batch, int64_t first, int64_t last);
EXPORT const char *mascot_variant(void);
EXPORT int64_t mascot_abi(void);

#endif
