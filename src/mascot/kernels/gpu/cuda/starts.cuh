// Several runs of a focus, as native/starts.h: which further candidates they start from, and which run wins.
#pragma once

#include "greedy.cuh"

constexpr int LEADERS = MASCOT_LEADERS;

// Set the bins of candidate i to `share` of its memberships.
DEVICE void set_memberships(Query& q, const Attribute& attribute, int shape, int i, double share) {
    EACH_THREAD change_bins<Put>(q, attribute, shape, share, i, t);
    SYNC;
}

// The memory of the starts. like[c * LEADERS + i] is how much of the bins of leader c leader i has.
struct Starts {
    double *like, *mass, *shared;
    int *leaders, *centres, *plain, *best;

    DEVICE_MEMBER explicit Starts(const Query& q) : like(q.arena + q.plan.at_likes) {
        mass = like + LEADERS * LEADERS;
        shared = mass + LEADERS;
        leaders = (int*)(shared + LEADERS);
        centres = leaders + LEADERS;
        plain = (int*)(q.arena + q.plan.at_plain);
        best = (int*)(q.arena + q.plan.at_best);
    }
    DEVICE_MEMBER bool alike(int i, int j) const {
        return i == j || like[i * LEADERS + j] >= MASCOT_ALIKE || like[j * LEADERS + i] >= MASCOT_ALIKE;
    }
    // Runs: beside a spread, one from the protected results and one from each centre. Otherwise there are two of each, with
    // fixed strengths; if there is no centre, the protected results take its place.
    DEVICE_MEMBER int runs(const Query& q) const {
        return has_spread(q.plan) ? 1 + q.centre_count : 2 + 2 * (q.centre_count ? q.centre_count : 1);
    }
    DEVICE_MEMBER int centre_of(const Query& q, int run) const {
        if (has_spread(q.plan)) return run - 1;
        return run < 2 || q.centre_count == 0 ? -1 : run / 2 - 1;
    }
    DEVICE_MEMBER double strength_of(const Query& q, int run, double strength) const {
        constexpr double first[] = MASCOT_PROTECTED_STEPS, further[] = MASCOT_CENTRE_STEPS;
        if (has_spread(q.plan)) return strength;
        return run < 2 ? first[run] : further[run % 2];
    }
};

// Find the leaders, and select the most relevant results that the quotas allow. A focus competes with these.
DEVICE void find_leaders(Query& q, const Starts& starts) {
    double value = INFINITE;
    int at = -1;
    q.leader_count = q.plain_count = 0;
    ROLLED while (q.leader_count < LEADERS || q.plain_count < q.wanted) {
        at = next_best(q.team, q.scores, q.taken, q.n, &value, at);
        if (at >= q.n) break;
        const bool leads = q.leader_count < LEADERS;
        const bool selected = q.plain_count < q.wanted && is_allowed(q, at, 0, starts.plain, q.plain_count);
        EACH_THREAD if (t == 0) {
            if (leads) starts.leaders[q.leader_count] = at;
            if (selected) starts.plain[q.plain_count] = at;
        }
        SYNC;
        q.leader_count += leads;
        q.plain_count += selected;
    }
}

// Add the likeness of all leaders by one attribute, whose part of all stakes is `share`.
DEVICE void measure_likeness(Query& q, const Starts& starts, const Attribute& attribute, int shape, double share) {
    EACH_THREAD for (int j = t; j < attribute.slots; j += THREADS) q.state[attribute.origin + j] = 0.0;
    SYNC;
    ROLLED for (int c = 0; c < q.leader_count; ++c) {
        set_memberships(q, attribute, shape, starts.leaders[c], 1.0);
        refresh_neutral(q, attribute);
        ROLLED for (int first = 0; first < q.leader_count; first += GROUPS) {
            Private<double> sum;
            EACH_THREAD {
                const int i = first + t / LANES;
                MY(sum) = i < q.leader_count ? worth_of(q, attribute, shape, starts.leaders[i], t % LANES) : 0.0;
            }
            group_sum(sum);
            EACH_THREAD {
                const int i = first + t / LANES;
                if (i < q.leader_count && t % LANES == 0) starts.shared[i] = MY(sum);
            }
        }
        SYNC;
        const double own = starts.shared[c];
        EACH_THREAD for (int i = t; i < q.leader_count && own > 0.0; i += THREADS)
            starts.like[c * LEADERS + i] += share * (starts.shared[i] / own);
        set_memberships(q, attribute, shape, starts.leaders[c], 0.0);
    }
}

// Choose the centres: leaders around which most of the others lie, no two of them alike, and none like a protected result.
DEVICE void choose_centres(Query& q, const Starts& starts) {
    EACH_THREAD for (int c = t; c < q.leader_count; c += THREADS) {
        const int leader = starts.leaders[c];
        bool open = starts.like[c * LEADERS + c] > 0.0 && is_allowed(q, leader, 0, q.protected_positions, q.protected_count);
        for (int i = 0; i < q.leader_count && open; ++i)
            for (int j = 0; j < q.protected_count; ++j)
                if (starts.leaders[i] == q.protected_positions[j] && starts.alike(i, c)) open = false;
        double mass = 0.0;
        for (int i = 0; i < q.leader_count; ++i)
            mass += q.relevance.ideal(q.scores[starts.leaders[i]]) * starts.like[c * LEADERS + i];
        starts.mass[c] = open ? mass : -INFINITE;
    }
    SYNC;
    const int most = q.protected_count < q.wanted ? (int)q.plan.starts : 0;
    ROLLED for (q.centre_count = 0; q.centre_count < most; ++q.centre_count) {
        double top = -INFINITE;
        int centre = 0;
        for (int c = 0; c < q.leader_count; ++c) top = fmax(top, starts.mass[c]);
        if (!(top > -INFINITE)) break;
        while (starts.mass[centre] < top - MASCOT_TIE * LEADERS) ++centre;
        SYNC;
        EACH_THREAD {
            if (t == 0) starts.centres[q.centre_count] = starts.leaders[centre];
            for (int c = t; c < q.leader_count; c += THREADS) if (starts.alike(centre, c)) starts.mass[c] = -INFINITE;
        }
        SYNC;
    }
}

// Return what positions gain by all wishes, in the order of selection. Uses up the state.
DEVICE double wishes_of(Query& q, const int* positions, int count) {
    Private<double> sum;
    EACH_THREAD MY(sum) = 0.0;
    ROLLED for (int j = 0; j < count; ++j) {
        EACH_THREAD MY(sum) += cover_all(q, positions[j], t).gain;
        SYNC;
    }
    return block_sum(q.team, sum);
}

// Prepare further starts, if there is something to focus. Uses up the state.
DEVICE void prepare_starts(Query& q) {
    const Starts starts(q);
    double stakes = 0.0;
    EACH_ATTRIBUTE(q.plan) if (q.plan.attribute[a].sign < 0) stakes += q.arena[q.plan.attribute[a].fit + FIT_PENALTY];
    q.several = stakes > 0.0;
    if (!q.several) return;
    find_leaders(q, starts);
    q.plain_wishes = wishes_of(q, starts.plain, q.plain_count);
    EACH_THREAD for (int j = t; j < LEADERS * LEADERS; j += THREADS) starts.like[j] = 0.0;
    SYNC;
    EACH_ATTRIBUTE(q.plan) {
        const Attribute& attribute = q.plan.attribute[a];
        const double stake = attribute.sign < 0 ? q.arena[attribute.fit + FIT_PENALTY] : 0.0;
        if (stake > 0.0) measure_likeness(q, starts, attribute, shape_of(q.plan, a), stake / stakes);
    }
    choose_centres(q, starts);
}

// Return the sum of the gains of positions, of which `wishes` are by all wishes.
DEVICE double objective_of(Query& q, const int* positions, int count, double wishes) {
    Private<double> sum;
    EACH_THREAD {
        MY(sum) = 0.0;
        for (int j = t; j < count; j += THREADS) MY(sum) += fixed_gain(q, positions[j]);
    }
    return block_sum(q.team, sum) + q.strength * wishes;
}

// The best run so far: its number of results, the stage of the quotas that it reached, and its objective.
struct BestRun {
    int count, stage;
    double objective;

    // Take over a run if it has more results, breaks fewer quotas or has the larger objective, in this order.
    DEVICE_MEMBER void compare(Query& q, const int* positions, int count_, int stage_, double objective_, int* best) {
        bool better = objective_ > objective + q.tie;
        if (stage_ != stage) better = stage_ < stage;
        if (count_ != count) better = count_ > count;
        if (!better) return;
        count = count_, stage = stage_, objective = objective_;
        EACH_THREAD for (int j = t; j < count; j += THREADS) best[j] = positions[j];
        SYNC;
    }
};
