/* Scratch memory of one query: taken piece by piece, released all at once. */
#ifndef MASCOT_ARENA_H
#define MASCOT_ARENA_H

#include <setjmp.h>
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
    jmp_buf exhausted;  /* where to go when memory runs out */
} Arena;

enum { ALIGNMENT = 64, FIRST_CHUNK = 1 << 18 };

static void *arena_take(Arena *arena, size_t bytes) {
    bytes = (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT + ALIGNMENT; /* vectors may be read beyond the end */
    if (!arena->chunk || arena->chunk->size - arena->chunk->used < bytes) {
        size_t size = arena->total > FIRST_CHUNK ? arena->total : FIRST_CHUNK;
#ifdef __SANITIZE_ADDRESS__
        size = bytes; /* every piece on its own, so that the sanitizer sees where it ends */
#endif
        if (size < bytes) size = bytes;
        Chunk *chunk = malloc(sizeof(Chunk) + ALIGNMENT + size);
        if (!chunk) longjmp(arena->exhausted, 1);
        *chunk = (Chunk){arena->chunk, size, 0};
        arena->chunk = chunk;
        arena->total += size;
    }
    uintptr_t start = ((uintptr_t)(arena->chunk + 1) + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    void *piece = (void *)(start + arena->chunk->used);
    arena->chunk->used += bytes;
    return piece;
}

static double *take_doubles(Arena *arena, int64_t count) { return arena_take(arena, (size_t)count * sizeof(double)); }
static int64_t *take_integers(Arena *arena, int64_t count) { return arena_take(arena, (size_t)count * sizeof(int64_t)); }

/* Forget every piece. Keeps the newest chunk, which is the largest. */
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

static void arena_free(Arena *arena) {
    arena_reset(arena);
    free(arena->chunk);
    arena->chunk = NULL;
}

#endif
