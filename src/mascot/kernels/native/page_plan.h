/* Looking ahead: a plan that completes the page within all quotas. See look_ahead.py, which this file follows step by step. */
#ifndef MASCOT_PAGE_PLAN_H
#define MASCOT_PAGE_PLAN_H

#include <string.h>

#include "hash.h"
#include "kernel.h"

enum { SHARED = 1, FILLED = 2 }; /* stages in which a share and a limit with fill hold */
#define NO_COST ((int64_t)1 << 40) /* more than any cost */

/* Candidates that complete a page, counted by type: candidates with the same values. A node is a value of a quota. */
typedef struct {
    int64_t length, size, cost, nodes, types, paired;
    int64_t *type_of;                  /* [n] -1 for results of earlier pages */
    int64_t *begin, *node;             /* type t has the nodes node[begin[t] .. begin[t + 1]] */
    int64_t *types_begin, *type;       /* node v is one of type[types_begin[v] .. types_begin[v + 1]] */
    int64_t *quota, *second, *stages;  /* [nodes] */
    int64_t *wanted_low, *wanted_high; /* [nodes] smallest and largest count */
    int64_t *low, *high, *counts;      /* [nodes] the same, as far as they can hold, and the counts of the plan */
    int64_t *spare, *planned;          /* [types] candidates that are left, and those in the plan */
    int64_t *saved, *best, *initial;   /* [nodes + 2 * types] copies of counts, planned and spare */
    int64_t *from, *via, *queue;       /* [nodes + 2] of a path */
    int64_t *entered, *left;           /* [types] steps of swaps */
} Plan;

/* A quota's labels of a row. */
INLINE void labels_of(const Quota *quota, int64_t row, int64_t *begin, int64_t *end) {
    *begin = quota->indptr ? quota->indptr[row] : row;
    *end = quota->indptr ? quota->indptr[row + 1] : row + 1;
}

static void copy_plan(const Plan *p, int64_t *to) {
    memcpy(to, p->counts, (size_t)p->nodes * sizeof(int64_t));
    memcpy(to + p->nodes, p->planned, (size_t)p->types * sizeof(int64_t));
    memcpy(to + p->nodes + p->types, p->spare, (size_t)p->types * sizeof(int64_t));
}

static void restore_plan(Plan *p, const int64_t *from) {
    memcpy(p->counts, from, (size_t)p->nodes * sizeof(int64_t));
    memcpy(p->planned, from + p->nodes, (size_t)p->types * sizeof(int64_t));
    memcpy(p->spare, from + p->nodes + p->types, (size_t)p->types * sizeof(int64_t));
}

static int64_t excess_cost(const Plan *p, int64_t v) { return p->stages[v] >= FILLED ? MASCOT_EXCESS : 1; }

/* Return how far counts are from bounds. Limits that may be filled are all raised by the same number. */
static int64_t cost_of_counts(const Plan *p, const int64_t *counts, const int64_t *low, const int64_t *high) {
    int64_t cost = 0, raised = 0;
    for (int64_t v = 0; v < p->nodes; v++) {
        int64_t excess = counts[v] - high[v];
        if (excess > 0 && p->stages[v] < FILLED) cost += excess;
        if (excess > raised && p->stages[v] >= FILLED) raised = excess;
        if (counts[v] < low[v]) cost += low[v] - counts[v];
    }
    return cost + MASCOT_EXCESS * raised;
}

/* Return how far a page is from the quotas. */
static int64_t cost_of_page(const Plan *p, const int64_t *positions, int64_t count) {
    int64_t *counts = p->saved;
    memset(counts, 0, (size_t)p->nodes * sizeof(int64_t));
    for (int64_t j = 0; j < count; j++) {
        int64_t t = p->type_of[positions[j]];
        for (int64_t at = p->begin[t]; at < p->begin[t + 1]; at++) counts[p->node[at]]++;
    }
    return cost_of_counts(p, counts, p->wanted_low, p->wanted_high);
}

/* Return the cost of one result more, or less, of type t. */
static int64_t added_cost(const Plan *p, int64_t t) {
    int64_t cost = 0;
    for (int64_t at = p->begin[t]; at < p->begin[t + 1]; at++) {
        int64_t v = p->node[at];
        cost += (p->counts[v] >= p->high[v]) * excess_cost(p, v) - (p->counts[v] < p->low[v]);
    }
    return cost;
}

static int64_t removed_cost(const Plan *p, int64_t t) {
    int64_t cost = 0;
    for (int64_t at = p->begin[t]; at < p->begin[t + 1]; at++) {
        int64_t v = p->node[at];
        cost += (p->counts[v] <= p->low[v]) - (p->counts[v] > p->high[v]) * excess_cost(p, v);
    }
    return cost;
}

static void count_type(Plan *p, int64_t t, int64_t by) {
    for (int64_t at = p->begin[t]; at < p->begin[t + 1]; at++) p->counts[p->node[at]] += by;
}

static void plan_type(Plan *p, int64_t t, int64_t by) {
    p->planned[t] += by;
    count_type(p, t, by);
}

/* Change the plan along a shortest path of the flow from node `start` to node `goal`. Returns whether there is one. */
static int reroute(Plan *p, int64_t start, int64_t goal) {
    int64_t source = p->nodes, sink = p->nodes + 1, count = 1;
    for (int64_t v = 0; v < p->nodes + 2; v++) p->from[v] = -1;
    p->from[start] = start;
    p->queue[0] = start;
#define REACH(other, type_)                                       \
    if (p->from[other] < 0) {                                     \
        p->from[other] = u;                                       \
        p->via[other] = type_;                                    \
        p->queue[count++] = other;                                \
    }
    for (int64_t j = 0; j < count && p->from[goal] < 0; j++) {
        int64_t u = p->queue[j];
        if (u >= source) { /* the source leads to first nodes that may have more, the sink to second nodes that may have fewer */
            for (int64_t v = 0; v < p->nodes; v++)
                if (p->second[v] == (u == sink) && (u == sink ? p->counts[v] > p->low[v] : p->counts[v] < p->high[v])) {
                    REACH(v, -1)
                }
            continue;
        }
        int back = (int)p->second[u];
        for (int64_t at = p->types_begin[u]; at < p->types_begin[u + 1]; at++) {
            int64_t t = p->type[at], other = p->node[p->begin[t] + !back];
            if (back ? p->planned[t] > 0 : p->spare[t] > p->planned[t]) { REACH(other, t) }
        }
        if (back && p->counts[u] < p->high[u]) { REACH(sink, -1) }
        if (!back && p->counts[u] > p->low[u]) { REACH(source, -1) }
    }
#undef REACH
    if (p->from[goal] < 0) return 0;
    for (; goal != start; goal = p->from[goal]) {
        int64_t u = p->from[goal], t = p->via[goal];
        if (t >= 0) p->planned[t] += p->second[u] ? -1 : 1;
        else if (u >= source) p->counts[goal] += u == source ? 1 : -1;
        else p->counts[u] += goal == sink ? 1 : -1;
    }
    return 1;
}

/* Move the count of node v towards its bounds. Returns whether it moved. */
static int balance_node(Plan *p, int64_t v) {
    int64_t before = p->counts[v], end = p->nodes + p->second[v];
    int second = (int)p->second[v];
    while (p->counts[v] < p->low[v] && reroute(p, second ? end : v, second ? v : end)) p->counts[v]++;
    while (p->counts[v] > p->high[v] && reroute(p, second ? v : end, second ? end : v)) p->counts[v]--;
    return p->counts[v] != before;
}

INLINE int has_node(const Plan *p, int64_t t, int64_t v) {
    for (int64_t at = p->begin[t]; at < p->begin[t + 1]; at++)
        if (p->node[at] == v) return 1;
    return 0;
}

/* Find the swap that mends node v at the lowest cost. Returns whether there is one. */
static int best_swap(Plan *p, int64_t v, int64_t step, int64_t *out, int64_t *in) {
    int over = p->counts[v] > p->high[v];
    int64_t lowest = NO_COST;
    for (int64_t x = 0; x < p->types; x++) {
        if (p->planned[x] <= 0 || p->entered[x] + MASCOT_TENURE > step || (over && !has_node(p, x, v))) continue;
        int64_t cost = removed_cost(p, x);
        count_type(p, x, -1);
        int64_t begin = over ? 0 : p->types_begin[v], end = over ? p->types : p->types_begin[v + 1];
        for (int64_t at = begin; at < end; at++) {
            int64_t z = over ? at : p->type[at];
            if (z == x || p->spare[z] <= p->planned[z] || p->left[z] + MASCOT_TENURE > step) continue;
            int64_t total = cost + added_cost(p, z);
            if (total < lowest) lowest = total, *out = x, *in = z;
        }
        count_type(p, x, 1);
    }
    return lowest < NO_COST;
}

/* Swap planned candidates for others until the plan is within its bounds. Returns whether it is. The best plan is retained. */
static int swap_types(Plan *p, int64_t steps) {
    int64_t lowest = cost_of_counts(p, p->counts, p->low, p->high), cost = lowest;
    if (lowest == 0) return 1;
    copy_plan(p, p->best);
    for (int64_t t = 0; t < p->types; t++) p->entered[t] = p->left[t] = -MASCOT_TENURE;
    for (int64_t step = 0; step < steps && cost > 0; step++) {
        int64_t off = 0, v, out = 0, in = 0;
        for (v = 0; v < p->nodes; v++) off += p->counts[v] > p->high[v] || p->counts[v] < p->low[v];
        off = step % off;
        for (v = 0; off >= 0; v++) off -= p->counts[v] > p->high[v] || p->counts[v] < p->low[v];
        if (!best_swap(p, v - 1, step, &out, &in)) break;
        plan_type(p, out, -1);
        plan_type(p, in, 1);
        p->left[out] = p->entered[in] = step;
        cost = cost_of_counts(p, p->counts, p->low, p->high);
        if (cost < lowest) lowest = cost, copy_plan(p, p->best);
    }
    restore_plan(p, p->best);
    return lowest == 0;
}

/* Add one result to the plan within the limits. Returns whether that is possible. */
static int grow_plan(Plan *p) {
    if (p->paired) return reroute(p, p->nodes, p->nodes + 1);
    int64_t lowest = NO_COST, type = 0;
    for (int64_t t = 0; t < p->types; t++) {
        int64_t cost = p->spare[t] > p->planned[t] ? added_cost(p, t) : NO_COST;
        if (cost < lowest) lowest = cost, type = t;
    }
    if (lowest == NO_COST) return 0;
    copy_plan(p, p->saved);
    plan_type(p, type, 1);
    if (swap_types(p, MASCOT_SWAPS)) return 1;
    restore_plan(p, p->saved);
    return 0;
}

/* Add a pick of type t to the counts, and swap others until the plan is within its bounds again. */
static int make_room(Plan *p, int64_t t) {
    copy_plan(p, p->saved);
    count_type(p, t, 1);
    int64_t lowest = NO_COST, type = 0;
    for (int64_t x = 0; x < p->types; x++) {
        int64_t cost = p->planned[x] > 0 ? removed_cost(p, x) : NO_COST;
        if (cost < lowest) lowest = cost, type = x;
    }
    if (lowest < NO_COST) {
        plan_type(p, type, -1);
        if (swap_types(p, MASCOT_FEW_SWAPS)) return 1;
    }
    restore_plan(p, p->saved);
    return 0;
}

/* Pick a candidate if the page can still be completed. Returns whether it can. */
static int take_planned(Plan *p, int64_t i) {
    int64_t t = p->type_of[i];
    if (p->planned[t] > 0) p->planned[t]--;
    else if (!(p->paired ? reroute(p, p->node[p->begin[t] + 1], p->node[p->begin[t]]) : make_room(p, t))) return 0;
    p->spare[t]--;
    return 1;
}

/* Remove a candidate that other rules exclude. */
static void drop_planned(Plan *p, int64_t i) {
    int64_t t = p->type_of[i];
    p->spare[t]--;
    if (p->planned[t] > p->spare[t]) plan_type(p, t, -1);
}

#endif
