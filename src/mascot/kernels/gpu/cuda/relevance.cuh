// Relevance from scores: the range without far outliers, and the order.
#pragma once

#include "platform.cuh"

// Relevance is the score rescaled from low .. high to 0 .. 1; scores outside are clipped. It never falls if scores rise, so the order
// by relevance, then by score, then by position is the order by score and position.
struct Relevance {
    double low, high, range;
    bool raw;  // the gain uses raw scores
    DEVICE_MEMBER double ideal(double score) const { return (fmin(fmax(score, low), high) / 2 - low / 2) / range; }
    DEVICE_MEMBER double operator()(double score) const { return raw ? score : ideal(score); }
};

// Return the next candidate after (value, at) by value, ties to the lowest position, and set `value`; n if there is none. `taken`,
// unless it is NULL, marks candidates to skip.
DEVICE int next_best(Team& team, const double* values, const unsigned char* taken, int n, double* value, int at) {
    Private<double> best;
    Private<int> where;
    const double last = *value;
    EACH_THREAD {
        MY(best) = -INFINITE;
        MY(where) = n;
        ROLLED for (int i = t; i < n; i += THREADS) {
            const double v = values[i];
            if ((v < last || (v == last && i > at)) && !(taken && taken[i]) && v > MY(best)) MY(best) = v, MY(where) = i;
        }
    }
    int position;
    *value = block_best(team, best, where, &position);
    return position;
}

// Return the score at position `rank` of the sorted scores, by bisection over the bit patterns of doubles.
DEVICE double order_statistic(Team& team, const double* scores, int n, int rank) {
    u64 prefix = 0;
    ROLLED for (int bit = 63; bit >= 0; --bit) {
        const u64 pivot = prefix | 1ull << bit;
        Private<double> below;
        EACH_THREAD {
            MY(below) = 0.0;
            for (int i = t; i < n; i += THREADS) MY(below) += ordered(scores[i]) < pivot;
        }
        if (block_sum(team, below) <= rank) prefix = pivot;
    }
    return unordered(prefix);
}

// Return whether the quartiles are at least a tenth of the range apart: then no score is a far outlier. Two places are tried, and
// the four counts are summed as digits of one number.
DEVICE bool has_wide_quartiles(Team& team, const double* scores, int n, double low, double high) {
    Private<double> counts;
    const double range = high - low;
    const double a = low + 0.10 * range, b = low + 0.21 * range, c = low + 0.30 * range, d = low + 0.41 * range;
    EACH_THREAD {
        u64 sum = 0;
        for (int i = t; i < n; i += THREADS) {
            const double v = scores[i];
            sum += (u64)(v <= a) + ((u64)(v >= b) << 12) + ((u64)(v <= c) << 24) + ((u64)(v >= d) << 36);
        }
        MY(counts) = (double)sum;
    }
    const u64 all = (u64)block_sum(team, counts), quarter = (u64)(n / 4 + 1);
    const bool first = (all & 4095) > quarter && (all >> 12 & 4095) > quarter;
    return first || ((all >> 24 & 4095) > quarter && all >> 36 > quarter);
}

// Move `low` and `high` to the range of the scores that are not far outliers.
DEVICE void inner_range(Team& team, const double* scores, int n, double* low, double* high) {
    if (n < MASCOT_FEW || has_wide_quartiles(team, scores, n, *low, *high)) return;
    const double first = order_statistic(team, scores, n, (n - 1) / 4) / 2;
    const double third = order_statistic(team, scores, n, 3 * (n - 1) / 4) / 2;
    const double fence = MASCOT_FENCE * (third - first);
    if (!(fence > 0.0)) return;
    Private<double> below, above;
    EACH_THREAD {
        MY(below) = MY(above) = -INFINITE;
        for (int i = t; i < n; i += THREADS) {
            const double v = scores[i];
            if (v / 2 < first - fence || v / 2 > third + fence) continue;
            MY(below) = fmax(MY(below), -v);
            MY(above) = fmax(MY(above), v);
        }
    }
    block_max_both(team, below, above, low, high);
    *low = -*low;
}
