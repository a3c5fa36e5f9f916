/* Loops over the bins of candidates.
 *
 * An operation sums up what the bins are worth (WORTH), covers them and sums up by how much they fell (COVER), raises them
 * to a maximum (PEAK), adds to them (ADD), or sets them to 0 (CLEAR). It is a constant at every call, so that each operation has a
 * loop of its own.
 */
#ifndef MASCOT_VISIT_H
#define MASCOT_VISIT_H

#include "bins.h"

enum { WORTH, COVER, PEAK, ADD, CLEAR };

/* Apply an operation to one vector of bins. WORTH and COVER return what to add up; the others return zeros. */
INLINE vector apply(int operation, vector p, double *bins, double factor) {
    vector old = load(bins);
    if (operation == WORTH) return p * old;
    if (operation == COVER) {
        vector fall = p * old * all(factor);
        store(bins, old - fall);
        return fall;
    }
    store(bins, operation == CLEAR ? all(0.0) : operation == PEAK ? larger(p * all(factor), old) : old + p * all(factor));
    return all(0.0);
}

/* Visit `windows` windows of neighbouring bins, `stride` bins apart. If `blocks` is small, it is a constant, so that the loop
 * over it is unrolled. Two sums are kept, so that one addition does not wait for the other. */
INLINE vector visit_windows(
    int operation, const double *lanes, double *bins, double factor, int64_t windows, int64_t blocks, int64_t stride
) {
    vector total = all(0.0), other = all(0.0);
    int64_t row = 0;
    for (; blocks == 1 && row + 1 < windows; row += 2, bins += 2 * stride, lanes += 2 * LANES) {
        total += apply(operation, load(lanes), bins, factor);
        other += apply(operation, load(lanes + LANES), bins + stride, factor);
    }
    for (; row < windows; row++, bins += stride, lanes += blocks * LANES) {
        for (int64_t j = 0; j < blocks; j++) {
            vector part = apply(operation, load(lanes + j * LANES), bins + j * LANES, factor);
            if (j & 1) other += part;
            else total += part;
        }
    }
    return total + other;
}

/* Visit memberships that are stored as a row and a column to be multiplied, which takes less memory. */
INLINE vector visit_product(int operation, const Bins *b, int64_t i, double *state, double factor) {
    const double *columns = b->lanes + i * b->per_candidate, *factors = columns + b->blocks * LANES;
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
    const double *lanes = b->lanes + i * b->per_candidate;
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
        if (operation == CLEAR) *bin = 0.0;
    }
    return total;
}

/* Clear the padding among these rows and columns. */
static void clear_padding(const Bins *b, double *state, int64_t row, int64_t rows, int64_t column, int64_t columns) {
    if (b->shape != SHAPE_PLANE && (b->shape != SHAPE_LINE || b->circle)) return;
    for (int64_t end = row + rows; row < end; row++) {
        double *line = state + b->origin + row * b->stride;
        int real = row >= b->pad_rows && row < b->pad_rows + b->count_rows;
        for (int64_t j = column; j < column + columns; j++)
            if (!real || j < b->pad || j >= b->pad + b->count) line[j] = 0.0;
    }
}

/* Join bins that exist twice, after PEAK or ADD over candidates. */
static void join_bins(int operation, const Bins *b, double *state) {
    double *bins = state + b->origin;
    for (int64_t j = 0; j < b->mirror; j++) {
        double twin = bins[b->circle + j];
        if (operation == PEAK) bins[j] = twin > bins[j] ? twin : bins[j];
        else bins[j] += twin;
    }
    repeat_bins(b, state);
}

/* Join bins that exist twice and clear the padding, after PEAK or ADD over candidates. */
static void settle_bins(int operation, const Bins *b, double *state) {
    join_bins(operation, b, state);
    clear_padding(b, state, 0, b->count_rows + 2 * b->pad_rows, 0, b->stride);
}

/* Visit the bins of a missing value, under the rule NEUTRAL. */
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

/* Visit all bins of candidate i. The lanes of what WORTH and COVER return add up to the sum. */
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

/* Apply WORTH or PEAK to the listed candidates that have changed. The shape is a constant, so that each has its own loop. */
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
        else if (shape == SHAPE_LINE) total = visit_windows(operation, b.lanes + i * b.per_candidate, state + b.slot[i], factor, 1, blocks, 0);
        else if (shape == SHAPE_PLANE)
            total = visit_windows(operation, b.lanes + i * b.per_candidate, state + b.slot[i], factor, b.rows, blocks, b.stride);
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
    else if (b->shape == SHAPE_LINE && b->blocks == 1) VISIT(SHAPE_LINE, 1);
    else if (b->shape == SHAPE_LINE && b->blocks == 2) VISIT(SHAPE_LINE, 2);
    else if (b->shape == SHAPE_LINE && b->blocks == 3) VISIT(SHAPE_LINE, 3);
    else if (b->shape == SHAPE_LINE) VISIT(SHAPE_LINE, b->blocks);
    else if (b->blocks == 1) VISIT(SHAPE_PLANE, 1);
    else if (b->blocks == 2) VISIT(SHAPE_PLANE, 2);
    else if (b->blocks == 3) VISIT(SHAPE_PLANE, 3);
    else VISIT(SHAPE_PLANE, b->blocks);
#undef VISIT
}

#endif
