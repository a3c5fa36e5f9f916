/* Order results so that limits on consecutive results hold. See arrange.py, which this file follows step by step. */
#ifndef MASCOT_ARRANGE_H
#define MASCOT_ARRANGE_H

#include <string.h>

#include "hash.h"
#include "kernel.h"

/* A label of one rule: where its results stand so far, and where the next ones may stand. */
typedef struct {
    int64_t n, length, first, end;
    int64_t count;            /* results without a place */
    int64_t opens, deadline;  /* first place of the next result, and last place at which all others still have room */
    int64_t *places, placed;  /* of the results so far, ascending; earlier pages have negative places */
    int64_t *pins, pinned;    /* places of pinned results, ascending */
} Label;

/* The state of a search. Items that have the same labels are of one class. */
typedef struct {
    Arena *arena;
    int64_t items, labels;
    Label *label;
    int64_t *begin, *own;          /* item i has the labels own[begin[i] .. begin[i + 1]] */
    int64_t *class_of;             /* [items] */
    int64_t *pin_at;               /* [items] the item that is pinned at a place, or -1 */
    int64_t *is_pinned;            /* [items] */
    int64_t *next, *previous;      /* [items + 1] ring of the items that have no place; `items` is its head */
    int64_t *order, count;         /* items that have a place */
    int64_t *tried, capacity;      /* classes that were tried at each place: place p has tried[tried_begin[p] ..] */
    int64_t *tried_begin, *mark, stamp; /* mark[class] == stamp: it was tried at the current place */
    int64_t *urgent, urgent_count; /* labels that must stand at the current place */
} Page;

static void update_label(Label *l) {
    l->opens = -1;
    l->deadline = l->end;
    if (l->placed >= l->n) l->opens = l->first ? l->length : l->n ? l->places[l->placed - l->n] + l->length : l->end;
    if (l->first) {
        int64_t needed = l->count - (l->end - l->length); /* results that must be among the first ones */
        if (needed > 0) l->deadline = needed <= l->n - l->placed ? l->length - needed : -1;
    } else if (l->count) {
        int64_t n = l->n > 1 ? l->n : 1;
        l->deadline = l->end - 1 - (l->count - 1) / n * l->length - (l->count - 1) % n;
    }
}

/* Return place j of the results before `place`, `place` itself and the pinned results behind it. */
INLINE int64_t nearby(const Label *l, int64_t place, int64_t before, int64_t later, int64_t j) {
    return j < before ? l->places[l->placed - before + j] : j == before ? place : l->pins[later + j - before - 1];
}

/* Return whether a result may stand at a place behind all others but pinned ones. */
static int allows(const Label *l, int64_t place) {
    if (place < l->opens || !l->pinned) return place >= l->opens;
    int64_t later = 0, among_first = 0;
    while (later < l->pinned && l->pins[later] <= place) later++;
    if (l->first) {
        for (int64_t j = later; j < l->pinned; j++) among_first += l->pins[j] < l->length;
        return place >= l->length || l->placed + among_first < l->n;
    }
    int64_t before = l->placed < l->n ? l->placed : l->n, behind = l->pinned - later;
    if (behind > l->n) behind = l->n;
    for (int64_t j = 0; j + l->n < before + 1 + behind; j++)
        if (nearby(l, place, before, later, j + l->n) - nearby(l, place, before, later, j) < l->length) return 0;
    return 1;
}

static int fits(const Page *p, int64_t item, int64_t place) {
    int64_t begin = p->begin[item], end = p->begin[item + 1];
    for (int64_t u = 0; u < p->urgent_count; u++) {
        int64_t at = begin;
        while (at < end && p->own[at] != p->urgent[u]) at++;
        if (at == end) return 0;
    }
    for (int64_t at = begin; at < end; at++)
        if (!allows(p->label + p->own[at], place)) return 0;
    return 1;
}

static void put_labels(Page *p, int64_t item, int64_t place) {
    for (int64_t at = p->begin[item]; at < p->begin[item + 1]; at++) {
        Label *l = p->label + p->own[at];
        l->places[l->placed++] = place;
        l->count--;
        update_label(l);
    }
}

static void remove_labels(Page *p, int64_t item) {
    for (int64_t at = p->begin[item]; at < p->begin[item + 1]; at++) {
        Label *l = p->label + p->own[at];
        l->placed--;
        l->count++;
        update_label(l);
    }
}

static void put_item(Page *p, int64_t item) {
    put_labels(p, item, p->count);
    p->order[p->count++] = item;
    if (p->is_pinned[item]) return;
    p->next[p->previous[item]] = p->next[item];
    p->previous[p->next[item]] = p->previous[item];
}

/* Remove the last item. The ring is restored because items leave in the reverse of the order in which they came. */
static int64_t remove_item(Page *p) {
    int64_t item = p->order[--p->count];
    remove_labels(p, item);
    if (!p->is_pinned[item]) p->next[p->previous[item]] = p->previous[p->next[item]] = item;
    return item;
}

static void mark_tried(Page *p, int64_t class) {
    int64_t *end = p->tried_begin + p->count + 1;
    if (p->mark[class] == p->stamp) return;
    p->mark[class] = p->stamp;
    if (*end == p->capacity) {
        int64_t *larger = take_integers(p->arena, 2 * p->capacity);
        memcpy(larger, p->tried, (size_t)p->capacity * sizeof(int64_t));
        p->tried = larger;
        p->capacity *= 2;
    }
    p->tried[(*end)++] = class;
}

static void find_urgent(Page *p, int64_t *nearest) {
    p->urgent_count = 0;
    if (p->count < *nearest) return;
    *nearest = p->labels ? INT64_MAX : p->items;
    for (int64_t v = 0; v < p->labels; v++) {
        if (p->label[v].deadline <= p->count) p->urgent[p->urgent_count++] = v;
        if (p->label[v].deadline < *nearest) *nearest = p->label[v].deadline;
    }
    if (p->urgent_count) *nearest = p->count;
}

/* Return the first item that may stand at the next place, -1 if there is none. */
static int64_t find_item(Page *p) {
    int64_t pin = p->pin_at[p->count], head = p->items;
    for (int64_t item = pin >= 0 ? pin : p->next[head]; item != head; item = pin >= 0 ? head : p->next[item]) {
        if (p->mark[p->class_of[item]] == p->stamp) continue;
        if (fits(p, item, p->count)) return item;
        mark_tried(p, p->class_of[item]);
    }
    return -1;
}

/* Find the first order of items that the rules allow. Returns whether it is found in a bounded number of steps back. */
static int search_order(Page *p) {
    for (int64_t v = 0; v < p->labels; v++)
        if (p->label[v].opens > p->label[v].deadline) return 0;
    int64_t steps = MASCOT_STEPS_PER_PLACE * p->items, nearest = 0; /* no deadline is before `nearest` */
    p->tried_begin[0] = p->tried_begin[1] = 0;
    while (p->count < p->items) {
        find_urgent(p, &nearest);
        int64_t item = find_item(p);
        if (item >= 0) {
            put_item(p, item);
            p->tried_begin[p->count + 1] = p->tried_begin[p->count];
            p->stamp++;
            continue;
        }
        if (!p->count || !steps) break;
        steps--;
        nearest = 0;
        item = remove_item(p);
        p->stamp++;
        for (int64_t j = p->tried_begin[p->count]; j < p->tried_begin[p->count + 1]; j++) p->mark[p->tried[j]] = p->stamp;
        mark_tried(p, p->class_of[item]);
    }
    if (p->count == p->items) return 1;
    while (p->count) remove_item(p);
    return 0;
}

static double crowding(const Page *p, int64_t item) {
    double most = 0.0;
    for (int64_t at = p->begin[item]; at < p->begin[item + 1]; at++) {
        const Label *l = p->label + p->own[at];
        double part = (double)l->count / (double)(l->n > 1 ? l->n : 1);
        if (part > most) most = part;
    }
    return most;
}

/* Find an order in which the label with most remaining results goes first. Returns how many items have a place. */
static int64_t order_crowded_first(Page *p) {
    int64_t head = p->items;
    p->urgent_count = 0;
    while (p->count < p->items) {
        int64_t best = p->pin_at[p->count];
        if (best < 0) {
            double most = -1.0;
            for (int64_t item = p->next[head]; item != head; item = p->next[item]) {
                if (!fits(p, item, p->count) || !(crowding(p, item) > most)) continue;
                most = crowding(p, item);
                best = item;
            }
        }
        if (best < 0) break;
        put_item(p, best);
    }
    for (int64_t place = p->count; place < p->items; place++)
        if (p->pin_at[place] >= 0) p->order[p->count++] = p->pin_at[place];
    int64_t count = p->count;
    for (int64_t item = p->next[head]; item != head; item = p->next[item]) p->order[p->count++] = item;
    return count;
}

/* The labels of all items and of the results of earlier pages, rule by rule. */
typedef struct {
    int64_t count, slots;
    int64_t *owner, *slot;          /* [count] item, negative for earlier pages; number of its label */
    int64_t *total, *n;             /* [slots] results with that label, and at most so many in a window */
    int64_t *rule, *label;          /* [slots] */
} Entries;

static Entries list_entries(Arena *arena, const PageRules *rules) {
    int64_t most = 0, before = rules->before_count;
    for (int64_t r = 0; r < rules->count; r++)
        for (int64_t j = -before; j < rules->items; j++) {
            int64_t row = j < 0 ? rules->before[before + j] : rules->rows[j];
            if (rules->quota[r].places.length) most += rules->quota[r].indptr[row + 1] - rules->quota[r].indptr[row];
        }
    Entries e = {0, 0, take_integers(arena, most), take_integers(arena, most), take_integers(arena, most),
                 take_integers(arena, most), take_integers(arena, most), take_integers(arena, most)};
    for (int64_t r = 0; r < rules->count; r++) {
        const Quota *quota = rules->quota + r;
        if (!quota->places.length) continue;
        Table table = make_table(arena, most);
        for (int64_t j = quota->places.first ? 0 : -before; j < rules->items; j++) {
            int64_t row = j < 0 ? rules->before[before + j] : rules->rows[j];
            for (int64_t at = quota->indptr[row]; at < quota->indptr[row + 1]; at++) {
                int64_t slot = slot_of(&table, quota->labels[at], e.slots);
                if (slot == e.slots) {
                    e.total[slot] = 0;
                    e.n[slot] = quota->places.capacity[quota->labels[at]];
                    e.rule[slot] = r;
                    e.label[slot] = quota->labels[at];
                    e.slots++;
                }
                e.total[slot]++;
                e.owner[e.count] = j;
                e.slot[e.count++] = slot;
            }
        }
    }
    return e;
}

/* Make the labels with more results than a rule allows in one window, and list those of each item. */
static void find_binding_labels(Page *p, const PageRules *rules) {
    Entries e = list_entries(p->arena, rules);
    int64_t longest = p->items + rules->before_count + 1; /* a longer window excludes no more; products do not overflow */
    int64_t *label_of = take_integers(p->arena, e.slots), *places = take_integers(p->arena, 2 * e.count);
    p->label = arena_take(p->arena, (size_t)e.slots * sizeof(Label));
    for (int64_t slot = 0; slot < e.slots; slot++) {
        const PlaceRule *rule = &rules->quota[e.rule[slot]].places;
        label_of[slot] = -1;
        if (e.total[slot] <= e.n[slot]) continue;
        int64_t length = rule->length < longest ? rule->length : longest;
        if (rule->first && length > p->items) length = p->items;
        label_of[slot] = p->labels;
        p->label[p->labels++] = (Label){.n = e.n[slot], .length = length, .first = rule->first, .end = p->items,
                                        .places = places, .pins = places + e.total[slot]};
        places += 2 * e.total[slot];
    }
    p->own = take_integers(p->arena, e.count);
    p->begin = take_integers(p->arena, p->items + 2);
    memset(p->begin, 0, (size_t)(p->items + 2) * sizeof(int64_t));
    for (int64_t j = 0; j < e.count; j++) {
        int64_t v = label_of[e.slot[j]], owner = e.owner[j];
        if (v < 0) continue;
        Label *l = p->label + v;
        if (owner < 0) {
            l->places[l->placed++] = owner;
        } else {
            l->count++;
            p->begin[owner + 2]++;
        }
    }
    for (int64_t i = 0; i < p->items; i++) p->begin[i + 2] += p->begin[i + 1];
    for (int64_t j = 0; j < e.count; j++)
        if (label_of[e.slot[j]] >= 0 && e.owner[j] >= 0) p->own[p->begin[e.owner[j] + 1]++] = label_of[e.slot[j]];
    for (int64_t v = 0; v < p->labels; v++) update_label(p->label + v);
}

/* Number the classes: the empty list of labels is class 0, and one label more leads from a class to another. */
static void find_classes(Page *p) {
    int64_t entries = p->begin[p->items], classes = 1;
    Table table = make_table(p->arena, entries);
    p->class_of = take_integers(p->arena, p->items);
    for (int64_t i = 0; i < p->items; i++) {
        p->class_of[i] = 0;
        for (int64_t at = p->begin[i]; at < p->begin[i + 1]; at++) {
            p->class_of[i] = slot_of(&table, p->class_of[i] * p->labels + p->own[at], classes);
            if (p->class_of[i] == classes) classes++;
        }
    }
    p->mark = take_integers(p->arena, classes);
    memset(p->mark, 0, (size_t)classes * sizeof(int64_t));
    p->stamp = 1;
}

static void prepare_search(Page *p) {
    find_classes(p);
    p->next = take_integers(p->arena, p->items + 1);
    p->previous = take_integers(p->arena, p->items + 1);
    p->next[p->items] = p->previous[p->items] = p->items;
    for (int64_t i = 0, last = p->items; i < p->items; i++) {
        if (p->is_pinned[i]) continue;
        p->previous[i] = last;
        p->next[i] = p->items;
        p->next[last] = p->previous[p->items] = i;
        last = i;
    }
    p->capacity = 4 * p->items + 16;
    p->tried = take_integers(p->arena, p->capacity);
    p->tried_begin = take_integers(p->arena, p->items + 2);
    p->urgent = take_integers(p->arena, p->labels);
}

/* Pin items at their places. Returns the first item that has no room there, -1 if there is none. */
static int64_t pin_items(Page *p, const PageRules *rules) {
    p->pin_at = take_integers(p->arena, p->items);
    p->is_pinned = take_integers(p->arena, p->items);
    for (int64_t i = 0; i < p->items; i++) p->pin_at[i] = -1, p->is_pinned[i] = 0;
    for (int64_t j = 0; j < rules->pin_count; j++) {
        int64_t place = rules->pins[2 * j], item = rules->pins[2 * j + 1];
        for (int64_t at = p->begin[item]; at < p->begin[item + 1]; at++)
            if (p->label[p->own[at]].opens > place) return item;
        put_labels(p, item, place);
        p->pin_at[place] = item;
        p->is_pinned[item] = 1;
    }
    for (int64_t j = 0; j < rules->pin_count; j++) {
        int64_t place = rules->pins[2 * j], item = rules->pins[2 * j + 1];
        remove_labels(p, item);
        for (int64_t at = p->begin[item]; at < p->begin[item + 1]; at++) {
            Label *l = p->label + p->own[at];
            l->pins[l->pinned++] = place;
        }
    }
    return -1;
}

int64_t mascot_arrange(const PageRules *rules) {
    Arena arena = make_arena();
    if (setjmp(arena.exhausted)) {
        arena_free(&arena);
        return -1;
    }
    Page p = {.arena = &arena, .items = rules->items, .order = rules->order};
    find_binding_labels(&p, rules);
    int64_t placed = p.items, crowded = pin_items(&p, rules);
    if (crowded >= 0) { /* a short page has moved it up */
        for (int64_t i = 0; i < p.items; i++)
            if (i != crowded) p.order[p.count++] = i;
        p.order[p.count] = crowded;
        placed = p.count;
    } else {
        prepare_search(&p);
        if (!search_order(&p)) placed = order_crowded_first(&p);
    }
    arena_free(&arena);
    return placed;
}

#endif
