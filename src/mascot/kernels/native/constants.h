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
#define MASCOT_EPSILON 1e-8           /* added to the range of scores when they are rescaled to 0..1 */
#define MASCOT_FENCE 10.0             /* interquartile ranges beyond the quartiles at which a score is an outlier */
#define MASCOT_FEW 4                  /* with fewer candidates no score is an outlier */
#define MASCOT_NOTHING 1e-100         /* coverage below this counts as none */
#define MASCOT_SAMPLE 32              /* candidates, of the better half, whose cosines are the scale of similarity */
#define MASCOT_NOVELTY 0.5            /* what full novelty earns under a spread, in units of relevance */
#define MASCOT_CLOSEST 2.0            /* largest scaled similarity under a spread: pairs above the scale still differ */
#define MASCOT_COPY 0.9               /* scaled similarity from which a candidate is a near-copy of a protected one */
#define MASCOT_COPY_TOLERANCE 1e-6    /* subtracted from thresholds of similarity: float32 rounds vectors by about as much */
#define MASCOT_LEADERS 24             /* most relevant candidates among which a focus looks for further starts */
#define MASCOT_ALIKE 0.4999999999      /* share of bins in common from which two candidates lie in the same area */
#define MASCOT_LABEL_PRICE 0.25       /* cost of a new label of a focus, in relevance of the best result */
#define MASCOT_EXCESS 1000 /* the cost of a result beyond a limit; a result beyond or below a share costs 1 */
#define MASCOT_SWAPS 100    /* that improve a plan */
#define MASCOT_FEW_SWAPS 2  /* that make room for a pick */
#define MASCOT_TENURE 7     /* steps in which a swap is not undone */
#define MASCOT_EXCHANGES 32 /* selections with smaller capacities, before a page is cut short */
#define MASCOT_STEPS_PER_PLACE 10 /* steps back of the search for an arrangement, before it gives up */
#define MASCOT_PROTECTED_STEP 0.8         /* strength of the run of a focus from the protected results alone */
#define MASCOT_CENTRE_STEPS {0.25, 0.6}   /* strengths of the runs from each centre */

enum { SHAPE_LINE = 0, SHAPE_PLANE = 1, SHAPE_GLOBE = 2, SHAPE_LABELS = 3, SHAPE_VECTORS = 4 };
enum { MISSING_LAST = 0, MISSING_NEUTRAL = 1 };
enum { AXIS_START, AXIS_STEP, AXIS_COUNT, AXIS_SIGMA, AXIS_PERIOD, AXIS_SMALLEST, AXIS_FLOOR, AXIS_CEILING, AXIS_ORIGIN, AXIS_FIELDS };
enum {
    FLAG_QUERY_WEIGHT = 1, /* a bin is worth its peak relevance; otherwise it is worth 1 */
    FLAG_NORMALIZE = 2,    /* relevance runs from 0 to 1; otherwise raw scores are used */
    FLAG_SCALE = 4,        /* coverage is divided by its largest first-step value */
    FLAG_ROBUST = 8,       /* scores that are far outliers count as the nearest score that is not */
    FLAG_BALANCE = 16,     /* one result covers only its share of a bin of spread */
    FLAG_BY_RELEVANCE = 32 /* `ranked` is ordered by relevance; otherwise in the order of selection */
};

#endif
