/* Scratch memory of one query: allocated piece by piece, released all at once. */
#ifndef MASCOT_ARENA_H
#define MASCOT_ARENA_H

#include <setjmp.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

typedef struct Chunk {
    struct Chunk *previous;
    size_t size, used;
} Chunk;

typedef struct {
    Chunk *chunk;
    size_t total;       /* bytes in all chunks */
    jmp_buf exhausted;  /* where to continue if memory runs out */
} Arena;

enum { ALIGNMENT = 64, FIRST_CHUNK = 1 << 18, LARGEST_SPARE = 1 << 25, SPARES = 4 };

/* Chunks of earlier calls, because new pages of the operating system cost more time than the work on them. */
static _Atomic(Chunk *) spares[SPARES];

static Arena make_arena(void) {
    Arena arena = {0};
    for (int j = 0; j < SPARES && !arena.chunk; j++) arena.chunk = atomic_exchange(spares + j, NULL);
    if (arena.chunk) arena.total = arena.chunk->size;
    return arena;
}

static Chunk *make_chunk(size_t size, Chunk *previous) {
    Chunk *chunk = malloc(sizeof(Chunk) + ALIGNMENT + size);
    if (chunk) *chunk = (Chunk){previous, size, 0};
    return chunk;
}

static void *arena_take(Arena *arena, size_t bytes) {
    bytes = (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT + ALIGNMENT; /* vectors may be read beyond the end */
    if (!arena->chunk || arena->chunk->size - arena->chunk->used < bytes) {
        size_t size = arena->total ? 2 * arena->total : FIRST_CHUNK;
#ifdef __SANITIZE_ADDRESS__
        size = bytes; /* one chunk per piece, so that the sanitizer sees where it ends */
#endif
        if (size < bytes) size = bytes;
        Chunk *chunk = make_chunk(size, arena->chunk);
        if (!chunk) longjmp(arena->exhausted, 1);
        arena->chunk = chunk;
        arena->total += size;
    }
    uintptr_t start = ((uintptr_t)(arena->chunk + 1) + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    void *piece = (void *)(start + arena->chunk->used);
    arena->chunk->used += bytes;
    return piece;
}

/* Take `rows` x `count` numbers of eight bytes. A size that no machine has counts as exhausted memory. */
static void *take_rows(Arena *arena, int64_t rows, int64_t count) {
    const int64_t most = (int64_t)1 << 48;
    if (rows < 0 || count < 0 || (count > 0 && rows > most / count)) longjmp(arena->exhausted, 1);
    return arena_take(arena, (size_t)(rows * count) * sizeof(int64_t));
}

static double *take_doubles(Arena *arena, int64_t count) { return take_rows(arena, 1, count); }
static int64_t *take_integers(Arena *arena, int64_t count) { return take_rows(arena, 1, count); }

/* Release every piece. Keep the newest chunk, which is the largest. */
static void arena_reset(Arena *arena) {
    if (!arena->chunk) return;
    for (Chunk *chunk = arena->chunk->previous; chunk;) {
        Chunk *previous = chunk->previous;
        arena->total -= chunk->size;
        free(chunk);
        chunk = previous;
    }
    arena->chunk->previous = NULL;
    arena->chunk->used = 0;
}

/* End the arena. One chunk, as large as this call needed, is kept for the next call. */
static void arena_free(Arena *arena) {
    size_t total = arena->total;
    arena_reset(arena);
#ifndef __SANITIZE_ADDRESS__
    if (total <= LARGEST_SPARE) {
        if (arena->chunk && arena->chunk->size < total) {
            free(arena->chunk);
            arena->chunk = make_chunk(total, NULL);
        }
        for (int j = 0; j < SPARES && arena->chunk; j++) {
            Chunk *none = NULL;
            if (atomic_compare_exchange_strong(spares + j, &none, arena->chunk)) arena->chunk = NULL;
        }
    }
#endif
    free(arena->chunk);
    arena->chunk = NULL;
}

#endif
