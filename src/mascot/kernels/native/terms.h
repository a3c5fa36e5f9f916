/* Coverage and novelty: what candidates gain, and what a result leaves of it. See `objective.py`.
 *
 * Gains are lazy and exact. A candidate's sum over an attribute changes only if a result is chosen whose bins overlap with
 * its own; until then the last sum is exact. After that a spread sum is an upper bound, because covering only lowers the
 * state, and a focus sum has fallen by no more than the state has. Only candidates whose bound reaches the best gain of the
 * place are evaluated again, and of those only the attributes that changed.
 */
#ifndef MASCOT_TERMS_H
#define MASCOT_TERMS_H

#include "overlap.h"
#include "query.h"

#define TINY_FACTOR 1e-280

/* Compute what candidates with a value cover on average, for missing values that are neutral. */
static void average_bins(Arena *arena, Bins *b, int64_t n, double *scratch) {
    int64_t unknown = 0;
    for (int64_t i = 0; i < n; i++) unknown += b->unknown[i] != 0.0;
    if (!b->neutral || unknown == 0 || unknown == n) return;
    fill_bins(b, scratch, 0.0);
    for (int64_t i = 0; i < n; i++)
        if (b->unknown[i] == 0.0) visit(ADD, b, i, scratch, 1.0 / (double)(n - unknown));
    double *mean = take_doubles(arena, b->size);
    memcpy(mean, scratch + b->origin, (size_t)b->size * sizeof(double));
    b->mean = mean;
}

/* Set the bins to the largest membership times factor of all candidates. */
static void raise_to_peaks(const Query *q, const Bins *b, const double *factors, double *state) {
    fill_bins(b, state, 0.0);
    visit_list(PEAK, b, q->everyone, q->n, q->changed, 1, state, factors, NULL);
}

/* Return the part of a bin that a result covers, so that an even list fills every bin: 1 / results per bin, at most 1.
 * `memberships` is the sum of all memberships. */
static double coverage_per_result(const Query *q, const Bins *b, double memberships) {
    double *ones = take_doubles(q->arena, q->n);
    for (int64_t i = 0; i < q->n; i++) ones[i] = 1.0;
    raise_to_peaks(q, b, ones, q->live);
    double peaks = total_of_bins(b, q->live);
    if (peaks <= 0.0) return 1.0;
    double results_per_bin = (double)(q->batch->k - q->pins) * (memberships / (double)q->n) / peaks;
    return results_per_bin <= 1.0 ? 1.0 : 1.0 / results_per_bin;
}

/* Set the worth of the bins, the first sums over them, the largest of these, and the coverage per result. */
static void measure_bins(Query *q, Bins *b, int64_t flags) {
    double *state = q->state, *sums = q->sums;
    if (flags & FLAG_QUERY_WEIGHT) raise_to_peaks(q, b, q->relevance, state);
    else fill_bins(b, state, 1.0);
    if (b->memberships && !b->mean && !(flags & FLAG_QUERY_WEIGHT)) memcpy(sums, b->memberships, (size_t)q->n * sizeof(double));
    else visit_list(WORTH, b, q->everyone, q->n, q->changed, 1, state, NULL, sums);
    double memberships = sum_of(sums, q->n);
    b->top = largest_of(sums, q->n);
    if (b->top < MASCOT_NOTHING) { /* so little that rounding would decide: nothing */
        b->top = 0.0;
        fill_bins(b, state, 0.0);
        for (int64_t i = 0; i < q->n; i++) sums[i] = 0.0;
    }
    if (!(flags & FLAG_BALANCE) || b->sign < 0.0) return;
    if (flags & FLAG_QUERY_WEIGHT) {
        fill_bins(b, q->live, 1.0);
        memberships = 0.0;
        for (int64_t i = 0; i < q->n; i++) memberships += sum(visit(WORTH, b, i, q->live, 0.0));
    }
    b->coverage_per_result = coverage_per_result(q, b, memberships);
}

/* Weigh the bins of attribute a, and cover those of earlier pages and of pinned results. */
static void weigh_bins(Query *q, int64_t a, double share, int64_t flags) {
    Bins *b = q->bins + a;
    average_bins(q->arena, b, q->n, q->live);
    measure_bins(q, b, flags);
    double factor = share;
    if (flags & FLAG_GUARDED && b->top > 0.0) factor /= b->top;
    b->factor = factor;
    b->penalty = b->sign < 0.0 && !b->neutral ? factor * b->top : 0.0;
    for (int64_t j = 0; j < b->size; j++) q->state[b->origin + j] *= factor;
    double fall = 0.0, room = b->coverage_per_result;
    for (int64_t j = 0; j < q->already_count; j++) fall += sum(visit(COVER, b, q->already[j], q->state, room));
    for (int64_t j = 0; j < q->pins; j++) {
        int64_t i = q->batch->pinned[j];
        q->pin_gains[j * q->attributes + a] = b->sign * sum(visit(WORTH, b, i, q->state, 0.0)) - b->unknown[i] * b->penalty;
        fall += sum(visit(COVER, b, i, q->state, room));
    }
    int recompute = fall > 0.0 || factor < TINY_FACTOR; /* if products underflow, the sum of products is not the product */
    double *restrict start = q->start[a], *restrict offset = q->offset;
    for (int64_t i = 0; i < q->n; i++) start[i] = q->sums[i] * factor;
    for (int64_t i = 0; i < q->n && recompute; i++) start[i] = sum(visit(WORTH, b, i, q->state, 0.0));
    for (int64_t i = 0; i < q->n && b->penalty > 0.0; i++) offset[i] -= b->unknown[i] * b->penalty;
}

static void weigh_terms(Query *q, const Batch *batch) {
    for (int64_t a = 0; a < q->attributes; a++) {
        Bins *b = q->bins + a;
        double share = fabs(batch->attribute[a].share);
        if (b->novelty) {
            b->factor = share;
            b->top = 1.0;
            /* A missing vector earns nothing, or pays more than any other, unless it is neutral. */
            double missing = b->novelty->eager ? share : b->sign < 0.0 ? 2.0 * share : 0.0;
            for (int64_t i = 0; i < q->n; i++) q->start[a][i] = b->unknown[i] == 0.0 ? share : missing;
        } else {
            weigh_bins(q, a, share, batch->flags);
        }
        q->total_worth += b->factor * b->top;
        q->focuses += batch->flags & FLAG_GUARDED && b->sign < 0.0 && b->factor * b->top > 0.0;
    }
}

INLINE int64_t bit_of(int64_t attribute) { return (int64_t)1 << (attribute < 62 ? attribute : 62); }

/* Compare the listed candidates that have changed with all picks. */
static void compare_list(const Query *q, int64_t a, const int64_t *list, int64_t count) {
    const Bins *b = q->bins + a;
    for (int64_t j = 0; j < count; j++) {
        int64_t i = list[j];
        if (!(q->changed[i] & bit_of(a)) || b->unknown[i] != 0.0) continue;
        catch_up(b->novelty, i, q->rows[i]);
        q->worth[a][i] = novelty_worth(b, i);
    }
}

/* Compute the sums and gains of the listed candidates again. Returns the largest gain. */
INLINE double evaluate(const Query *q, const int64_t *list, int64_t count) {
    double top = NEVER;
    if (count == 0) return top;
    for (int64_t a = 0; a < q->attributes; a++)
        if (q->bins[a].novelty) compare_list(q, a, list, count);
        else visit_list(WORTH, q->bins + a, list, count, q->changed, bit_of(a), q->live, NULL, q->worth[a]);
    for (int64_t j = 0; j < count; j++) {
        int64_t i = list[j];
        q->changed[i] = 0;
        q->bound[i] = gain_by_sums(q, i);
        top = q->bound[i] > top ? q->bound[i] : top;
    }
    return top;
}

/* Return the exact gain of a candidate, which may be closed. */
static double gain_of(const Query *q, int64_t i) {
    double gain = evaluate(q, &i, 1);
    if (q->closed[i]) q->bound[i] = NEVER;
    return gain;
}

/* Mark the candidates that share bins with candidate `best`, after these bins fell by `fall` in all. What the candidates pay for
 * a focus attribute may have fallen by as much, but not below 0. */
INLINE void mark(const Query *q, int64_t a, int64_t shape, int64_t best, double fall) {
    const Bins b = q->bins[a];
    double *restrict worth = q->worth[a], *restrict bound = q->bound, strength = q->strength;
    mask *restrict changed = (mask *)q->changed;
    Site from = site_of(&b, shape, best);
    for (int64_t i = 0; i < q->padded; i += LANES) {
        mask shared = overlap(&b, shape, i, &from);
        changed[i / LANES] |= shared & bit_of(a);
        if (b.sign > 0) continue;
        vector pay = load(worth + i), saved = where(shared, smaller(pay, all(fall)));
        store(worth + i, pay - saved);
        store(bound + i, load(bound + i) + all(strength) * saved);
    }
}

/* Bound the worth of all candidates after a pick: under a focus they may pay nothing. */
static void follow_pick(const Query *q, int64_t a) {
    const Bins *b = q->bins + a;
    double *restrict worth = q->worth[a], *restrict bound = q->bound;
    for (int64_t i = 0; i < q->n; i++) {
        int64_t known = b->unknown[i] == 0.0;
        q->changed[i] |= known << (a < 62 ? a : 62);
        if (b->sign > 0.0) continue;
        bound[i] += known ? q->strength * worth[i] : 0.0;
        worth[i] = known ? 0.0 : worth[i];
    }
}

/* Compare all candidates with all picks; a missing vector that is neutral has the mean novelty. */
static void compare_all(const Query *q, int64_t a) {
    const Bins *b = q->bins + a;
    double *worth = q->worth[a], total = 0.0;
    for (int missing = 0; missing < 2; missing++) /* first the candidates with a vector, whose mean the others get */
        for (int64_t i = 0; i < q->n; i++) {
            if ((b->unknown[i] != 0.0) != missing) continue;
            if (!missing) catch_up(b->novelty, i, q->rows[i]);
            double value = missing ? total / (double)b->novelty->known : novelty_worth(b, i);
            if (!missing) total += value;
            q->bound[i] += q->strength * b->sign * (value - worth[i]);
            worth[i] = value;
        }
}

/* Add the vector of candidate i to the picks. Returns what it gains. */
static double add_vector(const Query *q, int64_t a, int64_t i) {
    const Bins *b = q->bins + a;
    Novelty *v = b->novelty;
    if (b->unknown[i] != 0.0) return b->sign * q->worth[a][i];
    catch_up(v, i, q->rows[i]);
    double gain = b->sign * novelty_worth(b, i);
    add_pick(q->arena, v, i, q->rows[i], q->n);
    if (v->eager) compare_all(q, a);
    else if (q->strength > 0.0) follow_pick(q, a);
    return gain;
}

/* Cover the bins of candidate i, and add its vectors to the picks. Returns the sum of what it gains; `gains`, if it is not NULL,
 * receives the parts. */
static double add_to_terms(const Query *q, int64_t i, double *gains) {
    double total = 0.0;
    for (int64_t a = 0; a < q->attributes; a++) {
        const Bins *b = q->bins + a;
        double gain, fall = 0.0;
        if (b->novelty) {
            gain = add_vector(q, a, i);
        } else {
            fall = sum(visit(COVER, b, i, q->live, b->coverage_per_result));
            gain = b->sign * fall / b->coverage_per_result - b->unknown[i] * b->penalty;
        }
        total += gain;
        if (gains) gains[a] = gain;
        if (fall == 0.0 || q->strength == 0.0) continue;
        if (!b->site[0] || b->mean) mark(q, a, ANYWHERE, i, fall);
        else if (b->shape == SHAPE_GLOBE) mark(q, a, SHAPE_GLOBE, i, fall);
        else if (b->shape == SHAPE_PLANE) mark(q, a, SHAPE_PLANE, i, fall);
        else mark(q, a, SHAPE_LINE, i, fall);
    }
    return total;
}

/* Forget all results but those of earlier pages and the pinned ones. */
static void begin_terms(Query *q, double strength) {
    q->strength = strength;
    q->tie = strength == 0.0 ? 0.0 : MASCOT_TIE * (1.0 - strength) * q->best_relevance + strength * MASCOT_TIE * q->total_worth;
    memcpy(q->live, q->state, (size_t)q->size * sizeof(double));
    memset(q->changed, 0, (size_t)q->padded * sizeof(int64_t));
    for (int64_t i = 0; i < q->n; i++) q->bound[i] = q->base[i] = (1.0 - strength) * q->relevance[i] + strength * q->offset[i];
    for (int64_t i = q->n; i < q->padded; i++) q->bound[i] = NEVER;
    for (int64_t a = 0; a < q->attributes; a++) {
        memcpy(q->worth[a], q->start[a], (size_t)q->n * sizeof(double));
        double *restrict worth = q->worth[a], *restrict bound = q->bound, share = strength * q->bins[a].sign;
        for (int64_t i = 0; i < q->n; i++) bound[i] += share * worth[i];
    }
    for (int64_t a = 0; a < q->attributes; a++) {
        Novelty *v = q->bins[a].novelty;
        if (!v) continue;
        v->picks = 0;
        for (int64_t i = 0; i < q->n; i++) v->nearest[i] = 0.0, v->seen[i] = 0;
        for (int64_t j = 0; j < q->already_count; j++) add_vector(q, a, q->already[j]);
        for (int64_t j = 0; j < q->pins; j++) q->pin_gains[j * q->attributes + a] = add_vector(q, a, q->batch->pinned[j]);
    }
}

/* Return the first position whose value is at least `bar`; there must be one. */
INLINE int64_t first_from(const double *values, int64_t n, double bar) {
    for (int64_t i = 0; i < n; i += LANES) {
        unsigned reached = bits(load(values + i) >= all(bar));
        if (reached) return i + __builtin_ctz(reached);
    }
    return 0;
}

/* Return the first open candidate with the largest gain but for `tie`; -1 if none is open. */
static int64_t best_open(const Query *q, double tie) {
    enum { AT_ONCE = 104 };
    vector exact = all(NEVER), changed = all(NEVER);
    for (int64_t i = 0; i < q->padded; i += LANES) {
        vector bound = load(q->bound + i);
        mask known = *(mask *)(q->changed + i) == 0;
        exact = larger(choose_lanes(known, bound, all(NEVER)), exact);
        changed = larger(choose_lanes(known, all(NEVER), bound), changed);
    }
    double known = largest(exact), bar = known - tie, top = largest(changed);
    if (known <= NEVER / 2 && top <= NEVER / 2) return -1;
    if (top < bar) return first_from(q->bound, q->n, bar);
    top = known > top ? known : top;
    /* The candidate with the highest bound raises the bar. Then all candidates that reach it are listed, some at a time, and
     * evaluated. Listing first keeps one gain from waiting for another. */
    int64_t at = 0, count = 1;
    q->todo[0] = first_from(q->bound, q->n, top);
    while (count > 0 || at < q->n) {
        double gain = evaluate(q, q->todo, count);
        bar = gain - tie > bar ? gain - tie : bar;
        count = 0;
        int64_t end = at + AT_ONCE < q->padded ? at + AT_ONCE : q->padded;
        for (int64_t i = at; i < end; i += LANES) {
            unsigned reached = bits((load(q->bound + i) >= all(bar)) & (*(mask *)(q->changed + i) != 0));
            count += list_lanes(q->todo + count, i, reached);
        }
        at += AT_ONCE;
    }
    return first_from(q->bound, q->n, bar);
}

#endif
