// The threads of a block: phases, reductions and atomic operations.
//
// The same source compiles as plain C++ with -DEMULATED (emulation.cuh). A phase (EACH_THREAD) is then a loop over the threads, and a
// Private<T> is an array of one value per thread, of which MY(name) is the value of thread t. On the device a phase runs once, and a
// Private<T> is a plain variable. SYNC ends a phase after which threads read what others wrote; the reductions do so, too.
#pragma once

#include "config.cuh"

#ifdef EMULATED
#include "emulation.cuh"
#else
#define INFINITE __longlong_as_double(0x7ff0000000000000ll)
#define CONSTANT static __constant__
#define DEVICE static __device__ __forceinline__
#define DEVICE_MEMBER __device__ __forceinline__
#define EACH_THREAD for (int t = threadIdx.x, once = 1; once; once = 0)
#define MY(name) name
#define SYNC wait_for_block()
#define UNROLL _Pragma("unroll")
#define ROLLED _Pragma("unroll 1")  // small code: instructions that do not fit the cache are slow
#define SOME_UNROLL _Pragma("unroll 4")
#define OWN_UNROLL _Pragma("unroll (OWN_UNROLLED)")

template <class T> using Private = T;

constexpr int OWN_UNROLLED = Config::per_thread <= 8 ? Config::per_thread : 1;
constexpr int WARPS = THREADS / 32;
constexpr u32 WHOLE_WARP = 0xffffffffu;
static __shared__ double reduced[4 * WARPS];

// Where warps leave their results. Two places take turns, so that one wait is enough: before a warp writes to a place again, it has
// met all others since they read it.
struct Team {
    int turn;
    DEVICE_MEMBER Team() : turn(0) {}
    DEVICE_MEMBER double* next() {
        turn ^= 2 * WARPS;
        return reduced + turn;
    }
};

DEVICE void wait_for_block() {
    if constexpr (THREADS == 32) __syncwarp(); else __syncthreads();
}

DEVICE u64 bits_of(double v) { return (u64)__double_as_longlong(v); }
DEVICE double value_of(u64 bits) { return __longlong_as_double((i64)bits); }

// Map doubles to integers of the same order, and back.
DEVICE u64 ordered(double v) {
    const u64 bits = bits_of(v);
    return bits ^ ((u64)((i64)bits >> 63) | 0x8000000000000000ull);
}
DEVICE double unordered(u64 key) { return value_of(key ^ (key >> 63 ? 0x8000000000000000ull : ~0ull)); }

DEVICE double warp_max(double v) {
    const u64 key = ordered(v);
    const u32 high = __reduce_max_sync(WHOLE_WARP, (u32)(key >> 32));
    const u32 low = __reduce_max_sync(WHOLE_WARP, (u32)(key >> 32) == high ? (u32)key : 0u);
    return unordered((u64)high << 32 | low);
}

DEVICE double warp_sum(double v) {
    UNROLL for (int d = 16; d; d >>= 1) v += __shfl_xor_sync(WHOLE_WARP, v, d);
    return v;
}

DEVICE double max_of_warps(const double* place) {
    if (WARPS > 4) return warp_max(place[threadIdx.x % WARPS]);
    double v = place[0];
    UNROLL for (int w = 1; w < WARPS; ++w) v = fmax(v, place[w]);
    return v;
}

DEVICE double sum_of_warps(const double* place) {
    if (WARPS > 4) return warp_sum(threadIdx.x % 32 < WARPS ? place[threadIdx.x % 32] : 0.0);
    double v = place[0];
    UNROLL for (int w = 1; w < WARPS; ++w) v += place[w];
    return v;
}

// Reductions over the block. Each of them waits for the whole block once.
DEVICE double block_max(Team& team, double v) {
    v = warp_max(v);
    double* place = team.next();
    if (WARPS > 1 && threadIdx.x % 32 == 0) place[threadIdx.x / 32] = v;
    SYNC;
    return WARPS == 1 ? v : max_of_warps(place);
}

DEVICE void block_max_both(Team& team, double v, double w, double* x, double* y) {
    v = warp_max(v);
    w = warp_max(w);
    double* place = team.next();
    if (WARPS > 1 && threadIdx.x % 32 == 0) {
        place[threadIdx.x / 32] = v;
        place[WARPS + threadIdx.x / 32] = w;
    }
    SYNC;
    *x = WARPS == 1 ? v : max_of_warps(place);
    *y = WARPS == 1 ? w : max_of_warps(place + WARPS);
}

DEVICE double block_sum(Team& team, double v) {
    v = warp_sum(v);
    double* place = team.next();
    if (WARPS > 1 && threadIdx.x % 32 == 0) place[threadIdx.x / 32] = v;
    SYNC;
    return WARPS == 1 ? v : sum_of_warps(place);
}

DEVICE void block_sum_both(Team& team, double v, double w, double* x, double* y) {
    v = warp_sum(v);
    w = warp_sum(w);
    double* place = team.next();
    if (WARPS > 1 && threadIdx.x % 32 == 0) {
        place[threadIdx.x / 32] = v;
        place[WARPS + threadIdx.x / 32] = w;
    }
    SYNC;
    *x = WARPS == 1 ? v : sum_of_warps(place);
    *y = WARPS == 1 ? w : sum_of_warps(place + WARPS);
}

DEVICE int block_min(Team& team, int v) {
    v = __reduce_min_sync(WHOLE_WARP, v);
    int* place = (int*)team.next();
    if (WARPS > 1 && threadIdx.x % 32 == 0) place[threadIdx.x / 32] = v;
    SYNC;
    if (WARPS == 1) return v;
    if (WARPS > 4) return __reduce_min_sync(WHOLE_WARP, place[threadIdx.x % WARPS]);
    v = place[0];
    UNROLL for (int w = 1; w < WARPS; ++w) v = min(v, place[w]);
    return v;
}

// Return the largest value and, of the positions that have it, the lowest.
DEVICE double block_best(Team& team, double v, int at, int* where) {
    double top = warp_max(v);
    int first = __reduce_min_sync(WHOLE_WARP, v == top ? at : 0x7fffffff);
    double* place = team.next();
    int* places = (int*)(place + WARPS);
    if (WARPS > 1 && threadIdx.x % 32 == 0) {
        place[threadIdx.x / 32] = top;
        places[threadIdx.x / 32] = first;
    }
    SYNC;
    if (WARPS > 1) {
        const int w = threadIdx.x % WARPS;
        top = max_of_warps(place);
        first = __reduce_min_sync(WHOLE_WARP, place[w] == top ? places[w] : 0x7fffffff);
    }
    *where = first;
    return top;
}

DEVICE int block_count(int v) {
    if constexpr (THREADS == 32) return __popc(__ballot_sync(WHOLE_WARP, v));
    else return __syncthreads_count(v);
}

// Reductions over the threads that evaluate one candidate. All of them get the result.
DEVICE void group_sum(double& v) {
    UNROLL for (int d = 1; d < LANES; d *= 2) v += __shfl_xor_sync(WHOLE_WARP, v, d);
}

DEVICE void group_best(double& v, int& at) {
    UNROLL for (int d = 1; d < LANES; d *= 2) {
        const double other = __shfl_xor_sync(WHOLE_WARP, v, d);
        const int there = __shfl_xor_sync(WHOLE_WARP, at, d);
        if (other > v || (other == v && there < at)) v = other, at = there;
    }
}

// Atomic operations.
DEVICE u64 reserve(u64* at, u64 v) { return atomicAdd(at, v); }
DEVICE void add_to(double* at, double v) { atomicAdd(at, v); }
DEVICE void raise_word(u32* at, u32 v) { if (*(volatile u32*)at < v) atomicMax(at, v); }  // most values are not a new maximum
DEVICE u64 claim_key(u64* at, u64 key) { return atomicCAS(at, ~0ull, key); }
#endif

DEVICE u32 high_word(double v) { return (u32)(bits_of(v) >> 32); }
DEVICE u32 low_word(double v) { return (u32)bits_of(v); }
