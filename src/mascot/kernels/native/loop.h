/* The loop that builds a page, place by place: `attempt` of page.py.
 *
 * What rules on places or on counts require beyond it, other lists and a plan, is done by Python for the few pages that need it.
 */
#ifndef MASCOT_LOOP_H
#define MASCOT_LOOP_H

#include "counters.h"
#include "terms.h"

/* Return the first allowed candidate with the largest gain; -1 if none is allowed. Neither it nor the one whose gain is the
 * largest may be a near-copy. */
static int64_t best_of(const Query *q) {
    int64_t i = best_open(q, q->tie);
    while (q->copy_rules && i >= 0 && (is_copy(q, best_open(q, 0.0)) || is_copy(q, i))) i = best_open(q, q->tie);
    return i;
}

/* Log what decided at a place where candidate i is chosen: the best of the candidates with a larger gain that a rule does not
 * allow, and this rule. */
static void log_entry(const Query *q, const Page *page, int64_t i, int64_t cause) {
    int64_t *entry = page->entries + page->count * ENTRY_FIELDS, kept_out = -1, rule = -1;
    double bar = gain_of(q, i) + q->tie, top = bar, *gains = q->sums;
    for (int64_t j = 0; j < (q->rules ? q->n : 0); j++) {
        gains[j] = NEVER;
        if (q->taken[j] || !(gain_by_sums(q, j) > bar) || !(q->closed[j] || is_copy(q, j))) continue;
        gains[j] = gain_of(q, j);
        top = gains[j] > top ? gains[j] : top;
    }
    for (int64_t j = 0; j < q->n && top > bar && kept_out < 0; j++)
        if (gains[j] > bar && gains[j] >= top - q->tie) kept_out = j;
    for (int64_t c = 0; c < q->rules && kept_out >= 0 && rule < 0; c++)
        if (refuses(q, q->counters + c, kept_out)) rule = c;
    entry[ENTRY_CAUSE] = cause;
    entry[ENTRY_KEPT_OUT] = kept_out;
    entry[ENTRY_RULE] = rule;
    entry[ENTRY_LEVEL] = page->level;
}

/* Append a pinned result; `j` is its number. */
static void append_pin(const Query *q, Page *page, int64_t j) {
    const double *gains = q->pin_gains + j * q->attributes;
    double total = 0.0;
    for (int64_t a = 0; a < q->attributes; a++) total += gains[a];
    page->relevance += q->relevance[q->batch->pinned[j]];
    page->wishes += total;
    if (q->log) {
        memcpy(page->gains + page->count * q->attributes, gains, (size_t)q->attributes * sizeof(double));
        memcpy(page->entries + page->count * ENTRY_FIELDS, (int64_t[]){PINNED, -1, -1, 0}, ENTRY_FIELDS * sizeof(int64_t));
    }
    page->positions[page->count++] = q->batch->pinned[j];
}

/* Move pins up that stand behind the end of a short page, where the rules allow it. */
static void append_pins(Query *q, Page *page, int64_t pin) {
    for (int64_t p = page->count; p < q->length; p++) q->slot[p + q->already_count] = -1;
    for (; pin < q->pins; pin++) {
        int64_t i = q->batch->pinned[pin], place = page->count;
        int allowed = 1;
        q->last = place > 0 ? place - 1 : 0;
        for (Counter *c = q->counters; c < q->counters + q->rules; c++) {
            if (!c->placed || (c->rule->first && place >= c->rule->first)) continue;
            for (int64_t j = c->first[i]; j < c->first[i + 1]; j++)
                allowed &= count_of(q, c, c->label[j], place) < c->capacity[c->label[j]];
        }
        if (!allowed) continue;
        q->slot[place + q->already_count] = i;
        append_pin(q, page, pin);
    }
}

/* Build a page. The candidates `waiting` are selected first, as soon as rules allow them. */
static void attempt(Query *q, double strength, const int64_t *waiting, int64_t waiting_count, Page *page) {
    int64_t pin = 0, place;
    page->count = page->level = 0;
    page->relevance = page->wishes = 0.0;
    begin_terms(q, strength);
    begin_counters(q);
    while ((place = page->count) < q->length) {
        turn_counters(q, place, page->level);
        if (pin < q->pins && q->batch->places[pin] == place) {
            append_pin(q, page, pin++);
            continue;
        }
        int64_t i = -1, cause = PROTECTED;
        for (int64_t j = 0; j < waiting_count && i < 0; j++)
            if (!q->closed[waiting[j]] && !is_copy(q, waiting[j])) i = waiting[j];
        if (i < 0) i = best_of(q), cause = BEST;
        if (i < 0) {
            if (page->level > (q->fills ? q->length : 0)) {
                page->level = page->level > 2 ? page->level : 2;
                break;
            }
            page->level++;
            continue;
        }
        if (q->log) log_entry(q, page, i, cause);
        page->relevance += q->relevance[i];
        double *gains = q->log ? page->gains + place * q->attributes : NULL;
        if (strength > 0.0 || q->focuses || gains) page->wishes += add_to_terms(q, i, gains);
        page->positions[page->count++] = i;
        add_to_counters(q, i, place);
    }
    q->cut_short |= q->placed && page->count < q->length;
    if (page->count < q->length) append_pins(q, page, pin);
}

#endif
