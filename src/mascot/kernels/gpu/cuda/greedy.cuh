// The greedy pass: select results one after the other, each with the largest gain. It is exact, as native/greedy.h.
//
// Lazily: covering only lowers the state, so a stale spread sum is an upper bound, and a stale focus sum has fallen by no more than
// the state has in all. In a round every group of threads evaluates the most promising of its own candidates; rounds end if no bound
// reaches the best gain. Eagerly (Config::eager): all candidates are evaluated in every step.
#pragma once

#include "cover.cuh"
#include "held.cuh"
#include "quotas.cuh"
#include "runs.cuh"

// The candidates of thread t: c counts them, i is their position. A group has the candidates of its lanes.
#define FIRST_OWN(t) ((t) / LANES + GROUPS * ((t) % LANES))
#define EACH_OWN(n) OWN_UNROLL for (int c = 0, i = FIRST_OWN(t); c < Config::per_thread; ++c, i += THREADS) if (i < (n))

// Bounds of gains. `base` is the gain that no choice changes, `cap` adds the stale spread sum, and `low` is the stale gain at the
// start of the pass. Problems without focus need `cap` alone; problems without spread need `base` and `low`.
struct Bounds {
    double *base, *cap, *low;
    bool spread, focus;

    DEVICE_MEMBER explicit Bounds(const Query& q)
        : base(q.arena + q.plan.at_base), cap(q.arena + q.plan.at_cap), low(q.arena + q.plan.at_low),
          spread(has_spread(q.plan)), focus(has_focus(q.plan)) {}
    // Return the bound if sums may have fallen by `moved`.
    DEVICE_MEMBER double at(int i, double moved) const {
        return !focus ? cap[i] : fmin(spread ? cap[i] : base[i], low[i] + moved);
    }
    DEVICE_MEMBER bool is_open(int i) const { return (spread ? cap[i] : base[i]) > -INFINITE; }
    DEVICE_MEMBER void set(int i, double most, double gain) const {
        if (spread) cap[i] = most;
        if (focus) low[i] = gain;
    }
    DEVICE_MEMBER void close(int i) const {
        set(i, -INFINITE, -INFINITE);
        if (!spread) base[i] = -INFINITE;
    }
};

// Return the gain of candidate i that no choice changes.
DEVICE double fixed_gain(const Query& q, int i) {
    return (1.0 - q.strength) * q.relevance(q.scores[i]) - q.strength * penalty_of(q, i, false);
}

// Open the candidates that the quotas of this stage allow.
DEVICE void open_stage(Query& q, const Bounds& bounds, int stage, int done, double moved) {
    ROLLED for (int first = 0; first < q.n; first += GROUPS) {
        Private<double> spread, focus;
        Private<int> open;
        EACH_THREAD {
            const int i = first + t / LANES;
            MY(spread) = MY(focus) = 0.0;
            MY(open) = i < q.n && !q.taken[i] && is_allowed(q, i, stage, q.selected, done);
            if (MY(open)) EACH_ATTRIBUTE(q.plan) {
                const Attribute& attribute = q.plan.attribute[a];
                const double sum = worth_of(q, attribute, shape_of(q.plan, a), i, t % LANES);
                if (attribute.sign > 0) MY(spread) += sum; else MY(focus) += sum;
            }
        }
        group_sum(spread);
        group_sum(focus);
        EACH_THREAD if (MY(open) && t % LANES == 0) {
            const int i = first + t / LANES;
            const double base = fixed_gain(q, i), most = base + q.strength * MY(spread);
            bounds.base[i] = base;
            bounds.set(i, most, most - q.strength * MY(focus) - moved);
        }
    }
    SYNC;
}

// Return the open candidate with the largest gain, or n: all candidates are evaluated.
DEVICE int choose_eagerly(Query& q, const Bounds& bounds, const Private<HeldBins>& held) {
    Private<double> top, sum;
    Private<int> where;
    EACH_THREAD {
        const int i = t / LANES;
        MY(sum) = 0.0;
        if (i < q.n && bounds.is_open(i)) EACH_ATTRIBUTE(q.plan) {
            const Attribute& attribute = q.plan.attribute[a];
            const int shape = shape_of(q.plan, a);
            const double worth = MY(held).of[a].held ? MY(held).of[a].worth(attribute, q.state, shape)
                                                     : worth_of(q, attribute, shape, i, t % LANES);
            MY(sum) += attribute.sign > 0 ? worth : -worth;
        }
    }
    group_sum(sum);
    EACH_THREAD {
        const int i = t / LANES;
        MY(top) = i < q.n && bounds.is_open(i) ? bounds.base[i] + q.strength * MY(sum) : -INFINITE;
    }
    const double bar = block_max(q.team, top) - q.tie;
    EACH_THREAD MY(where) = MY(top) > -INFINITE && MY(top) >= bar ? t / LANES : q.n;
    return block_min(q.team, where);
}

// Return the open candidate with the largest gain, or n: candidates are evaluated until no bound reaches the best gain. In the first
// step (`exact`) all bounds are gains. `moved` is by how much sums may have fallen.
DEVICE int choose_lazily(Query& q, const Bounds& bounds, bool exact, double moved) {
    Private<u64> fresh;  // which of its own candidates a thread has evaluated in this step
    Private<double> top, bound, spread, focus;
    Private<int> mine, where;
    double bar = -INFINITE, next = INFINITE;
    EACH_THREAD MY(fresh) = 0, MY(top) = -INFINITE;
    ROLLED for (bool first = true;; first = false) {
        EACH_THREAD {
            MY(bound) = -INFINITE;
            MY(mine) = q.n;
            EACH_OWN(q.n) {
                const double b = bounds.at(i, moved);
                if (b > MY(bound) && !(MY(fresh) & 1ull << c)) MY(bound) = b, MY(mine) = i;
            }
            if (exact) MY(top) = MY(bound);
        }
        group_best(bound, mine);
        if (!first || exact) {
            block_max_both(q.team, top, bound, &bar, &next);
            if (exact || !(next > -INFINITE && next >= bar - q.tie)) break;
        }
        EACH_THREAD {
            MY(spread) = MY(focus) = 0.0;
            if (MY(bound) > -INFINITE && MY(bound) >= bar - q.tie) EACH_ATTRIBUTE(q.plan) {
                const Attribute& attribute = q.plan.attribute[a];
                const double sum = worth_of(q, attribute, shape_of(q.plan, a), MY(mine), t % LANES);
                if (!bounds.focus || (bounds.spread && attribute.sign > 0)) MY(spread) += sum; else MY(focus) += sum;
            }
        }
        if (bounds.spread) group_sum(spread);
        if (bounds.focus) group_sum(focus);
        EACH_THREAD if (MY(bound) > -INFINITE && MY(bound) >= bar - q.tie) {
            const int i = MY(mine);
            const double most = bounds.spread ? bounds.base[i] + q.strength * MY(spread) : bounds.base[i];
            const double gain = bounds.focus ? most - q.strength * MY(focus) : most;
            MY(top) = fmax(MY(top), gain);
            if (i % THREADS == FIRST_OWN(t)) {
                bounds.set(i, most, gain - moved);
                MY(fresh) |= 1ull << i / THREADS;
            }
        }
    }
    EACH_THREAD {
        MY(where) = q.n;
        if (MY(top) >= bar - q.tie) EACH_OWN(q.n) {
            const double b = bounds.at(i, moved);
            if (i < MY(where) && b > -INFINITE && b >= bar - q.tie) MY(where) = i;
        }
    }
    return block_min(q.team, where);
}

// Close the candidates of thread t that have a label which candidate `best` fills.
DEVICE void close_full_labels(const Query& q, const Bounds& bounds, int best, int stage, int done, int t) {
    if constexpr (Config::quotas) {
        ROLLED for (int c = 0; c < (int)q.plan.quotas; ++c) {
            const Quota& quota = q.plan.quota[c];
            const u64* words = (const u64*)(q.arena + quota.words);
            const int raised = raised_by(quota, stage), labels = raised < 0 ? 0 : (int)(words[best] >> LABEL_BITS);
            for (int j = 0; j < labels; ++j) {
                const i64 label = label_of(quota, words[best], j);
                if (!is_full_for_all(quota, words, label, q.selected, done, 1 - raised)) continue;
                ROLLED for (int i = t; i < q.n; i += THREADS) if (has_label(quota, words[i], label)) bounds.close(i);
            }
        }
    }
}

// Return whether a run only measures a list: no candidate is chosen. Bins then matter only to attributes that do not pay for names.
DEVICE bool is_list(const Query& q) { return Config::starts && q.protected_count >= q.wanted; }

// Cover the bins of candidate `best` that belong to thread t. Returns whether there may be any.
DEVICE bool cover_all(const Query& q, int best, int t, Covered& covered) {
    bool any = false;
    EACH_ATTRIBUTE(q.plan) {
        const Attribute& attribute = q.plan.attribute[a];
        const bool named = pays_names(q, attribute);
        if (named && is_list(q)) continue;
        any = true;
        const double fall = cover(q, attribute, shape_of(q.plan, a), best, a & 1 ? THREADS - 1 - t : t);
        if (attribute.sign < 0) covered.fall += fall;
        if (Config::starts && !named) covered.gain += attribute.sign * fall / coverage_per_result(q, attribute);
    }
    return any;
}

// Select candidate `best`: cover its bins, close it and what its labels fill. Returns by how much focus bins fell, if that is needed:
// before the next candidate is chosen.
DEVICE double take_result(Query& q, const Bounds& bounds, int best, int stage, int done, Private<Covered>& covered) {
    bool any = false;
    EACH_THREAD {
        any = cover_all(q, best, t, MY(covered));
        if (t == 0) {
            bounds.close(best);
            q.selected[done] = best;
            if (Config::quotas || Config::starts) q.taken[best] |= TAKEN_SELECTED;
        }
        close_full_labels(q, bounds, best, stage, done, t);
    }
    if (Config::eager || !bounds.focus || done + 1 < q.protected_count || is_list(q)) {
        if (any || !is_list(q)) SYNC;
        return 0.0;
    }
    Private<double> fall;
    EACH_THREAD {
        MY(fall) = MY(covered).fall;
        MY(covered).fall = 0.0;
    }
    return block_sum(q.team, fall);
}

// Select up to `wanted` results. Uses up the state. A run that cannot reach the bar any more loses its results.
DEVICE Run select_greedily(Query& q) {
    constexpr int BETWEEN_CHECKS = 4;
    const Bounds bounds(q);
    const double slope = bounds.focus ? q.strength : 0.0;
    double fallen = 0.0;
    int stage = 0, done = 0, last = 1;
    if constexpr (Config::quotas) {
        ROLLED for (int c = 0; c < (int)q.plan.quotas; ++c) if (q.plan.quota[c].stages == FILLED) last = q.wanted + 1;
    }
    Private<Covered> covered;
    EACH_THREAD MY(covered) = {0.0, 0.0};
    Private<HeldBins> held;
    if constexpr (Config::eager) {
        EACH_THREAD if (t / LANES < q.n) EACH_ATTRIBUTE(q.plan)
            MY(held).of[a].take(q, q.plan.attribute[a], shape_of(q.plan, a), t / LANES, t % LANES);
    }
    ROLLED while (done < q.wanted) {
        int best = 0;
        if (done < q.protected_count) {
            best = q.protected_positions[done];
        } else {
            const double moved = slope * fallen;
            if constexpr (Config::eager) best = choose_eagerly(q, bounds, held);
            else best = choose_lazily(q, bounds, done == 0, moved);
            if (Config::quotas && best == q.n) {  // nothing is allowed any more: the next stage lifts quotas
                if (!q.plan.quotas || stage == last) {
                    stage = 2;
                    break;
                }
                open_stage(q, bounds, ++stage, done, moved);
                continue;
            }
        }
        fallen += take_result(q, bounds, best, stage, done, covered);
        EACH_ATTRIBUTE(q.plan) refresh_neutral(q, q.plan.attribute[a]);
        ++done;
        if constexpr (Config::starts) {
            if (done % BETWEEN_CHECKS || done == BETWEEN_CHECKS || done == q.wanted || !(q.bar > -INFINITE)) continue;
            if (measure_run(q, done, stage, q.wanted - done, covered).objective(q.dial) < q.bar) return {0.0, 0.0, 0, stage};
        }
    }
    stage = stage < 2 ? stage : 2;
    if constexpr (Config::starts) return measure_run(q, done, stage, 0, covered);
    else return {0.0, 0.0, done, stage};
}
