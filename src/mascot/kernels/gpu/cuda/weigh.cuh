// Weighing an attribute: place the bins of the candidates, set what each bin is worth, and sum up what each candidate covers first.
#pragma once

#include "cover.cuh"
#include "describe.cuh"
#include "fit.cuh"
#include "globe.cuh"

struct Weighing {
    const Attribute& attribute;
    int shape, slots;       // slots: those of this query, at most those of the attribute
    bool by_query, balance;  // bins are worth their peak relevance; one result covers only its share of a bin
    double* fit;
    double mean_total;      // memberships of a candidate without a value, under the rule "neutral"
    double highest, factor, coverage;  // coverage: the part of a bin that one result covers

    DEVICE_MEMBER Weighing(const Query& q, int a) : attribute(q.plan.attribute[a]), shape(shape_of(q.plan, a)) {
        slots = (int)attribute.slots;
        by_query = Config::query_weight && (q.plan.flags & FLAG_QUERY_WEIGHT);
        balance = Config::balance && (q.plan.flags & FLAG_BALANCE) && attribute.sign > 0;
        fit = q.arena + attribute.fit;
        mean_total = highest = 0.0;
        factor = attribute.weight / q.plan.total_weight;
        coverage = 1.0;
    }
};

DEVICE void clear_bins(const Query& q, const Weighing& w) {
    EACH_THREAD for (int j = t; j < w.slots; j += THREADS) q.state[w.attribute.origin + j] = 0.0;
    SYNC;
}

// Give bins that are looked up a slot. Returns false if there is not enough memory.
DEVICE bool insert_bins(Query& q, const Weighing& w) {
    Private<int> full;
    EACH_THREAD {
        Insert insert(w.attribute, q.arena);
        if (w.shape == SHAPE_GLOBE) {
            ROLLED for (int i = t; i < q.n; i += THREADS) insert.full |= !pool_cells(q, w.attribute, i);
        } else {
            ROLLED for (int i = t / LANES; i < q.n; i += GROUPS) visit_labels(q, w.attribute, i, t % LANES, insert);
        }
        MY(full) = insert.full;
    }
    if (block_count(full)) return false;
    SYNC;
    if (w.shape == SHAPE_GLOBE) clear_bins(q, w);  // the table of cells was in the memory of the state
    return true;
}

// Describe the bins of all candidates. Returns false if there is not enough memory.
DEVICE bool place_bins(Query& q, Weighing& w) {
    const Attribute& attribute = w.attribute;
    const bool looked_up = w.shape == SHAPE_LABELS && attribute.bits >= 0;
    double axes[2 * AXIS_FIELDS], km = 0.0;
    for (int j = 0; j < 2 * AXIS_FIELDS; ++j) axes[j] = attribute.axes[j / AXIS_FIELDS][j % AXIS_FIELDS];
    if (w.shape == SHAPE_LINE && axes[AXIS_STEP] == 0.0) {
        fit_axis(q, attribute, axes);
        if ((int)axes[AXIS_COUNT] < w.slots) w.slots = (int)axes[AXIS_COUNT];
    }
    if (w.shape == SHAPE_GLOBE) km = axes[AXIS_SIGMA] > 0 ? axes[AXIS_SIGMA] : fit_globe(q, attribute);
    if (w.shape == SHAPE_GLOBE && axes[AXIS_SIGMA] < 0) km = fmin(km, -axes[AXIS_SIGMA]);
    EACH_THREAD {
        if (t == 0) {
            w.fit[FIT_COUNT] = axes[AXIS_COUNT];
            w.fit[FIT_UNKNOWN] = 0.0;
            if (w.shape == SHAPE_GLOBE) make_mesh(w.fit, km);
        }
        ROLLED for (int i = t; i < q.n && w.shape != SHAPE_GLOBE; i += THREADS) describe(q, attribute, axes, w.shape, i);
        if (looked_up) for (int j = t; j < w.slots; j += THREADS) ((u64*)(q.arena + attribute.keys))[j] = ~0ull;
        if (w.shape != SHAPE_GLOBE) for (int j = t; j < w.slots; j += THREADS) q.state[attribute.origin + j] = 0.0;
    }
    SYNC;
    if (w.shape == SHAPE_GLOBE) number_cells(q, attribute);
    return w.shape == SHAPE_GLOBE || looked_up ? insert_bins(q, w) : true;
}

// Compute what candidates with a value cover on average, for the rule "neutral".
DEVICE void average_bins(Query& q, Weighing& w) {
    if constexpr (Config::neutral) {
        const Attribute& attribute = w.attribute;
        Private<double> unknown, part;
        EACH_THREAD {
            MY(unknown) = 0.0;
            for (int i = t; i < q.n && attribute.neutral; i += THREADS) MY(unknown) += is_missing(q, attribute, w.shape, i);
        }
        const double missing = block_sum(q.team, unknown);
        if (!(missing > 0 && missing < q.n)) return;
        double* mean = q.arena + attribute.mean;
        EACH_THREAD for (int j = t; j < attribute.slots; j += THREADS) {
            mean[j] = 0.0;
            if (j >= w.slots) q.state[attribute.origin + j] = 0.0;
        }
        SYNC;
        EACH_THREAD {
            AddToMean add(attribute, q.arena, mean, 1.0 / (q.n - missing));
            for (int i = t / LANES; i < q.n; i += GROUPS) visit(q, attribute, w.shape, i, t % LANES, add);
        }
        SYNC;
        EACH_THREAD {
            MY(part) = 0.0;
            for (int j = t; j < attribute.slots; j += THREADS) MY(part) += mean[j];
            if (t == 0) w.fit[FIT_UNKNOWN] = missing;  // from now on they count as the mean
        }
        w.mean_total = block_sum(q.team, part);
    }
}

// Raise the bins to the largest membership times relevance, over the candidates of thread t's group; `flat`: relevance is 1.
DEVICE void raise_peaks(const Query& q, const Weighing& w, bool flat, bool low, int t) {
    const Attribute& attribute = w.attribute;
    ROLLED for (int i = t / LANES; i < q.n; i += GROUPS) {
        const double relevance = flat ? 1.0 : q.relevance(q.scores[i]);
        if (!(relevance > 0.0)) continue;
        Peak peak(attribute, q.arena, q.state, relevance, low);
        if (is_neutral(q, attribute, w.shape, i)) {
            const double* mean = q.arena + attribute.mean;
            for (int j = t % LANES; j < (attribute.cycle ? attribute.cycle : attribute.slots); j += LANES)
                if (mean[j] > 0) peak((int)attribute.origin + j, mean[j], false);
            continue;
        }
        visit(q, attribute, w.shape, i, t % LANES, peak);
    }
}

// Return a lane's share of the memberships of candidate i; for balance, also raise the high words of the bins' peaks.
DEVICE double sum_memberships(const Query& q, const Weighing& w, int i, int lane) {
    if (is_neutral(q, w.attribute, w.shape, i)) return lane == 0 ? w.mean_total : 0.0;
    if (w.balance) {
        Peak peak(w.attribute, q.arena, q.state, 1.0, false);
        visit(q, w.attribute, w.shape, i, lane, peak);
        return peak.sum;
    }
    Sum sum;
    visit(q, w.attribute, w.shape, i, lane, sum);
    return sum.even + sum.odd;
}

// Set the coverage per result, so that an even result list fills every bin; `memberships` is their sum over all candidates.
DEVICE void measure_coverage(Query& q, Weighing& w, double memberships) {
    const Attribute& attribute = w.attribute;
    EACH_THREAD raise_peaks(q, w, true, true, t);
    SYNC;
    Private<double> total;
    EACH_THREAD {
        MY(total) = 0.0;
        for (int j = t; j < (attribute.cycle ? (int)attribute.cycle : w.slots); j += THREADS)
            MY(total) += q.state[attribute.origin + j];
    }
    const double peaks = block_sum(q.team, total);
    const double results_per_bin = peaks > 0.0 ? q.wanted * (memberships / q.n) / peaks : 0.0;
    if (results_per_bin > 1.0) w.coverage = 1.0 / results_per_bin;
}

// Write the first sums under uniform weights to `spare`; for balance, also set the coverage per result.
DEVICE void sum_uniform(Query& q, Weighing& w) {
    Private<double> top, total;
    EACH_THREAD MY(top) = MY(total) = 0.0;
    ROLLED for (int first = 0; first < q.n; first += GROUPS) {
        Private<double> sum;
        EACH_THREAD {
            const int i = first + t / LANES;
            MY(sum) = i < q.n ? sum_memberships(q, w, i, t % LANES) : 0.0;
        }
        group_sum(sum);
        EACH_THREAD {
            const int i = first + t / LANES;
            MY(top) = fmax(MY(top), MY(sum));
            if (i < q.n && t % LANES == 0) q.spare[i] = MY(sum), MY(total) += MY(sum);
        }
    }
    w.highest = block_max(q.team, top);
    if (w.balance) measure_coverage(q, w, block_sum(q.team, total));
}

// Write the sums over the state to `spare`, and return the largest.
DEVICE double sum_worth(Query& q, const Weighing& w) {
    Private<double> top;
    EACH_THREAD MY(top) = 0.0;
    ROLLED for (int first = 0; first < q.n; first += GROUPS) {
        Private<double> sum;
        EACH_THREAD {
            const int i = first + t / LANES;
            MY(sum) = i < q.n ? worth_of(q, w.attribute, w.shape, i, t % LANES) : 0.0;
        }
        group_sum(sum);
        EACH_THREAD {
            const int i = first + t / LANES;
            MY(top) = fmax(MY(top), MY(sum));
            if (i < q.n && t % LANES == 0) q.spare[i] = MY(sum);
        }
    }
    return block_max(q.team, top);
}

// Make bins worth their peak relevance.
DEVICE void weigh_by_relevance(Query& q, const Weighing& w) {
    if (w.balance) clear_bins(q, w);
    ROLLED for (int half = 0; half < 2; ++half) {
        EACH_THREAD raise_peaks(q, w, false, half == 1, t);
        SYNC;
    }
    refresh_neutral(q, w.attribute);
}

// Multiply the bins by the weight of the attribute, and write what is reported of it.
DEVICE void scale_bins(Query& q, Weighing& w, const Results& results, int a) {
    if (w.highest < MASCOT_NOTHING) w.highest = 0.0;
    if ((q.plan.flags & FLAG_SCALE) && w.highest > 0.0) w.factor /= w.highest;
    if ((q.plan.flags & FLAG_SCALE) && w.attribute.sign < 0 && w.shape == SHAPE_LABELS) w.factor *= MASCOT_LABEL_PRICE;
    q.total_worth += w.factor * w.highest;
    EACH_THREAD {
        for (int j = t; j < w.slots; j += THREADS) {
            double* bin = q.state + w.attribute.origin + j;
            *bin = w.by_query ? *bin * w.factor : w.factor;
        }
        if (t == 0) {
            w.fit[FIT_PENALTY] = w.factor * w.highest;
            w.fit[FIT_NEUTRAL] = w.by_query ? w.fit[FIT_NEUTRAL] * w.factor : w.mean_total * w.factor;
            w.fit[FIT_COVERAGE] = w.coverage;
            results.gain_factors[a] = w.attribute.sign * w.factor;
            results.largest_gains[a] = w.highest;
            results.coverage_per_result[a] = w.coverage;
        }
    }
    SYNC;
}

// Results of earlier pages count as covered. Returns whether there are any.
DEVICE bool cover_earlier_pages(Query& q, const Weighing& w) {
    ROLLED for (int j = 0; j < q.already_count; ++j) {
        EACH_THREAD cover(q, w.attribute, w.shape, (int)q.already[j], t);
        SYNC;
    }
    if (q.already_count > 0) refresh_neutral(q, w.attribute);
    return q.already_count > 0;
}

// Weigh attribute a, and add its first sums to those of the candidates. Returns false if there is not enough memory.
DEVICE bool weigh_attribute(Query& q, const Results& results, int a) {
    Weighing w(q, a);
    if (!place_bins(q, w)) return false;
    average_bins(q, w);
    if (w.balance || !w.by_query) sum_uniform(q, w);
    if (w.by_query) weigh_by_relevance(q, w);
    bool changed = w.by_query;  // the sums must be computed over the state
    // The sums before and after scaling share one loop, because its code is large.
    ROLLED for (int turn = w.by_query ? 0 : 1; turn < 3; ++turn) {
        if (turn == 1) {
            scale_bins(q, w, results, a);
            changed = cover_earlier_pages(q, w);
            continue;
        }
        if (!changed) break;
        const double largest = sum_worth(q, w);
        if (turn == 0) w.highest = largest;
    }
    double *spread = q.arena + q.plan.at_spread, *focus = q.arena + q.plan.at_focus;
    EACH_THREAD ROLLED for (int i = t; i < q.n; i += THREADS) {
        const double sum = changed ? q.spare[i] : q.spare[i] * w.factor;
        if (has_spread(q.plan)) spread[i] = (a ? spread[i] : 0.0) + (w.attribute.sign > 0 ? sum : 0.0);
        if (has_focus(q.plan)) focus[i] = (a ? focus[i] : 0.0) + (w.attribute.sign < 0 ? sum : 0.0);
    }
    SYNC;
    return true;
}
