/* MASCOT's selection in C: the numpy reference (mascot/kernels/reference.py) is the specification.
 *
 * Each query packs its candidates' bins (bins.h), weighs them, and selects greedily (greedy.h). Queries are independent:
 * callers run ranges of them in threads. This file is compiled once per instruction set; VARIANT names the function.
 */
#include "greedy.h"
#include "relevance.h"

#ifndef VARIANT
#define VARIANT select_baseline
#endif

/* Protected results: the best by relevance that the quotas allow. Earlier pages' results count, but are not chosen. */
static void choose_heads(Arena *arena, Query *q, const double *scores, int64_t protect, int64_t k) {
    int64_t n = q->n, *order = take_integers(arena, n);
    q->heads = take_integers(arena, n);
    q->head_count = 0;
    if (protect <= 0) return;
    int64_t count = best_positions(arena, q->relevance, scores, n, q->quotas ? n : protect, order), protected_count = 0;
    for (int64_t j = 0; j < count && protected_count < protect && q->head_count < k; j++) {
        int64_t i = order[j], fresh = 1;
        for (int64_t s = 0; s < q->seen_count; s++) fresh &= q->seen[s] != i;
        if (fresh && !allowed(q, i, 0)) continue;
        protected_count++;
        if (!fresh) continue;
        q->heads[q->head_count++] = i;
        count_labels(q, i, 1);
    }
    for (int64_t j = 0; j < q->head_count; j++) count_labels(q, q->heads[j], -1);
}

/* One more row for the rule NEUTRAL: what candidates with a value cover on average. */
static void average_bins(Arena *arena, Bins *b, int64_t n, double *scratch) {
    int64_t unknown = 0;
    for (int64_t i = 0; i < n; i++) unknown += b->unknown[i] != 0.0;
    if (b->rule != MISSING_NEUTRAL || unknown == 0 || unknown == n) return;
    for (int64_t j = 0; j < b->size; j++) scratch[b->origin + j] = 0.0;
    for (int64_t i = 0; i < n; i++)
        if (b->unknown[i] == 0.0) visit(ADD, b, i, scratch, 1.0 / (double)(n - unknown));
    settle_bins(ADD, b, scratch);
    double *mean = take_doubles(arena, b->size);
    memcpy(mean, scratch + b->origin, (size_t)b->size * sizeof(double));
    for (int64_t j = b->circle ? b->circle : b->size; j < b->size; j++) mean[j] = 0.0; /* each bin once */
    b->mean = mean;
}

/* How much of a bin one result covers, so that an even result list fills every bin: 1 over its results. */
static double room_of(const Query *q, Bins *b, const double *ones, double memberships, double *scratch) {
    for (int64_t j = 0; j < b->size; j++) scratch[b->origin + j] = 0.0;
    visit_list(PEAK, b, q->everyone, q->n, q->changed, 1, scratch, ones, NULL);
    settle_bins(PEAK, b, scratch);
    double peaks = total_of_bins(b, scratch);
    if (peaks <= 0.0) return 1.0;
    double each = (double)q->k * (memberships / (double)q->n) / peaks;
    return each <= 1.0 ? 1.0 : 1.0 / each;
}

#define TINY_FACTOR 1e-280

static void select_one(Arena *arena, const Batch *batch, int64_t query, int64_t **counts) {
    int64_t first = batch->ptr[query], n = batch->ptr[query + 1] - first, k = batch->k, kinds = batch->attributes;
    int64_t *positions = batch->positions + query * k, *shown = batch->shown + query * k;
    double *multipliers = batch->multipliers + query * kinds, *tops = batch->tops + query * kinds;
    double *rooms = batch->rooms + query * kinds;
    const double *scores = batch->scores + first;
    for (int64_t j = 0; j < k; j++) positions[j] = shown[j] = -1;
    for (int64_t a = 0; a < kinds; a++) multipliers[a] = tops[a] = 0.0, rooms[a] = 1.0;
    batch->strengths[query] = n ? batch->strength : 0.0;
    batch->stages[query] = 1;
    if (n == 0) return;

    Query q = {.n = n, .attributes = kinds, .k = k, .quotas = batch->quotas, .quota = batch->quota, .counts = counts};
    int64_t padded = whole_blocks(n), *rows = take_integers(arena, n);
    for (int64_t i = 0; i < n; i++) rows[i] = batch->rows ? batch->rows[first + i] : first + i;
    q.rows = rows;
    if (batch->seen_ptr) {
        q.seen = batch->seen + batch->seen_ptr[query];
        q.seen_count = batch->seen_ptr[query + 1] - batch->seen_ptr[query];
    }
    if (q.k > n - q.seen_count) q.k = n - q.seen_count;

    /* Relevance, and the results it protects. `ideal` is what `keep` retains a share of. */
    double *ideal = take_doubles(arena, n), limits[2] = {scores[0], scores[0]};
    if (batch->flags & FLAG_ROBUST) {
        inner_range(arena, scores, n, limits);
    } else {
        for (int64_t i = 1; i < n; i++) {
            limits[0] = scores[i] < limits[0] ? scores[i] : limits[0];
            limits[1] = scores[i] > limits[1] ? scores[i] : limits[1];
        }
    }
    rescale_scores(scores, n, limits, ideal);
    q.relevance = ideal;
    if (!(batch->flags & FLAG_NORMALIZE)) {
        q.relevance = take_doubles(arena, n);
        memcpy(q.relevance, scores, (size_t)n * sizeof(double));
    }
    double biggest = 0.0;
    for (int64_t i = 0; i < n; i++) biggest = fabs(q.relevance[i]) > biggest ? fabs(q.relevance[i]) : biggest;
    choose_heads(arena, &q, scores, batch->protect, q.k);

    /* Bins of every attribute, side by side in the state. */
    q.bins = arena_take(arena, (size_t)(kinds + 1) * sizeof(Bins));
    int64_t size = 0;
    for (int64_t a = 0; a < kinds; a++) {
        q.bins[a] = pack_bins(arena, batch->attribute + a, rows, n, size);
        size += q.bins[a].size;
    }
    double *state = take_doubles(arena, size + LANES), *live = take_doubles(arena, size + LANES);
    for (int64_t j = 0; j < LANES; j++) state[size + j] = live[size + j] = 0.0; /* windows may reach beyond the end */
    double *sums = take_doubles(arena, n), *ones = take_doubles(arena, n);
    q.everyone = take_integers(arena, n);
    q.changed = take_integers(arena, padded);
    for (int64_t i = 0; i < n; i++) q.everyone[i] = i, q.changed[i] = 1, ones[i] = 1.0;
    q.offset = take_doubles(arena, n);
    for (int64_t i = 0; i < n; i++) q.offset[i] = 0.0;
    q.start = arena_take(arena, (size_t)(2 * kinds + 1) * sizeof(double *));
    q.worth = q.start + kinds;
    for (int64_t a = 0; a < 2 * kinds; a++) q.start[a] = take_doubles(arena, n);
    for (int64_t j = 0; j < size; j++) live[j] = 0.0;

    double all_weights = 0.0, total_worth = 0.0;
    for (int64_t a = 0; a < kinds; a++) all_weights += batch->attribute[a].weight;
    for (int64_t a = 0; a < kinds; a++) {
        Bins *b = q.bins + a;
        average_bins(arena, b, n, live);
        if (batch->flags & FLAG_QUERY_WEIGHT) {
            for (int64_t j = 0; j < b->size; j++) state[b->origin + j] = 0.0;
            visit_list(PEAK, b, q.everyone, n, q.changed, 1, state, q.relevance, NULL);
            settle_bins(PEAK, b, state);
        } else {
            fill_bins(b, state, 1.0);
        }
        double top = 0.0, memberships = 0.0;
        visit_list(WORTH, b, q.everyone, n, q.changed, 1, state, NULL, sums);
        for (int64_t i = 0; i < n; i++) {
            memberships += sums[i];
            top = sums[i] > top ? sums[i] : top;
        }
        if (top < MASCOT_NOTHING) { /* so little that rounding would decide: nothing */
            top = 0.0;
            fill_bins(b, state, 0.0);
            for (int64_t i = 0; i < n; i++) sums[i] = 0.0;
        }
        if ((batch->flags & FLAG_BALANCE) && b->sign > 0) {
            if (batch->flags & FLAG_QUERY_WEIGHT) {
                fill_bins(b, live, 1.0);
                memberships = 0.0;
                for (int64_t i = 0; i < n; i++) memberships += sum(visit(WORTH, b, i, live, 0.0));
            }
            b->fade = room_of(&q, b, ones, memberships, live);
        }
        double factor = batch->attribute[a].weight;
        if (batch->flags & FLAG_SCALE) factor /= all_weights;
        if ((batch->flags & FLAG_SCALE) && top > 0.0) factor /= top;
        for (int64_t j = 0; j < b->size; j++) state[b->origin + j] *= factor;
        total_worth += factor * top;
        multipliers[a] = b->sign * factor;
        tops[a] = top;
        rooms[a] = b->fade;

        double fall = 0.0; /* results of earlier pages count as covered */
        for (int64_t j = 0; j < q.seen_count; j++) fall += sum(visit(COVER, b, q.seen[j], state, b->fade));
        int again = fall > 0.0 || factor < TINY_FACTOR; /* where products underflow, the sum of products is not the product */
        for (int64_t i = 0; i < n; i++) {
            q.start[a][i] = again ? sum(visit(WORTH, b, i, state, 0.0)) : sums[i] * factor;
            if (b->sign < 0 && b->rule == MISSING_LAST && b->unknown[i] != 0.0) q.offset[i] -= factor * top;
        }
    }

    q.base = take_doubles(arena, n);
    q.taken = take_doubles(arena, n);
    q.bound = take_doubles(arena, padded);
    q.todo = take_integers(arena, n + LANES);
    double least = 0.0; /* the summed relevance that `keep` asks for */
    if (batch->keep > 0.0 && q.quotas) { /* the best that the quotas allow */
        memcpy(q.base, ideal, (size_t)n * sizeof(double));
        memcpy(live, state, (size_t)size * sizeof(double));
        int64_t count = select_greedily(&q, 0.0, MASCOT_TIE, live, positions, batch->stages + query);
        for (int64_t j = 0; j < count; j++) least += batch->keep * ideal[positions[j]];
    } else if (batch->keep > 0.0) {
        int64_t *order = take_integers(arena, n), rank = 0;
        best_positions(arena, ideal, scores, n, n, order);
        for (int64_t j = 0; j < n && rank < q.k; j++) {
            int fresh = 1;
            for (int64_t s = 0; s < q.seen_count; s++) fresh &= q.seen[s] != order[j];
            if (fresh) least += batch->keep * ideal[order[j]], rank++;
        }
    }

    /* `keep` walks a ladder of strengths: down from 1 by 0.05 until enough is kept, then the hundredths above that rung. */
    double lam = batch->strength;
    int64_t rung = 20, coarse = 1, done;
    for (;;) {
        if (batch->keep > 0.0) lam = (double)rung / (coarse ? 20.0 : 100.0);
        for (int64_t i = 0; i < n; i++) q.base[i] = (1.0 - lam) * q.relevance[i] + lam * q.offset[i];
        memcpy(live, state, (size_t)size * sizeof(double));
        double tie = MASCOT_TIE * ((1.0 - lam) * biggest + lam * total_worth);
        done = select_greedily(&q, lam, tie, live, positions, batch->stages + query);
        if (batch->keep <= 0.0) break;
        double sum_kept = 0.0;
        for (int64_t j = 0; j < done; j++) sum_kept += ideal[positions[j]];
        int enough = sum_kept >= least - 1e-9;
        if (coarse && (enough || rung == 0)) {
            if (rung == 20 || !enough) break;
            coarse = 0;
            rung = rung * 5 + 4;
        } else if (!coarse && (enough || rung % 5 == 0)) {
            break;
        } else {
            rung--;
        }
    }
    batch->strengths[query] = lam;
    for (int64_t j = done; j < k; j++) positions[j] = -1;
    memcpy(shown, positions, (size_t)k * sizeof(int64_t));
    if (batch->flags & FLAG_BY_RELEVANCE) sort_positions(arena, shown, done, ideal, scores);
}

int64_t VARIANT(const Batch *batch, int64_t first, int64_t last) {
    Arena arena = make_arena();
    int64_t *counts[64] = {0}; /* Python refuses more quotas */
    volatile int64_t failed = 0;
    if (setjmp(arena.exhausted)) {
        failed = -1;
    } else {
        for (int64_t c = 0; c < batch->quotas; c++) {
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
