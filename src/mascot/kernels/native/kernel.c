/* MASCOT's selection in C: the numpy reference (mascot/kernels/reference.py) is the specification.
 *
 * Each query packs its candidates' bins (pack.h), weighs them, and selects greedily (greedy.h), looking ahead
 * if rules require it (passes.h), under a focus from several starts (starts.h). Queries are independent: callers run ranges of
 * them in threads.
 *
 * All other code is in headers, because this file is compiled as one translation unit once per instruction set: VARIANT names
 * its only external function, and everything else is static, so that the variants do not clash when they are linked. It also
 * lets the compiler inline the loops of visit.h with a constant operation and shape.
 */
#include "pack.h"
#include "starts.h"

#ifndef VARIANT
#define VARIANT select_baseline
#endif
#define TINY_FACTOR 1e-280

static void load_query(Arena *arena, Query *q, const Batch *batch, int64_t query) {
    int64_t first = batch->ptr[query], *rows = take_integers(arena, q->n);
    for (int64_t i = 0; i < q->n; i++) rows[i] = batch->rows ? batch->rows[first + i] : first + i;
    q->rows = rows;
    q->scores = batch->scores + first;
    if (batch->already_ptr) {
        q->already = batch->already + batch->already_ptr[query];
        q->already_count = batch->already_ptr[query + 1] - batch->already_ptr[query];
    }
    if (q->k > q->n - q->already_count) q->k = q->n - q->already_count;
}

static void measure_relevance(Arena *arena, Query *q, int64_t flags) {
    const double *scores = q->scores;
    double limits[2] = {scores[0], scores[0]};
    if (flags & FLAG_ROBUST) {
        inner_range(arena, scores, q->n, limits);
    } else {
        for (int64_t i = 1; i < q->n; i++) {
            limits[0] = scores[i] < limits[0] ? scores[i] : limits[0];
            limits[1] = scores[i] > limits[1] ? scores[i] : limits[1];
        }
    }
    q->ideal = q->relevance = take_doubles(arena, q->n);
    rescale_scores(scores, q->n, limits, q->ideal);
    if (!(flags & FLAG_NORMALIZE)) {
        q->relevance = take_doubles(arena, q->n);
        memcpy(q->relevance, scores, (size_t)q->n * sizeof(double));
    }
    q->largest_relevance = largest_of(q->relevance, q->n);
}

/* Return whether candidate i is a near-copy of a protected one, in vectors that are to be spread. */
static int resembles_protected(const Query *q, int64_t i) {
    for (int64_t a = 0; a < q->attributes; a++) {
        const Bins *b = q->bins + a;
        if (!b->novelty || b->sign < 0 || b->unknown[i] != 0.0) continue;
        for (int64_t j = 0; j < q->protected_count; j++) {
            int64_t other = q->protected_positions[j];
            if (b->unknown[other] != 0.0) continue;
            Novelty *v = b->novelty;
            write_unit(v->unit, q->rows[other], v->inverse[other], v->pick);
            if (scaled(v, dot(v->unit, q->rows[i], v->pick) * v->inverse[i]) >= MASCOT_COPY - MASCOT_COPY_TOLERANCE) return 1;
        }
    }
    return 0;
}

/* Protect the best of the first `count` by relevance that the quotas allow and that are not near-copies. Results of earlier pages
 * count, but are not chosen. Returns whether enough are protected. */
static int protect_best(Arena *arena, Query *q, int64_t protect, int64_t count, int64_t *order) {
    int64_t protected_count = q->protected_count = 0;
    count = best_positions(arena, q->relevance, q->scores, q->n, count, order);
    for (int64_t j = 0; j < count && protected_count < protect && q->protected_count < q->k; j++) {
        int64_t i = order[j];
        int already = is_already(q, i);
        if (!already && (!allowed(q, i, 0) || is_copy(q, i, 0, q->protected_positions, q->protected_count))) continue;
        if (!already && resembles_protected(q, i)) continue;
        protected_count++;
        if (already) continue;
        q->protected_positions[q->protected_count++] = i;
        count_labels(q, i, 1);
    }
    for (int64_t j = 0; j < q->protected_count; j++) count_labels(q, q->protected_positions[j], -1);
    return protected_count >= protect || q->protected_count >= q->k;
}

/* Choose the protected candidates. Sorting all candidates takes long, so first only a few more than needed are sorted. */
static void choose_protected(Arena *arena, Query *q, int64_t protect) {
    enum { FEW_MORE = 8 };
    int64_t *order = take_integers(arena, q->n);
    q->protected_positions = take_integers(arena, q->n);
    if (protect <= 0) return;
    int64_t count = q->quotas ? protect + FEW_MORE : protect;
    for (int64_t a = 0; a < q->attributes; a++)
        if (q->bins[a].novelty && q->bins[a].sign > 0) count = protect + FEW_MORE;
    if (!protect_best(arena, q, protect, count, order) && count > protect && count < q->n)
        protect_best(arena, q, protect, q->n, order);
}

/* Return all positions, best first. Candidates usually are in this order. */
static int64_t *all_positions(Arena *arena, const Query *q) {
    int64_t *order = take_integers(arena, q->n), sorted = 1;
    for (int64_t i = 0; i < q->n; i++) {
        order[i] = i;
        if (i > 0 && before(q->relevance, q->scores, i, i - 1)) sorted = 0;
    }
    if (!sorted) sort_positions(arena, order, q->n, q->relevance, q->scores);
    return order;
}

/* Pack the bins of every attribute, side by side in the state, and allocate what a pass needs. */
static void pack_attributes(Arena *arena, Query *q, const Batch *batch) {
    int64_t n = q->n, padded = whole_blocks(n), attributes = q->attributes;
    q->bins = arena_take(arena, (size_t)(attributes + 1) * sizeof(Bins));
    int64_t *order = NULL;
    for (int64_t a = 0; a < attributes; a++) {
        q->bins[a] = pack_bins(arena, batch->attribute + a, q->rows, n, q->size);
        if (q->bins[a].shape == SHAPE_VECTORS) {
            if (!order) order = all_positions(arena, q);
            int repeated = batch->keep > 0.0 || batch->starts > 0 && q->bins[a].sign < 0;
            pack_vectors(arena, q->bins + a, batch->attribute + a, q->rows, n, order, q->k + q->already_count + 1, repeated);
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
    q->stake = take_doubles(arena, attributes);
    q->start = arena_take(arena, (size_t)(2 * attributes + 1) * sizeof(double *));
    q->worth = q->start + attributes;
    for (int64_t a = 0; a < 2 * attributes; a++) q->start[a] = take_doubles(arena, n);
    q->base = take_doubles(arena, n);
    q->taken = take_doubles(arena, n);
    q->bound = take_doubles(arena, padded);
    q->todo = take_integers(arena, n + LANES);
    int64_t longest = 0;
    for (int64_t c = 0; c < q->quotas; c++) longest = q->quota[c].size > longest ? q->quota[c].size : longest;
    q->unit = take_doubles(arena, longest);
}

/* Compute what candidates with a value cover on average, for the rule NEUTRAL. */
static void average_bins(Arena *arena, Bins *b, int64_t n, double *scratch) {
    int64_t unknown = 0;
    for (int64_t i = 0; i < n; i++) unknown += b->unknown[i] != 0.0;
    if (b->rule != MISSING_NEUTRAL || unknown == 0 || unknown == n) return;
    clear_bins(b, scratch);
    for (int64_t i = 0; i < n; i++)
        if (b->unknown[i] == 0.0) visit(ADD, b, i, scratch, 1.0 / (double)(n - unknown));
    settle_bins(ADD, b, scratch);
    double *mean = take_doubles(arena, b->size);
    memcpy(mean, scratch + b->origin, (size_t)b->size * sizeof(double));
    for (int64_t j = b->circle ? b->circle : b->size; j < b->size; j++) mean[j] = 0.0; /* each bin once */
    b->mean = mean;
}

/* Set the bins to the largest membership times factor of all candidates. */
static void raise_to_peaks(const Query *q, const Bins *b, const double *factors, double *state) {
    clear_bins(b, state);
    visit_list(PEAK, b, q->everyone, q->n, q->changed, 1, state, factors, NULL);
    settle_bins(PEAK, b, state);
}

/* Return the part of a bin that a result covers, so that an even result list fills every bin: 1 / results per bin, at most 1.
 * `memberships` is the sum of all memberships. */
static double even_coverage(Arena *arena, const Query *q, const Bins *b, double memberships) {
    double *ones = take_doubles(arena, q->n);
    for (int64_t i = 0; i < q->n; i++) ones[i] = 1.0;
    raise_to_peaks(q, b, ones, q->live);
    double peaks = total_of_bins(b, q->live);
    if (peaks <= 0.0) return 1.0;
    double results_per_bin = (double)q->k * (memberships / (double)q->n) / peaks;
    return results_per_bin <= 1.0 ? 1.0 : 1.0 / results_per_bin;
}

/* Set the worth of the bins, the first sums over them, and the coverage per result. Returns the largest sum. */
static double measure_bins(Arena *arena, Query *q, Bins *b, int64_t flags) {
    double *state = q->state, *sums = q->sums;
    if (flags & FLAG_QUERY_WEIGHT) raise_to_peaks(q, b, q->relevance, state);
    else fill_bins(b, state, 1.0);
    if (b->memberships && !b->mean && !(flags & FLAG_QUERY_WEIGHT)) memcpy(sums, b->memberships, (size_t)q->n * sizeof(double));
    else visit_list(WORTH, b, q->everyone, q->n, q->changed, 1, state, NULL, sums);
    double memberships = sum_of(sums, q->n), top = largest_of(sums, q->n);
    if (top < MASCOT_NOTHING) { /* so little that rounding would decide: nothing */
        top = 0.0;
        fill_bins(b, state, 0.0);
        for (int64_t i = 0; i < q->n; i++) sums[i] = 0.0;
    }
    if ((flags & FLAG_BALANCE) && b->sign > 0) {
        if (flags & FLAG_QUERY_WEIGHT) {
            fill_bins(b, q->live, 1.0);
            memberships = 0.0;
            for (int64_t i = 0; i < q->n; i++) memberships += sum(visit(WORTH, b, i, q->live, 0.0));
        }
        b->coverage_per_result = even_coverage(arena, q, b, memberships);
    }
    return top;
}

/* Return what full novelty, or full coverage, is worth if this is the only wish. */
static double most_worth(const Bins *b) {
    return b->novelty && b->sign > 0 && !b->novelty->nearest_only ? MASCOT_NOVELTY : 1.0;
}

/* Weigh the bins of attribute a, and cover what earlier pages have covered. `share` is its weight, or part of all weights. */
static void weigh_attribute(Arena *arena, Query *q, const Batch *batch, int64_t query, int64_t a, double share) {
    Bins *b = q->bins + a;
    double top = 1.0; /* of novelty, by definition */
    if (b->novelty) {
        if (!(batch->flags & FLAG_SCALE)) share *= most_worth(b);
    } else {
        average_bins(arena, b, q->n, q->live);
        top = measure_bins(arena, q, b, batch->flags);
    }
    double factor = (batch->flags & FLAG_SCALE) && top > 0.0 ? share / top : share;
    if ((batch->flags & FLAG_SCALE) && b->sign < 0 && b->shape == SHAPE_LABELS) factor *= MASCOT_LABEL_PRICE;
    q->stake[a] = b->sign < 0 ? factor * top : 0.0;
    for (int64_t j = 0; j < b->size; j++) q->state[b->origin + j] *= factor;
    q->total_worth += factor * top;
    int64_t at = query * q->attributes + a;
    batch->gain_factors[at] = b->sign * factor;
    batch->largest_gains[at] = top;
    batch->coverage_per_result[at] = b->coverage_per_result;
    if (b->novelty) {
        b->novelty->factor = factor;
        for (int64_t i = 0; i < q->n; i++) {
            q->start[a][i] = b->unknown[i] == 0.0 ? factor : 0.0;
            if (b->sign < 0 && b->rule == MISSING_LAST && b->unknown[i] != 0.0) q->offset[i] -= factor;
        }
        return;
    }

    double fall = 0.0;
    for (int64_t j = 0; j < q->already_count; j++) fall += sum(visit(COVER, b, q->already[j], q->state, b->coverage_per_result));
    int recompute = fall > 0.0 || factor < TINY_FACTOR; /* if products underflow, the sum of products is not the product */
    double *restrict start = q->start[a], *restrict offset = q->offset, penalty = factor * top;
    for (int64_t i = 0; i < q->n; i++) start[i] = q->sums[i] * factor;
    for (int64_t i = 0; i < q->n && recompute; i++) start[i] = sum(visit(WORTH, b, i, q->state, 0.0));
    for (int64_t i = 0; i < q->n && b->sign < 0 && b->rule == MISSING_LAST; i++) offset[i] -= b->unknown[i] * penalty;
}

static void weigh_attributes(Arena *arena, Query *q, const Batch *batch, int64_t query) {
    double all_weights = 0.0;
    for (int64_t a = 0; a < q->attributes; a++) all_weights += batch->attribute[a].weight / most_worth(q->bins + a);
    for (int64_t a = 0; a < q->attributes; a++) {
        double weight = batch->attribute[a].weight;
        weigh_attribute(arena, q, batch, query, a, batch->flags & FLAG_SCALE ? weight / all_weights : weight);
    }
}

/* Return the summed relevance that `keep` asks for: its share of the best that the quotas and earlier pages allow. */
static double required_relevance(Arena *arena, Query *q, double keep, Run *run) {
    double required = 0.0;
    if (q->quotas) {
        memcpy(q->base, q->ideal, (size_t)q->n * sizeof(double));
        memcpy(q->live, q->state, (size_t)q->size * sizeof(double));
        select_greedily(q, 0.0, MASCOT_TIE, q->live, run);
        for (int64_t j = 0; j < run->count; j++) required += keep * q->ideal[run->positions[j]];
        return required;
    }
    int64_t *order = take_integers(arena, q->n), rank = 0;
    best_positions(arena, q->ideal, q->scores, q->n, q->n, order);
    for (int64_t j = 0; j < q->n && rank < q->k; j++)
        if (!is_already(q, order[j])) required += keep * q->ideal[order[j]], rank++;
    return required;
}

/* Select with the largest strength that retains enough relevance: descend from 1 in steps of 0.05 until it does, then try the
 * hundredths above that step. */
static void search_strength(Query *q, double required, Run *run, double *strength) {
    int64_t step = 20, coarse = 1;
    for (;;) {
        *strength = (double)step / (coarse ? 20.0 : 100.0);
        select_with(q, *strength, run);
        double retained = 0.0;
        for (int64_t j = 0; j < run->count; j++) retained += q->ideal[run->positions[j]];
        int enough = retained >= required - 1e-9;
        if (coarse && (enough || step == 0)) {
            if (step == 20 || !enough) return;
            coarse = 0;
            step = step * 5 + 4;
        } else if (!coarse && (enough || step % 5 == 0)) {
            return;
        } else {
            step--;
        }
    }
}

/* Write the results of a query without candidates. */
static void write_nothing(const Batch *batch, int64_t query) {
    int64_t attributes = batch->attributes, at = query * attributes;
    for (int64_t j = query * batch->k; j < (query + 1) * batch->k; j++) batch->positions[j] = batch->ranked[j] = -1;
    for (int64_t a = at; a < at + attributes; a++) {
        batch->gain_factors[a] = batch->largest_gains[a] = 0.0;
        batch->coverage_per_result[a] = 1.0;
    }
    batch->strengths[query] = batch->strength;
    batch->stages[query] = 1;
}

static void select_one(Arena *arena, const Batch *batch, int64_t query, int64_t **counts) {
    int64_t n = batch->ptr[query + 1] - batch->ptr[query], k = batch->k;
    int64_t *positions = batch->positions + query * k, *ranked = batch->ranked + query * k;
    if (n == 0) {
        write_nothing(batch, query);
        return;
    }
    Query q = {.n = n, .attributes = batch->attributes, .k = k, .quotas = batch->quotas, .quota = batch->quota, .counts = counts, .bar = NEVER, .arena = arena};
    load_query(arena, &q, batch, query);
    measure_relevance(arena, &q, batch->flags);
    pack_attributes(arena, &q, batch);
    choose_protected(arena, &q, batch->protect);
    weigh_attributes(arena, &q, batch, query);
    if (batch->strength > 0.0 || batch->keep > 0.0) prepare_starts(arena, &q, batch->starts, batch->keep > 0.0 ? -1.0 : batch->strength);

    Run run = {.positions = positions};
    double strength = batch->strength;
    if (batch->keep > 0.0) {
        double required = required_relevance(arena, &q, batch->keep, &run);
        search_strength(&q, required, &run, &strength);
    } else {
        select_with(&q, strength, &run);
    }
    batch->strengths[query] = strength;
    batch->stages[query] = run.stages;
    for (int64_t j = run.count; j < k; j++) positions[j] = -1;
    memcpy(ranked, positions, (size_t)k * sizeof(int64_t));
    if (batch->flags & FLAG_BY_RELEVANCE) sort_positions(arena, ranked, run.count, q.ideal, q.scores);
}

int64_t VARIANT(const Batch *batch, int64_t first, int64_t last) {
    Arena arena = make_arena();
    int64_t *counts[64] = {0}; /* Python refuses more quotas */
    volatile int64_t failed = 0;
    if (setjmp(arena.exhausted)) {
        failed = -1;
    } else {
        for (int64_t c = 0; c < batch->quotas; c++) {
            if (batch->quota[c].vectors) continue; /* no labels: its count is that of results */
            counts[c] = calloc((size_t)batch->quota[c].count + 1, sizeof(int64_t));
            if (!counts[c]) longjmp(arena.exhausted, 1);
        }
        for (int64_t query = first; query < last; query++) {
            arena_reset(&arena);
            select_one(&arena, batch, query, counts);
        }
    }
    for (int64_t c = 0; c < batch->quotas; c++) free(counts[c]);
    arena_free(&arena);
    return failed;
}
