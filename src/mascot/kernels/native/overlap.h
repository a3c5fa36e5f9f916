/* Which candidates can share bins with a given one: only these are affected when its bins are covered. */
#ifndef MASCOT_OVERLAP_H
#define MASCOT_OVERLAP_H

#include "bins.h"

/* Where the bins of a candidate lie: LINE: its first bin; PLANE: its first row and column; GLOBE: a unit vector; LABELS: the bin. */
typedef struct {
    vector x, y, z;
} Site;

enum { ANYWHERE = -1 };

INLINE Site site_of(const Bins *b, int64_t shape, int64_t i) {
    Site site = {0};
    if (shape == ANYWHERE) return site;
    site.x = all(b->site[0][i]);
    if (shape == SHAPE_PLANE || shape == SHAPE_GLOBE) site.y = all(b->site[1][i]);
    if (shape == SHAPE_GLOBE) site.z = all(b->site[2][i]);
    return site;
}

/* Return which of the candidates i .. i + LANES - 1 can share bins with the one at `other`. A missing value (NaN) shares none. */
INLINE mask overlap(const Bins *b, int64_t shape, int64_t i, const Site *other) {
    if (shape == ANYWHERE) return all(0.0) == all(0.0);
    vector x = load(b->site[0] + i) - other->x;
    if (shape == SHAPE_GLOBE) { /* the square of the chord */
        vector y = load(b->site[1] + i) - other->y, z = load(b->site[2] + i) - other->z;
        return x * x + y * y + z * z <= all(b->reach[0]);
    }
    x = absolute(x);
    if (shape == SHAPE_PLANE) {
        vector y = absolute(load(b->site[1] + i) - other->y);
        return (x < all(b->reach[0])) & (y < all(b->reach[1]));
    }
    return (x < all(b->reach[0])) | (x > all(b->reach[1])); /* the other way round a circle */
}

#endif
