/* A hash table that numbers bins in the order of their first use. */
#ifndef MASCOT_HASH_H
#define MASCOT_HASH_H

#include <stdint.h>

#include "arena.h"
#include "vector.h"

typedef struct {
    int64_t *keys, *slots, mask;
} Table;

static Table make_table(Arena *arena, int64_t entries) {
    int64_t size = 16;
    while (size / 2 < entries && size < (int64_t)1 << 48) size *= 2;
    Table table = {take_integers(arena, size), take_integers(arena, size), size - 1};
    for (int64_t j = 0; j < size; j++) table.keys[j] = -1;
    return table;
}

/* Return the slot of a key; a new key gets `next`. The table is at most half full, so the search ends. */
INLINE int64_t slot_of(Table *table, int64_t key, int64_t next) {
    int64_t h = (int64_t)((uint64_t)key * 0x9E3779B97F4A7C15u >> 20) & table->mask; /* Fibonacci hashing */
    while (table->keys[h] != key) {
        if (table->keys[h] < 0) {
            table->keys[h] = key;
            table->slots[h] = next;
            break;
        }
        h = (h + 1) & table->mask;
    }
    return table->slots[h];
}

/* Return a table of twice the size with the same entries. */
static Table larger_table(Arena *arena, Table table) {
    Table larger = make_table(arena, 2 * (table.mask + 1));
    for (int64_t j = 0; j <= table.mask; j++)
        if (table.keys[j] >= 0) slot_of(&larger, table.keys[j], table.slots[j]);
    return larger;
}

#endif
