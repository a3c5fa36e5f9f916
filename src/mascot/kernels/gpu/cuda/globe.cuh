// The cells of the globe's mesh: rings of equal height, each divided into equal cells as wide as the ring is high.
#pragma once

#include "shapes.cuh"

enum { RING_COSINE, RING_CELLS, RING_FIRST, RING_WIDTH, RING_FIELDS };
constexpr int MOST_RINGS = 8;  // within reach of one point

struct Ring {
    double cosine, cell;
    int cells, slot;  // slot: of cell 0, if cells are numbered densely

    DEVICE_MEMBER Ring() : slot(0) {}

    DEVICE_MEMBER Ring(const Attribute& attribute, const double* arena, const double* fit, int ring) {
        const int stride = (int)fit[FIT_STRIDE];
        slot = 0;
        if (stride) {
            const int at = ring - (int)fit[FIT_LOWEST];
            const double* table = arena + attribute.keys + RING_FIELDS * at;
            cosine = table[RING_COSINE];
            cells = (int)table[RING_CELLS];
            cell = table[RING_WIDTH];
            slot = at * stride - (int)table[RING_FIRST];
        } else {
            measure(fit, ring);
        }
    }

    DEVICE_MEMBER void measure(const double* fit, int ring) {
        cosine = cos((ring + 0.5) * fit[FIT_HEIGHT] - PI / 2);
        cells = (int)fmax(floor(2 * fit[FIT_COUNT] * cosine + 0.5), 1.0);
        cell = 2 * PI / cells;
    }

    // Return how far along the ring cells lie within reach, rounded up: 2 arcsin(sqrt(rest / along)). Half a ring is rounded up,
    // too: a fused multiply-add would otherwise lose the cell where the two halves meet.
    DEVICE_MEMBER static double half(double rest, double along) {
        const float z = sqrtf(fmaxf((float)rest, 0.0f) / fmaxf((float)along, 1e-30f)) * 1.000002f;
        return z < 1.0f ? 2.00001 * asinf(z) + 1e-9 : PI + 1e-9;
    }
};

// Write the mesh of bins that are `km` kilometres wide.
DEVICE void make_mesh(double* fit, double km) {
    const double width = km / MASCOT_EARTH_KM, half_chord = fmin(MASCOT_REACH * width / 2, 1.0);
    const double rings = ceil(PI / (MASCOT_SPACING * width));
    *(u64*)(fit + FIT_POOL) = 0;
    fit[FIT_COUNT] = rings;
    fit[FIT_HEIGHT] = PI / rings;
    fit[FIT_REACH] = 2 * asin(half_chord);
    fit[FIT_LIMIT] = half_chord * half_chord;
    fit[FIT_FOLD] = 2 / (width * width);
}

// Set the rings within reach of the latitudes south .. north.
DEVICE void rings_around(const double* fit, double south, double north, int* first, int* last) {
    const double height = fit[FIT_HEIGHT], reach = fit[FIT_REACH];
    *first = (int)fmax(ceil((south - reach + PI / 2) / height - 0.5 - 1e-9), 0.0);
    *last = (int)fmin(floor((north + reach + PI / 2) / height - 0.5 + 1e-9), fit[FIT_COUNT] - 1);
}

// Store values and slots of the cells around candidate i in the pool, each slot once, because threads cover them at the same time.
// Returns false if there is not enough memory.
DEVICE bool pool_cells(const Query& q, const Attribute& attribute, int i) {
    const i64 row = q.row(i);
    const double lat = attribute.xs[row], lon = attribute.ys[row];
    double* fit = q.arena + attribute.fit;
    u64* word = (u64*)(q.arena + attribute.data) + i;
    *word = ~0ull;
    if (!(lat == lat && lon == lon)) return true;
    int from[MOST_RINGS], many[MOST_RINGS];
    int total = 0, first, last;
    const double limit = fit[FIT_LIMIT], fold = fit[FIT_FOLD], height = fit[FIT_HEIGHT], cos_lat = 1.0 - 2.0 * haversine(lat);
    rings_around(fit, lat, lat, &first, &last);
    if (last >= first + MOST_RINGS) return false;
    ROLLED for (int r = first; r <= last; ++r) {
        const Ring ring(attribute, q.arena, fit, r);
        const double half = Ring::half(limit - haversine(lat - ((r + 0.5) * height - PI / 2)), cos_lat * ring.cosine);
        const double inverse = ring.cells * (0.5 / PI);
        const int left = (int)ceil((lon - half + PI) * inverse - 0.5), right = (int)floor((lon + half + PI) * inverse - 0.5);
        from[r - first] = left;
        total += many[r - first] = right - left < ring.cells ? right - left + 1 : ring.cells;
    }
    const u64 at = reserve((u64*)(fit + FIT_POOL), (u64)total);
    if (at + total > (u64)attribute.pool_size) return false;
    int count = 0;
    double* values = q.arena + attribute.pool + at;
    Slot* slots = (Slot*)(q.arena + attribute.pool_slots) + at;
    const bool dense = fit[FIT_STRIDE] != 0.0;
    bool fits = true;
    ROLLED for (int r = first; r <= last; ++r) {
        const Ring ring(attribute, q.arena, fit, r);
        const double across = haversine(lat - ((r + 0.5) * height - PI / 2)) * fold, along = cos_lat * ring.cosine * fold;
        const int left = from[r - first], end = left + many[r - first];
        ROLLED for (int cell = left; cell < end; ++cell) {
            const int home = cell < 0 ? cell + ring.cells : cell >= ring.cells ? cell - ring.cells : cell;
            double x = lon - ((home + 0.5) * ring.cell - PI);
            if (x > PI) x -= 2 * PI;
            if (x < -PI) x += 2 * PI;
            const double p = decay(across + along * haversine(x));
            if (!(p > 0.0)) continue;
            const int slot = dense ? ring.slot + home : slot_of(attribute, q.arena, (i64)r << 32 | home, true);
            fits &= slot >= 0;
            values[count] = p;
            slots[count++] = (Slot)slot;
        }
    }
    *word = at << 32 | (u32)count;
    return fits;
}

// Write a ring of the table, and return how many of its cells a candidate between `west` and `east` can reach.
DEVICE double number_ring(const double* fit, double* table, int number, int lowest, double west, double east) {
    Ring ring;
    ring.measure(fit, lowest + number);
    // A cap of radius `reach` that touches the ring spans at most 2 arcsin(sin(reach) / cosine) of longitude.
    const double inverse = ring.cells * (0.5 / PI), limit = fit[FIT_LIMIT];
    const double ratio = limit < 0.5 ? 2 * sqrt(limit * (1.0 - limit)) / ring.cosine : 1.0;
    const double half = ratio < 1.0 ? asin(ratio) : PI;
    double first = floor((west - half + PI) * inverse - 0.5), last = ceil((east + half + PI) * inverse - 0.5);
    if (first < 0.0 || last > ring.cells - 1.0) first = 0.0, last = ring.cells - 1.0;  // the whole circle
    double* place = table + RING_FIELDS * number;
    place[RING_COSINE] = ring.cosine;
    place[RING_CELLS] = ring.cells;
    place[RING_FIRST] = first;
    place[RING_WIDTH] = ring.cell;
    return last - first + 1.0;
}

// Number the cells within the candidates' range densely, if they are few; otherwise prepare the hash table.
DEVICE void number_cells(Query& q, const Attribute& attribute) {
    Private<double> low, high, width;
    double* fit = q.arena + attribute.fit;
    double* table = q.arena + attribute.keys;
    double ends[4];
    for (int axis = 0; axis < 2; ++axis) {
        EACH_THREAD {
            MY(low) = MY(high) = -INFINITE;
            ROLLED for (int i = t; i < q.n; i += THREADS) {
                const i64 row = q.row(i);
                const double lat = attribute.xs[row], lon = attribute.ys[row], x = axis ? lon : lat;
                if (lat == lat && lon == lon) MY(low) = fmax(MY(low), -x), MY(high) = fmax(MY(high), x);
            }
        }
        block_max_both(q.team, low, high, ends + 2 * axis, ends + 2 * axis + 1);
    }
    const double south = -ends[0], north = ends[1], west = -ends[2], east = ends[3];
    int lowest = 0, highest = -1, stride = 0;
    if (south <= north) rings_around(fit, south, north, &lowest, &highest);
    const int rings = highest - lowest + 1;
    if (rings > 0 && rings <= attribute.slots / RING_FIELDS) {
        EACH_THREAD {
            MY(width) = 0.0;
            ROLLED for (int r = t; r < rings; r += THREADS)
                MY(width) = fmax(MY(width), number_ring(fit, table, r, lowest, west, east));
        }
        const double widest = block_max(q.team, width);
        if (widest * rings <= (double)attribute.slots) stride = (int)widest;
    }
    SYNC;
    EACH_THREAD {
        if (t == 0) fit[FIT_LOWEST] = lowest, fit[FIT_STRIDE] = stride;
        if (!stride) for (int j = t; j < attribute.slots; j += THREADS) ((u64*)table)[j] = ~0ull;
    }
    SYNC;
}
