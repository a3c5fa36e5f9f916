/* Bins on the globe: a mesh of rings, each divided into equal cells 1.5 widths across; see `Globe` in mascot/bins/globe.py.
 *
 * If the cells within the candidates' range are few, they are numbered densely. Otherwise vectors of cells are hashed.
 */
#ifndef MASCOT_GLOBE_H
#define MASCOT_GLOBE_H

#include "bins.h"
#include "fit.h"
#include "hash.h"

enum { RINGS_CACHED = 256, DENSE_CELLS = 4096, DENSE_CELLS_EACH = 32 };
#define PI 3.14159265358979323846
#define HALF_PI_LESS_1 0.5708 /* for 0 <= z <= 1, z + 0.5708 z^3 is at least asin(z) */
#define SMALLEST_COSINE 1e-12 /* at the poles */

/* Rings by number modulo RINGS_CACHED; the cells of a ring that have slots are known only if cells are numbered densely. */
typedef struct {
    int64_t ring[RINGS_CACHED], cells[RINGS_CACHED];
    double cosine[RINGS_CACHED], inverse[RINGS_CACHED]; /* and 1 / cosine */
    int64_t base[RINGS_CACHED], lowest_cell[RINGS_CACHED], highest_cell[RINGS_CACHED]; /* slot of cell 0, cells with slots */
} Rings;

typedef struct {
    Rings *cache;
    int64_t rings;
    double height; /* of a ring, in radians */
    double reach, limit; /* radius of a bump in radians, and its haversine */
    double root, inverse_limit, fold; /* sqrt(limit), 1 / limit, 2 / width^2 */
    int dense;
    int64_t used;       /* dense: slots in use */
    Table table;        /* otherwise: blocks of cells, by ring and number */
    int64_t next, keys; /* the next free slot, and the keys in the table */
    int64_t allocated, windows;
} Globe;

/* The rings first .. last. */
typedef struct {
    int64_t first, last;
} RingRange;

/* A candidate, and what is computed once for it or for each of its rings. */
typedef struct {
    double lat, lon, cos_lat, inverse_lat;
    int64_t ring;
    double across; /* haversine of the difference of latitude to the centre of the ring */
} Point;

INLINE double inverse_cosine(double cosine) { return 1.0 / (cosine > SMALLEST_COSINE ? cosine : SMALLEST_COSINE); }

INLINE Globe make_globe(Arena *arena, const Bins *b, double width) {
    Globe globe = {.cache = arena_take(arena, sizeof(Rings)), .next = b->origin};
    for (int j = 0; j < RINGS_CACHED; j++) globe.cache->ring[j] = -1;
    globe.rings = (int64_t)ceil(PI / (MASCOT_SPACING * width));
    globe.height = PI / (double)globe.rings;
    double half_chord = MASCOT_REACH * width / 2.0;
    globe.limit = half_chord < 1.0 ? half_chord * half_chord : 1.0;
    globe.reach = half_chord < 1.0 ? 2.0 * asin(half_chord) : PI;
    globe.root = sqrt(globe.limit);
    globe.inverse_limit = 1.0 / globe.limit;
    globe.fold = 2.0 / (width * width);
    return globe;
}

/* Compute cosine and number of cells of a ring, if they are not in the cache. Returns its index in the cache. */
INLINE int64_t look_up_ring(const Globe *globe, int64_t ring) {
    Rings *cache = globe->cache;
    int64_t at = ring % RINGS_CACHED;
    if (cache->ring[at] != ring) {
        double cosine = cos(((double)ring + 0.5) * globe->height - PI / 2);
        double cells = floor(2.0 * (double)globe->rings * cosine + 0.5);
        cache->ring[at] = ring;
        cache->cosine[at] = cosine;
        cache->inverse[at] = inverse_cosine(cosine);
        cache->cells[at] = cells < 1.0 ? 1 : (int64_t)cells;
    }
    return at;
}

/* Return the rings within reach of the latitudes south .. north. */
INLINE RingRange rings_in_reach(const Globe *globe, double south, double north) {
    RingRange range;
    range.first = (int64_t)ceil((south - globe->reach + PI / 2) / globe->height - 0.5 - 1e-9);
    range.last = (int64_t)floor((north + globe->reach + PI / 2) / globe->height - 0.5 + 1e-9);
    if (range.first < 0) range.first = 0;
    if (range.last > globe->rings - 1) range.last = globe->rings - 1;
    return range;
}

/* Number the cells of each ring within the candidates' range, unless they are many. */
INLINE void number_cells(Globe *globe, const Bins *b, const double *lat, const double *lon, int64_t n) {
    double south = INFINITY, north = -INFINITY, west = INFINITY, east = -INFINITY;
    for (int64_t i = 0; i < n; i++) {
        if (b->unknown[i] != 0.0) continue;
        if (lat[i] < south) south = lat[i];
        if (lat[i] > north) north = lat[i];
        if (lon[i] < west) west = lon[i];
        if (lon[i] > east) east = lon[i];
    }
    if (south > north) south = north = west = east = 0.0; /* no place is known */
    RingRange range = rings_in_reach(globe, south, north);
    Rings *cache = globe->cache;
    int64_t allowed = DENSE_CELLS + DENSE_CELLS_EACH * n, used = 0;
    double sine = sin(globe->reach);
    globe->dense = range.last - range.first + 1 <= RINGS_CACHED;
    for (int64_t ring = range.first; globe->dense && ring <= range.last; ring++) {
        int64_t at = look_up_ring(globe, ring), cells = cache->cells[at];
        /* A circle of this reach around a point of the ring spans asin(z) of longitude, or all of it if it holds the pole. */
        double inverse = (double)cells / (2 * PI), cosine = cache->cosine[at];
        double z = sine / (cosine > SMALLEST_COSINE ? cosine : SMALLEST_COSINE);
        double half = globe->reach < PI / 2 && z < 1.0 ? z + HALF_PI_LESS_1 * z * z * z + 1e-9 : PI;
        double first = floor((west - half + PI) * inverse - 0.5), last = ceil((east + half + PI) * inverse - 0.5);
        if (first < 0.0 || last > (double)(cells - 1)) first = 0.0, last = (double)(cells - 1); /* the whole circle */
        cache->base[at] = b->origin + used - (int64_t)first;
        cache->lowest_cell[at] = (int64_t)first;
        cache->highest_cell[at] = (int64_t)last;
        used += (int64_t)(last - first) + 1 + LANES;
        if (used > allowed) globe->dense = 0;
    }
    globe->used = used;
}

/* Allocate windows: for each candidate the rings within reach, times three blocks per ring. */
INLINE void allocate_windows(Arena *arena, Globe *globe, Bins *b, int64_t n) {
    double reached = floor(2.0 * globe->reach / globe->height) + 2.0;
    int64_t most_rings = reached < (double)globe->rings ? (int64_t)reached : globe->rings;
    globe->allocated = n * most_rings * 3 + LANES;
    b->slot = take_integers(arena, globe->allocated);
    b->lanes = take_doubles(arena, globe->allocated * LANES);
    b->first = take_integers(arena, n + 1);
    if (!globe->dense) globe->table = make_table(arena, globe->allocated);
}

/* Move the windows to larger memory: near a pole a ring may be needed whole. */
INLINE void grow_windows(Arena *arena, Globe *globe, Bins *b, int64_t needed) {
    int64_t more = 2 * globe->allocated + needed;
    int64_t *slot = take_integers(arena, more);
    double *lanes = take_doubles(arena, more * LANES);
    memcpy(slot, b->slot, (size_t)globe->windows * sizeof(int64_t));
    memcpy(lanes, b->lanes, (size_t)globe->windows * LANES * sizeof(double));
    b->slot = slot;
    b->lanes = lanes;
    globe->allocated = more;
}

/* Return the slot of a block of cells. The table stays at most half full. */
INLINE int64_t slot_of_block(Arena *arena, Globe *globe, int64_t ring, int64_t block) {
    if (2 * (globe->keys + 1) > globe->table.mask) globe->table = larger_table(arena, globe->table);
    int64_t slot = slot_of(&globe->table, (ring << 32) + block, globe->next);
    if (slot == globe->next) globe->next += LANES, globe->keys++;
    return slot;
}

/* Write memberships of one vector of cells: exp(-chord^2 / (2 width^2)), where
 * chord^2 = 4 (across + along * hav(difference of longitude)). */
INLINE void write_cells(double *lanes, double across, double along, double apart, double cell, double fold, int64_t count) {
    vector x = all(apart) - STEPS * all(cell);
    x = choose_lanes(x > all(PI), x - all(2 * PI), x); /* the short way round */
    x = choose_lanes(x < all(-PI), x + all(2 * PI), x);
    vector p = decay((all(across) + all(along) * haversine(x)) * all(fold));
    store(lanes, where(STEPS < all((double)count), p));
}

/* Write the windows of a candidate on one ring. */
INLINE void pack_ring(Arena *arena, Globe *globe, Bins *b, const Point *point) {
    const Rings *cache = globe->cache;
    int64_t at = look_up_ring(globe, point->ring), cells = cache->cells[at];
    double along = point->cos_lat * cache->cosine[at], cell = 2 * PI / (double)cells, inverse = (double)cells / (2 * PI);
    /* At least sqrt((limit - across) / along), without a root or a division: sqrt(1 - t) <= 1 - t / 2, and the
     * geometric mean is below the arithmetic one. Cells that are out of reach all the same get membership 0. */
    double z = globe->root * 0.5 * (point->inverse_lat + cache->inverse[at]) * (1.0 - 0.5 * point->across * globe->inverse_limit);
    z = z > 1.0 ? 1.0 : z > 0.0 ? z : 0.0;
    double half = 2.0 * (z + HALF_PI_LESS_1 * z * z * z) + 1e-9; /* at least 2 asin(z) */
    int64_t left = (int64_t)ceil((point->lon - half + PI) * inverse - 0.5);
    int64_t right = (int64_t)floor((point->lon + half + PI) * inverse - 0.5);
    if (globe->dense && cache->highest_cell[at] - cache->lowest_cell[at] < cells - 1) { /* only cells that have slots */
        if (left < cache->lowest_cell[at]) left = cache->lowest_cell[at];
        if (right > cache->highest_cell[at]) right = cache->highest_cell[at];
    }
    if (right > left + cells - 1) right = left + cells - 1;
    int64_t needed = globe->windows + (right - left + 1 + LANES) / LANES + 3, first_block = -1;
    if (needed > globe->allocated) grow_windows(arena, globe, b, needed);
    while (left <= right) {
        int64_t home = left < 0 ? left + cells : left >= cells ? left - cells : left;
        int64_t step, origin = home, slot;
        if (globe->dense) {
            step = cells - home < LANES ? cells - home : LANES;
            if (step > right - left + 1) step = right - left + 1;
            slot = cache->base[at] + home;
        } else {
            int64_t block = home / LANES;
            if (block == first_block) break; /* once round the pole */
            if (first_block < 0) first_block = block;
            origin = block * LANES;
            step = LANES - home % LANES;
            if (step > cells - home) step = cells - home;
            slot = slot_of_block(arena, globe, point->ring, block);
        }
        double centre = ((double)origin + 0.5) * cell - PI;
        int64_t valid = globe->dense ? step : cells - origin;
        write_cells(b->lanes + globe->windows * LANES, point->across, along, point->lon - centre, cell, globe->fold, valid);
        b->slot[globe->windows++] = slot;
        left += step;
    }
}

static void pack_globe(Arena *arena, Bins *b, const double *lat, const double *lon, double width, int64_t n) {
    Globe globe = make_globe(arena, b, width);
    number_cells(&globe, b, lat, lon, n);
    allocate_windows(arena, &globe, b, n);
    for (int64_t i = 0; i < n; i++) {
        b->first[i] = globe.windows;
        if (b->unknown[i] != 0.0) continue;
        Point point = {.lat = lat[i], .lon = lon[i], .cos_lat = 1.0 - 2.0 * haversine(all(lat[i]))[0]};
        point.inverse_lat = inverse_cosine(point.cos_lat);
        RingRange range = rings_in_reach(&globe, lat[i], lat[i]);
        vector across = all(0.0);
        for (int64_t ring = range.first, lane = 0; ring <= range.last; ring++, lane = (lane + 1) % LANES) {
            if (lane == 0) { /* a vector of rings at a time; lanes beyond the last ring are not used */
                vector centres = (all((double)ring + 0.5) + STEPS) * all(globe.height) - all(PI / 2);
                across = haversine(all(lat[i]) - centres);
            }
            point.ring = ring;
            point.across = across[lane];
            pack_ring(arena, &globe, b, &point);
        }
    }
    b->first[n] = globe.windows;
    b->size = whole_blocks((globe.dense ? globe.used : globe.next - b->origin) + LANES);
}

/* Compute the points of the globe as unit vectors, NaN if missing: cos(t) = 1 - 2 hav(t), sin(t) = cos(t - pi / 2). */
static void unit_vectors(Arena *arena, Bins *b, const double *lats, const double *lons, int64_t n) {
    for (int d = 0; d < 3; d++) b->site[d] = take_doubles(arena, whole_blocks(n));
    for (int64_t i = 0; i < n; i += LANES) {
        vector lat = load(lats + i), lon = load(lons + i), turned = lon - all(PI / 2);
        turned = choose_lanes(turned < all(-PI), turned + all(2 * PI), turned);
        vector cos_lat = all(1.0) - all(2.0) * haversine(lat);
        store(b->site[0] + i, cos_lat * (all(1.0) - all(2.0) * haversine(lon)));
        store(b->site[1] + i, cos_lat * (all(1.0) - all(2.0) * haversine(turned)));
        store(b->site[2] + i, all(1.0) - all(2.0) * haversine(all(PI / 2) - lat));
    }
}

/* Return the self-scaled width of the bins in kilometres, from the unit vectors of the `valid` known places. */
static double fit_globe(Arena *arena, const Bins *b, int64_t n, int64_t valid) {
    double *inlier = take_doubles(arena, n), *squares = take_doubles(arena, n), *known[3];
    for (int d = 0; d < 3; d++) {
        known[d] = valid == n ? b->site[d] : take_doubles(arena, n);
        for (int64_t i = 0, m = 0; i < n && valid < n; i++)
            if (b->unknown[i] == 0.0) known[d][m++] = b->site[d][i];
    }
    double km = sqrt(2.0) * MASCOT_EARTH_KM * spread_of(known, 3, valid, inlier, squares) / MASCOT_SCALE;
    return km < MASCOT_SMALLEST_KM ? MASCOT_SMALLEST_KM : km;
}

#endif
