/* Select for one query: the protected results, the lists of a focus that compete, and the strength that `keep` asks for.
 * See solve.py.
 */
#ifndef MASCOT_SOLVE_H
#define MASCOT_SOLVE_H

#include "loop.h"
#include "order.h"

/* Return whether a candidate is a near-copy of a protected one, in vectors that are to be spread. */
static int resembles_protected(const Query *q, int64_t i) {
    for (int64_t a = 0; a < q->attributes; a++) {
        Novelty *v = q->bins[a].sign > 0.0 ? q->bins[a].novelty : NULL;
        for (int64_t j = 0; v && j < q->protected_count; j++)
            if (cosine(v, q->rows, i, q->protected_positions[j]) >= v->copies - MASCOT_COPY_TOLERANCE) return 1;
    }
    return 0;
}

/* Protect the best of the first `count` by relevance that the rules on the page allow. Results of earlier pages and pinned ones
 * count, but are not chosen. Returns whether enough are protected. */
static int protect_best(Query *q, int64_t protect, int64_t count, int64_t *order) {
    int64_t left = protect, room = q->length - q->pins;
    count = best_positions(q->arena, q->relevance, q->scores, q->n, count, order);
    q->protected_count = 0;
    begin_counters(q);
    turn_counters(q, 0, 0);
    for (int64_t j = 0; j < count && left > 0 && q->protected_count < room; j++) {
        int64_t i = order[j], refused = 0;
        if (q->taken[i]) { /* on an earlier page, or pinned */
            left--;
            continue;
        }
        for (Counter *c = q->counters; c < q->counters + q->rules; c++) refused |= !c->placed && refuses(q, c, i);
        if (refused || resembles_protected(q, i)) continue;
        left--;
        q->protected_positions[q->protected_count++] = i;
        for (Counter *c = q->counters; c < q->counters + q->rules; c++) {
            if (c->placed) continue;
            count_result(q, c, i);
            for (int64_t at = c->label ? c->first[i] : 0; c->label && at < c->first[i + 1]; at++) turn_label(q, c, c->label[at], 0);
        }
    }
    return left <= 0 || q->protected_count >= room;
}

/* Choose the protected results. Sorting all candidates takes long, so first only a few more than needed are sorted. */
static void protect_results(Query *q, int64_t protect) {
    enum { FEW_MORE = 8 };
    int64_t *order = take_integers(q->arena, q->n), count = protect < q->n ? protect + FEW_MORE : q->n;
    if (protect > 0 && !protect_best(q, protect, count, order) && count < q->n) protect_best(q, protect, q->n, order);
}

/* Set like[i][c] to how much of the bins of leader c leader i has, on average over all focuses. */
static void measure_likeness(const Query *q, const int64_t *leaders, int64_t count, double like[][MASCOT_LEADERS]) {
    double shared[MASCOT_LEADERS][MASCOT_LEADERS];
    memset(like, 0, MASCOT_LEADERS * MASCOT_LEADERS * sizeof(double));
    for (int64_t i = 0; i < q->n; i++) q->changed[i] = 1; /* visit all of the list */
    for (int64_t a = 0; a < q->attributes; a++) {
        const Bins *b = q->bins + a;
        if (b->sign > 0.0 || b->factor * b->top <= 0.0) continue;
        fill_bins(b, q->live, 0.0);
        for (int64_t c = 0; c < count; c++) {
            for (int64_t i = c; i < count && b->novelty; i++) {
                double near = i == c ? b->unknown[leaders[i]] == 0.0 : cosine(b->novelty, q->rows, leaders[i], leaders[c]);
                shared[c][i] = shared[i][c] = near > 0.0 ? near : 0.0;
            }
            if (b->novelty) continue;
            visit(ADD, b, leaders[c], q->live, 1.0);
            visit_list(WORTH, b, leaders + c, count - c, q->changed, 1, q->live, NULL, q->sums);
            visit(CLEAR, b, leaders[c], q->live, 1.0);
            for (int64_t i = c; i < count; i++) shared[c][i] = shared[i][c] = q->sums[leaders[i]];
        }
        for (int64_t c = 0; c < count; c++) {
            double own = b->novelty || !(shared[c][c] > 0.0) ? 1.0 : shared[c][c];
            for (int64_t i = 0; i < count; i++) like[i][c] += shared[c][i] / own / (double)q->focuses;
        }
    }
}

/* Return the one of the most relevant candidates around which most of them lie, unlike all protected results; -1: none. */
static int64_t find_centre(const Query *q) {
    double like[MASCOT_LEADERS][MASCOT_LEADERS], mass[MASCOT_LEADERS], top = NEVER;
    int64_t leaders[MASCOT_LEADERS], is_protected[MASCOT_LEADERS], count = 0;
    int64_t *order = take_integers(q->arena, q->n);
    int64_t best = best_positions(q->arena, q->relevance, q->scores, q->n, MASCOT_LEADERS + q->already_count, order);
    for (int64_t j = 0; j < best && count < MASCOT_LEADERS; j++)
        if (!q->shown[order[j]]) leaders[count++] = order[j];
    measure_likeness(q, leaders, count, like);
    for (int64_t c = 0; c < count; c++) {
        is_protected[c] = 0;
        for (int64_t j = 0; j < q->protected_count; j++) is_protected[c] |= leaders[c] == q->protected_positions[j];
    }
    for (int64_t c = 0; c < count; c++) {
        int open = !is_protected[c] && like[c][c] > 0.0;
        for (int64_t p = 0; p < count; p++) open &= !(is_protected[p] && like[c][p] >= MASCOT_ALIKE);
        mass[c] = open ? 0.0 : NEVER;
        for (int64_t i = 0; i < count && open; i++) mass[c] += q->ideal[leaders[i]] * like[i][c];
        top = mass[c] > top ? mass[c] : top;
    }
    for (int64_t c = 0; c < count && top > NEVER; c++)
        if (mass[c] >= top - MASCOT_TIE * MASCOT_LEADERS) return leaders[c];
    return -1;
}

static Page make_page(const Query *q, int log) {
    Page page = {.positions = take_integers(q->arena, q->length)};
    if (log) page.entries = take_rows(q->arena, q->length, ENTRY_FIELDS);
    if (log) page.gains = take_rows(q->arena, q->length, q->attributes);
    return page;
}

/* What competes at each strength. */
typedef struct {
    Query *query;
    Page plain, greedy, centred;
    int plain_done;            /* the plain list is the same at each strength */
    int64_t *start, centre;    /* the protected results, and after them the centre; -1: none */
} Solver;

static double objective(const Page *page, double strength) { return (1.0 - strength) * page->relevance + strength * page->wishes; }

/* Return the better one of two lists: the longer one, the one for which fewer rules gave way, or the one with the larger objective. */
static const Page *better(const Page *best, const Page *other, double strength, double tie) {
    if (other->count != best->count) return other->count > best->count ? other : best;
    if (other->level != best->level) return other->level < best->level ? other : best;
    return objective(other, strength) - objective(best, strength) > tie ? other : best;
}

/* Return the best list at one strength. */
static const Page *greedy(Solver *solver, double strength) {
    Query *q = solver->query;
    attempt(q, strength, solver->start, q->protected_count, &solver->greedy);
    if (!q->focuses || strength == 0.0) return &solver->greedy;
    double tie = q->tie;
    if (!solver->plain_done++) attempt(q, 0.0, NULL, 0, &solver->plain);
    const Page *best = better(&solver->plain, &solver->greedy, strength, tie);
    if (solver->centre < 0) return best;
    attempt(q, strength, solver->start, q->protected_count + 1, &solver->centred);
    return better(best, &solver->centred, strength, tie);
}

static double ideal_of(const Query *q, const Page *page) {
    double total = 0.0;
    for (int64_t j = 0; j < page->count; j++) total += q->ideal[page->positions[j]];
    return total;
}

/* Return the largest strength that retains enough relevance: go down from 1 in steps of 0.05 until it does, then try the hundredths
 * above that step. */
static double search(Solver *solver, double keep) {
    Query *q = solver->query;
    attempt(q, 0.0, solver->start, q->protected_count, &solver->greedy);
    double least = keep * ideal_of(q, &solver->greedy) - 1e-9;
    int64_t step = 100, top;
    while (step > 0 && ideal_of(q, greedy(solver, (double)step / 100.0)) < least) step -= 5;
    for (top = step < 100 ? step + 4 : step; top > step; top--)
        if (ideal_of(q, greedy(solver, (double)top / 100.0)) >= least) break;
    return (double)top / 100.0;
}

#endif
