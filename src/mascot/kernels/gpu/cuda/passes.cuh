// A pass with one strength, and what several passes share.
#pragma once

#include "greedy.cuh"

// Return how close two gains are that count as equal.
DEVICE double tie_of(const Query& q, double strength) {
    const double ideal = (q.relevance.high / 2 - q.relevance.low / 2) / q.relevance.range;  // the largest relevance of 0 .. 1
    const double largest = q.relevance.raw ? q.largest_score : ideal;
    return MASCOT_TIE * ((1.0 - strength) * largest + strength * q.total_worth);
}

// Set the bounds for a pass with q.strength, and select.
DEVICE Run select_once(Query& q) {
    const Bounds bounds(q);
    const double *spread = q.arena + q.plan.at_spread, *focus = q.arena + q.plan.at_focus;
    EACH_THREAD ROLLED for (int i = t; i < q.n; i += THREADS) {
        const double base = fixed_gain(q, i), most = bounds.spread ? base + q.strength * spread[i] : base;
        const double gain = bounds.focus ? most - q.strength * focus[i] : most;
        bounds.base[i] = base;
        bounds.set(i, most, gain);
        q.taken[i] &= TAKEN_ALREADY;
        if (q.taken[i] || !is_allowed(q, i, 0, q.selected, 0)) bounds.close(i);
    }
    SYNC;
    q.tie = tie_of(q, q.strength);
    return select_greedily(q);
}

// Save the state for several passes.
DEVICE void save_state(Query& q) {
    double* start = q.arena + q.plan.at_start;
    EACH_THREAD for (int j = t; j < q.plan.slots; j += THREADS) start[j] = q.state[j];
    SYNC;
}

// Restore the state for another pass, which waits for it.
DEVICE void restore_state(Query& q) {
    const double* start = q.arena + q.plan.at_start;
    EACH_THREAD for (int j = t; j < q.plan.slots; j += THREADS) q.state[j] = start[j];
    if constexpr (Config::neutral) {
        SYNC;
        EACH_ATTRIBUTE(q.plan) refresh_neutral(q, q.plan.attribute[a]);
    }
}
