/* Several runs of a focus: which further candidates they start from, and which run wins.
 *
 * One greedy pass is myopic under a focus: the bins of the protected results are free, so it takes everything there before it
 * opens a better bin. Without a spread the runs do not depend on the strength, so that a higher strength never prefers a list
 * that costs more.
 */
#ifndef MASCOT_STARTS_H
#define MASCOT_STARTS_H

#include "passes.h"
#include "relevance.h"

/* Set the bins, which are all 0, to the memberships of candidate i. */
static void set_memberships(const Bins *b, int64_t i, double *state) {
    if (b->mean && b->unknown[i] != 0.0) {
        memcpy(state + b->origin, b->mean, (size_t)b->size * sizeof(double));
        repeat_bins(b, state);
        return;
    }
    visit(ADD, b, i, state, 1.0);
    if (b->circle) join_bins(ADD, b, state);
    else if (b->shape == SHAPE_LINE || b->shape == SHAPE_PLANE) {
        int64_t at = b->slot[i] - b->origin;
        clear_padding(b, state, at / b->stride, b->rows, at % b->stride, b->blocks * LANES);
    }
}

/* Set the bins of candidate i back to 0. */
static void clear_memberships(const Bins *b, int64_t i, double *state) {
    if (b->circle || (b->mean && b->unknown[i] != 0.0)) clear_bins(b, state);
    else visit(CLEAR, b, i, state, 1.0);
}

/* Set shared[i] to the similarity of leaders c and i; 0 if either has no vector. */
static void compare_leaders(const Query *q, const Bins *b, const int64_t *leaders, int64_t count, int64_t c, double *shared) {
    Novelty *v = b->novelty;
    write_unit(v->unit, q->rows[leaders[c]], v->inverse[leaders[c]], v->pick);
    for (int64_t j = 0; j < count; j++) {
        int64_t i = leaders[j];
        int known = b->unknown[i] == 0.0 && b->unknown[leaders[c]] == 0.0;
        shared[j] = known ? scaled(v, dot(v->unit, q->rows[i], v->pick) * v->inverse[i]) : 0.0;
    }
}

/* Set like[c][i] to how much of the bins of candidate c candidate i has, over all focus attributes. */
static void measure_likeness(const Query *q, const int64_t *leaders, int64_t count, double like[][MASCOT_LEADERS]) {
    double stakes = 0.0, shared[MASCOT_LEADERS][MASCOT_LEADERS];
    for (int64_t a = 0; a < q->attributes; a++) stakes += q->stake[a];
    memset(like, 0, MASCOT_LEADERS * MASCOT_LEADERS * sizeof(double));
    for (int64_t a = 0; a < q->attributes; a++) {
        if (q->stake[a] == 0.0) continue;
        clear_bins(q->bins + a, q->live);
        for (int64_t c = 0; c < count; c++) {
            if (q->bins[a].novelty) {
                compare_leaders(q, q->bins + a, leaders, count, c, shared[c]);
                continue;
            }
            set_memberships(q->bins + a, leaders[c], q->live);
            visit_list(WORTH, q->bins + a, leaders + c, count - c, q->changed, 1, q->live, NULL, q->sums);
            clear_memberships(q->bins + a, leaders[c], q->live);
            for (int64_t i = c; i < count; i++) shared[c][i] = shared[i][c] = q->sums[leaders[i]];
        }
        for (int64_t c = 0; c < count; c++) {
            double own = q->bins[a].novelty && shared[c][c] > 0.0 ? 1.0 : shared[c][c];
            double share = own > 0.0 ? q->stake[a] / stakes / own : 0.0;
            for (int64_t i = 0; i < count; i++) like[c][i] += share * shared[c][i];
        }
    }
}

INLINE int alike(double like[][MASCOT_LEADERS], int64_t i, int64_t j) {
    return like[i][j] >= MASCOT_ALIKE || like[j][i] >= MASCOT_ALIKE;
}

/* Choose the centres: leaders around which most of the others lie, no two of them alike, and none like a protected result. */
static void choose_centres(Arena *arena, Query *q, int64_t starts, const int64_t *leaders, int64_t count) {
    double like[MASCOT_LEADERS][MASCOT_LEADERS], mass[MASCOT_LEADERS];
    int64_t leading[MASCOT_LEADERS], leading_count = 0; /* leaders that are protected */
    q->centres = take_integers(arena, MASCOT_LEADERS);
    if (count > MASCOT_LEADERS) count = MASCOT_LEADERS;
    if (q->protected_count >= q->k) return;
    measure_likeness(q, leaders, count, like);
    for (int64_t i = 0; i < count; i++)
        for (int64_t j = 0; j < q->protected_count; j++)
            if (leaders[i] == q->protected_positions[j]) leading[leading_count++] = i;
    for (int64_t j = 0; j < q->protected_count; j++) count_labels(q, q->protected_positions[j], 1);
    for (int64_t c = 0; c < count; c++) {
        int open = like[c][c] > 0.0 && allowed(q, leaders[c], 0) &&
                   !is_copy(q, leaders[c], 0, q->protected_positions, q->protected_count);
        for (int64_t j = 0; j < leading_count && open; j++) open = leading[j] != c && !alike(like, leading[j], c);
        mass[c] = open ? 0.0 : NEVER;
        for (int64_t i = 0; i < count && open; i++) mass[c] += q->ideal[leaders[i]] * like[c][i];
    }
    for (int64_t j = 0; j < q->protected_count; j++) count_labels(q, q->protected_positions[j], -1);
    while (q->centre_count < starts) {
        double top = NEVER;
        for (int64_t c = 0; c < count; c++) top = mass[c] > top ? mass[c] : top;
        if (top == NEVER) return;
        int64_t centre = 0;
        while (mass[centre] < top - MASCOT_TIE * MASCOT_LEADERS) centre++;
        q->centres[q->centre_count++] = leaders[centre];
        for (int64_t c = 0; c < count; c++)
            if (c == centre || alike(like, centre, c)) mass[c] = NEVER;
    }
}

/* Select the most relevant of the candidates `order` that the quotas allow. A focus competes with them: measure them. */
static void select_plain(Query *q, const int64_t *order, int64_t count, Run *plain) {
    memcpy(q->live, q->state, (size_t)q->size * sizeof(double));
    for (int64_t a = 0; a < q->attributes; a++) {
        if (!q->bins[a].novelty) continue;
        memcpy(q->worth[a], q->start[a], (size_t)q->n * sizeof(double));
        begin_novelty(q, a, 0.0);
    }
    for (int64_t j = 0; j < count && plain->count < q->k; j++) {
        int64_t i = order[j];
        if (!allowed(q, i, 0) || is_copy(q, i, 0, plain->positions, plain->count)) continue;
        count_labels(q, i, 1);
        plain->relevance += q->relevance[i];
        plain->wishes += q->offset[i];
        for (int64_t a = 0; a < q->attributes; a++) {
            const Bins *b = q->bins + a;
            if (b->novelty) plain->wishes += pick_vector(q, a, i, 0.0);
            else if (pays_names(q, a)) plain->wishes += name_gain(q, a, i, plain);
            else plain->wishes += b->sign * sum(visit(COVER, b, i, q->live, b->coverage_per_result)) / b->coverage_per_result;
        }
        plain->positions[plain->count++] = i;
    }
    for (int64_t j = 0; j < plain->count; j++) count_labels(q, plain->positions[j], -1);
}

static const double centre_steps[] = MASCOT_CENTRE_STEPS;
enum { CENTRE_RUNS = sizeof centre_steps / sizeof(double) };

/* Return how many runs compete without a spread: without a centre, the protected results alone take its place. */
static int64_t fixed_runs(const Query *q) { return 1 + CENTRE_RUNS * (q->centre_count ? q->centre_count : 1); }

/* Prepare several runs, if a wish is a focus. They compete at `strength`, or, below 0, at several strengths. */
static void prepare_starts(Arena *arena, Query *q, int64_t starts, double strength) {
    q->several = q->run_count = 0;
    q->fixed = 1;
    q->strength = q->quotas ? -1.0 : strength;
    for (int64_t a = 0; a < q->attributes; a++) {
        q->several |= starts > 0 && q->stake[a] > 0.0;
        q->fixed &= q->bins[a].sign < 0;
        if (q->bins[a].sign > 0 || (q->bins[a].novelty && q->bins[a].novelty->nearest_only)) q->strength = -1.0;
    }
    if (!q->several) return;
    int64_t *order = take_integers(arena, q->n), leading = q->k > MASCOT_LEADERS ? q->k : MASCOT_LEADERS, count = 0;
    leading = best_positions(arena, q->relevance, q->scores, q->n, q->quotas ? q->n : leading + q->already_count, order);
    for (int64_t j = 0; j < leading; j++)
        if (!is_already(q, order[j])) order[count++] = order[j];
    q->leading = order;
    choose_centres(arena, q, starts, order, count);
    int64_t most = 2 + fixed_runs(q);
    q->runs = arena_take(arena, (size_t)most * sizeof(Run));
    for (int64_t j = 0; j < most; j++) q->runs[j] = (Run){.positions = take_integers(arena, q->k), .stages = 1};
    q->plain = q->runs + most - 1;
    q->strict = q->runs + most - 2;
    select_plain(q, order, count, q->plain);
    int met = q->plain->count == q->k && !has_lower_bounds(q);
    q->plain->stages = met ? 1 : plan_of(q) ? 4 : 3; /* it does not look ahead */
}

/* Return how close two gains are that count as equal. */
INLINE double tie_of(const Query *q, double lam) { return MASCOT_TIE * ((1.0 - lam) * q->largest_relevance + lam * q->total_worth); }

INLINE double objective_of(const Run *run, double lam) { return (1.0 - lam) * run->relevance + lam * run->wishes; }

/* Raise the bar to a run that was completed. It stays below it by more ties than runs, each of which a tie can let win, so that a run
 * below the bar changes nothing. */
static void raise_bar(Query *q, const Run *run) {
    double bar = objective_of(run, q->strength) - 8 * MASCOT_LEADERS * tie_of(q, q->strength);
    if (q->strength >= 0.0 && run->count == q->k && bar > q->bar) q->bar = bar;
}

/* Select a run with strength `lam` that starts from the protected results and, unless it is below 0, centre c. */
static void select_run(Query *q, double lam, int64_t c, Run *run) {
    for (int64_t i = 0; i < q->n; i++) q->base[i] = (1.0 - lam) * q->relevance[i] + lam * q->offset[i];
    memcpy(q->live, q->state, (size_t)q->size * sizeof(double));
    if (c >= 0) q->protected_positions[q->protected_count++] = q->centres[c];
    select_greedily(q, lam, tie_of(q, lam), q->live, run);
    if (c >= 0) q->protected_count--;
    raise_bar(q, run);
}

/* Select the runs that compete at strength `lam`. */
static void select_runs(Query *q, double lam) {
    if (q->fixed && q->run_count && (lam <= MASCOT_PROTECTED_STEP || q->strict->count)) return;
    q->run_count = q->fixed ? fixed_runs(q) : 1 + q->centre_count;
    raise_bar(q, q->plain);
    for (int64_t run = 0; run < q->run_count; run++) {
        int64_t further = run - 1;
        if (!q->fixed) select_run(q, lam, further, q->runs + run);
        else if (run == 0) select_run(q, MASCOT_PROTECTED_STEP, -1, q->runs);
        else select_run(q, centre_steps[further % CENTRE_RUNS], q->centre_count ? further / CENTRE_RUNS : -1, q->runs + run);
    }
    if (q->fixed && lam > MASCOT_PROTECTED_STEP) select_run(q, 1.0, -1, q->strict);
    q->bar = NEVER;
}

/* Return whether run `other` beats `best`: more results, then fewer broken quotas, then the larger objective at strength `lam`. */
static int beats(const Query *q, double lam, const Run *other, const Run *best) {
    if (other->count != best->count) return other->count > best->count;
    if (other->stages != best->stages) return other->stages < best->stages;
    return objective_of(other, lam) > objective_of(best, lam) + tie_of(q, lam);
}

/* Select with strength `lam`. */
static void select_with(Query *q, double lam, Run *run) {
    if (!q->several || lam == 0.0) {
        for (int64_t i = 0; i < q->n; i++) q->base[i] = (1.0 - lam) * q->relevance[i] + lam * q->offset[i];
        memcpy(q->live, q->state, (size_t)q->size * sizeof(double));
        select_greedily(q, lam, tie_of(q, lam), q->live, run);
        return;
    }
    select_runs(q, lam);
    const Run *best = q->runs;
    for (int64_t j = 1; j < q->run_count; j++)
        if (beats(q, lam, q->runs + j, best)) best = q->runs + j;
    if (beats(q, lam, q->plain, best)) best = q->plain;
    /* By the wishes alone, only if that costs no more: the dial stays monotone. */
    int strict = q->fixed && lam > MASCOT_PROTECTED_STEP && q->strict->wishes >= best->wishes - tie_of(q, lam);
    if (strict && beats(q, lam, q->strict, best)) best = q->strict;
    memcpy(run->positions, best->positions, (size_t)best->count * sizeof(int64_t));
    run->count = best->count;
    run->stages = best->stages;
}

#endif
