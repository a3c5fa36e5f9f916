/* Making a plan: nodes and types of the candidates, their bounds, and a page that is as close to the quotas as possible. */
#ifndef MASCOT_PLANNING_H
#define MASCOT_PLANNING_H

#include "page_plan.h"

/* Number the nodes and types of the candidates in the order of their first use. */
static void number_types(Arena *arena, Plan *p, const Quota *quota, int64_t quotas, const int64_t *rows, int64_t n) {
    int64_t most = 0, pairs = 0, labelled = 0, only_pairs = 1, labels = 1, begin, end;
    for (int64_t c = 0; c < quotas; c++)
        if (!quota[c].vectors) labelled++, labels += quota[c].count + 1;
    for (int64_t i = 0; i < n; i++)
        for (int64_t c = 0; c < quotas; c++) {
            if (quota[c].vectors) continue;
            labels_of(quota + c, rows[i], &begin, &end);
            most += end > begin ? end - begin : 1;
        }
    most += n;
    Table nodes = make_table(arena, labels < most ? labels : most), prefixes = make_table(arena, most);
    int64_t *type_of_prefix = take_integers(arena, most + 1), prefix_count = 1;
    for (int64_t j = 0; j <= most; j++) type_of_prefix[j] = -1;
    p->node = take_integers(arena, most + 1);
    p->begin = take_integers(arena, n + 2);
    p->spare = take_integers(arena, n + 1);
    int64_t **of_node[] = {&p->quota, &p->second, &p->stages, &p->wanted_low, &p->wanted_high, &p->low, &p->high, &p->counts};
    for (size_t j = 0; j < sizeof of_node / sizeof *of_node; j++) *of_node[j] = take_integers(arena, most + 1);
    for (int64_t i = 0; i < n; i++) {
        if (p->type_of[i] < 0) continue;
        int64_t start = pairs, prefix = 0, rank = 0; /* rank: of the quota among those that count labels */
        for (int64_t c = 0; c <= quotas; c++) {
            if (c < quotas && quota[c].vectors) continue;
            if (c == quotas && labelled > 1) break;
            begin = end = 0; /* one quota gets a second one that never binds */
            if (c < quotas) labels_of(quota + c, rows[i], &begin, &end);
            for (int64_t at = begin; at == begin || at < end; at++) {
                int64_t label = at < end ? quota[c].labels[at] : -1;
                int64_t v = slot_of(&nodes, (rank << 40) + label + 1, p->nodes);
                if (v == p->nodes) {
                    p->nodes++;
                    p->quota[v] = label < 0 ? -1 : c;
                    p->second[v] = rank == 1;
                    p->wanted_low[v] = label; /* until the bounds are set */
                }
                p->node[pairs++] = v;
                prefix = slot_of(&prefixes, prefix * (most + 1) + v, prefix_count);
                prefix_count += prefix == prefix_count;
            }
            rank++;
        }
        only_pairs &= pairs - start == 2;
        if (type_of_prefix[prefix] < 0) {
            p->begin[p->types] = start;
            p->spare[p->types] = 0;
            type_of_prefix[prefix] = p->types++;
        } else {
            pairs = start;
        }
        p->type_of[i] = type_of_prefix[prefix];
        p->spare[p->type_of[i]]++;
    }
    p->begin[p->types] = pairs;
    p->paired = labelled <= 2 && only_pairs;
}

/* Set the wanted bounds of all nodes; targets of a share that sum to the page are lower bounds too. */
static void bound_nodes(Plan *p, const Quota *quota) {
    for (int64_t v = 0; v < p->nodes; v++) {
        int64_t label = p->wanted_low[v], left = p->length; /* places of the page that a share does not fill */
        p->stages[v] = p->wanted_low[v] = 0;
        p->wanted_high[v] = p->length;
        if (p->quota[v] < 0) continue;
        const Quota *own = quota + p->quota[v];
        p->stages[v] = own->stages;
        if (own->capacity[label] < p->length) p->wanted_high[v] = own->capacity[label];
        if (own->stages == SHARED && !own->least)
            for (int64_t j = 0; j < own->count && left >= 0; j++) left -= own->capacity[j];
        if (own->least) p->wanted_low[v] = own->least[label];
        else if (own->stages == SHARED && left >= 0) p->wanted_low[v] = p->wanted_high[v];
        if (p->wanted_low[v] > p->wanted_high[v]) p->wanted_low[v] = p->wanted_high[v];
    }
}

/* Set the bounds as far as they can hold: what cannot be met is given up. */
static void settle_bounds(Plan *p) {
    for (int64_t v = 0; v < p->nodes; v++) {
        int lacking = 0;
        for (int64_t u = 0; u < p->nodes && p->stages[v] == SHARED; u++)
            lacking |= p->quota[u] == p->quota[v] && p->counts[u] < p->wanted_low[u];
        if (p->counts[v] < p->low[v]) p->low[v] = p->counts[v];
        if (p->counts[v] > p->high[v]) p->high[v] = p->counts[v];
        if (lacking) p->high[v] = p->length;
    }
}

/* Return how many candidates have the value of node v. */
static int64_t available_at(const Plan *p, int64_t v) {
    int64_t available = 0;
    for (int64_t at = p->types_begin[v]; at < p->types_begin[v + 1]; at++) available += p->spare[p->type[at]];
    return available;
}

/* Plan as many results as the limits allow, raising those that may be filled; then meet the shares. */
static void complete_plan(Plan *p, int64_t n) {
    int64_t useless = 0; /* raises of the limits that added no result */
    for (int64_t v = 0; v < p->nodes; v++) {
        p->low[v] = p->counts[v] = 0;
        p->high[v] = p->stages[v] == SHARED ? p->length : p->wanted_high[v];
    }
    for (int64_t i = 0; i < n && p->size < p->length; i++) {
        int64_t t = p->type_of[i], fits = t >= 0;
        for (int64_t at = fits ? p->begin[t] : 0; fits && at < p->begin[t + 1]; at++)
            fits = p->counts[p->node[at]] < p->high[p->node[at]];
        if (fits) plan_type(p, t, 1), p->size++;
    }
    for (int raises = 1; raises && p->size < p->length;) {
        if (grow_plan(p)) {
            p->size++;
            useless = 0;
            continue;
        }
        raises = 0;
        for (int64_t v = 0; v < p->nodes; v++) raises |= p->stages[v] == FILLED && p->high[v] < available_at(p, v);
        for (int64_t v = 0; raises && v < p->nodes; v++) p->high[v] += p->stages[v] == FILLED;
        useless += raises;
    }
    for (int64_t v = 0; v < p->nodes; v++) p->high[v] -= p->stages[v] == FILLED ? useless : 0;
    p->length = p->size;
    for (int64_t v = 0; v < p->nodes; v++) {
        int64_t available = available_at(p, v);
        p->low[v] = p->wanted_low[v] < available ? p->wanted_low[v] : available;
        if (p->stages[v] == SHARED) p->high[v] = p->wanted_high[v];
    }
    for (int64_t v = 0; p->paired && v < p->nodes; v++)
        if (balance_node(p, v)) v = -1;
    swap_types(p, MASCOT_SWAPS);
    p->cost = cost_of_counts(p, p->counts, p->wanted_low, p->wanted_high);
    settle_bounds(p);
}

/* Plan a page of `length` of n candidates, without the positions `excluded`. */
static Plan *make_plan(
    Arena *arena, const Quota *quota, int64_t quotas, const int64_t *rows, const int64_t *excluded, int64_t excluded_count,
    int64_t n, int64_t length
) {
    Plan *p = arena_take(arena, sizeof(Plan));
    *p = (Plan){.length = length, .type_of = take_integers(arena, n)};
    memset(p->type_of, 0, (size_t)n * sizeof(int64_t));
    for (int64_t j = 0; j < excluded_count; j++) p->type_of[excluded[j]] = -1;
    number_types(arena, p, quota, quotas, rows, n);
    bound_nodes(p, quota);
    int64_t **of_type[] = {&p->planned, &p->entered, &p->left}, **of_both[] = {&p->saved, &p->best, &p->initial};
    int64_t **of_node[] = {&p->from, &p->via, &p->queue, &p->types_begin}, pairs = p->begin[p->types];
    for (size_t j = 0; j < 3; j++) *of_type[j] = take_integers(arena, p->types + 1);
    for (size_t j = 0; j < 3; j++) *of_both[j] = take_integers(arena, p->nodes + 2 * p->types);
    for (size_t j = 0; j < 4; j++) *of_node[j] = take_integers(arena, p->nodes + 2);
    p->type = take_integers(arena, pairs + 1);
    memset(p->types_begin, 0, (size_t)(p->nodes + 2) * sizeof(int64_t));
    for (int64_t at = 0; at < pairs; at++) p->types_begin[p->node[at] + 2]++;
    for (int64_t v = 2; v < p->nodes + 2; v++) p->types_begin[v] += p->types_begin[v - 1];
    for (int64_t t = 0; t < p->types; t++) {
        p->planned[t] = 0;
        for (int64_t at = p->begin[t]; at < p->begin[t + 1]; at++) p->type[p->types_begin[p->node[at] + 1]++] = t;
    }
    complete_plan(p, n);
    copy_plan(p, p->initial);
    return p;
}

#endif
