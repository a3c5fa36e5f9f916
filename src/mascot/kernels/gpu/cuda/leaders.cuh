// The most relevant candidates, and the centres among them: where further runs of a focus start.
#pragma once

#include "cover.cuh"
#include "quotas.cuh"

constexpr int LEADERS = MASCOT_LEADERS;

// The leaders. own[a * LEADERS + c] is the sum of the squared memberships of leader c in the bins of attribute a.
struct Leaders {
    double *mass, *own;
    int *centres, *positions;  // positions: more than leaders, if there are more results

    DEVICE_MEMBER explicit Leaders(const Query& q) : mass(q.arena + q.plan.at_leaders) {
        own = mass + LEADERS;
        centres = (int*)(own + LEADERS * q.plan.attributes);
        positions = centres + LEADERS;
    }
};

// Return the most that a candidate pays by attribute a; 0 for a spread.
DEVICE double stake_of(const Query& q, int a) {
    const Attribute& attribute = q.plan.attribute[a];
    return attribute.sign < 0 ? q.arena[attribute.fit + FIT_PENALTY] : 0.0;
}

// Write the `count` most relevant candidates that earlier pages have not shown, best first. Each of them counts those before it; of
// the best of each thread, `count` reach `least`, so that candidates below are left out.
DEVICE void rank_candidates(Query& q, int count, int* order) {
    double *tops = q.spare, least = -INFINITE;
    if (count <= THREADS && q.n > THREADS) {
        EACH_THREAD {
            double top = -INFINITE;
            for (int i = t; i < q.n; i += THREADS) if (!q.taken[i]) top = fmax(top, q.scores[i]);
            tops[t] = top;
        }
        SYNC;
        Private<double> bound;
        EACH_THREAD {
            int better = 0;
            SOME_UNROLL for (int other = 0; other < THREADS; ++other) better += tops[other] > tops[t];
            MY(bound) = better < count ? -tops[t] : -INFINITE;
        }
        least = -block_max(q.team, bound);
    }
    EACH_THREAD ROLLED for (int i = t; i < q.n; i += THREADS) {
        const double score = q.scores[i];
        if (q.taken[i] || score < least) continue;
        int better = 0;
        SOME_UNROLL for (int j = 0; j < q.n; ++j)
            better += !q.taken[j] && (q.scores[j] > score || (q.scores[j] == score && j < i));
        if (better < count) order[better] = i;
    }
    SYNC;
}

// Find the leaders, and the most relevant results that the quotas allow. A focus competes with these.
DEVICE void find_leaders(Query& q, const Leaders& leaders) {
    q.leader_count = q.n - q.already_count < LEADERS ? q.n - q.already_count : LEADERS;
    q.plain_count = q.wanted;
    rank_candidates(q, q.wanted > q.leader_count ? q.wanted : q.leader_count, leaders.positions);
    if (!Config::quotas || !q.plan.quotas) {
        EACH_THREAD for (int j = t; j < q.wanted; j += THREADS) q.plain[j] = leaders.positions[j];
        SYNC;
        return;
    }
    double value = INFINITE;
    int at = -1;
    q.plain_count = 0;
    ROLLED while (q.plain_count < q.wanted) {
        at = next_best(q.team, q.scores, q.taken, q.n, &value, at);
        if (at >= q.n) break;
        if (!is_allowed(q, at, 0, q.plain, q.plain_count)) continue;
        EACH_THREAD if (t == 0) q.plain[q.plain_count] = at;
        SYNC;
        ++q.plain_count;
    }
}

// Add a bin's share to it.
struct Add {
    static DEVICE_MEMBER double change(double* bin, double p) {
        add_to(bin, p);
        return 0.0;
    }
};

// Set the bins of the focused attributes to the memberships of leaders first .. last - 1; if `weighed`, times their relevance.
DEVICE void add_leaders(Query& q, const Leaders& leaders, int first, int last, bool weighed) {
    EACH_THREAD for (int j = t; j < q.plan.slots; j += THREADS) q.state[j] = 0.0;
    SYNC;
    ROLLED for (int c = first; c < last; ++c) {
        const int i = leaders.positions[c];
        const double share = weighed ? q.relevance.ideal(q.scores[i]) : 1.0;
        EACH_THREAD EACH_ATTRIBUTE(q.plan) if (stake_of(q, a) > 0.0)
            change_bins<Add>(q, q.plan.attribute[a], shape_of(q.plan, a), share, i, a & 1 ? THREADS - 1 - t : t);
    }
    SYNC;
    EACH_ATTRIBUTE(q.plan) refresh_neutral(q, q.plan.attribute[a]);
}

// Compare each leader with what `add_leaders` added: with all leaders, which sets its mass, or with leader `pivot`, to which none of
// the centres may be like. Two leaders are alike if one has half of the other's bins, over all focused attributes.
DEVICE void compare_leaders(Query& q, const Leaders& leaders, double stakes, int pivot) {
    ROLLED for (int first = 0; first < q.leader_count; first += GROUPS) {
        Private<double> part, back;  // how much of its bins the other has; and how much of the other's it has
        EACH_THREAD MY(part) = MY(back) = 0.0;
        EACH_ATTRIBUTE(q.plan) if (stake_of(q, a) > 0.0) {
            const Attribute& attribute = q.plan.attribute[a];
            const int shape = shape_of(q.plan, a);
            double* own = leaders.own + a * LEADERS;
            Private<double> shared, squares;
            EACH_THREAD {
                const int c = first + t / LANES, i = c < q.leader_count ? leaders.positions[c] : -1;
                MY(shared) = i < 0 ? 0.0 : worth_of(q, attribute, shape, i, t % LANES);
                MY(squares) = i < 0 || pivot >= 0 ? 0.0 : squares_of(q, attribute, shape, i, t % LANES);
            }
            group_sum(shared);
            group_sum(squares);
            const double share = stake_of(q, a) / stakes;
            EACH_THREAD {
                const int c = first + t / LANES;
                if (c >= q.leader_count) continue;
                if (pivot < 0 && t % LANES == 0) own[c] = MY(squares);
                const double mine = pivot < 0 ? MY(squares) : own[c];
                if (mine > 0.0) MY(part) += share * (MY(shared) / mine);
                if (mine > 0.0 && pivot < 0) MY(back) += share;  // it has bins
                if (pivot >= 0 && own[pivot] > 0.0) MY(back) += share * (MY(shared) / own[pivot]);
            }
        }
        EACH_THREAD {
            const int c = first + t / LANES;
            if (c >= q.leader_count || t % LANES) continue;
            if (pivot < 0) {
                const bool open = is_allowed(q, leaders.positions[c], 0, q.protected_positions, q.protected_count);
                leaders.mass[c] = open && MY(back) > 0.0 ? MY(part) : -INFINITE;
            } else if (c == pivot || MY(part) >= MASCOT_ALIKE || MY(back) >= MASCOT_ALIKE) {
                leaders.mass[c] = -INFINITE;
            }
        }
    }
    SYNC;
}

// Return the leader with the largest mass, or -1 if there is none.
DEVICE int heaviest_leader(const Query& q, const Leaders& leaders) {
    double top = -INFINITE;
    int centre = 0;
    for (int c = 0; c < q.leader_count; ++c) top = fmax(top, leaders.mass[c]);
    if (!(top > -INFINITE)) return -1;
    while (leaders.mass[centre] < top - MASCOT_TIE * LEADERS) ++centre;
    return centre;
}

// Choose the centres: leaders around which most of the others lie, no two of them alike, and none like a protected result.
DEVICE void choose_centres(Query& q, const Leaders& leaders, double stakes) {
    const int most = q.protected_count < q.wanted ? (int)q.plan.starts : 0;
    q.centre_count = 0;
    // First all leaders are added, for their masses; then each of those that others may not be like.
    ROLLED for (int turn = -1; q.centre_count < most; ++turn) {
        int pivot = -1;
        if (turn >= q.protected_count) {
            pivot = heaviest_leader(q, leaders);
            if (pivot < 0) break;
            EACH_THREAD if (t == 0) leaders.centres[q.centre_count] = leaders.positions[pivot];
            if (++q.centre_count == most) break;
        } else if (turn >= 0) {
            for (int c = 0; c < q.leader_count; ++c) if (leaders.positions[c] == q.protected_positions[turn]) pivot = c;
            if (pivot < 0) continue;
        }
        add_leaders(q, leaders, turn < 0 ? 0 : pivot, turn < 0 ? q.leader_count : pivot + 1, turn < 0);
        compare_leaders(q, leaders, stakes, pivot);
    }
}
