/* The interface between Python and the native kernel.
 *
 * All arrays belong to the caller. Python fills these structures (see __init__.py, which repeats the layouts);
 * every field is eight bytes wide, so that no compiler adds padding.
 */
#ifndef MASCOT_KERNEL_H
#define MASCOT_KERNEL_H

#include <stdint.h>

enum { SHAPE_LINE = 0, SHAPE_PLANE = 1, SHAPE_GLOBE = 2, SHAPE_LABELS = 3 };
enum { MISSING_LAST = 0, MISSING_NEUTRAL = 1 };
enum { AXIS_START, AXIS_STEP, AXIS_COUNT, AXIS_SIGMA, AXIS_PERIOD, AXIS_SMALLEST, AXIS_FLOOR, AXIS_CEILING, AXIS_FIELDS };
enum {
    FLAG_QUERY_WEIGHT = 1, /* a bin is worth its peak relevance; otherwise it is worth 1 */
    FLAG_NORMALIZE = 2,    /* relevance runs from 0 to 1; otherwise raw scores are used */
    FLAG_SCALE = 4,        /* coverage is divided by its largest first-step value */
    FLAG_ROBUST = 8,       /* scores that are far outliers count as the nearest score that is not */
    FLAG_BALANCE = 16,     /* one result fills only its share of a bin of spread */
    FLAG_BY_RELEVANCE = 32 /* `ranked` is ordered by relevance; otherwise in the order of selection */
};

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
} Attribute;

/* At most capacity[label] results for each label. */
typedef struct {
    const int64_t *indptr; /* row r has labels[indptr[r] .. indptr[r + 1]]; NULL: one label per row, labels[r] */
    const int64_t *labels; /* in 0 .. count - 1; -1: no label, never limited */
    const int64_t *capacity;
    int64_t count;
    int64_t stages; /* the quota holds in this many of the three stages */
} Quota;

/* Q queries over one corpus; query q has the candidates ptr[q] .. ptr[q + 1]. */
typedef struct {
    int64_t attributes, quotas, k, protect, flags;
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
    double *multipliers, *tops, *capacities; /* [Q, A] */
    int64_t *stages;    /* [Q] how many stages the quotas needed: 1 if all were met */
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
