// The platform of platform.cuh in plain C++: the threads of a block take turns.
#pragma once

#include <math.h>
#include <cstdlib>
#include <cstring>

#define INFINITE __builtin_huge_val()
#define CONSTANT static const
#define DEVICE static inline
#define DEVICE_MEMBER inline
#define EACH_THREAD for (int t = 0; t < THREADS; ++t)
#define MY(name) name[t]
#define SYNC
#define UNROLL
#define ROLLED
#define SOME_UNROLL
#define OWN_UNROLL

template <class T> using Private = T[THREADS];

struct Team {};

DEVICE double block_max(Team&, const double* v) {
    double x = v[0];
    for (int t = 1; t < THREADS; ++t) x = fmax(x, v[t]);
    return x;
}

DEVICE void block_max_both(Team& team, const double* v, const double* w, double* x, double* y) {
    *x = block_max(team, v);
    *y = block_max(team, w);
}

DEVICE double block_sum(Team&, const double* v) {
    double x = 0;
    for (int t = 0; t < THREADS; ++t) x += v[t];
    return x;
}

DEVICE void block_sum_both(Team& team, const double* v, const double* w, double* x, double* y) {
    *x = block_sum(team, v);
    *y = block_sum(team, w);
}

DEVICE int block_min(Team&, const int* v) {
    int x = v[0];
    for (int t = 1; t < THREADS; ++t) x = v[t] < x ? v[t] : x;
    return x;
}

// Return the thread in first .. last - 1 that has the largest value and, of those, the lowest position.
DEVICE int best_thread(const double* v, const int* at, int first, int last) {
    int best = first;
    for (int t = first + 1; t < last; ++t)
        if (v[t] > v[best] || (v[t] == v[best] && at[t] < at[best])) best = t;
    return best;
}

DEVICE double block_best(Team&, const double* v, const int* at, int* where) {
    const int best = best_thread(v, at, 0, THREADS);
    *where = at[best];
    return v[best];
}

DEVICE int block_count(const int* v) {
    int count = 0;
    for (int t = 0; t < THREADS; ++t) count += v[t] != 0;
    return count;
}

DEVICE void group_sum(double* v) {
    for (int group = 0; group < THREADS; group += LANES) {
        double x = 0;
        for (int t = group; t < group + LANES; ++t) x += v[t];
        for (int t = group; t < group + LANES; ++t) v[t] = x;
    }
}

DEVICE void group_best(double* v, int* at) {
    for (int group = 0; group < THREADS; group += LANES) {
        const int best = best_thread(v, at, group, group + LANES), where = at[best];
        const double x = v[best];
        for (int t = group; t < group + LANES; ++t) v[t] = x, at[t] = where;
    }
}

DEVICE u64 bits_of(double v) {
    u64 bits;
    memcpy(&bits, &v, 8);
    return bits;
}

DEVICE double value_of(u64 bits) {
    double v;
    memcpy(&v, &bits, 8);
    return v;
}

DEVICE u64 ordered(double v) {
    const u64 bits = bits_of(v);
    return bits >> 63 ? ~bits : bits | 1ull << 63;
}

DEVICE double unordered(u64 key) { return value_of(key >> 63 ? key & ~(1ull << 63) : ~key); }

DEVICE u64 reserve(u64* at, u64 v) {
    const u64 old = *at;
    *at += v;
    return old;
}

DEVICE void add_to(double* at, double v) { *at += v; }

DEVICE void raise_word(u32* at, u32 v) {
    if (v > *at) *at = v;
}

DEVICE u64 claim_key(u64* at, u64 key) {
    const u64 old = *at;
    if (old == ~0ull) *at = key;
    return old;
}
