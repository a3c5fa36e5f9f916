/* What the results so far leave of each rule, see `LabelCounter` and `CopyCounter` in counters.py.
 *
 * A rule on labels closes the candidates of a full label and opens them when a window has moved on or the rule gives way. Near-copies
 * are found late: only a candidate that may be chosen is compared with the results.
 */
#ifndef MASCOT_COUNTERS_H
#define MASCOT_COUNTERS_H

#include "hash.h"
#include "query.h"

struct Counter {
    const Rule *rule;
    int placed;               /* whether the rule is about places, and not about the whole page */
    int64_t more;             /* results beyond the capacity; -1: the rule does not hold */
    /* Labels, numbered in the order of their first use. */
    int64_t labels;
    int64_t *first, *label;   /* candidate i has label[first[i] .. first[i + 1]] */
    int64_t *members_first, *member; /* and label l has the candidates member[members_first[l] .. members_first[l + 1]] */
    int64_t *capacity, *counts; /* [labels] */
    int64_t *full;            /* [labels] 1: its candidates are closed */
    /* Near-copies. */
    Rows rows;
    double *inverse;          /* [n] 1 / length of the vector, 0 if it is missing; -1: not computed */
    double *result;           /* [results][size] the vectors of results, of length 1 */
    int64_t results;
    int64_t *copies, *seen;   /* [n] near-copies among the first `seen` results */
    int64_t *shut;            /* [n] 1: the rule has closed the candidate */
};

static Counter make_counter(const Query *q, const Rule *rule) {
    Arena *arena = q->arena;
    Counter c = {.rule = rule, .placed = rule->window > 0 || rule->first > 0};
    if (rule->vectors) {
        c.rows = (Rows){rule->vectors, rule->size};
        c.inverse = take_doubles(arena, q->n);
        for (int64_t i = 0; i < q->n; i++) c.inverse[i] = -1.0;
        c.result = take_rows(arena, q->already_count + q->pins + q->length + 1, rule->size);
        c.copies = take_integers(arena, q->n);
        c.seen = take_integers(arena, q->n);
        c.shut = take_integers(arena, q->n);
        return c;
    }
    int64_t pairs = 0, at = 0;
    for (int64_t i = 0; i < q->n; i++) pairs += rule->indptr[q->rows[i] + 1] - rule->indptr[q->rows[i]];
    c.first = take_integers(arena, q->n + 1);
    c.label = take_integers(arena, pairs);
    c.member = take_integers(arena, pairs);
    int64_t **of_label[] = {&c.capacity, &c.counts, &c.full, &c.members_first};
    for (size_t j = 0; j < sizeof of_label / sizeof *of_label; j++) *of_label[j] = take_integers(arena, pairs + 2);
    Table table = make_table(arena, pairs);
    for (int64_t i = 0; i < q->n; i++) {
        c.first[i] = at;
        for (int64_t j = rule->indptr[q->rows[i]]; j < rule->indptr[q->rows[i] + 1]; j++) {
            int64_t l = c.label[at++] = slot_of(&table, rule->labels[j], c.labels);
            if (l == c.labels) c.capacity[c.labels++] = rule->capacity[rule->labels[j]], c.counts[l] = 0;
            c.counts[l]++;
        }
    }
    c.first[q->n] = at;
    for (int64_t l = 0, before = 0; l < c.labels; before += c.counts[l++]) c.members_first[l + 1] = before;
    c.members_first[0] = 0;
    for (int64_t i = 0; i < q->n; i++)
        for (int64_t j = c.first[i]; j < c.first[i + 1]; j++) c.member[c.members_first[c.label[j] + 1]++] = i;
    return c;
}

/* Return how many results more than its capacity a rule allows at a level; -1: as many as there are. */
INLINE int64_t extra(int64_t gives, int64_t level) {
    if (gives == SHARED && level > 0) return -1;
    return gives == FILLED && level > 1 ? level - 1 : 0;
}

static int has_label(const Query *q, const Counter *c, int64_t place, int64_t l) {
    int64_t i = q->slot[place + q->already_count];
    for (int64_t j = i < 0 ? 0 : c->first[i]; i >= 0 && j < c->first[i + 1]; j++)
        if (c->label[j] == l) return 1;
    return 0;
}

/* Return how many results have a label: on the page, among the first, or in the window around a place that has most of them. */
static int64_t count_of(const Query *q, const Counter *c, int64_t l, int64_t place) {
    int64_t window = c->rule->window, count = 0, most;
    if (!c->placed) return c->counts[l];
    if (!window) {
        for (int64_t p = 0; p < c->rule->first && p <= q->last; p++) count += has_label(q, c, p, l);
        return count;
    }
    int64_t low = place - window + 1 > -q->already_count ? place - window + 1 : -q->already_count;
    int64_t high = q->last - window + 1 < low ? low : q->last - window + 1;
    if (high > place) high = place;
    for (int64_t p = low; p < low + window && p <= q->last; p++) count += has_label(q, c, p, l);
    most = count;
    for (int64_t start = low; start < high; start++) {
        count -= has_label(q, c, start, l);
        if (start + window <= q->last) count += has_label(q, c, start + window, l);
        most = count > most ? count : most;
    }
    return most;
}

/* Close the candidates of a label that is full at a place, or open them. */
static void turn_label(const Query *q, Counter *c, int64_t l, int64_t place) {
    int64_t full = c->more >= 0 && count_of(q, c, l, place) - c->more >= c->capacity[l];
    if (full == c->full[l]) return;
    c->full[l] = full;
    for (int64_t j = c->members_first[l]; j < c->members_first[l + 1]; j++)
        if (full) close_candidate(q, c->member[j]);
        else open_candidate(q, c->member[j]);
}

/* Turn the labels of the result at `at`, if there is one. */
static void turn_labels_at(const Query *q, Counter *c, int64_t at, int64_t place) {
    if (at < -q->already_count || at > q->last) return;
    int64_t i = q->slot[at + q->already_count];
    for (int64_t j = i < 0 ? 0 : c->first[i]; i >= 0 && j < c->first[i + 1]; j++) turn_label(q, c, c->label[j], place);
}

/* Let the counters hold at a place and a level, after those at the place before. */
static void turn_counters(const Query *q, int64_t place, int64_t level) {
    for (Counter *c = q->counters; c < q->counters + q->rules; c++) {
        const Rule *rule = c->rule;
        int64_t more = rule->first && place >= rule->first ? -1 : extra(rule->gives, level);
        int changed = more != c->more;
        c->more = more;
        if (rule->vectors) {
            for (int64_t i = 0; i < q->n && changed; i++)
                if (c->shut[i]) open_candidate(q, i), c->shut[i] = 0;
        } else if (changed) {
            for (int64_t l = 0; l < c->labels; l++) turn_label(q, c, l, place);
        } else {
            turn_labels_at(q, c, place - 1, place);
            if (rule->window) turn_labels_at(q, c, place - rule->window, place);
            if (rule->window > 1) turn_labels_at(q, c, place + rule->window - 1, place);
        }
    }
}

/* Return 1 / length of a candidate's vector. */
static double inverse_of(const Query *q, Counter *c, int64_t i) {
    if (c->inverse[i] < 0.0) c->inverse[i] = inverse_length(c->rows, q->rows[i]);
    return c->inverse[i];
}

/* Count a result. */
static void count_result(const Query *q, Counter *c, int64_t i) {
    if (!c->rule->vectors) {
        for (int64_t j = c->first[i]; j < c->first[i + 1]; j++) c->counts[c->label[j]]++;
    } else if (inverse_of(q, c, i) > 0.0) {
        write_unit(c->rows, q->rows[i], c->inverse[i], c->result + c->results++ * c->rows.size);
    }
}

/* Return whether a rule does not allow a candidate. */
static int refuses(const Query *q, Counter *c, int64_t i) {
    if (!c->rule->vectors) {
        for (int64_t j = c->first[i]; j < c->first[i + 1]; j++)
            if (c->full[c->label[j]]) return 1;
        return 0;
    }
    if (inverse_of(q, c, i) > 0.0)
        for (; c->seen[i] < c->results; c->seen[i]++) {
            double near = dot(c->rows, q->rows[i], c->result + c->seen[i] * c->rows.size) * c->inverse[i];
            c->copies[i] += near >= c->rule->threshold - MASCOT_COPY_TOLERANCE;
        }
    return c->more >= 0 && c->copies[i] - c->more >= c->rule->most;
}

/* Return whether a candidate that labels allow is a near-copy of too many results, and close it. */
static int is_copy(const Query *q, int64_t i) {
    for (Counter *c = q->counters; c < q->counters + q->rules; c++) {
        if (!c->rule->vectors || !refuses(q, c, i)) continue;
        if (!c->shut[i]) close_candidate(q, i), c->shut[i] = 1;
        return 1;
    }
    return 0;
}

/* Forget all results but those of earlier pages and the pinned ones. Bounds must be set. */
static void begin_counters(Query *q) {
    for (int64_t i = 0; i < q->n; i++) {
        q->taken[i] = q->closed[i] = q->shown[i];
        if (q->shown[i]) q->bound[i] = NEVER;
    }
    for (int64_t p = 0; p < q->length; p++) q->slot[p + q->already_count] = -1;
    q->last = 0;
    for (int64_t j = 0; j < q->pins; j++) {
        int64_t i = q->batch->pinned[j];
        if (!q->taken[i]) close_candidate(q, i);
        q->taken[i] = 1;
        q->slot[(q->last = q->batch->places[j]) + q->already_count] = i;
    }
    for (Counter *c = q->counters; c < q->counters + q->rules; c++) {
        c->more = -2; /* whatever holds at the first place */
        c->results = 0;
        if (c->rule->vectors)
            for (int64_t i = 0; i < q->n; i++) c->copies[i] = c->seen[i] = c->shut[i] = 0;
        else for (int64_t l = 0; l < c->labels; l++) c->counts[l] = c->full[l] = 0;
        for (int64_t j = 0; j < q->already_count && c->rule->session && !c->placed; j++) count_result(q, c, q->already[j]);
        for (int64_t j = 0; j < q->pins; j++) count_result(q, c, q->batch->pinned[j]);
    }
}

/* Make candidate i the result at a place. */
static void add_to_counters(Query *q, int64_t i, int64_t place) {
    close_candidate(q, i);
    q->taken[i] = 1;
    q->slot[place + q->already_count] = i;
    if (place > q->last) q->last = place;
    for (Counter *c = q->counters; c < q->counters + q->rules; c++) count_result(q, c, i);
}

#endif
