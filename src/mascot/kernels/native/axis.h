/* Bins on even axes: lines, circles and planes. */
#ifndef MASCOT_AXIS_H
#define MASCOT_AXIS_H

#include "bins.h"

/* Bumps on an even axis. */
typedef struct {
    double step;    /* the distance between centres in widths */
    int64_t window; /* bins in reach, at most */
    double *u, *first; /* [n] the value in bins, and the first bin in reach */
} Bump;

enum { MOST_BINS = 1 << 28 };
#define ROUNDING 1e-9 /* bins */

/* Place the windows of n values. NaN stays NaN. */
static Bump make_bump(Arena *arena, const double *axis, const double *values, int64_t n) {
    if (!(axis[AXIS_COUNT] >= 1.0 && axis[AXIS_COUNT] <= MOST_BINS)) longjmp(arena->exhausted, 1);
    double step = axis[AXIS_STEP] / axis[AXIS_SIGMA], radius = MASCOT_REACH / step;
    double inverse = 1.0 / axis[AXIS_STEP], around = axis[AXIS_COUNT];
    if (!(radius >= 0.0 && radius < around)) radius = around;
    Bump bump = {step, (int64_t)floor(2.0 * (radius + ROUNDING)) + 1, take_doubles(arena, n), take_doubles(arena, whole_blocks(n))};
    for (int64_t i = 0; i < n; i++) {
        double value = values[i] < axis[AXIS_FLOOR] ? axis[AXIS_FLOOR] : values[i];
        if (value > axis[AXIS_CEILING]) value = axis[AXIS_CEILING];
        double u = (value - axis[AXIS_ORIGIN] - axis[AXIS_START]) * inverse;
        if (axis[AXIS_PERIOD] > 0.0 && !(u > -0.5 && u < around)) u -= floor(u / around) * around;
        bump.u[i] = u;
        bump.first[i] = ceil(u - (radius + ROUNDING));
    }
    return bump;
}

/* Return the memberships of LANES bins in the window of candidate i, from its bin j on. */
INLINE vector bump_at(const Bump *bump, int64_t i, int64_t j) {
    vector d = (all(bump->u[i] - bump->first[i] - (double)j) - STEPS) * all(bump->step);
    return where(STEPS < all((double)(bump->window - j)), decay(d * d * all(0.5)));
}

/* The same on a circle that the bump surrounds: the shorter way round to bins j .. j + LANES - 1 of `count`. */
INLINE vector bump_around(const Bump *bump, int64_t i, int64_t j, double count) {
    vector d = absolute(all(bump->u[i] - (double)j) - STEPS);
    d = smaller(d, absolute(all(count) - d)) * all(bump->step);
    return decay(d * d * all(0.5));
}

/* Return the lanes that are bins of an axis: bin .. bin + LANES - 1 of `count`. */
INLINE mask real_bins(double bin, double count) {
    vector number = all(bin) + STEPS;
    return (number >= all(0.0)) & (number < all(count));
}

/* Add a window from number `bin` of an axis on. The state has `pad` bins before the axis. Returns its memberships. */
INLINE vector add_bins(Bins *b, int64_t pad, int64_t bin, int64_t count, vector p) {
    if (bin >= count || bin + LANES <= 0) return all(0.0);
    p = where(real_bins((double)bin, (double)count), p);
    add_window(b, b->origin + pad + bin, p);
    return p;
}

static void pack_line(Arena *arena, Bins *b, const double *x, double *axis, int64_t n) {
    Bump bump = make_bump(arena, axis, x, n);
    int64_t count = (int64_t)axis[AXIS_COUNT], window = bump.window;
    int circle = axis[AXIS_PERIOD] > 0.0, whole = circle && window >= count; /* the bump meets itself */
    if (whole) window = count;
    b->size = whole_blocks(window + count + LANES);
    allocate_windows(arena, b, n, n * (whole_blocks(window) / LANES + circle)); /* the seam may divide a window */
    if (!whole) b->site[0] = take_doubles(arena, whole_blocks(n));
    b->reach[0] = (double)window;
    b->reach[1] = circle ? (double)(count - window) : INFINITY;
    b->first[0] = 0;
    for (int64_t i = 0; i < n; i++) {
        vector total = all(0.0);
        double first = bump.first[i], around = (double)count;
        int inside = b->unknown[i] == 0.0 && (circle || (first > (double)-window && first < around));
        if (circle) first = first < 0.0 ? first + around : first >= around ? first - around : first;
        if (!whole) b->site[0][i] = inside ? first : NAN;
        int divided = circle && !whole && first + (double)window > around; /* by the seam */
        for (int64_t j = 0, bin = whole || !inside ? 0 : (int64_t)first; inside && j < window; j += LANES, bin += LANES) {
            vector p = whole ? bump_around(&bump, i, j, around) : bump_at(&bump, i, j);
            total += add_bins(b, window, bin, count, p);
            if (divided && bin + LANES > count) total += add_bins(b, window, bin - count, count, p);
        }
        end_windows(b, i, total);
    }
}

static void pack_plane(Arena *arena, Bins *b, const double *x, const double *y, double axis[2][AXIS_FIELDS], int64_t n) {
    /* Rows run along the axis on which vectors waste fewer lanes. */
    Bump bumps[2] = {make_bump(arena, axis[0], x, n), make_bump(arena, axis[1], y, n)};
    int outer = bumps[1].window * whole_blocks(bumps[0].window) < bumps[0].window * whole_blocks(bumps[1].window);
    Bump *down = bumps + outer, *along = bumps + 1 - outer;
    int64_t rows = (int64_t)axis[outer][AXIS_COUNT], count = (int64_t)axis[1 - outer][AXIS_COUNT], pad = along->window;
    b->blocks = whole_blocks(along->window) / LANES;
    b->rows = down->window;
    b->stride = count + pad + LANES; /* the state has room for bins that the plane does not have */
    b->size = whole_blocks(2 * pad + (rows + 2 * b->rows) * b->stride);
    int64_t each = b->blocks * LANES + b->rows;
    b->lanes = take_rows(arena, n + LANES, each);
    b->slot = take_integers(arena, n);
    b->site[0] = down->first;
    b->site[1] = along->first;
    b->reach[0] = (double)down->window;
    b->reach[1] = (double)along->window;
    double *factors = take_doubles(arena, whole_blocks(b->rows));
    for (int64_t i = 0; i < n; i++) {
        double top = down->first[i], left = along->first[i], *lanes = b->lanes + i * each;
        b->slot[i] = b->origin;
        if (!(top > (double)-b->rows && top < (double)rows && left > (double)-pad && left < (double)count)) { /* or NaN */
            memset(lanes, 0, (size_t)each * sizeof(double));
            down->first[i] = NAN;
            continue;
        }
        b->slot[i] += pad + (b->rows + (int64_t)top) * b->stride + (int64_t)left;
        for (int64_t j = 0; j < pad; j += LANES)
            store(lanes + j, where(real_bins(left + (double)j, (double)count), bump_at(along, i, j)));
        for (int64_t j = 0; j < b->rows; j += LANES) store(factors + j, bump_at(down, i, j));
        for (int64_t row = 0; row < b->rows; row++) {
            double number = top + (double)row;
            lanes[b->blocks * LANES + row] = number >= 0.0 && number < (double)rows ? factors[row] : 0.0;
        }
    }
}

#endif
