/* Passes over the candidates: greedily by stages of the quotas, and looking ahead if that breaks a rule. */
#ifndef MASCOT_PASSES_H
#define MASCOT_PASSES_H

#include "greedy.h"
#include "planning.h"

/* Return whether quotas have lower bounds. */
static int has_lower_bounds(const Query *q) {
    for (int64_t c = 0; c < q->quotas; c++)
        if (q->quota[c].least) return 1;
    return 0;
}

/* Return the plan of the page, which is made when it is first needed; NULL for a single quota without lower bounds. */
static Plan *plan_of(Query *q) {
    int64_t labelled = 0;
    for (int64_t c = 0; c < q->quotas; c++) labelled += !q->quota[c].vectors;
    if (!q->plan && (labelled > 1 || has_lower_bounds(q))) {
        q->plan = make_plan(q->arena, q->quota, q->quotas, q->rows, q->already, q->already_count, q->n, q->k);
        q->ahead.positions = take_integers(q->arena, q->k);
    }
    return q->plan;
}

/* Return whether looking ahead meets all quotas, so that a run that cannot need not be completed. */
static int plan_meets_all(Query *q) {
    for (int64_t c = 0; c < q->quotas; c++)
        if (q->quota[c].vectors) return 0;
    const Plan *plan = plan_of(q);
    return plan && plan->paired && plan->size == q->k && plan->cost == 0;
}

/* Return the largest objective that a run of a focus can still reach: the missing results are the most relevant, and free. */
static double highest_objective(const Query *q, const Run *run) {
    double relevance = run->relevance;
    const int64_t *next = q->leading;
    for (int64_t missing = q->k - run->count; missing > 0; next++)
        if (q->taken[*next] == 0.0) relevance += q->relevance[*next], missing--;
    return (1.0 - q->strength) * relevance + q->strength * run->wishes;
}

/* Complete `run`, the protected candidates first. A run that cannot win any more loses its results. */
static void complete_run(Query *q, double lam, double tie, double *state, int64_t stage, Run *run) {
    enum { BETWEEN_CHECKS = 4 };
    int64_t padded = whole_blocks(q->n), last = 1;
    for (int64_t c = 0; c < q->quotas; c++)
        if (q->quota[c].stages == FILLED) last = q->k + 1;
    while (run->count < q->k) {
        int protected = run->count < q->protected_count && stage == 0;
        int64_t best = protected ? q->protected_positions[run->count] : choose_best(q, lam, tie, state, padded);
        if (best < 0) { /* the next stage lifts quotas */
            if (!q->quotas || stage == last || (stage == 0 && plan_meets_all(q))) {
                stage = 2;
                break;
            }
            stage++;
            for (int64_t i = 0; i < q->n; i++)
                if (q->taken[i] == 0.0 && allowed(q, i, stage)) evaluate(q, &i, 1, lam, state);
            continue;
        }
        if (!protected && is_copy(q, best, stage, run->positions, run->count)) {
            q->bound[best] = NEVER;
            continue;
        }
        take_result(q, best, lam, state, run);
        uint64_t full = count_labels(q, best, 1);
        if (full) close_candidates(q, stage, full);
        if (q->bar > NEVER && run->count % BETWEEN_CHECKS == 0 && highest_objective(q, run) < q->bar) {
            run->count = 0;
            break;
        }
    }
    for (int64_t j = 0; q->quotas && j < run->count; j++) count_labels(q, run->positions[j], -1);
    run->stages = stage < 2 ? stage + 1 : 3;
}

/* Fill `run` with candidates that leave it possible to complete the page within all quotas. */
static void look_ahead(Query *q, double lam, double tie, double *state, Run *run) {
    int64_t padded = whole_blocks(q->n), held = q->quotas;
    Plan *plan = q->plan;
    run->relevance = run->wishes = 0.0;
    run->count = 0;
    restore_plan(plan, plan->initial);
    q->quotas = 0; /* the plan decides what is allowed */
    begin_pass(q, lam, padded);
    q->quotas = held;
    for (int64_t j = 0; j < q->protected_count; j++)
        if (take_planned(plan, q->protected_positions[j])) take_result(q, q->protected_positions[j], lam, state, run);
    while (run->count < plan->size) {
        int64_t best = choose_best(q, lam, tie, state, padded);
        if (best < 0) break;
        if (is_copy(q, best, 0, run->positions, run->count)) {
            q->bound[best] = NEVER;
            q->taken[best] = 1.0;
            drop_planned(plan, best);
        } else if (take_planned(plan, best)) {
            take_result(q, best, lam, state, run);
        } else { /* no page contains a candidate of this type */
            for (int64_t i = 0; i < q->n; i++)
                if (plan->type_of[i] == plan->type_of[best]) q->bound[i] = NEVER;
        }
    }
    if (run->count == q->k) return;
    for (int64_t i = 0; i < q->n; i++) q->taken[i] = is_already(q, i) ? 1.0 : 0.0;
    for (int64_t j = 0; j < run->count; j++) q->taken[run->positions[j]] = 1.0, count_labels(q, run->positions[j], 1);
    for (int64_t i = 0; i < q->n; i++) {
        q->bound[i] = NEVER;
        if (q->taken[i] == 0.0 && allowed(q, i, 1)) evaluate(q, &i, 1, lam, state);
    }
    complete_run(q, lam, tie, state, 1, run);
}

/* Fill `run` with at most k positions, the protected ones first. The first pass does not look ahead: if it meets all quotas,
 * looking ahead changes nothing. */
static void select_greedily(Query *q, double lam, double tie, double *state, Run *run) {
    run->relevance = run->wishes = 0.0;
    run->count = 0;
    begin_pass(q, lam, whole_blocks(q->n));
    complete_run(q, lam, tie, state, 0, run);
    int met = run->stages == 1 && run->count == q->k && !has_lower_bounds(q);
    if (met || !plan_of(q)) return;
    int64_t cost = cost_of_page(q->plan, run->positions, run->count);
    if (q->plan->size > run->count || (q->plan->size == run->count && q->plan->cost < cost)) {
        memcpy(state, q->state, (size_t)q->size * sizeof(double));
        look_ahead(q, lam, tie, state, &q->ahead);
        int64_t other = cost_of_page(q->plan, q->ahead.positions, q->ahead.count);
        if (q->ahead.count > run->count || (q->ahead.count == run->count && other < cost)) {
            memcpy(run->positions, q->ahead.positions, (size_t)q->ahead.count * sizeof(int64_t));
            run->count = q->ahead.count;
            run->relevance = q->ahead.relevance;
            run->wishes = q->ahead.wishes;
            cost = other;
        }
    }
    run->stages = run->count < q->k || cost >= MASCOT_EXCESS ? 3 : cost > 0 ? 2 : 1;
}

#endif
