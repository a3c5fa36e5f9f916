/* MASCOT's selection in C. The numpy code is the specification: `page.py` of loop.h, `solve.py` of solve.h, `objective.py` of
 * terms.h, `counters.py` of counters.h.
 *
 * Queries are independent: callers run ranges of them in threads. All other code is in headers, because this file is compiled as
 * one translation unit once per instruction set: VARIANT names its only external function, and everything else is static, so that
 * the variants do not clash when they are linked. It also lets the compiler inline the loops of visit.h with a constant operation
 * and shape.
 */
#include "pack.h"
#include "solve.h"

#ifndef VARIANT
#define VARIANT select_baseline
#endif

static void load_query(Query *q, const Batch *batch, int64_t query) {
    int64_t first = batch->ptr[query], *rows = take_integers(q->arena, q->n), free = q->n;
    for (int64_t i = 0; i < q->n; i++) rows[i] = batch->rows ? batch->rows[first + i] : first + i;
    q->rows = rows;
    q->scores = batch->scores + first;
    q->relevance = batch->relevance + first;
    q->ideal = batch->ideal + first;
    double best = q->n > 0 ? q->relevance[0] : 0.0;
    for (int64_t i = 1; i < q->n; i++) best = q->relevance[i] > best ? q->relevance[i] : best;
    q->best_relevance = fabs(best);
    if (batch->already_ptr) {
        q->already = batch->already + batch->already_ptr[query];
        q->already_count = batch->already_ptr[query + 1] - batch->already_ptr[query];
    }
    q->shown = take_integers(q->arena, q->n);
    for (int64_t i = 0; i < q->n; i++) q->shown[i] = 0;
    for (int64_t j = 0; j < q->already_count; j++) free -= !q->shown[q->already[j]], q->shown[q->already[j]] = 1;
    q->length = batch->k < free ? batch->k : free;
}

/* Lay out the bins of every attribute, side by side in the state, and allocate what the loop needs. */
static void load_attributes(Query *q) {
    Arena *arena = q->arena;
    int64_t n = q->n, padded = q->padded = whole_blocks(n), attributes = q->attributes;
    q->bins = arena_take(arena, (size_t)(attributes + 1) * sizeof(Bins));
    for (int64_t a = 0; a < attributes; a++) {
        const Attribute *attribute = q->batch->attribute + a;
        q->bins[a] = pack_bins(arena, attribute, q->rows, n, q->size);
        if (attribute->shape == SHAPE_VECTORS) {
            int repeated = q->batch->keep > 0.0 || (attribute->share < 0.0 && q->batch->flags & FLAG_GUARDED);
            pack_vectors(arena, q->bins + a, attribute, q->rows, n, q->length + q->already_count + 1, repeated);
        }
        q->size += q->bins[a].size;
    }
    q->state = take_doubles(arena, q->size + LANES);
    q->live = take_doubles(arena, q->size + LANES);
    for (int64_t j = 0; j < LANES; j++) q->state[q->size + j] = 0.0; /* windows may reach beyond the end */
    for (int64_t j = 0; j < q->size + LANES; j++) q->live[j] = 0.0;
    q->sums = take_doubles(arena, n);
    q->everyone = take_integers(arena, n);
    q->changed = take_integers(arena, padded);
    q->offset = take_doubles(arena, n);
    for (int64_t i = 0; i < n; i++) q->everyone[i] = i, q->changed[i] = 1, q->offset[i] = 0.0;
    q->pin_gains = take_rows(arena, q->pins, attributes);
    q->start = arena_take(arena, (size_t)(2 * attributes + 1) * sizeof(double *));
    q->worth = q->start + attributes;
    for (int64_t a = 0; a < 2 * attributes; a++) q->start[a] = take_doubles(arena, n);
    q->base = take_doubles(arena, n);
    q->bound = take_doubles(arena, padded);
    q->closed = take_integers(arena, n);
    q->taken = take_integers(arena, n);
    q->todo = take_integers(arena, n + LANES);
}

static void load_rules(Query *q) {
    q->slot = take_integers(q->arena, q->already_count + q->length + 1);
    for (int64_t j = 0; j < q->already_count; j++) q->slot[j] = q->already[j];
    q->slot[q->already_count + q->length] = -1;
    q->counters = arena_take(q->arena, (size_t)(q->rules + 1) * sizeof(Counter));
    for (int64_t c = 0; c < q->rules; c++) {
        q->counters[c] = make_counter(q, q->batch->rule + c);
        q->placed |= q->counters[c].placed;
        q->fills |= q->batch->rule[c].gives == FILLED;
        q->copy_rules |= q->batch->rule[c].vectors != NULL;
    }
}

static void write_page(const Query *q, const Page *page, int64_t query) {
    const Batch *batch = q->batch;
    int64_t k = batch->k, *positions = batch->positions + query * k, *ranked = batch->ranked + query * k;
    for (int64_t j = 0; j < k; j++) positions[j] = j < page->count ? page->positions[j] : -1;
    memcpy(ranked, positions, (size_t)k * sizeof(int64_t));
    if (batch->flags & FLAG_BY_RELEVANCE && !q->placed && !q->pins) sort_positions(q->arena, ranked, page->count, q->ideal, q->scores);
    batch->levels[query] = q->cut_short ? -1 : page->level;
    if (!batch->entries || !page->count) return;
    memcpy(batch->entries + query * k * ENTRY_FIELDS, page->entries, (size_t)(page->count * ENTRY_FIELDS) * sizeof(int64_t));
    memcpy(batch->gains + query * k * q->attributes, page->gains, (size_t)(page->count * q->attributes) * sizeof(double));
    for (int64_t a = 0; a < q->attributes; a++) {
        double *worth = batch->worths + (query * q->attributes + a) * 3;
        worth[0] = q->bins[a].sign * q->bins[a].factor;
        worth[1] = q->bins[a].top;
        worth[2] = q->bins[a].novelty ? 1.0 : q->bins[a].coverage_per_result;
    }
}

static void select_one(Arena *arena, const Batch *batch, int64_t query) {
    Query q = {.batch = batch, .arena = arena, .n = batch->ptr[query + 1] - batch->ptr[query]};
    q.attributes = batch->attributes;
    q.rules = batch->rules;
    q.pins = batch->pins;
    load_query(&q, batch, query);
    if (q.length == 0) { /* every strength retains nothing */
        batch->strengths[query] = batch->keep > 0.0 ? 1.0 : batch->strength;
        write_page(&q, &(Page){0}, query);
        return;
    }
    load_attributes(&q);
    weigh_terms(&q, batch);
    load_rules(&q);
    q.protected_positions = take_integers(arena, q.n + 1);
    protect_results(&q, batch->protect);

    Solver solver = {.query = &q, .start = q.protected_positions, .centre = -1};
    Page *pages[] = {&solver.greedy, &solver.plain, &solver.centred};
    for (int j = 0; j < (q.focuses ? 3 : 1); j++) *pages[j] = make_page(&q, batch->entries != NULL);
    if (q.focuses && (batch->strength > 0.0 || batch->keep > 0.0)) solver.centre = find_centre(&q);
    if (solver.centre >= 0) q.protected_positions[q.protected_count] = solver.centre;
    double strength = batch->keep > 0.0 ? search(&solver, batch->keep) : batch->strength;
    q.log = batch->entries != NULL;
    solver.plain_done = 0;
    const Page *page = greedy(&solver, strength);
    batch->strengths[query] = strength;
    write_page(&q, page, query);
}

int64_t VARIANT(const Batch *batch, int64_t first, int64_t last) {
    Arena arena = make_arena();
    volatile int64_t failed = 0;
    if (setjmp(arena.exhausted)) {
        failed = -1;
    } else {
        for (int64_t query = first; query < last; query++) {
            arena_reset(&arena);
            select_one(&arena, batch, query);
        }
    }
    arena_free(&arena);
    return failed;
}
