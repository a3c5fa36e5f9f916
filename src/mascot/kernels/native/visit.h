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

/* Visit the windows of candidate i. Two sums are kept, so that one addition does not wait for the other. */
INLINE vector visit_windows(int operation, const Bins *b, int64_t i, double *state, double factor) {
    vector total = all(0.0), other = all(0.0);
    int64_t j = b->first[i], last = b->first[i + 1];
    for (; j + 1 < last; j += 2) {
        total += apply(operation, load(b->lanes + j * LANES), state + b->slot[j], factor);
        other += apply(operation, load(b->lanes + (j + 1) * LANES), state + b->slot[j + 1], factor);
    }
    if (j < last) total += apply(operation, load(b->lanes + j * LANES), state + b->slot[j], factor);
    return total + other;
}

/* Visit the bins of candidate i on a plane. */
INLINE vector visit_plane(int operation, const Bins *b, int64_t i, double *state, double factor) {
    const double *columns = b->lanes + i * (b->blocks * LANES + b->rows), *rows = columns + b->blocks * LANES;
    const vector cutoff = all(MASCOT_CUTOFF);
    vector total = all(0.0), other = all(0.0);
    for (int64_t j = 0; j < b->blocks; j++) {
        double *bins = state + b->slot[i] + j * LANES;
        vector column = load(columns + j * LANES);
        int64_t row = 0;
        for (; row + 1 < b->rows; row += 2, bins += 2 * b->stride) {
            vector p = column * all(rows[row]), next = column * all(rows[row + 1]);
            total += apply(operation, where(p >= cutoff, p), bins, factor);
            other += apply(operation, where(next >= cutoff, next), bins + b->stride, factor);
        }
        if (row == b->rows) continue;
        vector p = column * all(rows[row]);
        total += apply(operation, where(p >= cutoff, p), bins, factor);
    }
    return total + other;
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

/* Visit the bins of a missing value that is neutral. */
static vector visit_mean(int operation, const Bins *b, double *state, double factor) {
    double *bins = state + b->origin;
    vector total = all(0.0);
    for (int64_t j = 0; j < b->size; j += LANES) total += apply(operation, load(b->mean + j), bins + j, factor);
    return total;
}

/* Visit all bins of candidate i. The lanes of what WORTH and COVER return add up to the sum. */
INLINE vector visit(int operation, const Bins *b, int64_t i, double *state, double factor) {
    if (b->mean && b->unknown[i] != 0.0) return visit_mean(operation, b, state, factor);
    if (b->shape == SHAPE_LABELS) return visit_labels(operation, b, i, state, factor);
    if (b->shape == SHAPE_PLANE) return visit_plane(operation, b, i, state, factor);
    return visit_windows(operation, b, i, state, factor);
}

/* Apply WORTH or PEAK to the listed candidates that have changed. */
INLINE void visit_list(
    int operation, const Bins *bins, const int64_t *list, int64_t count, const int64_t *changed, int64_t bit, double *state,
    const double *factors, double *restrict worth
) {
    const Bins b = *bins;
    int plane = b.shape == SHAPE_PLANE && !b.mean, windows = b.shape != SHAPE_LABELS && b.shape != SHAPE_PLANE && !b.mean;
    for (int64_t j = 0; j < count; j++) {
        int64_t i = list[j];
        if (!(changed[i] & bit)) continue;
        double factor = operation == PEAK ? factors[i] : 0.0;
        vector total;
        if (windows) total = visit_windows(operation, &b, i, state, factor);
        else if (plane) total = visit_plane(operation, &b, i, state, factor);
        else total = visit(operation, &b, i, state, factor);
        if (operation == WORTH) worth[i] = sum(total);
    }
}

#endif
