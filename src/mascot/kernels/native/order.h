/* The order by relevance. */
#ifndef MASCOT_ORDER_H
#define MASCOT_ORDER_H

#include <string.h>

#include "arena.h"
#include "vector.h"

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
