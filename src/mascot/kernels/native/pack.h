/* The bins of one attribute for the candidates of one query, of whatever shape. */
#ifndef MASCOT_PACK_H
#define MASCOT_PACK_H

#include "axis.h"
#include "fit.h"
#include "globe.h"
#include "labels.h"

/* Lay out the bins of n candidates, starting at state index `origin`. */
static Bins pack_bins(Arena *arena, const Attribute *attribute, const int64_t *rows, int64_t n, int64_t origin) {
    double sign = attribute->share < 0.0 ? -1.0 : 1.0;
    Bins b = {.shape = attribute->shape, .neutral = attribute->neutral, .sign = sign, .origin = origin, .coverage_per_result = 1.0};
    b.unknown = take_doubles(arena, n);
    if (b.shape == SHAPE_VECTORS) return b; /* `pack_vectors` does the rest */
    if (b.shape == SHAPE_LABELS) {
        pack_labels(arena, &b, attribute, rows, n);
        return b;
    }
    double *x = take_doubles(arena, n + LANES), *y = take_doubles(arena, n + LANES), *values = x;
    double axis[2][AXIS_FIELDS];
    memcpy(axis, attribute->axis, sizeof axis);
    int64_t valid = 0;
    for (int64_t i = 0; i < n; i++) x[i] = attribute->x[rows[i]];
    for (int64_t i = 0; i < n; i++) y[i] = attribute->y ? attribute->y[rows[i]] : 0.0;
    for (int64_t i = 0; i < n; i++) {
        int known = x[i] == x[i] && y[i] == y[i]; /* not NaN */
        b.unknown[i] = known ? 0.0 : 1.0;
        valid += known;
    }
    for (int64_t i = n; i < n + LANES; i++) x[i] = y[i] = 0.0; /* vectors may reach beyond the end */
    if (b.shape == SHAPE_LINE) {
        if (valid < n) {
            values = take_doubles(arena, n);
            for (int64_t i = 0, j = 0; i < n; i++)
                if (b.unknown[i] == 0.0) values[j++] = x[i];
        }
        if (axis[0][AXIS_STEP] == 0.0) fit_axis(arena, values, valid, axis[0]);
        pack_line(arena, &b, x, axis[0], n);
    } else if (b.shape == SHAPE_PLANE) {
        pack_plane(arena, &b, x, y, axis, n);
    } else {
        unit_vectors(arena, &b, x, y, n);
        double width = axis[0][AXIS_SIGMA], km = width <= 0.0 ? fit_globe(arena, &b, n, valid) : width;
        if (width < 0.0 && km > -width) km = -width;
        double chord = 2.0 * MASCOT_REACH * km / MASCOT_EARTH_KM; /* bins of two candidates this far apart touch */
        b.reach[0] = chord * chord * (1.0 + 1e-9) + 1e-12;
        pack_globe(arena, &b, x, y, km / MASCOT_EARTH_KM, n);
    }
    return b;
}

#endif
