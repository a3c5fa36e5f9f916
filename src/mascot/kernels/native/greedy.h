/* The greedy pass: k candidates, one after the other, each with the largest gain.
 *
 * It is lazy and exact. Covering only lowers the state, so a spread sum computed earlier is an upper bound, and a focus sum
 * computed earlier has fallen by no more than the state has fallen in all. Only candidates whose bound reaches the best gain
 * of the step are evaluated again. Gains within `tie` of the largest are equal, and the lowest position wins.
 */
#ifndef MASCOT_GREEDY_H
#define MASCOT_GREEDY_H

#include "bins.h"

#define NEVER (-1.7976931348623157e308) /* the gain of a candidate that may not be chosen */

typedef struct {
    int64_t n, attributes, k, quotas;
    Bins *bins;
    double *relevance, *offset, *spread, *cost; /* [n]; the sums at the start */
    const int64_t *rows;
    const int64_t *seen;
    int64_t seen_count;
    int64_t *heads, head_count; /* protected results, chosen first */
    const Quota *quota;
    int64_t **counts;           /* results so far for each label of each quota; zero between passes */
    double *base, *cap, *low, *bound, *taken;
    int64_t *todo, *stamp; /* the step in which a candidate was last evaluated */
} Query;

/* A quota's labels of a row. */
INLINE void labels_of(const Quota *quota, int64_t row, int64_t *begin, int64_t *end) {
    *begin = quota->indptr ? quota->indptr[row] : row;
    *end = quota->indptr ? quota->indptr[row + 1] : row + 1;
}

/* Whether the quotas of this stage leave room for candidate i. */
static int allowed(const Query *q, int64_t i, int64_t stage) {
    for (int64_t c = 0; c < q->quotas; c++) {
        const Quota *quota = q->quota + c;
        if (stage >= quota->stages) continue;
        int64_t j, end;
        for (labels_of(quota, q->rows[i], &j, &end); j < end; j++) {
            int64_t label = quota->labels[j];
            if (label >= 0 && q->counts[c][label] >= quota->capacity[label]) return 0;
        }
    }
    return 1;
}

/* Count candidate i. Returns whether a label became full. */
static int count_labels(const Query *q, int64_t i, int64_t by) {
    int full = 0;
    for (int64_t c = 0; c < q->quotas; c++) {
        const Quota *quota = q->quota + c;
        int64_t j, end;
        for (labels_of(quota, q->rows[i], &j, &end); j < end; j++) {
            int64_t label = quota->labels[j];
            if (label < 0) continue;
            q->counts[c][label] += by;
            full |= q->counts[c][label] >= quota->capacity[label];
        }
    }
    return full;
}

INLINE double highest(const double *values, int64_t n) { /* the array is padded with NEVER to whole blocks */
    vector top = load(values);
    for (int64_t i = LANES; i < n; i += LANES) top = larger(load(values + i), top);
    return largest(top);
}

/* The first position whose value is at least `bar`; there is one. */
INLINE int64_t first_from(const double *values, int64_t n, double bar) {
    for (int64_t i = 0; i < n; i++)
        if (values[i] >= bar) return i;
    return 0;
}

INLINE void evaluate(const Query *q, int64_t i, double *state, double *earn, double *pay) {
    vector gain = all(0.0), loss = all(0.0);
    for (int64_t a = 0; a < q->attributes; a++) {
        vector worth = visit(WORTH, q->bins + a, i, state, 0.0);
        if (q->bins[a].sign > 0) gain += worth;
        else loss += worth;
    }
    *earn = sum(gain);
    *pay = sum(loss);
}

/* Fills `out` with at most k positions and returns how many; `stages` tells how many stages of the quotas were needed. */
static int64_t select_greedily(Query *q, double lam, double tie, double *state, int64_t *out, int64_t *stages) {
    enum { AT_ONCE = 48, RUNNERS = 4 };
    int64_t runner[RUNNERS], runners = 0; /* the best of the last step that were not selected */
    int64_t n = q->n, padded = whole_blocks(n), done = 0, stage = 0;
    double slope = 0.0, fallen = 0.0; /* how much the focus state has fallen in all */
    for (int64_t a = 0; a < q->attributes; a++)
        if (q->bins[a].sign < 0) slope = lam;
    for (int64_t i = 0; i < n; i++) {
        q->cap[i] = q->base[i] + lam * q->spread[i]; /* the gain if every focus bin were covered */
        q->low[i] = q->cap[i] - lam * q->cost[i];    /* the gain when last evaluated, less the fall until then */
        q->taken[i] = 0.0;
        q->stamp[i] = 0;
    }
    for (int64_t i = n; i < padded; i++) q->cap[i] = q->low[i] = q->bound[i] = NEVER;
    for (int64_t j = 0; j < q->seen_count; j++) q->taken[q->seen[j]] = 1.0;
    for (int64_t i = 0; i < n; i++)
        if (q->taken[i] != 0.0 || (q->quotas && !allowed(q, i, 0))) q->cap[i] = q->low[i] = NEVER;

    while (done < q->k) {
        int64_t best;
        if (done < q->head_count) {
            best = q->heads[done];
        } else {
            vector drop = all(slope * fallen);
            for (int64_t i = 0; i < padded; i += LANES) {
                vector cap = load(q->cap + i), reach = load(q->low + i) + drop;
                store(q->bound + i, choose_lanes(cap < reach, cap, reach));
            }
            double top = highest(q->bound, n);
            if (top <= NEVER / 2) { /* nothing is allowed any more: the next stage lifts quotas */
                if (!q->quotas || stage == 2) break;
                stage++;
                for (int64_t i = 0; i < n; i++) {
                    if (q->taken[i] != 0.0 || !allowed(q, i, stage)) continue;
                    double earn, pay;
                    evaluate(q, i, state, &earn, &pay);
                    q->cap[i] = q->base[i] + lam * earn;
                    q->low[i] = q->cap[i] - lam * pay - slope * fallen;
                }
                continue;
            }
            /* The candidate with the highest bound and the runners-up of the last step set a bar; then, some at a time, all that
             * reach it are listed and evaluated. Listing first keeps one gain from waiting for another. */
            int64_t leader = first_from(q->bound, n, top), count = 0, at = 0;
            double bar = NEVER, gains[RUNNERS];
            q->todo[count++] = leader;
            q->stamp[leader] = done + 1;
            for (int64_t r = 0; r < runners; r++) {
                int64_t i = runner[r];
                if (q->taken[i] == 0.0 && q->bound[i] > NEVER / 2 && q->stamp[i] != done + 1) {
                    q->todo[count++] = i;
                    q->stamp[i] = done + 1;
                }
            }
            runners = 0;
            while (count > 0 || at < n) {
                for (int64_t j = 0; j < count; j++) {
                    int64_t i = q->todo[j];
                    double earn, pay;
                    evaluate(q, i, state, &earn, &pay);
                    q->cap[i] = q->base[i] + lam * earn;
                    double gain = q->bound[i] = q->cap[i] - lam * pay;
                    q->low[i] = gain - slope * fallen;
                    bar = gain - tie > bar ? gain - tie : bar;
                    int64_t r = runners < RUNNERS ? runners++ : RUNNERS;
                    for (; r > 0 && gains[r - 1] < gain; r--) { /* the best few, best first */
                        if (r == RUNNERS) continue;
                        gains[r] = gains[r - 1];
                        runner[r] = runner[r - 1];
                    }
                    if (r < RUNNERS) {
                        gains[r] = gain;
                        runner[r] = i;
                    }
                }
                count = 0;
                int64_t end = at + AT_ONCE < n ? at + AT_ONCE : n;
                for (int64_t i = at; i < end; i++) {
                    q->todo[count] = i;
                    count += (q->bound[i] >= bar) & (q->stamp[i] != done + 1);
                }
                at += AT_ONCE;
            }
            best = first_from(q->bound, n, bar);
        }
        for (int64_t a = 0; a < q->attributes; a++) {
            double fall = sum(visit(COVER, q->bins + a, best, state, q->bins[a].fade));
            if (q->bins[a].sign < 0) fallen += fall;
        }
        q->cap[best] = q->low[best] = NEVER;
        q->taken[best] = 1.0;
        out[done++] = best;
        if (q->quotas && count_labels(q, best, 1))
            for (int64_t i = 0; i < n; i++)
                if (q->taken[i] == 0.0 && !allowed(q, i, stage)) q->cap[i] = q->low[i] = NEVER;
    }
    for (int64_t j = 0; q->quotas && j < done; j++) count_labels(q, out[j], -1);
    *stages = stage + 1;
    return done;
}

#endif
