/* Relevance from scores: outliers, rescaling, order. */
#ifndef MASCOT_RELEVANCE_H
#define MASCOT_RELEVANCE_H

#include <string.h>

#include "arena.h"
#include "vector.h"

/* Return the value at position `rank` of the sorted values (quickselect). Reorders them. */
static double order_statistic(double *values, int64_t n, int64_t rank) {
    int64_t low = 0, high = n - 1;
    while (low < high) {
        double pivot = values[low + (high - low) / 2];
        int64_t i = low, j = high;
        while (i <= j) {
            while (values[i] < pivot) i++;
            while (values[j] > pivot) j--;
            if (i <= j) {
                double swapped = values[i];
                values[i++] = values[j];
                values[j--] = swapped;
            }
        }
        if (rank <= j) high = j;
        else if (rank >= i) low = i;
        else break;
    }
    return values[rank];
}

/* Set `limits` to the range of the scores that are not far outliers. */
static void inner_range(Arena *arena, const double *scores, int64_t n, double limits[2]) {
    double low = scores[0], high = scores[0];
    for (int64_t i = 1; i < n; i++) {
        low = scores[i] < low ? scores[i] : low;
        high = scores[i] > high ? scores[i] : high;
    }
    limits[0] = low;
    limits[1] = high;
    if (n < MASCOT_FEW) return;
    /* Return early: if a quarter of the scores lie on either side of a tenth of the range, no score is a far outlier. */
    double below = low + 0.45 * (high - low), above = low + 0.55 * (high - low);
    int64_t few = 0, many = 0;
    for (int64_t i = 0; i < n; i++) {
        few += scores[i] <= below;
        many += scores[i] >= above;
    }
    if (few > n / 4 + 1 && many > n / 4 + 1) return;
    double *copy = take_doubles(arena, n);
    for (int64_t i = 0; i < n; i++) copy[i] = scores[i];
    double first = order_statistic(copy, n, (n - 1) / 4), third = order_statistic(copy, n, 3 * (n - 1) / 4);
    double range = third / 2 - first / 2; /* of half scores: the range of finite scores may overflow */
    if (!(range > 0.0)) return;
    double floor = first / 2 - MASCOT_FENCE * range, ceiling = third / 2 + MASCOT_FENCE * range;
    limits[0] = high;
    limits[1] = low;
    for (int64_t i = 0; i < n; i++) {
        double half = scores[i] / 2;
        if (half < floor || half > ceiling) continue;
        if (scores[i] < limits[0]) limits[0] = scores[i];
        if (scores[i] > limits[1]) limits[1] = scores[i];
    }
}

/* Rescale scores to 0..1: (r - low) / (high - low + 1e-8). Scores outside low..high are clipped. */
static void rescale_scores(const double *scores, int64_t n, const double limits[2], double *relevance) {
    double low = limits[0] / 2, range = limits[1] / 2 - low + MASCOT_EPSILON / 2;
    for (int64_t i = 0; i < n; i++) {
        double score = scores[i] < limits[0] ? limits[0] : scores[i] > limits[1] ? limits[1] : scores[i];
        relevance[i] = (score / 2 - low) / range;
    }
}

/* Return whether candidate i comes before candidate j: by relevance, then by score, then by position. */
INLINE int before(const double *relevance, const double *scores, int64_t i, int64_t j) {
    if (relevance[i] != relevance[j]) return relevance[i] > relevance[j];
    if (scores[i] != scores[j]) return scores[i] > scores[j];
    return i < j;
}

/* Sort positions, best first (merge sort: stable, and n log n on every input). */
static void sort_positions(Arena *arena, int64_t *positions, int64_t n, const double *relevance, const double *scores) {
    int64_t *other = take_integers(arena, n), *from = positions, *to = other;
    for (int64_t width = 8, start = 0; start < n; start += width) { /* insertion sort of short runs */
        int64_t end = start + width < n ? start + width : n;
        for (int64_t i = start + 1; i < end; i++) {
            int64_t position = from[i], j = i;
            for (; j > start && before(relevance, scores, position, from[j - 1]); j--) from[j] = from[j - 1];
            from[j] = position;
        }
    }
    for (int64_t width = 8; width < n; width *= 2) {
        for (int64_t start = 0; start < n; start += 2 * width) {
            int64_t middle = start + width < n ? start + width : n, end = start + 2 * width < n ? start + 2 * width : n;
            int64_t i = start, j = middle;
            for (int64_t at = start; at < end; at++)
                to[at] = i < middle && (j >= end || !before(relevance, scores, from[j], from[i])) ? from[i++] : from[j++];
        }
        int64_t *swapped = from;
        from = to;
        to = swapped;
    }
    if (from != positions) memcpy(positions, from, (size_t)n * sizeof(int64_t));
}

/* Write the first `count` positions by relevance, best first. Returns how many there are. */
static int64_t best_positions(Arena *arena, const double *relevance, const double *scores, int64_t n, int64_t count, int64_t *out) {
    if (count > n) count = n;
    if (count > 64) {
        for (int64_t i = 0; i < n; i++) out[i] = i;
        sort_positions(arena, out, n, relevance, scores);
        return count;
    }
    int64_t taken = 0;
    for (int64_t i = 0; i < n && count; i++) {
        if (taken == count && !before(relevance, scores, i, out[taken - 1])) continue;
        int64_t j = taken < count ? taken++ : taken - 1;
        for (; j > 0 && before(relevance, scores, i, out[j - 1]); j--) out[j] = out[j - 1];
        out[j] = i;
    }
    return taken;
}

#endif
