/* Bins on even axes: lines, circles and planes. */
#ifndef MASCOT_AXIS_H
#define MASCOT_AXIS_H

#include "bins.h"

static double larger_of(double a, double b) { return a > b ? a : b; }

/* Bumps on an even axis as products. The first bin in reach is x bins below the value. The bin j bins after it has
 * exp(-(x - j)^2 s^2 / 2) = exp(-x^2 s^2 / 2) * exp(x s^2)^j * exp(-j^2 s^2 / 2).
 * The last factor is a table of the axis, so a bump of any width costs two exponentials. */
typedef struct {
    double step;    /* s, the distance between centres in widths */
    double radius;  /* bins on either side of a value that its bump can reach */
    int64_t window; /* bins in reach, at most */
    double *table;  /* [window] exp(-j^2 s^2 / 2), 0 up to whole blocks; NULL: out of the range of the products */
    double top, edge; /* the largest x s^2, and exp(top) */
    double *first, *offset, *lowest, *ratio; /* [n] first bin in reach, x, exp(-x^2 s^2 / 2), exp(x s^2) */
} Bump;

enum { LONGEST_PRODUCT = 128, LARGE_WINDOW = 128, LARGE_PLANE = 1 << 18, MOST_BINS = 1 << 28 };
#define ROUNDING 1e-9 /* bins */

static Bump make_bump(Arena *arena, const double *axis, int64_t n) {
    if (!(axis[AXIS_COUNT] >= 1.0 && axis[AXIS_COUNT] <= MOST_BINS)) longjmp(arena->exhausted, 1);
    double step = axis[AXIS_STEP] / axis[AXIS_SIGMA], radius = MASCOT_REACH / step;
    if (!(radius >= 0.0 && radius < axis[AXIS_COUNT])) radius = axis[AXIS_COUNT];
    Bump bump = {.step = step, .radius = radius, .window = (int64_t)floor(2.0 * (radius + ROUNDING)) + 1};
    bump.first = take_doubles(arena, n);
    bump.offset = take_doubles(arena, n);
    bump.lowest = take_doubles(arena, n);
    bump.ratio = take_doubles(arena, n);
    bump.top = (radius + ROUNDING) * step * step;
    if (bump.top > 5.0 || bump.window > LONGEST_PRODUCT) return bump;
    bump.edge = exp(bump.top);
    bump.table = take_doubles(arena, whole_blocks(bump.window));
    for (int64_t j = 0; j < whole_blocks(bump.window); j++) {
        double d = (double)j * step;
        bump.table[j] = j < bump.window ? exp(-0.5 * d * d) : 0.0;
    }
    return bump;
}

/* Place the windows of n values; `u` is the value in bins. NaN stays NaN. */
static void place_windows(Bump *bump, const double *u, int64_t n) {
    double radius = bump->radius + ROUNDING, *restrict first = bump->first, *restrict offset = bump->offset;
    for (int64_t i = 0; i < n; i++) {
        first[i] = ceil(u[i] - radius);
        offset[i] = u[i] - first[i];
    }
    if (!bump->table) return;
    double s2 = bump->step * bump->step;
    for (int64_t i = 0; i < n; i += LANES) {
        vector x = load(offset + i);
        store(bump->lowest + i, exp_minus(x * x * all(0.5 * s2)));
        store(bump->ratio + i, all(bump->edge) * exp_minus(all(bump->top) - x * all(s2)));
    }
}

#define BIT_OF_LANE(bit) ((LANE_NUMBERS & (bit)) != 0) /* the lanes in whose number the bit is set */

/* Write the memberships of the bins in the window of candidate i, rounded up to whole blocks. */
INLINE void write_window(const Bump *bump, int64_t i, double *lanes) {
    if (!bump->table) {
        for (int64_t j = 0; j < bump->window; j += LANES) {
            vector d = (all(bump->offset[i] - (double)j) - STEPS) * all(bump->step);
            vector p = decay(d * d * all(0.5));
            store(lanes + j, where(STEPS < all((double)(bump->window - j)), p));
        }
        return;
    }
    double ratio = bump->ratio[i], block = ratio * ratio;
    vector factors = choose_lanes(BIT_OF_LANE(1), all(ratio), all(1.0)); /* powers of the ratio */
#if LANES > 2
    factors *= choose_lanes(BIT_OF_LANE(2), all(block), all(1.0));
    block *= block;
#endif
#if LANES > 4
    factors *= choose_lanes(BIT_OF_LANE(4), all(block), all(1.0));
    block *= block;
#endif
    factors *= all(bump->lowest[i]);
    for (int64_t j = 0; j < bump->window; j += LANES, factors *= all(block)) {
        vector p = factors * load(bump->table + j);
        store(lanes + j, where(p >= all(MASCOT_CUTOFF), p));
    }
}

static void pack_line(Arena *arena, Bins *b, const double *x, double *axis, int64_t n) {
    Bump bump = make_bump(arena, axis, n);
    int64_t count = (int64_t)axis[AXIS_COUNT], window = bump.window;
    int whole = axis[AXIS_PERIOD] > 0.0 && window >= count; /* the bump meets itself */
    if (whole) window = count;
    b->circle = axis[AXIS_PERIOD] > 0.0 ? count : 0;
    b->mirror = b->circle && !whole ? window - 1 : 0;
    b->pad = b->circle ? 0 : window;
    b->count = count;
    b->count_rows = 1;
    b->per_candidate = whole_blocks(window);
    b->blocks = b->per_candidate / LANES;
    b->rows = 1;
    b->stride = b->size = whole_blocks(count + 2 * b->pad + b->mirror + LANES);
    b->lanes = take_rows(arena, n, b->per_candidate);
    b->slot = take_integers(arena, n);
    if (!whole) b->site[0] = take_doubles(arena, whole_blocks(n));
    b->reach[0] = (double)window;
    b->reach[1] = b->circle ? (double)(count - window) : INFINITY;
    double *u = take_doubles(arena, n), inverse = 1.0 / axis[AXIS_STEP], around = (double)count;
    for (int64_t i = 0; i < n; i++) {
        double value = x[i] < axis[AXIS_FLOOR] ? axis[AXIS_FLOOR] : x[i] > axis[AXIS_CEILING] ? axis[AXIS_CEILING] : x[i];
        u[i] = (value - axis[AXIS_ORIGIN] - axis[AXIS_START]) * inverse;
        if (b->circle && !(u[i] > -0.5 && u[i] < around)) u[i] -= floor(u[i] / around) * around;
    }
    if (!whole) place_windows(&bump, u, n);
    for (int64_t i = 0; i < n; i++) {
        double *lanes = b->lanes + i * b->per_candidate;
        b->slot[i] = b->origin;
        if (whole && b->unknown[i] == 0.0) {
            for (int64_t j = 0; j < b->per_candidate; j++) {
                double d = fmod(fabs(u[i] - (double)j), around);
                d = (d < around - d ? d : around - d) * bump.step;
                double p = exp(-0.5 * d * d);
                lanes[j] = p >= MASCOT_CUTOFF && j < count ? p : 0.0;
            }
            continue;
        }
        double first = bump.first[i];
        if (b->unknown[i] != 0.0 || (!b->circle && !(first > (double)-window && first < around))) {
            memset(lanes, 0, (size_t)b->per_candidate * sizeof(double));
            if (!whole) b->site[0][i] = NAN;
            continue;
        }
        write_window(&bump, i, lanes);
        if (b->circle) first = first < 0.0 ? first + around : first >= around ? first - around : first;
        b->slot[i] += (int64_t)first + b->pad;
        b->site[0][i] = first;
    }
}

/* Return the blocks of each row that a bump can reach. Along both axes, a value lies between `radius - 1` and `radius` bins
 * after the first bin of its window. */
static Range *reach_of_rows(Arena *arena, const Bump *down, const Bump *along, int64_t blocks) {
    Range *range = arena_take(arena, (size_t)down->window * sizeof(Range));
    const double margin = 0.01, most = 2.0 * (along->radius + LANES); /* bins */
    for (int64_t row = 0; row < down->window; row++) {
        double before = down->radius - 1.0 - (double)row, after = (double)row - down->radius;
        double nearest = larger_of(larger_of(before, after) - margin, 0.0) * down->step;
        double half = sqrt(larger_of(MASCOT_REACH * MASCOT_REACH - nearest * nearest, 0.0)) / along->step + margin;
        if (!(half < most)) half = most;
        range[row].first = (int64_t)larger_of(floor((along->radius - 1.0 - half) / LANES), 0.0);
        range[row].last = (int64_t)floor((along->radius + half) / LANES) + 1;
        if (range[row].last > blocks) range[row].last = blocks;
    }
    return range;
}

static void pack_plane(Arena *arena, Bins *b, const double *x, const double *y, double axis[2][AXIS_FIELDS], int64_t n) {
    /* Rows run along the axis on which vectors waste fewer lanes. */
    Bump bumps[2] = {make_bump(arena, axis[0], n), make_bump(arena, axis[1], n)};
    const double *values[2] = {x, y};
    int outer = bumps[1].window * whole_blocks(bumps[0].window) < bumps[0].window * whole_blocks(bumps[1].window);
    Bump *down = bumps + outer, *along = bumps + 1 - outer;
    b->rows = down->window;
    b->blocks = whole_blocks(along->window) / LANES;
    b->count_rows = (int64_t)axis[outer][AXIS_COUNT];
    b->count = (int64_t)axis[1 - outer][AXIS_COUNT];
    b->pad_rows = down->window;
    b->pad = along->window;
    b->stride = b->count + 2 * b->pad + LANES;
    b->size = whole_blocks((b->count_rows + 2 * b->pad_rows) * b->stride + LANES);
    int64_t window = b->rows * b->blocks * LANES;
    b->product = window > LARGE_WINDOW || n > LARGE_PLANE / window;
    b->per_candidate = b->product ? b->blocks * LANES + whole_blocks(b->rows) : window;
    if (b->product) b->range = reach_of_rows(arena, down, along, b->blocks);
    b->lanes = take_rows(arena, n, b->per_candidate);
    b->slot = take_integers(arena, n);
    b->site[0] = down->first;
    b->site[1] = along->first;
    b->reach[0] = (double)down->window;
    b->reach[1] = (double)along->window;
    double *u = take_doubles(arena, n);
    for (int axis_number = 0; axis_number < 2; axis_number++) {
        double start = axis[axis_number][AXIS_START], inverse = 1.0 / axis[axis_number][AXIS_STEP];
        for (int64_t i = 0; i < n; i++) u[i] = (values[axis_number][i] - start) * inverse;
        place_windows(bumps + axis_number, u, n);
    }
    double *columns = take_doubles(arena, b->blocks * LANES), *factors = take_doubles(arena, whole_blocks(b->rows));
    for (int64_t i = 0; i < n; i++) {
        double *lanes = b->lanes + i * b->per_candidate, top = down->first[i], left = along->first[i];
        b->slot[i] = b->origin;
        int inside = top > (double)-down->window && top < (double)b->count_rows && left > (double)-along->window &&
                     left < (double)b->count; /* false for NaN */
        if (!inside) {
            memset(lanes, 0, (size_t)b->per_candidate * sizeof(double));
            down->first[i] = NAN;
            continue;
        }
        write_window(along, i, b->product ? lanes : columns);
        write_window(down, i, b->product ? lanes + b->blocks * LANES : factors);
        for (int64_t row = 0; row < b->rows && !b->product; row++)
            for (int64_t j = 0; j < b->blocks * LANES; j += LANES, lanes += LANES) {
                vector p = load(columns + j) * all(factors[row]);
                store(lanes, where(p >= all(MASCOT_CUTOFF), p));
            }
        b->slot[i] += ((int64_t)top + b->pad_rows) * b->stride + (int64_t)left + b->pad;
    }
}

#endif
