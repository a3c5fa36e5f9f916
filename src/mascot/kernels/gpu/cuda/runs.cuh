// A run: the results of a greedy pass. Runs of a focus compete by what their results gain in all (starts.cuh).
#pragma once

#include "shapes.cuh"

struct Run {
    double relevance, wishes;  // sums of what the results gain by each; only computed if runs compete
    int count, stage;          // results, and the stage of the quotas that was reached

    DEVICE_MEMBER double objective(double strength) const { return (1.0 - strength) * relevance + strength * wishes; }
};

// What covering the bins of results changes, the part of one thread.
struct Covered {
    double fall, gain;  // by how much focus bins fell since the last sum; what the results gain by bins
};

// Return whether a list of results pays for the names of values instead of bins: a focus without a spread beside it does.
DEVICE bool pays_names(const Query& q, const Attribute& attribute) {
    return Config::starts && !has_spread(q.plan) && attribute.names;
}

DEVICE double name_of(const Query& q, const Attribute& attribute, int i) { return floor(attribute.names[q.row(i)]); }

// Return whether the name of result j is not that of an earlier result, or of an earlier page. Missing names are all different.
DEVICE bool is_new_name(const Query& q, const Attribute& attribute, int j) {
    const double name = name_of(q, attribute, q.selected[j]);
    int same = 0;  // counted to the end, so that the loads do not wait for each other
    SOME_UNROLL for (int other = 0; other < j; ++other) same += name_of(q, attribute, q.selected[other]) == name;
    SOME_UNROLL for (int other = 0; other < q.already_count; ++other)
        same += name_of(q, attribute, (int)q.already[other]) == name;
    return same == 0;
}

// Return what the first `count` results pay for names, the part of thread t.
DEVICE double name_costs(const Query& q, int count, int t) {
    double costs = 0.0;
    ROLLED for (int a = 0; a < attributes_of(q.plan); ++a) {
        const Attribute& attribute = q.plan.attribute[a];
        if (!pays_names(q, attribute)) continue;
        int names = 0;
        for (int j = t; j < count; j += THREADS) names += is_new_name(q, attribute, j);
        costs += names * attribute.name_price * q.arena[attribute.fit + FIT_PENALTY];
    }
    return costs;
}

// Return what candidate i pays for missing values: in the gain, or as one of a list, which may pay for names instead.
DEVICE double penalty_of(const Query& q, int i, bool listed) {
    double penalty = 0.0;
    EACH_ATTRIBUTE(q.plan) {
        const Attribute& attribute = q.plan.attribute[a];
        if (attribute.sign < 0 && !attribute.neutral && is_missing(q, attribute, shape_of(q.plan, a), i))
            penalty += listed && pays_names(q, attribute) ? 0.0 : q.arena[attribute.fit + FIT_PENALTY];
    }
    return penalty;
}

// Return the relevance of the `missing` most relevant candidates that are not selected, the part of thread t. Without quotas,
// `plain` is the most relevant candidates.
DEVICE double leading_relevance(const Query& q, int missing, int t) {
    double relevance = 0.0;
    for (int j = t; j < q.wanted && missing > 0; j += THREADS) {
        int open = 0;  // more relevant candidates that are not selected
        SOME_UNROLL for (int other = 0; other < j; ++other) open += !(q.taken[q.plain[other]] & TAKEN_SELECTED);
        if (open < missing && !(q.taken[q.plain[j]] & TAKEN_SELECTED)) relevance += q.relevance(q.scores[q.plain[j]]);
    }
    return relevance;
}

// Measure the first `count` results, and the `missing` most relevant other candidates.
DEVICE Run measure_run(Query& q, int count, int stage, int missing, const Private<Covered>& covered) {
    Private<double> relevance, wishes;
    EACH_THREAD {
        MY(relevance) = leading_relevance(q, missing, t);
        MY(wishes) = MY(covered).gain - name_costs(q, count, t);
        for (int j = t; j < count; j += THREADS) {
            MY(relevance) += q.relevance(q.scores[q.selected[j]]);
            MY(wishes) -= penalty_of(q, q.selected[j], true);
        }
    }
    Run run = {0.0, 0.0, count, stage};
    block_sum_both(q.team, relevance, wishes, &run.relevance, &run.wishes);
    return run;
}
