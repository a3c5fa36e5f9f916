/* Bins on the globe: a mesh of rings, each divided into equal cells 1.5 widths across; see `Globe` in mascot/bins/globe.py.
 *
 * If the cells within the candidates' range are few, they are numbered densely. Otherwise vectors of cells are hashed.
 */
#ifndef MASCOT_GLOBE_H
#define MASCOT_GLOBE_H

#include "bins.h"
#include "fit.h"
#include "hash.h"

enum { RINGS_CACHED = 256, DENSE_CELLS = 4096, DENSE_CELLS_EACH = 32, TABULATED_CELLS_EACH = 16 };
enum { MOST_RINGS = 8, TOGETHER = 16 }; /* at most 6 rings are in reach of a candidate; candidates whose cells are found together */
#define PI 3.14159265358979323846
#define HALF_PI_LESS_1 0.5708 /* for 0 <= z <= 1, z + 0.5708 z^3 is at least asin(z) */
#define SMALLEST_COSINE 1e-12 /* at the poles */

/* Rings by number, from `Globe.lowest` on, modulo RINGS_CACHED. Which cells of a ring have slots is known only if cells are
 * numbered densely. Vectors of rings may reach beyond the end. */
typedef struct {
    int64_t ring[RINGS_CACHED];
    double base[RINGS_CACHED + LANES]; /* slot of cell 0 */
    double cells[RINGS_CACHED + LANES], cosine[RINGS_CACHED + LANES], inverse[RINGS_CACHED + LANES]; /* and 1 / cosine */
    double lowest_cell[RINGS_CACHED + LANES], highest_cell[RINGS_CACHED + LANES]; /* cells with slots; infinite: all of them */
} Rings;

typedef struct {
    Rings *cache;
    int64_t rings, lowest; /* of the whole globe, and the first one within reach of a candidate */
    double height; /* of a ring, in radians */
    double reach, limit; /* radius of a bump in radians, and its haversine */
    double root, inverse_limit, fold; /* sqrt(limit), 1 / limit, 2 / width^2 */
    int dense;
    int64_t used;       /* dense: slots in use */
    double *sines, *cosines; /* dense: [used] of half the longitude of a cell; NULL: cells are too many */
    Table table;        /* otherwise: blocks of cells, by ring and number */
    int64_t next, keys; /* the next free slot, and the keys in the table */
} Globe;

/* What is computed once for each of the n candidates. */
typedef struct {
    double *lon, *sine, *cosine; /* longitude, and sine and cosine of its half */
    double *cos_lat, *inverse_lat; /* of the latitude */
    int64_t *first, *count; /* rings within reach */
} Points;

/* The cells of a candidate on each ring in reach, and the exponents of their memberships: across + along * hav(longitudes). */
typedef struct {
    double left[MOST_RINGS + LANES], right[MOST_RINGS + LANES], across[MOST_RINGS + LANES], along[MOST_RINGS + LANES];
    double slot[MOST_RINGS + LANES]; /* of the first cell, if one window has them all and they are tabulated; otherwise -1 */
} Spans;

INLINE Globe make_globe(Arena *arena, const Bins *b, double width) {
    if (!(width > 1e-9)) longjmp(arena->exhausted, 1); /* the number of rings must fit 32 bits */
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
    int64_t at = (ring - globe->lowest) % RINGS_CACHED;
    if (cache->ring[at] != ring) {
        double cosine = cos(((double)ring + 0.5) * globe->height - PI / 2);
        double cells = floor(2.0 * (double)globe->rings * cosine + 0.5);
        cache->ring[at] = ring;
        cache->cosine[at] = cosine;
        cache->inverse[at] = 1.0 / (cosine > SMALLEST_COSINE ? cosine : SMALLEST_COSINE);
        cache->cells[at] = cells < 1.0 ? 1.0 : cells;
        cache->lowest_cell[at] = -INFINITY;
        cache->highest_cell[at] = INFINITY;
    }
    return at;
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
    int64_t first_ring = (int64_t)ceil((south - globe->reach + PI / 2) / globe->height - 0.5 - 1e-9);
    int64_t last_ring = (int64_t)floor((north + globe->reach + PI / 2) / globe->height - 0.5 + 1e-9);
    if (first_ring < 0) first_ring = 0;
    if (last_ring > globe->rings - 1) last_ring = globe->rings - 1;
    Rings *cache = globe->cache;
    int64_t allowed = DENSE_CELLS + DENSE_CELLS_EACH * n, used = 0;
    double sine = sin(globe->reach);
    globe->lowest = first_ring;
    globe->dense = last_ring - first_ring + 1 <= RINGS_CACHED;
    for (int64_t ring = first_ring; globe->dense && ring <= last_ring; ring++) {
        int64_t at = look_up_ring(globe, ring);
        /* A circle of this reach around a point of the ring spans asin(z) of longitude, or all of it if it holds the pole. */
        double cells = cache->cells[at], inverse = cells / (2 * PI), z = sine * cache->inverse[at];
        double half = globe->reach < PI / 2 && z < 1.0 ? z + HALF_PI_LESS_1 * z * z * z + 1e-9 : PI;
        double first = floor((west - half + PI) * inverse - 0.5), last = ceil((east + half + PI) * inverse - 0.5);
        if (first < 0.0 || last > cells - 1.0 || last - first >= cells - 1.0) first = 0.0, last = cells - 1.0; /* the whole circle */
        else cache->lowest_cell[at] = first, cache->highest_cell[at] = last;
        cache->base[at] = (double)(b->origin + used) - first;
        used += (int64_t)(last - first) + 1 + LANES;
        if (used > allowed) globe->dense = 0;
    }
    globe->used = used;
}

/* Tabulate sine and cosine of half the longitude of every cell that has a slot, unless there are more cells than it is worth. */
INLINE void tabulate_cells(Arena *arena, Globe *globe, const Bins *b, int64_t n) {
    if (!globe->dense || globe->used > TABULATED_CELLS_EACH * n) return;
    globe->sines = take_doubles(arena, globe->used + LANES);
    globe->cosines = take_doubles(arena, globe->used + LANES);
    for (int64_t ring = globe->lowest, slot = 0; slot < globe->used; ring++) {
        int64_t at = look_up_ring(globe, ring), first = b->origin + slot - (int64_t)globe->cache->base[at];
        double half = PI / globe->cache->cells[at], last = globe->cache->highest_cell[at];
        int64_t count = (int64_t)(last < INFINITY ? last : globe->cache->cells[at] - 1.0) - first + 1;
        for (int64_t j = 0; j < count; j += LANES) {
            vector angle = (all((double)(first + j) + 0.5) + STEPS) * all(half) - all(PI / 2);
            store(globe->sines + slot + j, sine(angle));
            store(globe->cosines + slot + j, sine(all(PI / 2) - absolute(angle)));
        }
        slot += count + LANES;
    }
}

/* Move the windows to larger memory: near a pole a ring may be needed whole. */
static void grow_windows(Arena *arena, Bins *b, int64_t needed) {
    Bins old = *b;
    b->allocated = 2 * old.allocated + needed;
    b->slot = take_integers(arena, b->allocated);
    b->lanes = take_rows(arena, b->allocated, LANES);
    memcpy(b->slot, old.slot, (size_t)b->windows * sizeof(int64_t));
    memcpy(b->lanes, old.lanes, (size_t)b->windows * LANES * sizeof(double));
}

/* Return the slot of a block of cells. The table stays at most half full. */
INLINE int64_t slot_of_block(Arena *arena, Globe *globe, int64_t ring, int64_t block) {
    if (2 * (globe->keys + 1) > globe->table.mask) globe->table = larger_table(arena, globe->table);
    int64_t slot = slot_of(&globe->table, (ring << 32) + block, globe->next);
    if (slot == globe->next) globe->next += LANES, globe->keys++;
    return slot;
}

/* Return hav(lon - longitude) for the vector of cells from `cell` on, whose first slot is `slot`. */
INLINE vector along_ring(const Globe *globe, const Points *points, int64_t i, double cells, double cell, int64_t slot) {
    if (globe->sines) { /* sin(a - b) = sin(a) cos(b) - cos(a) sin(b) */
        vector half = all(points->sine[i]) * load(globe->cosines + slot) - all(points->cosine[i]) * load(globe->sines + slot);
        return half * half;
    }
    double width = 2 * PI / cells;
    vector x = all(points->lon[i] - ((cell + 0.5) * width - PI)) - STEPS * all(width);
    x = choose_lanes(x > all(PI), x - all(2 * PI), x); /* the short way round */
    return haversine(choose_lanes(x < all(-PI), x + all(2 * PI), x));
}

/* Find the cells of candidate i that are in reach on a vector of rings, from its ring number `lane` on. */
INLINE void span_rings(const Globe *globe, const Points *points, double lat, int64_t i, int64_t lane, Spans *spans) {
    const Rings *cache = globe->cache;
    int64_t ring = points->first[i] + lane, at = look_up_ring(globe, ring);
    vector cells = load(cache->cells + at), scale = cells * all(1.0 / (2 * PI)), one = all(1.0);
    vector across = haversine(all(lat) - ((all((double)ring + 0.5) + STEPS) * all(globe->height) - all(PI / 2)));
    /* At least sqrt((limit - across) / along), without a root or a division: sqrt(1 - t) <= 1 - t / 2, and the
     * geometric mean is below the arithmetic one. Cells that are out of reach all the same get membership 0. */
    vector z = all(globe->root * 0.5) * (all(points->inverse_lat[i]) + load(cache->inverse + at));
    z = smaller(larger(z * (one - all(0.5 * globe->inverse_limit) * across), all(0.0)), one);
    vector half = all(2.0) * (z + all(HALF_PI_LESS_1) * z * z * z) + all(1e-9); /* at least 2 asin(z) */
    vector left = round_up((all(points->lon[i] + PI) - half) * scale - all(0.5));
    vector right = -round_up(all(0.5) - (all(points->lon[i] + PI) + half) * scale);
    left = larger(left, load(cache->lowest_cell + at)); /* only cells that have slots */
    right = smaller(right, load(cache->highest_cell + at));
    right = smaller(right, left + cells - one);
    store(spans->left + lane, left);
    store(spans->right + lane, right);
    mask single = (left >= all(0.0)) & (right < cells) & (right >= left) & (right - left < all(globe->sines ? LANES : -1.0));
    store(spans->slot + lane, choose_lanes(single, load(cache->base + at) + left, all(-1.0)));
    store(spans->across + lane, across * all(globe->fold));
    store(spans->along + lane, all(points->cos_lat[i] * globe->fold) * load(cache->cosine + at));
}

/* Write the windows of candidate i on one ring: exp(-chord^2 / (2 width^2)), where chord^2 / 4 = across + along * hav. */
INLINE void pack_ring(Arena *arena, Globe *globe, Bins *b, const Points *points, int64_t i, int64_t lane, const Spans *spans) {
    int64_t ring = points->first[i] + lane, at = look_up_ring(globe, ring), cells = (int64_t)globe->cache->cells[at];
    int64_t left = (int64_t)spans->left[lane], right = (int64_t)spans->right[lane], first_block = -1;
    int64_t needed = b->windows + (right - left) / LANES + 5;
    if (needed > b->allocated) grow_windows(arena, b, needed);
    while (left <= right) {
        int64_t home = left < 0 ? left + cells : left >= cells ? left - cells : left;
        int64_t step, origin = home, slot, valid;
        if (globe->dense) {
            step = cells - home < LANES ? cells - home : LANES;
            if (step > right - left + 1) step = right - left + 1;
            valid = step;
            slot = (int64_t)globe->cache->base[at] + home;
        } else {
            int64_t block = home / LANES;
            if (block == first_block) break; /* once round the pole */
            if (first_block < 0) first_block = block;
            origin = block * LANES;
            step = LANES - home % LANES;
            if (step > cells - home) step = cells - home;
            valid = cells - origin;
            slot = slot_of_block(arena, globe, ring, block);
        }
        vector along = along_ring(globe, points, i, (double)cells, (double)origin, slot - b->origin);
        vector p = decay(all(spans->across[lane]) + all(spans->along[lane]) * along);
        add_window(b, slot, where(STEPS < all((double)valid), p));
        left += step;
    }
}

/* Write the only window of candidate i on one ring. */
INLINE void pack_window(Arena *arena, Globe *globe, Bins *b, const Points *points, int64_t i, int64_t lane, const Spans *spans) {
    if (b->windows == b->allocated) grow_windows(arena, b, 1);
    int64_t slot = (int64_t)spans->slot[lane], at = slot - b->origin;
    vector half = all(points->sine[i]) * load(globe->cosines + at) - all(points->cosine[i]) * load(globe->sines + at);
    vector p = decay(all(spans->across[lane]) + all(spans->along[lane]) * half * half);
    add_window(b, slot, where(STEPS <= all(spans->right[lane] - spans->left[lane]), p));
}

/* Compute what does not depend on the ring. */
static Points place_points(Arena *arena, const Globe *globe, const double *lats, double *lons, int64_t n) {
    double *arrays[4], inverse = 1.0 / globe->height;
    for (int j = 0; j < 4; j++) arrays[j] = take_doubles(arena, whole_blocks(n));
    int64_t *first = take_integers(arena, whole_blocks(n)), *count = take_integers(arena, whole_blocks(n));
    Points points = {lons, arrays[0], arrays[1], arrays[2], arrays[3], first, count};
    for (int64_t i = 0; i < n; i += LANES) {
        vector lat = load(lats + i), half = load(lons + i) * all(0.5), cosine = all(1.0) - all(2.0) * haversine(lat);
        store(points.sine + i, sine(half));
        store(points.cosine + i, sine(all(PI / 2) - absolute(half)));
        store(points.cos_lat + i, cosine);
        store(points.inverse_lat + i, all(1.0) / larger(cosine, all(SMALLEST_COSINE)));
        vector south = (lat - all(globe->reach - PI / 2)) * all(inverse), north = (lat + all(globe->reach + PI / 2)) * all(inverse);
        vector lowest = larger(round_up(south - all(0.5 + 1e-9)), all(0.0));
        vector highest = smaller(-round_up(all(0.5 - 1e-9) - north), all((double)globe->rings - 1.0));
        for (int64_t j = 0; j < LANES; j++) {
            first[i + j] = (int64_t)lowest[j];
            count[i + j] = (int64_t)(highest[j] - lowest[j]) + 1;
        }
    }
    return points;
}

static void pack_globe(Arena *arena, Bins *b, const double *lat, double *lon, double width, int64_t n) {
    Globe globe = make_globe(arena, b, width);
    number_cells(&globe, b, lat, lon, n);
    tabulate_cells(arena, &globe, b, n);
    double rings = floor(2.0 * globe.reach / globe.height) + 2.0; /* in reach of a candidate, three windows on each */
    allocate_windows(arena, b, n, 3 * n * (rings < (double)globe.rings ? (int64_t)rings : globe.rings));
    if (!globe.dense) globe.table = make_table(arena, b->allocated);
    Points points = place_points(arena, &globe, lat, lon, n);
    int64_t at_once = globe.dense ? LANES : 1; /* otherwise neighbouring rings may not be in the cache */
    b->first[0] = 0;
    Spans spans[TOGETHER]; /* found before they are needed, so that branches on them are decided early */
    for (int64_t start = 0; start < n; start += TOGETHER) {
        int64_t end = start + TOGETHER < n ? start + TOGETHER : n;
        for (int64_t i = start; i < end; i++)
            for (int64_t lane = 0; b->unknown[i] == 0.0 && lane < points.count[i]; lane += at_once)
                span_rings(&globe, &points, lat[i], i, lane, spans + i - start);
        for (int64_t i = start; i < end; i++) {
            for (int64_t lane = 0; b->unknown[i] == 0.0 && lane < points.count[i]; lane++) {
                if (spans[i - start].slot[lane] >= 0.0) pack_window(arena, &globe, b, &points, i, lane, spans + i - start);
                else pack_ring(arena, &globe, b, &points, i, lane, spans + i - start);
            }
            vector total = all(0.0);
            for (int64_t j = b->first[i]; j < b->windows; j++) total += load(b->lanes + j * LANES);
            end_windows(b, i, total);
        }
    }
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
