/* The soft bins of one query's candidates, laid out so that sums over them are short dense loops.
 *
 * Every attribute has a range of `state`, the worth of what is left to cover in each bin. A candidate's memberships
 * are windows of neighbouring bins:
 *   LINE    one window of `blocks` vectors of bins
 *   PLANE   `rows` windows, one below the other
 *   GLOBE   one window or more for each ring of cells within reach
 *   LABELS  single bins
 * LINE and PLANE pad their state with bins that are worth nothing, so that no window has to be clipped.
 */
#ifndef MASCOT_BINS_H
#define MASCOT_BINS_H

#include <math.h>
#include <string.h>

#include "arena.h"
#include "kernel.h"
#include "vector.h"

/* The blocks of a window's row that some value can reach: first .. last - 1. */
typedef struct {
    int64_t first, last;
} Range;

typedef struct {
    int64_t shape, rule;
    double sign;
    int64_t origin, size;         /* its range of the state */
    int64_t blocks, rows, stride; /* LINE: blocks; PLANE: rows x blocks, rows `stride` bins apart */
    int64_t pad, pad_rows, count, count_rows; /* LINE, PLANE: bins of padding and real bins along each axis */
    int64_t circle, mirror;       /* LINE on a circle: its bins, and how many of them are repeated after the last */
    int64_t each;                 /* LINE, PLANE: stored values per candidate */
    int64_t *slot;                /* first state index: of a candidate, or of a GLOBE window or a label */
    int64_t *first;               /* GLOBE, LABELS: [n + 1] a candidate's first window */
    double *lanes;                /* memberships; NULL for labels that are all 1 */
    int64_t product;              /* PLANE, where that is large: `lanes` holds a row and a column, whose product they are */
    Range *range;                 /* product: [rows] */
    double *unknown;              /* [n] 1 where the value is missing */
    double *mean;                 /* [size] what a missing value covers under the rule NEUTRAL, or NULL */
    double fade;                  /* how much of a bin one whole membership covers */
    double *site[3], reach[2];    /* [n] where a candidate's bins lie, see `overlap`; NULL: anywhere */
} Bins;

enum { WORTH, COVER, PEAK, ADD };

/* One vector of bins. WORTH and COVER return what to add up; the others return zeros. */
INLINE vector apply(int operation, vector p, double *bins, double factor) {
    vector old = load(bins);
    if (operation == WORTH) return p * old;
    if (operation == COVER) {
        vector fall = p * old * all(factor);
        store(bins, old - fall);
        return fall;
    }
    store(bins, operation == PEAK ? larger(p * all(factor), old) : old + p * all(factor));
    return all(0.0);
}

/* Windows of neighbouring bins, `windows` of them, `stride` bins apart. `blocks` is a constant where it is small, so that
 * the loop over it is unrolled; two sums are kept, so that one addition need not wait for the other. */
INLINE vector visit_windows(
    int operation, const double *lanes, double *bins, double factor, int64_t windows, int64_t blocks, int64_t stride
) {
    vector total = all(0.0), other = all(0.0);
    for (int64_t row = 0; row < windows; row++, bins += stride, lanes += blocks * LANES) {
        for (int64_t j = 0; j < blocks; j++) {
            vector part = apply(operation, load(lanes + j * LANES), bins + j * LANES, factor);
            if (j & 1) other += part;
            else total += part;
        }
    }
    return total + other;
}

/* The same, of memberships that are the product of a row and a column, which takes less memory. */
INLINE vector visit_product(int operation, const Bins *b, int64_t i, double *state, double factor) {
    const double *columns = b->lanes + i * b->each, *factors = columns + b->blocks * LANES;
    double *bins = state + b->slot[i];
    vector total = all(0.0), other = all(0.0);
    for (int64_t row = 0, rows = b->rows, stride = b->stride; row < rows; row++, bins += stride) {
        vector share = all(factors[row]);
        int64_t j = b->range[row].first, last = b->range[row].last;
        for (; j + 1 < last; j += 2) {
            vector p = load(columns + j * LANES) * share, next = load(columns + (j + 1) * LANES) * share;
            total += apply(operation, where(p >= all(MASCOT_CUTOFF), p), bins + j * LANES, factor);
            other += apply(operation, where(next >= all(MASCOT_CUTOFF), next), bins + (j + 1) * LANES, factor);
        }
        if (j < last) {
            vector p = load(columns + j * LANES) * share;
            total += apply(operation, where(p >= all(MASCOT_CUTOFF), p), bins + j * LANES, factor);
        }
    }
    return total + other;
}

INLINE vector visit_dense(int operation, const Bins *b, int64_t i, double *state, double factor) {
    if (b->product) return visit_product(operation, b, i, state, factor);
    const double *lanes = b->lanes + i * b->each;
    double *bins = state + b->slot[i];
    switch (b->blocks) {
        case 1: return visit_windows(operation, lanes, bins, factor, b->rows, 1, b->stride);
        case 2: return visit_windows(operation, lanes, bins, factor, b->rows, 2, b->stride);
        case 3: return visit_windows(operation, lanes, bins, factor, b->rows, 3, b->stride);
        default: return visit_windows(operation, lanes, bins, factor, b->rows, b->blocks, b->stride);
    }
}

INLINE vector visit_globe(int operation, const Bins *b, int64_t i, double *state, double factor) {
    vector total = all(0.0);
    for (int64_t j = b->first[i]; j < b->first[i + 1]; j++)
        total += apply(operation, load(b->lanes + j * LANES), state + b->slot[j], factor);
    return total;
}

INLINE vector visit_labels(int operation, const Bins *b, int64_t i, double *state, double factor) {
    vector total = all(0.0);
    for (int64_t j = b->first[i]; j < b->first[i + 1]; j++) {
        double p = b->lanes ? b->lanes[j] : 1.0, *bin = state + b->slot[j], part = p * factor;
        if (operation == WORTH) total[0] += p * *bin;
        if (operation == COVER) {
            double fall = part * *bin;
            *bin -= fall;
            total[0] += fall;
        }
        if (operation == PEAK) *bin = part > *bin ? part : *bin;
        if (operation == ADD) *bin += part;
    }
    return total;
}

/* The repeated bins of a circle follow the originals. */
static void repeat_bins(const Bins *b, double *state) {
    double *bins = state + b->origin;
    for (int64_t j = 0; j < b->mirror; j++) bins[b->circle + j] = bins[j];
}

/* A missing value, under the rule NEUTRAL. */
static vector visit_mean(int operation, const Bins *b, double *state, double factor) {
    double *bins = state + b->origin;
    vector total = all(0.0);
    for (int64_t j = 0; j < b->size; j++) {
        double fall = b->mean[j] * bins[j];
        if (operation == COVER) bins[j] -= fall *= factor;
        if (operation == PEAK && b->mean[j] * factor > bins[j]) bins[j] = b->mean[j] * factor;
        total[0] += fall;
    }
    if (operation == COVER) repeat_bins(b, state);
    return total;
}

/* All bins of candidate i. The lanes of what WORTH and COVER return add up to the sum. */
INLINE vector visit(int operation, const Bins *b, int64_t i, double *state, double factor) {
    if (b->mean && b->unknown[i] != 0.0) return visit_mean(operation, b, state, factor);
    if (b->shape == SHAPE_GLOBE) return visit_globe(operation, b, i, state, factor);
    if (b->shape == SHAPE_LABELS) return visit_labels(operation, b, i, state, factor);
    vector total = visit_dense(operation, b, i, state, factor);
    if (operation == COVER && b->mirror) { /* bins that exist twice stay equal */
        double *bins = state + b->origin;
        int64_t start = b->slot[i] - b->origin;
        for (int64_t j = start; j <= start + b->mirror; j++) {
            if (j >= b->circle) bins[j - b->circle] = bins[j];
            else if (j < b->mirror) bins[b->circle + j] = bins[j];
        }
    }
    return total;
}

/* WORTH or PEAK of the listed candidates that have changed. The shape is a constant, so that each has a loop of its own. */
INLINE void visit_shape(
    int operation, const Bins *bins, int64_t shape, int64_t blocks, const int64_t *list, int64_t count, const int64_t *changed,
    int64_t bit, double *state, const double *factors, double *restrict worth
) {
    const Bins b = *bins;
    for (int64_t j = 0; j < count; j++) {
        int64_t i = list[j];
        if (!(changed[i] & bit)) continue;
        double factor = operation == PEAK ? factors[i] : 0.0;
        vector total;
        if (shape == SHAPE_GLOBE) total = visit_globe(operation, &b, i, state, factor);
        else if (shape == SHAPE_LABELS) total = visit_labels(operation, &b, i, state, factor);
        else if (shape == SHAPE_LINE) total = visit_windows(operation, b.lanes + i * b.each, state + b.slot[i], factor, 1, blocks, 0);
        else if (shape == SHAPE_PLANE)
            total = visit_windows(operation, b.lanes + i * b.each, state + b.slot[i], factor, b.rows, blocks, b.stride);
        else total = visit(operation, &b, i, state, factor);
        if (operation == WORTH) worth[i] = sum(total);
    }
}

INLINE void visit_list(
    int operation, const Bins *b, const int64_t *list, int64_t count, const int64_t *changed, int64_t bit, double *state,
    const double *factors, double *worth
) {
#define VISIT(shape, blocks) visit_shape(operation, b, shape, blocks, list, count, changed, bit, state, factors, worth)
    if (b->mean || b->product) VISIT(-1, 0);
    else if (b->shape == SHAPE_GLOBE) VISIT(SHAPE_GLOBE, 0);
    else if (b->shape == SHAPE_LABELS) VISIT(SHAPE_LABELS, 0);
    else if (b->shape == SHAPE_LINE && b->blocks == 2) VISIT(SHAPE_LINE, 2);
    else if (b->shape == SHAPE_LINE && b->blocks == 3) VISIT(SHAPE_LINE, 3);
    else if (b->shape == SHAPE_LINE) VISIT(SHAPE_LINE, b->blocks);
    else if (b->blocks == 2) VISIT(SHAPE_PLANE, 2);
    else if (b->blocks == 3) VISIT(SHAPE_PLANE, 3);
    else VISIT(SHAPE_PLANE, b->blocks);
#undef VISIT
}

/* Where the bins of one candidate lie: LINE its first bin, PLANE its first row and column, GLOBE a unit vector, LABELS the bin. */
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

/* Which of the candidates i .. i + LANES - 1 can share bins with the one at `other`. A missing value (NaN) shares none. */
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

/* Set every real bin to `value` and the padding to 0. */
static void fill_bins(const Bins *b, double *state, double value) {
    double *bins = state + b->origin;
    int padded = b->shape == SHAPE_PLANE || (b->shape == SHAPE_LINE && !b->circle);
    for (int64_t j = 0; j < b->size; j++) bins[j] = padded ? 0.0 : value;
    if (!padded) return;
    for (int64_t row = 0; row < b->count_rows; row++)
        for (int64_t j = 0; j < b->count; j++) bins[(row + b->pad_rows) * b->stride + b->pad + j] = value;
}

/* After PEAK or ADD over candidates: bins that exist twice are joined, and the padding is cleared. */
static void settle_bins(int operation, const Bins *b, double *state) {
    double *bins = state + b->origin;
    for (int64_t j = 0; j < b->mirror; j++) {
        double twin = bins[b->circle + j];
        if (operation == PEAK) bins[j] = twin > bins[j] ? twin : bins[j];
        else bins[j] += twin;
    }
    repeat_bins(b, state);
    if (b->shape == SHAPE_PLANE || (b->shape == SHAPE_LINE && !b->circle)) {
        int64_t rows = b->count_rows + 2 * b->pad_rows;
        for (int64_t row = 0; row < rows; row++) {
            double *line = bins + row * b->stride;
            int real = row >= b->pad_rows && row < b->pad_rows + b->count_rows;
            for (int64_t j = 0; j < b->stride; j++)
                if (!real || j < b->pad || j >= b->pad + b->count) line[j] = 0.0;
        }
    }
}

/* The sum over all real bins, each counted once. */
static double total_of_bins(const Bins *b, const double *state) {
    double total = 0.0;
    int64_t end = b->circle ? b->circle : b->size;
    for (int64_t j = 0; j < end; j++) total += state[b->origin + j];
    return total;
}

/* ---- Widths that follow the candidates ---------------------------------------------------------------------------- */

/* Root-mean-square distance of the inliers from their mean; `inlier` is set to 1 or 0 for each of the n points.
 * Points farther from the mean than MASCOT_OUTLIER deviations are left out, and both are computed again. */
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

/* Close a self-scaled axis over the n known values. */
static void fit_axis(Arena *arena, double *values, int64_t n, double *axis) {
    double low = n ? values[0] : 0.0, high = low, sigma = axis[AXIS_SIGMA];
    for (int64_t i = 1; i < n; i++) {
        if (values[i] < low) low = values[i];
        if (values[i] > high) high = values[i];
    }
    if (sigma == 0.0) {
        double *inlier = take_doubles(arena, n), *squares = take_doubles(arena, n);
        double deviation = spread_of(&values, 1, n, inlier, squares);
        sigma = sqrt(2.0) * deviation / MASCOT_SCALE;
        if (sigma < axis[AXIS_SMALLEST]) sigma = axis[AXIS_SMALLEST];
        if (sigma == 0.0) sigma = 1.0;
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
    axis[AXIS_START] = low - MASCOT_MARGIN * axis[AXIS_STEP];
    axis[AXIS_COUNT] = ceil((high - low) / axis[AXIS_STEP]) + 1 + 2 * MASCOT_MARGIN;
}

/* ---- Lines and planes ---------------------------------------------------------------------------------------------- */

static double larger_of(double a, double b) { return a > b ? a : b; }
static int64_t whole_blocks(int64_t bins) { return (bins + LANES - 1) / LANES * LANES; }

/* Bumps on an even axis as products: the bin j bins after the first one in reach, which is x bins below the value, has
 * exp(-(x - j)^2 s^2 / 2) = exp(-x^2 s^2 / 2) * exp(x s^2)^j * exp(-j^2 s^2 / 2).
 * The last factor is a table of the axis, so a bump costs two exponentials, whatever its width. */
typedef struct {
    double step;    /* s, the distance between centres in widths */
    double radius;  /* bins on either side of a value that its bump can reach */
    int64_t window; /* bins in reach, at most */
    double *table;  /* [window] exp(-j^2 s^2 / 2), 0 up to whole blocks; NULL: out of the range of the products */
    double top, edge; /* the largest x s^2, and exp(top) */
    double *first, *offset, *lowest, *ratio; /* [n] first bin in reach, x, exp(-x^2 s^2 / 2), exp(x s^2) */
} Bump;

enum { LONGEST_PRODUCT = 128, LARGE_WINDOW = 128, LARGE_PLANE = 1 << 18 };
#define ROUNDING 1e-9 /* bins */

static Bump make_bump(Arena *arena, const double *axis, int64_t n) {
    double step = axis[AXIS_STEP] / axis[AXIS_SIGMA], radius = MASCOT_REACH / step;
    if (!(radius < axis[AXIS_COUNT])) radius = axis[AXIS_COUNT];
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

/* Memberships of the bins in the window of candidate i, rounded up to whole blocks. */
INLINE void write_window(const Bump *bump, int64_t i, double *lanes) {
    if (!bump->table) {
        for (int64_t j = 0; j < bump->window; j += LANES) {
            vector d = (all(bump->offset[i] - (double)j) - STEPS) * all(bump->step);
            vector p = decay(d * d * all(0.5));
            store(lanes + j, where(STEPS < all((double)(bump->window - j)), p));
        }
        return;
    }
    double ratio = bump->ratio[i], square = ratio * ratio, block = square;
    vector factors = {1.0, ratio};
#if LANES > 2
    factors[2] = square;
    factors[3] = square * ratio;
    block = square * square;
#endif
#if LANES > 4
    for (int j = 4; j < LANES; j++) factors[j] = factors[j - 4] * block;
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
    b->each = whole_blocks(window);
    b->blocks = b->each / LANES;
    b->rows = 1;
    b->stride = b->size = whole_blocks(count + 2 * b->pad + b->mirror + LANES);
    b->lanes = take_doubles(arena, n * b->each);
    b->slot = take_integers(arena, n);
    if (!whole) b->site[0] = take_doubles(arena, whole_blocks(n));
    b->reach[0] = (double)window;
    b->reach[1] = b->circle ? (double)(count - window) : INFINITY;
    double *u = take_doubles(arena, n), inverse = 1.0 / axis[AXIS_STEP], around = (double)count;
    for (int64_t i = 0; i < n; i++) {
        double value = x[i] < axis[AXIS_FLOOR] ? axis[AXIS_FLOOR] : x[i] > axis[AXIS_CEILING] ? axis[AXIS_CEILING] : x[i];
        u[i] = (value - axis[AXIS_START]) * inverse;
        if (b->circle && !(u[i] > -0.5 && u[i] < around)) u[i] -= floor(u[i] / around) * around;
    }
    if (!whole) place_windows(&bump, u, n);
    for (int64_t i = 0; i < n; i++) {
        double *lanes = b->lanes + i * b->each;
        b->slot[i] = b->origin;
        if (whole && b->unknown[i] == 0.0) {
            for (int64_t j = 0; j < b->each; j++) {
                double d = fmod(fabs(u[i] - (double)j), around);
                d = (d < around - d ? d : around - d) * bump.step;
                double p = exp(-0.5 * d * d);
                lanes[j] = p >= MASCOT_CUTOFF && j < count ? p : 0.0;
            }
            continue;
        }
        double first = bump.first[i];
        if (b->unknown[i] != 0.0 || (!b->circle && !(first > (double)-window && first < around))) {
            memset(lanes, 0, (size_t)b->each * sizeof(double));
            if (!whole) b->site[0][i] = NAN;
            continue;
        }
        write_window(&bump, i, lanes);
        if (b->circle) first = first < 0.0 ? first + around : first >= around ? first - around : first;
        b->slot[i] += (int64_t)first + b->pad;
        b->site[0][i] = first;
    }
}

/* A value lies up to one bin before `radius` bins after the first bin of its window, along both axes. */
static Range *reach_of_rows(Arena *arena, const Bump *down, const Bump *along, int64_t blocks) {
    Range *range = arena_take(arena, (size_t)down->window * sizeof(Range));
    const double margin = 0.01; /* bins */
    for (int64_t row = 0; row < down->window; row++) {
        double before = down->radius - 1.0 - (double)row, after = (double)row - down->radius;
        double nearest = larger_of(larger_of(before, after) - margin, 0.0) * down->step;
        double half = sqrt(larger_of(MASCOT_REACH * MASCOT_REACH - nearest * nearest, 0.0)) / along->step + margin;
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
    b->product = window > LARGE_WINDOW || n * window > LARGE_PLANE;
    b->each = b->product ? b->blocks * LANES + whole_blocks(b->rows) : window;
    if (b->product) b->range = reach_of_rows(arena, down, along, b->blocks);
    b->lanes = take_doubles(arena, n * b->each);
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
        double *lanes = b->lanes + i * b->each, top = down->first[i], left = along->first[i];
        b->slot[i] = b->origin;
        int inside = top > (double)-down->window && top < (double)b->count_rows && left > (double)-along->window &&
                     left < (double)b->count; /* false for NaN */
        if (!inside) {
            memset(lanes, 0, (size_t)b->each * sizeof(double));
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

/* ---- Hashing of bins that are numbered sparsely ---------------------------------------------------------------------- */

typedef struct {
    int64_t *keys, *slots, mask;
} Table;

static Table make_table(Arena *arena, int64_t entries) {
    int64_t size = 16;
    while (size < 2 * entries) size *= 2;
    Table table = {take_integers(arena, size), take_integers(arena, size), size - 1};
    for (int64_t j = 0; j < size; j++) table.keys[j] = -1;
    return table;
}

/* The slot of a key; a new key gets `next`. The table is at most half full, so the search ends. */
INLINE int64_t slot_of(Table *table, int64_t key, int64_t next) {
    int64_t h = (int64_t)((uint64_t)key * 0x9E3779B97F4A7C15u >> 20) & table->mask; /* Fibonacci hashing */
    while (table->keys[h] != key) {
        if (table->keys[h] < 0) {
            table->keys[h] = key;
            table->slots[h] = next;
            break;
        }
        h = (h + 1) & table->mask;
    }
    return table->slots[h];
}

/* ---- The globe ------------------------------------------------------------------------------------------------------- */

enum { RINGS_CACHED = 256, DENSE_CELLS = 4096, DENSE_CELLS_EACH = 32 };
#define PI 3.14159265358979323846

typedef struct {
    int64_t rings, ring[RINGS_CACHED], cells[RINGS_CACHED];
    double height, cosine[RINGS_CACHED], inverse[RINGS_CACHED]; /* and 1 / cosine */
} Mesh;

/* Cosine and number of cells of a ring, at the returned index of the cache. */
INLINE int64_t look_up_ring(Mesh *mesh, int64_t ring) {
    int64_t at = ring % RINGS_CACHED;
    if (mesh->ring[at] != ring) {
        double cosine = cos(((double)ring + 0.5) * mesh->height - PI / 2);
        double cells = floor(2.0 * (double)mesh->rings * cosine + 0.5);
        mesh->ring[at] = ring;
        mesh->cosine[at] = cosine;
        mesh->inverse[at] = 1.0 / (cosine > 1e-12 ? cosine : 1e-12);
        mesh->cells[at] = cells < 1.0 ? 1 : (int64_t)cells;
    }
    return at;
}

/* Memberships of one vector of cells: exp(-chord^2 / (2 width^2)), chord^2 = 4 (across + along * hav(difference of longitude)). */
INLINE void write_cells(double *lanes, double across, double along, double apart, double cell, double fold, int64_t count) {
    vector x = all(apart) - STEPS * all(cell);
    x = choose_lanes(x > all(PI), x - all(2 * PI), x); /* the short way round */
    x = choose_lanes(x < all(-PI), x + all(2 * PI), x);
    vector p = decay((all(across) + all(along) * haversine(x)) * all(fold));
    store(lanes, where(STEPS < all((double)count), p));
}

/* Great-circle mesh of rings, each divided into equal cells 1.5 widths across; see `Globe` in mascot/bins/globe.py.
 * Where the cells within the candidates' range are few they are numbered densely, otherwise vectors of cells are hashed. */
static void pack_globe(Arena *arena, Bins *b, const double *lat, const double *lon, double width, int64_t n) {
    Mesh *mesh = arena_take(arena, sizeof(Mesh));
    for (int j = 0; j < RINGS_CACHED; j++) mesh->ring[j] = -1;
    mesh->rings = (int64_t)ceil(PI / (MASCOT_SPACING * width));
    mesh->height = PI / (double)mesh->rings;
    double half_chord = MASCOT_REACH * width / 2.0, height = mesh->height;
    double limit = half_chord < 1.0 ? half_chord * half_chord : 1.0; /* haversine of the reach */
    double reach = half_chord < 1.0 ? 2.0 * asin(half_chord) : PI;
    double sine = sin(reach), fold = 2.0 / (width * width), root = sqrt(limit), inverse_limit = 1.0 / limit;

    double south = INFINITY, north = -INFINITY, west = INFINITY, east = -INFINITY;
    for (int64_t i = 0; i < n; i++) {
        if (b->unknown[i] != 0.0) continue;
        if (lat[i] < south) south = lat[i];
        if (lat[i] > north) north = lat[i];
        if (lon[i] < west) west = lon[i];
        if (lon[i] > east) east = lon[i];
    }
    if (south > north) south = north = west = east = 0.0; /* no place is known */
    int64_t lowest = (int64_t)ceil((south - reach + PI / 2) / height - 0.5 - 1e-9);
    int64_t highest = (int64_t)floor((north + reach + PI / 2) / height - 0.5 + 1e-9);
    if (lowest < 0) lowest = 0;
    if (highest > mesh->rings - 1) highest = mesh->rings - 1;

    /* Number the cells of each ring within the range of longitudes. */
    int64_t allowed = DENSE_CELLS + DENSE_CELLS_EACH * n, used = 0, rings_in_range = highest - lowest + 1;
    int dense = rings_in_range <= RINGS_CACHED;
    int64_t *base = take_integers(arena, RINGS_CACHED); /* of a ring: slot of its cell 0, and the cells that have slots */
    int64_t *lowest_cell = take_integers(arena, RINGS_CACHED), *highest_cell = take_integers(arena, RINGS_CACHED);
    for (int64_t ring = lowest; dense && ring <= highest; ring++) {
        int64_t at = look_up_ring(mesh, ring), cells = mesh->cells[at];
        /* A circle of this reach around a point of the ring spans asin(z) of longitude, or all of it where it holds the pole. */
        double inverse = (double)cells / (2 * PI), z = sine / (mesh->cosine[at] > 1e-12 ? mesh->cosine[at] : 1e-12);
        double half = reach < PI / 2 && z < 1.0 ? z + 0.5708 * z * z * z + 1e-9 : PI; /* at least asin(z) */
        double first = floor((west - half + PI) * inverse - 0.5), last = ceil((east + half + PI) * inverse - 0.5);
        if (first < 0.0 || last > (double)(cells - 1)) first = 0.0, last = (double)(cells - 1); /* the whole circle */
        base[at] = b->origin + used - (int64_t)first;
        lowest_cell[at] = (int64_t)first;
        highest_cell[at] = (int64_t)last;
        used += (int64_t)(last - first) + 1 + LANES;
        if (used > allowed) dense = 0;
    }

    /* Windows per candidate: rings within reach, times blocks per ring (near a pole a ring may be needed whole). */
    double rings_in_reach = floor(2.0 * reach / height) + 2.0;
    int64_t most_rings = rings_in_reach < (double)mesh->rings ? (int64_t)rings_in_reach : mesh->rings;
    int64_t room = n * most_rings * 3 + LANES, windows = 0; /* grown below where a ring needs more */
    b->slot = take_integers(arena, room);
    b->lanes = take_doubles(arena, room * LANES);
    b->first = take_integers(arena, n + 1);
    Table table = {0};
    int64_t next = b->origin, entries = 0, keys = 0;
    if (!dense) {
        entries = room;
        table = make_table(arena, entries);
    }
    for (int64_t i = 0; i < n; i++) {
        b->first[i] = windows;
        if (b->unknown[i] != 0.0) continue;
        int64_t ring = (int64_t)ceil((lat[i] - reach + PI / 2) / height - 0.5 - 1e-9);
        int64_t last_ring = (int64_t)floor((lat[i] + reach + PI / 2) / height - 0.5 + 1e-9);
        if (ring < 0) ring = 0;
        if (last_ring > mesh->rings - 1) last_ring = mesh->rings - 1;
        double cos_lat = 1.0 - 2.0 * haversine(all(lat[i]))[0], inverse_lat = 1.0 / (cos_lat > 1e-12 ? cos_lat : 1e-12);
        vector across_lanes = all(0.0);
        for (int64_t lane = 0; ring <= last_ring; ring++, lane = (lane + 1) % LANES) {
            if (lane == 0) {
                vector centres = (all((double)ring + 0.5) + STEPS) * all(height) - all(PI / 2);
                vector apart = all(lat[i]) - centres; /* lanes beyond the last ring are not used */
                across_lanes = haversine(apart);
            }
            double across = across_lanes[lane];
            int64_t at = look_up_ring(mesh, ring), cells = mesh->cells[at];
            double along = cos_lat * mesh->cosine[at], cell = 2 * PI / (double)cells, inverse = (double)cells / (2 * PI);
            /* At least sqrt((limit - across) / along), without a root or a division: sqrt(1 - t) <= 1 - t / 2, and the
             * geometric mean is below the arithmetic one. Cells that are out of reach all the same get membership 0. */
            double z = root * 0.5 * (inverse_lat + mesh->inverse[at]) * (1.0 - 0.5 * across * inverse_limit);
            z = z > 1.0 ? 1.0 : z > 0.0 ? z : 0.0;
            double half = 2.0 * (z + 0.5708 * z * z * z) + 1e-9; /* at least 2 asin(z) */
            int64_t left = (int64_t)ceil((lon[i] - half + PI) * inverse - 0.5);
            int64_t right = (int64_t)floor((lon[i] + half + PI) * inverse - 0.5);
            if (dense && highest_cell[at] - lowest_cell[at] < cells - 1) { /* only cells that a candidate can reach */
                if (left < lowest_cell[at]) left = lowest_cell[at];
                if (right > highest_cell[at]) right = highest_cell[at];
            }
            if (right > left + cells - 1) right = left + cells - 1;
            int64_t needed = windows + (right - left + 1 + LANES) / LANES + 3;
            if (needed > room) {
                int64_t more = 2 * room + needed;
                int64_t *slot = take_integers(arena, more);
                double *lanes = take_doubles(arena, more * LANES);
                memcpy(slot, b->slot, (size_t)windows * sizeof(int64_t));
                memcpy(lanes, b->lanes, (size_t)windows * LANES * sizeof(double));
                b->slot = slot;
                b->lanes = lanes;
                room = more;
            }
            int64_t first_block = -1;
            while (left <= right) {
                int64_t home = left < 0 ? left + cells : left >= cells ? left - cells : left;
                int64_t step, origin = home, slot;
                if (dense) {
                    step = cells - home < LANES ? cells - home : LANES;
                    if (step > right - left + 1) step = right - left + 1;
                    slot = base[at] + home;
                } else {
                    int64_t block = home / LANES;
                    if (block == first_block) break; /* once round the pole */
                    if (first_block < 0) first_block = block;
                    origin = block * LANES;
                    step = LANES - home % LANES;
                    if (step > cells - home) step = cells - home;
                    if (2 * (keys + 1) > table.mask) { /* keep the table at most half full */
                        Table larger_table = make_table(arena, 2 * (table.mask + 1));
                        for (int64_t j = 0; j <= table.mask; j++)
                            if (table.keys[j] >= 0) slot_of(&larger_table, table.keys[j], table.slots[j]);
                        table = larger_table;
                    }
                    slot = slot_of(&table, (ring << 32) + block, next);
                    if (slot == next) next += LANES, keys++;
                }
                double centre = ((double)origin + 0.5) * cell - PI;
                int64_t valid = dense ? step : cells - origin;
                write_cells(b->lanes + windows * LANES, across, along, lon[i] - centre, cell, fold, valid);
                b->slot[windows++] = slot;
                left += step;
            }
        }
    }
    b->first[n] = windows;
    b->size = whole_blocks((dense ? used : next - b->origin) + LANES);
}

/* ---- Labels ------------------------------------------------------------------------------------------------------------ */

static void pack_labels(Arena *arena, Bins *b, const Attribute *attribute, const int64_t *rows, int64_t n) {
    int64_t pairs = 0, at = 0, next = b->origin;
    for (int64_t i = 0; i < n; i++) pairs += attribute->indptr[rows[i] + 1] - attribute->indptr[rows[i]];
    b->first = take_integers(arena, n + 1);
    b->slot = take_integers(arena, pairs);
    b->lanes = attribute->values ? take_doubles(arena, pairs) : NULL;
    Table table = make_table(arena, pairs);
    int64_t most = 0;
    for (int64_t i = 0; i < n; i++) {
        b->first[i] = at;
        for (int64_t j = attribute->indptr[rows[i]]; j < attribute->indptr[rows[i] + 1]; j++, at++) {
            b->slot[at] = slot_of(&table, attribute->indices[j], next);
            if (b->slot[at] == next) next++;
            if (b->lanes) b->lanes[at] = attribute->values[j];
        }
        b->unknown[i] = b->first[i] == at ? 1.0 : 0.0;
        most = at - b->first[i] > most ? at - b->first[i] : most;
    }
    b->first[n] = at;
    if (most <= 1) { /* with several labels each, any two candidates may share one */
        b->site[0] = take_doubles(arena, whole_blocks(n));
        b->reach[0] = 0.5;
        b->reach[1] = INFINITY;
        for (int64_t i = 0; i < n; i++) b->site[0][i] = b->unknown[i] != 0.0 ? NAN : (double)b->slot[b->first[i]];
    }
    b->size = whole_blocks(next - b->origin + LANES);
}

/* The points of the globe as unit vectors, and NaN for missing ones: cos(t) = 1 - 2 hav(t), sin(t) = cos(t - pi / 2). */
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

/* ---- All shapes ---------------------------------------------------------------------------------------------------------- */

/* Lay out the bins of n candidates, from state index `origin` on. */
static Bins pack_bins(Arena *arena, const Attribute *attribute, const int64_t *rows, int64_t n, int64_t origin) {
    Bins b = {.shape = attribute->shape, .rule = attribute->missing, .sign = attribute->sign, .origin = origin, .fade = 1.0};
    b.unknown = take_doubles(arena, n);
    if (b.shape == SHAPE_LABELS) {
        pack_labels(arena, &b, attribute, rows, n);
        return b;
    }
    double *x = take_doubles(arena, n + LANES), *y = take_doubles(arena, n + LANES), *values = take_doubles(arena, n);
    double axis[2][AXIS_FIELDS];
    memcpy(axis, attribute->axis, sizeof axis);
    int64_t valid = 0;
    for (int64_t i = 0; i < n; i++) {
        x[i] = attribute->x[rows[i]];
        y[i] = attribute->y ? attribute->y[rows[i]] : 0.0;
        b.unknown[i] = isnan(x[i]) || isnan(y[i]) ? 1.0 : 0.0;
        if (b.unknown[i] == 0.0) values[valid++] = x[i];
    }
    for (int64_t i = n; i < n + LANES; i++) x[i] = y[i] = 0.0; /* vectors may reach beyond the end */
    if (b.shape == SHAPE_LINE) {
        if (axis[0][AXIS_STEP] == 0.0) fit_axis(arena, values, valid, axis[0]);
        pack_line(arena, &b, x, axis[0], n);
    } else if (b.shape == SHAPE_PLANE) {
        pack_plane(arena, &b, x, y, axis, n);
    } else {
        unit_vectors(arena, &b, x, y, n);
        double km = axis[0][AXIS_SIGMA];
        if (km == 0.0) {
            double *inlier = take_doubles(arena, n), *squares = take_doubles(arena, n), *known[3];
            for (int d = 0; d < 3; d++) {
                known[d] = valid == n ? b.site[d] : take_doubles(arena, n);
                for (int64_t i = 0, m = 0; i < n && valid < n; i++)
                    if (b.unknown[i] == 0.0) known[d][m++] = b.site[d][i];
            }
            km = sqrt(2.0) * MASCOT_EARTH_KM * spread_of(known, 3, valid, inlier, squares) / MASCOT_SCALE;
            if (km < MASCOT_SMALLEST_KM) km = MASCOT_SMALLEST_KM;
        }
        double chord = 2.0 * MASCOT_REACH * km / MASCOT_EARTH_KM; /* bins of two candidates this far apart touch */
        b.reach[0] = chord * chord * (1.0 + 1e-9) + 1e-12;
        pack_globe(arena, &b, x, y, km / MASCOT_EARTH_KM, n);
    }
    return b;
}

#endif
