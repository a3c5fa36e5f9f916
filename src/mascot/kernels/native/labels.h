/* Bins that are labels: single bins, numbered in the order of their first use. */
#ifndef MASCOT_LABELS_H
#define MASCOT_LABELS_H

#include "bins.h"
#include "hash.h"

static void pack_labels(Arena *arena, Bins *b, const Attribute *attribute, const int64_t *rows, int64_t n) {
    int64_t pairs = 0, at = 0, next = b->origin;
    for (int64_t i = 0; i < n; i++) pairs += attribute->indptr[rows[i] + 1] - attribute->indptr[rows[i]];
    b->first = take_integers(arena, n + 1);
    b->memberships = take_doubles(arena, n);
    b->slot = take_integers(arena, pairs);
    b->lanes = attribute->values ? take_doubles(arena, pairs) : NULL;
    Table table = make_table(arena, pairs);
    int64_t most = 0;
    for (int64_t i = 0; i < n; i++) {
        b->first[i] = at;
        b->memberships[i] = 0.0;
        for (int64_t j = attribute->indptr[rows[i]]; j < attribute->indptr[rows[i] + 1]; j++, at++) {
            b->slot[at] = slot_of(&table, attribute->indices[j], next);
            if (b->slot[at] == next) next++;
            if (b->lanes) b->lanes[at] = attribute->values[j];
            b->memberships[i] += b->lanes ? b->lanes[at] : 1.0;
        }
        b->unknown[i] = b->first[i] == at ? 1.0 : 0.0;
        most = at - b->first[i] > most ? at - b->first[i] : most;
    }
    b->first[n] = at;
    if (most <= 1) { /* with several labels each, any two candidates may share one */
        b->site[0] = take_doubles(arena, whole_blocks(n));
        b->reach[0] = 0.5;
        b->reach[1] = INFINITY;
        for (int64_t i = 0; i < n; i++) b->site[0][i] = b->unknown[i] != 0.0 ? NAN : (double)b->slot[b->first[i]];
    }
    b->size = whole_blocks(next - b->origin + LANES);
}

#endif
