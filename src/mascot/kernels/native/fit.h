/* Widths that follow the candidates, for self-scaled axes. */
#ifndef MASCOT_FIT_H
#define MASCOT_FIT_H

#include "bins.h"

/* Return the root-mean-square distance of the inliers from their mean, and set `inlier` to 1 or 0 for each of the n points.
 * Points farther from the mean than MASCOT_OUTLIER deviations are outliers: mean and deviation are computed again without them. */
static double spread_of(double *const *points, int dimensions, int64_t n, double *inlier, double *squares) {
    double deviation = 0.0, whole = 0.0;
    int64_t inliers = n, reference = 0;
    for (int64_t i = 0; i < n; i++) inlier[i] = 1.0;
    for (int round = 0; round < (n ? MASCOT_ROUNDS : 0); round++) {
        while (inlier[reference] == 0.0) reference++;
        for (int64_t i = 0; i < n; i++) squares[i] = 0.0;
        for (int d = 0; d < dimensions; d++) {
            const double *x = points[d], origin = x[reference]; /* differences keep the digits of dates */
            vector totals = all(0.0);
            int64_t i = 0;
            for (; i + LANES <= n; i += LANES) totals += load(inlier + i) * (load(x + i) - all(origin));
            double mean = sum(totals);
            for (; i < n; i++) mean += inlier[i] * (x[i] - origin);
            mean /= (double)inliers;
            for (i = 0; i < n; i++) {
                double apart = x[i] - origin - mean;
                squares[i] += apart * apart;
            }
        }
        vector totals = all(0.0);
        int64_t i = 0;
        for (; i + LANES <= n; i += LANES) totals += load(inlier + i) * load(squares + i);
        double square = sum(totals);
        for (; i < n; i++) square += inlier[i] * squares[i];
        deviation = sqrt(square / (double)inliers);
        if (round == 0) whole = deviation;
        double fence = MASCOT_OUTLIER * deviation * (MASCOT_OUTLIER * deviation);
        int64_t inside = 0;
        for (i = 0; i < n; i++) inside += squares[i] <= fence;
        if (round == MASCOT_ROUNDS - 1 || inside == inliers || !inside) break;
        inliers = inside;
        for (i = 0; i < n; i++) inlier[i] = squares[i] <= fence ? 1.0 : 0.0;
    }
    if (deviation <= MASCOT_LEAST * whole) {
        for (int64_t i = 0; i < n; i++) inlier[i] = 1.0;
        deviation = whole;
    }
    return deviation;
}

/* Set width, start and number of bins of a self-scaled axis from the n known values. */
static void fit_axis(Arena *arena, double *values, int64_t n, double *axis) {
    double low = n ? values[0] : 0.0, high = low, sigma = axis[AXIS_SIGMA];
    for (int64_t i = 1; i < n; i++) {
        if (values[i] < low) low = values[i];
        if (values[i] > high) high = values[i];
    }
    if (sigma <= 0.0) { /* below 0: at most -sigma */
        double *inlier = take_doubles(arena, n), *squares = take_doubles(arena, n);
        double deviation = spread_of(&values, 1, n, inlier, squares);
        sigma = sqrt(2.0) * deviation / MASCOT_SCALE;
        if (sigma < axis[AXIS_SMALLEST]) sigma = axis[AXIS_SMALLEST];
        if (sigma == 0.0) sigma = 1.0;
        if (axis[AXIS_SIGMA] < 0.0 && sigma > -axis[AXIS_SIGMA]) sigma = -axis[AXIS_SIGMA];
        double first = INFINITY, last = -INFINITY;
        for (int64_t i = 0; i < n; i++) {
            if (inlier[i] == 0.0) continue;
            if (values[i] < first) first = values[i];
            if (values[i] > last) last = values[i];
        }
        first -= MASCOT_BEYOND * sigma;
        last += MASCOT_BEYOND * sigma;
        if (n && low < first) low = axis[AXIS_FLOOR] = first;
        if (n && high > last) high = axis[AXIS_CEILING] = last;
    }
    axis[AXIS_SIGMA] = sigma;
    axis[AXIS_STEP] = MASCOT_SPACING * sigma;
    axis[AXIS_ORIGIN] = low; /* differences from it keep the digits of dates */
    axis[AXIS_START] = -MASCOT_MARGIN * axis[AXIS_STEP];
    axis[AXIS_COUNT] = ceil((high - low) / axis[AXIS_STEP]) + 1 + 2 * MASCOT_MARGIN;
}

#endif
