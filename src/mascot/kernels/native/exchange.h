/* Exchange results until their order can obey the rules on places. See arrangement.py, which this file follows step by step. */
#ifndef MASCOT_EXCHANGE_H
#define MASCOT_EXCHANGE_H

#include "arrange.h"

/* Return for each item whether it has no place. */
static int64_t *mark_left(Arena *arena, const PageRules *page, int64_t placed) {
    int64_t *is_left = take_integers(arena, page->items);
    memset(is_left, 0, (size_t)page->items * sizeof(int64_t));
    for (int64_t j = placed; j < page->items; j++) is_left[page->order[j]] = 1;
    return is_left;
}

/* Return the quotas with other capacities of one rule, which are copied. */
static int64_t *copy_capacity(Arena *arena, const PageRules *page, const Quota **quota, int64_t rule) {
    size_t size = (size_t)page->count * sizeof(Quota);
    Quota *result = memcpy(arena_take(arena, size), *quota, size), *own = result + rule;
    int64_t *capacity = take_integers(arena, own->count);
    own->capacity = memcpy(capacity, own->capacity, (size_t)own->count * sizeof(int64_t));
    *quota = result;
    return capacity;
}

/* Lower the capacities of a rule on the first places if too many results must stand behind them: as many results are exchanged as the
 * rule needs, and no label of the rule gets more of them. Returns whether there is such a rule. */
static int lower_surplus(Arena *arena, const PageRules *page, const Quota **quota) {
    for (int64_t r = 0; r < page->count; r++) {
        const Quota *rule = page->quota + r;
        const int64_t *most = rule->places.capacity;
        int64_t labels = rule->places.first ? rule->count : 0, behind = 0, found = 0;
        int64_t *counts = take_integers(arena, 2 * labels), *surplus = counts + labels;
        memset(counts, 0, (size_t)(2 * labels) * sizeof(int64_t));
        for (int64_t i = 0; i < page->items && labels; i++) {
            const int64_t *begin = rule->labels + rule->indptr[page->rows[i]], *end = rule->labels + rule->indptr[page->rows[i] + 1];
            int64_t is_behind = 0;
            for (const int64_t *v = begin; v < end; v++) is_behind |= counts[*v] >= most[*v];
            behind += is_behind;
            for (const int64_t *v = begin; v < end; v++)
                if (++counts[*v] > most[*v] && behind + rule->places.length > page->items) found = ++surplus[*v];
        }
        if (!found) continue;
        int64_t *capacity = copy_capacity(arena, page, quota, r);
        for (int64_t v = 0; v < labels; v++) {
            int64_t held = (counts[v] > most[v] ? counts[v] : most[v]) - surplus[v];
            if (held < capacity[v]) capacity[v] = held > 0 ? held : 0;
        }
        return 1;
    }
    return 0;
}

/* Lower the capacity of the label that most of the items without a place have. Returns whether there is one. */
static int lower_crowded(Arena *arena, const PageRules *page, int64_t placed, const Quota **quota) {
    const Entries entries = list_entries(arena, page), *e = &entries;
    int64_t *is_left = mark_left(arena, page, placed), *left = take_integers(arena, e->slots), most = 0, last = 0, lowest = -1;
    memset(left, 0, (size_t)e->slots * sizeof(int64_t));
    for (int64_t j = 0; j < e->count; j++) left[e->slot[j]] += is_left[e->owner[j]];
    for (int64_t j = 0; j < e->count; j++) { /* of equal labels that of the last item, and of the last rule */
        if (e->total[e->slot[j]] <= e->n[e->slot[j]]) continue; /* the rule allows all of them in one window */
        int64_t slot = e->slot[j], item = e->owner[j];
        if (!is_left[item] || left[slot] < most || (left[slot] == most && item < last)) continue;
        most = left[slot];
        last = item;
        lowest = slot;
    }
    if (lowest < 0) return 0;
    copy_capacity(arena, page, quota, e->rule[lowest])[e->label[lowest]] = e->total[lowest] - (most > 4 ? most / 4 : 1);
    return 1;
}

static int64_t arrange_page(Arena *arena, const PageRules *page) {
    int64_t placed = mascot_arrange(page);
    if (placed < 0) longjmp(arena->exhausted, 1);
    return placed;
}

/* Make the results of a query the items of the page, and arrange them. Returns how many have a place. */
static int64_t arrange_results(Arena *arena, const Batch *batch, int64_t query, PageRules *page, int64_t *wanted, int64_t *rows) {
    const int64_t *ranked = batch->ranked + query * batch->k;
    for (page->items = 0; page->items < batch->k && ranked[page->items] >= 0; page->items++) {
        int64_t t = batch->ptr[query] + ranked[page->items];
        wanted[page->items] = ranked[page->items];
        rows[page->items] = batch->rows ? batch->rows[t] : t;
    }
    return arrange_page(arena, page);
}

/* Remove the items without a place until all others have one. Returns how many. */
static int64_t cut_short(Arena *arena, PageRules *page, int64_t placed, int64_t *wanted, int64_t *rows) {
    while (placed < page->items) {
        const int64_t *is_left = mark_left(arena, page, placed);
        for (int64_t i = 0, count = 0; i < page->items; i++)
            if (!is_left[i]) rows[count] = rows[i], wanted[count++] = wanted[i];
        page->items = placed;
        placed = arrange_page(arena, page);
    }
    return placed;
}

static void select_within(Arena *arena, const Batch *batch, int64_t query, const Quota *quota, SelectFunction select) {
    Batch own = *batch;
    own.quota = quota;
    if (select(&own, query, query + 1)) longjmp(arena->exhausted, 1);
}

/* Show these results, and remove the others from the positions. */
static void show_results(Arena *arena, const Batch *batch, int64_t query, const int64_t *results, int64_t count) {
    int64_t k = batch->k, *positions = batch->positions + query * k, *ranked = batch->ranked + query * k, shown = 0;
    int64_t n = batch->ptr[query + 1] - batch->ptr[query], *is_shown = take_integers(arena, n);
    memset(is_shown, 0, (size_t)n * sizeof(int64_t));
    for (int64_t j = 0; j < count; j++) is_shown[results[j]] = 1;
    for (int64_t j = 0; j < k && positions[j] >= 0; j++)
        if (is_shown[positions[j]]) positions[shown++] = positions[j];
    for (int64_t j = 0; j < k; j++) ranked[j] = j < count ? results[j] : -1;
    while (shown < k) positions[shown++] = -1;
}

/* Bring the results of a query, which was selected, into the order that the rules on places need. If they have none, exchange the
 * last ones for the next best; at last cut the page short. Returns 0, or -1 if memory ran out. */
static int64_t arrange_query(const Batch *batch, int64_t query, SelectFunction select) {
    Arena arena = make_arena();
    if (setjmp(arena.exhausted)) {
        arena_free(&arena);
        return -1;
    }
    int64_t k = batch->k, round = 0, best = 0, first = 0, placed[MASCOT_EXCHANGES];
    int64_t *wanted = take_integers(&arena, k), *rows = take_integers(&arena, k), *results = take_integers(&arena, k);
    PageRules page = {.count = batch->quotas, .rows = rows, .quota = batch->quota, .order = take_integers(&arena, k)};
    const Quota *quota[MASCOT_EXCHANGES] = {batch->quota}; /* of each round */
    for (;; round++) {
        placed[round] = arrange_results(&arena, batch, query, &page, wanted, rows);
        if (placed[round] == page.items || round + 1 == MASCOT_EXCHANGES) break;
        int is_full = page.items == k && k < batch->ptr[query + 1] - batch->ptr[query];
        quota[round + 1] = quota[round];
        int is_lower = is_full && lower_surplus(&arena, &page, quota + round + 1);
        if (!is_lower && !lower_crowded(&arena, &page, placed[round], quota + round + 1)) break;
        select_within(&arena, batch, query, quota[round + 1], select);
    }
    for (int64_t r = round; r >= 0; r--) { /* the longest page, and of several the first */
        if (placed[r] < best) continue;
        if (r < round) {
            select_within(&arena, batch, query, quota[r], select);
            arrange_results(&arena, batch, query, &page, wanted, rows);
            round = r;
        }
        int64_t count = cut_short(&arena, &page, placed[r], wanted, rows);
        if (count < best) continue;
        best = count;
        first = r;
        for (int64_t j = 0; j < count; j++) results[j] = wanted[page.order[j]];
    }
    if (first != round) select_within(&arena, batch, query, quota[first], select);
    show_results(&arena, batch, query, results, best);
    arena_free(&arena);
    return 0;
}

#endif
