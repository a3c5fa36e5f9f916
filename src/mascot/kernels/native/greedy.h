/* The greedy pass: choose k candidates, one after the other, each with the largest gain.
 *
 * It is lazy and exact. A candidate's sum over an attribute changes only if a result is chosen whose bins overlap with its own;
 * until then the last sum is exact. After that a spread sum is an upper bound, because covering only lowers the state, and a
 * focus sum has fallen by no more than the state has. Only candidates whose bound reaches the best gain of the step are
 * evaluated again, and of those only the attributes that changed. Gains within `tie` of the largest are equal, and the
 * lowest position wins.
 */
#ifndef MASCOT_GREEDY_H
#define MASCOT_GREEDY_H

#include "novelty.h"
#include "overlap.h"
#include "page_plan.h"
#include "visit.h"

#define NEVER (-1.7976931348623157e308) /* the gain of a candidate that may not be chosen */

/* The results of a greedy run, in the order of selection. */
typedef struct {
    int64_t *positions, count;
    int64_t stages;            /* how many stages of the quotas were needed */
    double relevance, wishes;  /* the sums of what the results gain by each; not computed with strength 0 */
} Run;

/* One query: what the method is given, what is computed once, and what the greedy pass works with. */
typedef struct {
    int64_t n, attributes, k, quotas;
    const double *scores;        /* [n] */
    const int64_t *rows;         /* [n] */
    const int64_t *already;      /* positions of results on earlier pages */
    int64_t already_count;
    const Quota *quota;

    double *ideal;               /* [n] relevance from 0 to 1, of which `keep` retains a share */
    double *relevance, *offset;  /* [n] relevance in the gain, and penalties of missing values */
    double largest_relevance, total_worth; /* the scale on which gains are equal */
    int64_t *protected_positions, protected_count; /* results that are chosen first */
    Bins *bins;
    int64_t size;                /* bins of all attributes */
    double *state, *live;        /* [size] worth at the start, and during a pass */
    double *sums;                /* [n] sums over the bins of one attribute */
    double **start;              /* [attributes][n] sums at the start */
    double *stake;               /* [attributes] the most that a candidate pays; 0 for a spread */

    int64_t several;             /* whether a focus has several runs, see starts.h */
    int64_t fixed;               /* whether these runs do not depend on the strength, because there is no spread */
    int64_t *centres, centre_count; /* further starts */
    Run *runs, *plain, *strict;  /* the runs that compete, the most relevant results, and the run by the wishes alone */
    int64_t run_count;           /* 0 until the runs were selected */
    const int64_t *leading;      /* the k most relevant candidates, or more, best first */
    double strength;             /* at which the runs compete; below 0: at several */
    double bar;                  /* a run that cannot reach this objective any more ends; NEVER: runs are completed */

    Arena *arena;
    Plan *plan;                 /* NULL until looking ahead is necessary */
    Run ahead;                  /* the run that looks ahead */
    int64_t **counts;           /* results so far for each label of each quota; zero between passes */
    double *unit;               /* a vector, for the quotas on near-copies */
    double *base, *taken;       /* [n] the gain that no choice changes; 1 if the candidate may not be chosen any more */
    double **worth;             /* [attributes][n] sums over bins: exact, or a bound if they have changed */
    double *bound;              /* [n] the gain by these sums: exact, or an upper bound */
    int64_t *everyone, *todo;   /* [n] 0 .. n - 1; a list of candidates */
    int64_t *changed;           /* [n] bit a is set if bins of attribute a were covered since the last sum */
} Query;

/* Return whether candidate i was a result of an earlier page. */
static int is_already(const Query *q, int64_t i) {
    for (int64_t j = 0; j < q->already_count; j++)
        if (q->already[j] == i) return 1;
    return 0;
}

/* Return by how much a quota's capacities are raised at this stage, or -1 if the quota does not hold. Stage 0 holds all quotas,
 * stage 1 all limits; later stages raise the limits that may be filled by one each. */
INLINE int64_t raised_by(const Quota *quota, int64_t stage) {
    if (quota->stages == SHARED && stage > 0) return -1;
    return quota->stages == FILLED && stage > 1 ? stage - 1 : 0;
}

/* Return whether the quotas of this stage allow candidate i. */
static int allowed(const Query *q, int64_t i, int64_t stage) {
    for (int64_t c = 0; c < q->quotas; c++) {
        const Quota *quota = q->quota + c;
        int64_t j, end, raised = raised_by(quota, stage);
        if (raised < 0 || quota->vectors) continue;
        for (labels_of(quota, q->rows[i], &j, &end); j < end; j++) {
            int64_t label = quota->labels[j];
            if (label >= 0 && q->counts[c][label] - raised >= quota->capacity[label]) return 0;
        }
    }
    return 1;
}

/* Add `by` to the counts of candidate i's labels. Returns the quotas of which a label became full, one bit for each. */
static uint64_t count_labels(const Query *q, int64_t i, int64_t by) {
    uint64_t full = 0;
    for (int64_t c = 0; c < q->quotas; c++) {
        const Quota *quota = q->quota + c;
        if (quota->vectors) continue;
        int64_t j, end;
        for (labels_of(quota, q->rows[i], &j, &end); j < end; j++) {
            int64_t label = quota->labels[j];
            if (label < 0) continue;
            q->counts[c][label] += by;
            int64_t excess = q->counts[c][label] - quota->capacity[label];
            int closes = excess == 0 || (excess > 0 && quota->stages != SHARED); /* not a share beyond its capacity */
            full |= (uint64_t)closes << c;
        }
    }
    return full;
}

/* Return whether the quotas of this stage refuse candidate i because too many of the `done` results are near-copies of it. */
static int is_copy(const Query *q, int64_t i, int64_t stage, const int64_t *results, int64_t done) {
    for (int64_t c = 0; c < q->quotas; c++) {
        const Quota *quota = q->quota + c;
        int64_t raised = raised_by(quota, stage);
        if (raised < 0 || !quota->vectors) continue;
        Rows rows = {quota->vectors, quota->size};
        int64_t copies = 0;
        double inverse = inverse_length(rows, q->rows[i]);
        if (inverse == 0.0) continue;
        write_unit(rows, q->rows[i], inverse, q->unit);
        for (int64_t j = 0; j < done + quota->pinned_count; j++) {
            int64_t row = j < done ? q->rows[results[j]] : quota->pinned[j - done];
            inverse = inverse_length(rows, row);
            copies += inverse > 0.0 && dot(rows, row, q->unit) * inverse >= quota->threshold - MASCOT_COPY_TOLERANCE;
        }
        if (copies >= quota->count + raised) return 1;
    }
    return 0;
}

/* Return the first position whose value is at least `bar`; there must be one. */
INLINE int64_t first_from(const double *values, int64_t n, double bar) {
    for (int64_t i = 0; i < n; i += LANES) {
        unsigned reached = bits(load(values + i) >= all(bar));
        if (reached) return i + __builtin_ctz(reached);
    }
    return 0;
}

INLINE int64_t bit_of(int64_t attribute) { return (int64_t)1 << (attribute < 62 ? attribute : 62); }

/* Compare the listed candidates that have changed with all picks. */
static void compare_list(const Query *q, int64_t a, const int64_t *list, int64_t count) {
    Novelty *v = q->bins[a].novelty;
    for (int64_t j = 0; j < count; j++) {
        int64_t i = list[j];
        if (!(q->changed[i] & bit_of(a)) || q->bins[a].unknown[i] != 0.0) continue;
        catch_up(v, i, q->rows[i]);
        q->worth[a][i] = novelty_worth(v, i);
    }
}

/* Compute the sums and gains of the listed candidates again. Returns the largest gain. */
INLINE double evaluate(const Query *q, const int64_t *list, int64_t count, double lam, double *state) {
    double top = NEVER;
    if (count == 0) return top;
    for (int64_t a = 0; a < q->attributes; a++)
        if (q->bins[a].novelty) compare_list(q, a, list, count);
        else visit_list(WORTH, q->bins + a, list, count, q->changed, bit_of(a), state, NULL, q->worth[a]);
    for (int64_t j = 0; j < count; j++) {
        int64_t i = list[j];
        double total = 0.0;
        for (int64_t a = 0; a < q->attributes; a++) total += q->bins[a].sign * q->worth[a][i];
        q->changed[i] = 0;
        q->bound[i] = q->base[i] + lam * total;
        top = q->bound[i] > top ? q->bound[i] : top;
    }
    return top;
}

/* Mark the candidates that share bins with candidate `best`, after these bins fell by `fall` in all. What the candidates pay for
 * a focus attribute may have fallen by as much, but not below 0. */
INLINE void mark(const Query *q, int64_t a, int64_t shape, int64_t best, double fall, double lam, int64_t padded) {
    const Bins b = q->bins[a];
    double *restrict worth = q->worth[a], *restrict bound = q->bound;
    mask *restrict changed = (mask *)q->changed;
    Site from = site_of(&b, shape, best);
    for (int64_t i = 0; i < padded; i += LANES) {
        mask shared = overlap(&b, shape, i, &from);
        changed[i / LANES] |= shared & bit_of(a);
        if (b.sign > 0) continue;
        vector pay = load(worth + i), saved = where(shared, smaller(pay, all(fall)));
        store(worth + i, pay - saved);
        store(bound + i, load(bound + i) + all(lam) * saved);
    }
}

/* Update the worth and the bounds of all candidates after a pick was added, from what is stored of it. */
static void follow_pick(const Query *q, int64_t a, double lam) {
    const Bins *b = q->bins + a;
    const Novelty *v = b->novelty;
    const double *similar = v->similar[v->picks - 1];
    const vector picks = all((double)v->picks), each = all(1.0 / (double)v->picks), unseen = all(v->unseen);
    for (int64_t i = 0; i < q->n; i += LANES) {
        mask has_vector = (load(b->unknown + i) == all(0.0)) & (LANE_NUMBERS < q->n - i), *saw = (mask *)(v->seen + i);
        vector nearest = load(v->nearest + i), total = load(v->total + i), seen = __builtin_convertvector(*saw, vector);
        if (similar) {
            vector s = load(similar + i);
            mask follows = has_vector & (s == s) & (seen == picks - all(1.0));
            store(v->nearest + i, nearest = choose_lanes(follows, larger(s, nearest), nearest));
            store(v->total + i, total += where(follows, s));
            *saw -= follows; /* -1 in lanes that are set */
            seen += where(follows, all(1.0));
        }
        mask behind = has_vector & (seen < picks);
        nearest = choose_lanes(behind & (unseen > all(0.0)), all(1.0), nearest);
        vector mean = v->nearest_only ? nearest : (total + unseen * (picks - seen)) * each;
        vector worth = load(q->worth[a] + i), value = all(v->factor) * (all(1.0) - (nearest + mean) * all(0.5));
        *(mask *)(q->changed + i) |= behind & bit_of(a);
        store(q->bound + i, load(q->bound + i) + where(has_vector, all(lam * b->sign) * (value - worth)));
        store(q->worth[a] + i, choose_lanes(has_vector, value, worth));
    }
}

/* Compare all candidates with all picks; a missing vector under the rule NEUTRAL has the mean novelty. */
static void compare_all(const Query *q, int64_t a, double lam) {
    const Bins *b = q->bins + a;
    Novelty *v = b->novelty;
    double *worth = q->worth[a], mean = 0.0;
    for (int pass = 0; pass < 2; pass++) { /* first the candidates with a vector, whose mean the others get */
        if (pass == 1 && (b->rule != MISSING_NEUTRAL || !v->known || v->known == q->n)) break;
        for (int64_t i = 0; i < q->n; i++) {
            if ((b->unknown[i] != 0.0) != pass) continue;
            if (!pass) catch_up(v, i, q->rows[i]);
            double value = pass ? mean / (double)v->known : novelty_worth(v, i);
            if (!pass) mean += value;
            q->bound[i] += lam * b->sign * (value - worth[i]);
            worth[i] = value;
        }
    }
}

/* Add the vector of candidate `best` to the picks. Returns what it gains. */
static double pick_vector(const Query *q, int64_t a, int64_t best, double lam) {
    const Bins *b = q->bins + a;
    int known = b->unknown[best] == 0.0;
    if (known) catch_up(b->novelty, best, q->rows[best]);
    double gain = b->sign * (known ? novelty_worth(b->novelty, best) : q->worth[a][best]);
    if (!known) return gain;
    add_pick(b->novelty, best, q->rows[best], q->n);
    if (!b->novelty->lazy) compare_all(q, a, lam);
    else if (lam > 0.0) follow_pick(q, a, lam);
    return gain;
}

/* Return whether a list of results pays for the names of attribute a instead of its bins. */
INLINE int pays_names(const Query *q, int64_t a) { return q->several && q->fixed && q->bins[a].names; }

/* Return what candidate i gains by the name of its value after the results of `run`. It pays for the name instead of any penalty of
 * a missing value. */
static double name_gain(const Query *q, int64_t a, int64_t i, const Run *run) {
    const Bins *b = q->bins + a;
    double name = b->names[i], gain = b->rule == MISSING_LAST && b->unknown[i] != 0.0 ? q->stake[a] : 0.0;
    for (int64_t j = 0; j < run->count; j++)
        if (b->names[run->positions[j]] == name) return gain;
    for (int64_t j = 0; j < q->already_count; j++)
        if (b->names[q->already[j]] == name) return gain;
    return gain - b->name_price * q->stake[a];
}

/* Cover the bins of candidate `best`, or add its vector to the picks. Returns what it gains by the wishes after the results of
 * `run`. */
static double cover(const Query *q, int64_t best, double lam, double *state, int64_t padded, const Run *run) {
    double gain = 0.0;
    for (int64_t a = 0; a < q->attributes; a++) {
        const Bins *b = q->bins + a;
        if (b->novelty) {
            gain += pick_vector(q, a, best, lam);
            continue;
        }
        double fall = sum(visit(COVER, b, best, state, b->coverage_per_result));
        gain += pays_names(q, a) ? name_gain(q, a, best, run) : b->sign * fall / b->coverage_per_result;
        if (fall == 0.0) continue;
        if (!b->site[0] || b->mean) mark(q, a, ANYWHERE, best, fall, lam, padded);
        else if (b->shape == SHAPE_GLOBE) mark(q, a, SHAPE_GLOBE, best, fall, lam, padded);
        else if (b->shape == SHAPE_PLANE) mark(q, a, SHAPE_PLANE, best, fall, lam, padded);
        else mark(q, a, SHAPE_LINE, best, fall, lam, padded);
    }
    return gain;
}

/* Close candidates that the quotas with a bit in `full` do not allow at this stage. */
static void close_candidates(const Query *q, int64_t stage, uint64_t full) {
    for (int64_t i = 0; i < q->n; i++) q->bound[i] = q->taken[i] != 0.0 ? NEVER : q->bound[i];
    for (int64_t c = 0; c < q->quotas; c++) { /* one quota after the other, which is faster than `allowed` */
        const Quota quota = q->quota[c];
        int64_t raised = raised_by(&quota, stage), *counts = q->counts[c];
        if (!(full >> c & 1) || raised < 0 || quota.vectors) continue;
        for (int64_t i = 0; i < q->n; i++) {
            int64_t j, end;
            for (labels_of(&quota, q->rows[i], &j, &end); j < end; j++) {
                int64_t label = quota.labels[j];
                if (label >= 0 && counts[label] - raised >= quota.capacity[label]) q->bound[i] = NEVER;
            }
        }
    }
}

/* Forget all picks but the results of earlier pages. */
static void begin_novelty(const Query *q, int64_t a, double lam) {
    Novelty *v = q->bins[a].novelty;
    v->picks = 0;
    for (int64_t i = 0; i < q->n; i++) v->nearest[i] = v->total[i] = 0.0, v->seen[i] = 0;
    for (int64_t j = 0; j < q->already_count; j++) {
        if (q->bins[a].unknown[q->already[j]] != 0.0) continue;
        add_pick(v, q->already[j], q->rows[q->already[j]], q->n);
        if (v->lazy) follow_pick(q, a, lam);
    }
    if (!v->lazy) compare_all(q, a, lam);
}

/* Compute all sums and gains, and close what may not be chosen. */
static void begin_pass(const Query *q, double lam, int64_t padded) {
    for (int64_t a = 0; a < q->attributes; a++) memcpy(q->worth[a], q->start[a], (size_t)q->n * sizeof(double));
    memset(q->changed, 0, (size_t)padded * sizeof(int64_t));
    memset(q->taken, 0, (size_t)q->n * sizeof(double));
    for (int64_t i = q->n; i < padded; i++) q->bound[i] = NEVER;
    memcpy(q->bound, q->base, (size_t)q->n * sizeof(double));
    for (int64_t a = 0; a < q->attributes; a++) {
        double *restrict worth = q->worth[a], *restrict bound = q->bound, share = lam * q->bins[a].sign;
        for (int64_t i = 0; i < q->n; i++) bound[i] += share * worth[i];
    }
    for (int64_t a = 0; a < q->attributes; a++)
        if (q->bins[a].novelty) begin_novelty(q, a, lam);
    for (int64_t j = 0; j < q->already_count; j++) q->taken[q->already[j]] = 1.0;
    if (q->already_count || q->quotas) close_candidates(q, 0, ~(uint64_t)0);
}

/* Return the candidate with the largest gain, or -1 if none may be chosen. */
INLINE int64_t choose_best(const Query *q, double lam, double tie, double *state, int64_t padded) {
    enum { AT_ONCE = 104 };
    vector exact = all(NEVER), changed = all(NEVER);
    for (int64_t i = 0; i < padded; i += LANES) {
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
        double gain = evaluate(q, q->todo, count, lam, state);
        bar = gain - tie > bar ? gain - tie : bar;
        count = 0;
        int64_t end = at + AT_ONCE < padded ? at + AT_ONCE : padded;
        for (int64_t i = at; i < end; i += LANES) {
            unsigned reached = bits((load(q->bound + i) >= all(bar)) & (*(mask *)(q->changed + i) != 0));
            count += list_lanes(q->todo + count, i, reached);
        }
        at += AT_ONCE;
    }
    return first_from(q->bound, q->n, bar);
}

/* Add candidate `best` to a run. */
static void take_result(Query *q, int64_t best, double lam, double *state, Run *run) {
    if (lam > 0.0) {
        run->relevance += q->relevance[best];
        run->wishes += q->offset[best] + cover(q, best, lam, state, whole_blocks(q->n), run);
    }
    q->bound[best] = NEVER;
    q->taken[best] = 1.0;
    run->positions[run->count++] = best;
}

#endif
