/* Constants of the method, shared by C and CUDA. `mascot.kernels.constants` has the same values, and a test compares them. */
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

#endif
