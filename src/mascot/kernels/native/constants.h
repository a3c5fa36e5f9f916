/* Constants and codes. `mascot.kernels.constants` and `mascot.kernels.native` have the same values; tests compare them. */
#ifndef MASCOT_CONSTANTS_H
#define MASCOT_CONSTANTS_H

#define MASCOT_TIE 1e-10              /* gains closer than this share of the query's scale are equal */
#define MASCOT_CUTOFF 0.01            /* memberships below this are zero */
#define MASCOT_REACH 3.034854258770293 /* widths at which a bump falls to the cutoff: sqrt(2 ln 100) */
#define MASCOT_SCALE 8.0              /* self-scaled width: root-mean-square distance of two rows, divided by this */
#define MASCOT_SPACING 1.5            /* distance between self-scaled bin centres, in widths */
#define MASCOT_MARGIN 3               /* bins beyond the outermost rows of a self-scaled axis */
#define MASCOT_OUTLIER 3.23606797749979 /* standard deviations: 1 + sqrt(5) */
#define MASCOT_ROUNDS 3               /* passes of the outlier search */
#define MASCOT_LEAST 1e-13            /* share of the whole deviation below which the inliers are all the same */
#define MASCOT_BEYOND 12.0            /* widths from the outermost inlier to where outliers are put on an axis */
#define MASCOT_EARTH_KM 6371.0088
#define MASCOT_SMALLEST_KM 0.05       /* least self-scaled width on the globe */
#define MASCOT_NOTHING 1e-100         /* coverage below this counts as none */
#define MASCOT_COPY_TOLERANCE 1e-6    /* subtracted from thresholds of similarity: float32 rounds vectors by about as much */
#define MASCOT_LEADERS 24             /* most relevant candidates among which a focus looks for its centre */
#define MASCOT_ALIKE 0.4999999999     /* share of bins in common from which two candidates lie in the same area */

enum { SHAPE_LINE = 0, SHAPE_PLANE = 1, SHAPE_GLOBE = 2, SHAPE_LABELS = 3, SHAPE_VECTORS = 4 };
enum { SHARED = 1, FILLED = 2, HELD = 3 }; /* what a rule does where no candidate is allowed */
enum { PINNED = 0, PROTECTED = 1, BEST = 2 }; /* what decided at a place */
enum { ENTRY_CAUSE, ENTRY_KEPT_OUT, ENTRY_RULE, ENTRY_LEVEL, ENTRY_FIELDS };
enum { AXIS_START, AXIS_STEP, AXIS_COUNT, AXIS_SIGMA, AXIS_PERIOD, AXIS_SMALLEST, AXIS_FLOOR, AXIS_CEILING, AXIS_ORIGIN, AXIS_FIELDS };
enum {
    FLAG_QUERY_WEIGHT = 1, /* a bin is worth its peak relevance; otherwise it is worth 1 */
    FLAG_GUARDED = 4,      /* coverage is divided by its largest first-step value; a focus has three lists */
    FLAG_BALANCE = 16,     /* one result covers only its share of a bin of spread */
    FLAG_BY_RELEVANCE = 32 /* `ranked` is ordered by relevance; otherwise in the order of selection */
};

#endif
