// MASCOT's selection on a GPU: one block of threads per query, from raw values to selected positions in one launch. The numpy
// reference (mascot/kernels/reference.py) is the specification.
//
// All of a query lives in one arena (shared memory; global memory for problems that do not fit): what is left to cover
// in each bin, two numbers per candidate that bound its gain, and a few numbers from which its bins are multiplied out
// when needed. A Gaussian bump on even centres is f_j = f_0 * r^j * t_j with t_j = exp(-(j * step / sigma)^2 / 2), so a
// bump is two numbers per axis and a table that all candidates share.
//
// The greedy pass is lazy and exact, as in native/greedy.h: covering only lowers the state, so a stale spread sum is an upper
// bound, and a stale focus sum has fallen by no more than the state has in all. In a round every thread evaluates the
// most promising of its own candidates; rounds end when no bound reaches the best gain. Groups of LANES neighbouring
// threads may evaluate one candidate together. Where there is a group for every candidate (EAGER), all are evaluated
// in every step without bounds, and a thread may hold its share of the bins in registers.
//
// The same source compiles as plain C++ with -DEMULATED: a phase (EACH_THREAD ...) then is a loop over the threads, and a
// PRIVATE variable is an array of one value per thread. Compile-time names:
//   THREADS, LANES, EAGER     as above
//   TALL, LONG                most rows of a tile and bins of a line that threads hold in registers
//   COLUMNS                   columns of a grid that are processed at once
//   PER                       most candidates of a thread
//   BLOCKS                    blocks that should fit on a multiprocessor
//   SLAB                      the arena is in global memory
//   WIDE                      slots may need more than 16 bits
//   INDEX                     type of explicit bins
//   KINDS, SHAPES             number and shapes (three bits each) of the attributes
//   KEEP, NEUTRAL, QUERY, ROBUST, BALANCE, QUOTAS, EARNS, PAYS    0 leaves out code that this problem does not need (EARNS and
//                             PAYS stand for spread and focus)

#include "constants.h"

typedef long long i64;
typedef unsigned long long u64;
typedef unsigned int u32;

#ifndef THREADS
#define THREADS 32
#endif
#ifndef LANES
#define LANES 1
#endif
#ifndef EAGER
#define EAGER 0
#endif
#ifndef TALL
#define TALL 0
#endif
#ifndef LONG
#define LONG 0
#endif
#ifndef INDEX
#define INDEX i64
#endif
#ifndef QUERY
#define QUERY 1
#endif
#ifndef ROBUST
#define ROBUST 1
#endif
#ifndef BALANCE
#define BALANCE 1
#endif
#ifndef QUOTAS
#define QUOTAS 1
#endif
#ifndef EARNS
#define EARNS plan.earns
#endif
#ifndef PAYS
#define PAYS plan.pays
#endif
#ifndef COLUMNS
#define COLUMNS 8
#endif
#ifndef PER
#define PER 64
#endif
#ifndef BLOCKS
#define BLOCKS 1
#endif
#ifndef SLAB
#define SLAB 0
#endif
#ifndef WIDE
#define WIDE 1
#endif
#ifndef KEEP
#define KEEP 1
#endif
#ifndef NEUTRAL
#define NEUTRAL 1
#endif

#define GROUPS (THREADS / LANES)

// GLOBE: bins and values are stored per query. LABELS: explicit pairs, read from where they are. CIRCLE: a line whose bumps meet
// themselves. TILE: a plane whose bumps have up to 64 bins; a mask says which of them count.
enum { LINE, PLANE, GLOBE, LABELS, CIRCLE, TILE };
enum { START, STEP, COUNT, SIGMA, PERIOD, SMALLEST, FLOOR, CEILING, AXIS };
enum { QUERY_WEIGHT = 1, NORMALIZE = 2, SCALED = 4, ROBUST_SCORES = 8, BALANCED = 16, BY_RELEVANCE = 32 };
// What is computed for an attribute once its rows were read. FIT_LOWEST and FIT_STRIDE number the cells of the globe densely: the
// lowest ring and the cells per ring; a stride of 0 means that cells are hashed.
enum {
    FIT_COUNT, FIT_HEIGHT, FIT_REACH, FIT_LIMIT, FIT_FOLD, FIT_UNKNOWN, FIT_NEUTRAL, FIT_PENALTY, FIT_POOL, FIT_FADE,
    FIT_LOWEST, FIT_STRIDE
};
enum { RING_COSINE, RING_CELLS, RING_FIRST, RING_WIDTH, RING_FIELDS };

#define PI 3.141592653589793
#define MOST_KINDS 8
#define MOST_QUOTAS 8
#define MOST_RINGS 8  // of the globe's mesh within reach of one point
#define STAGES 3

#if WIDE
typedef u32 Slot;
#else
typedef unsigned short Slot;
#endif

// Every field takes eight bytes, so that the host can write it as one record. `at_...`, `keys`, `data` and the like are indices
// into the arena.
struct Kind {
    i64 shape, neutral, bits, origin, room, twin, keys, data, mean, fit, stride, pool, pool_slots, pool_size;
    i64 table[2], table_from[2], table_size[2];
    const double *xs, *ys;
    const i64* indptr;
    const INDEX* indices;
    const double* values;  // NULL: every membership is 1
    double sign, weight, axes[2][AXIS];
};

// At most capacity[label] results for each label, in the first `stages` stages of selection.
struct Quota {
    const i64 *indptr, *labels, *capacity;
    i64 stages, words;
};

struct Plan {
    i64 kinds, quotas, k, protect, flags, earns, pays, most, slots;
    i64 at_base, at_cap, at_low, at_earn, at_pay, at_state, at_start, at_order, at_picked, at_closed, arena;
    double strength, keep, share;
    const double* tables;
    Kind kind[MOST_KINDS];
    Quota quota[MOST_QUOTAS];
};

// Query q has the rows rows[ptr[q] .. ptr[q+1]); without `ptr` every query has `width`, without `rows` candidate t is row t.
struct Input {
    i64 count, width;
    const i64 *ptr, *rows;
    const double* scores;
    const i64 *seen_ptr, *seen, *list;
};

// Of `total` queries: strengths, stages, multipliers, tops and rooms, then as 32-bit numbers positions and the order in which they
// are shown.
struct Output {
    i64 total;
    double* results;
    i64* overflow;  // how many queries did not fit, then which
};

#ifdef EMULATED
#include <math.h>
#include <cstdlib>
#include <cstring>
#define INFINITE __builtin_huge_val()
#define CONSTANT static const
#define DEVICE static inline
#define DEVICE_MEMBER inline
#define EACH_THREAD for (int t = 0; t < THREADS; ++t)
#define PRIVATE(type, name) type name[THREADS]
#define MY(name) name[t]
#define SYNC
#define UNROLL
#define ROLLED
#define SOME_UNROLL
#define OWN_UNROLL
struct Team {};
static double block_max(Team&, const double* v) {
    double x = v[0];
    for (int t = 1; t < THREADS; ++t) x = fmax(x, v[t]);
    return x;
}
static void block_max_both(Team& team, const double* v, const double* w, double* x, double* y) {
    *x = block_max(team, v);
    *y = block_max(team, w);
}
static double block_sum(Team&, const double* v) {
    double x = 0;
    for (int t = 0; t < THREADS; ++t) x += v[t];
    return x;
}
static int block_min(Team&, const int* v) {
    int x = v[0];
    for (int t = 1; t < THREADS; ++t) x = v[t] < x ? v[t] : x;
    return x;
}
static double block_best(Team&, const double* v, const int* at, int* where) {
    int best = 0;
    for (int t = 1; t < THREADS; ++t) if (v[t] > v[best] || (v[t] == v[best] && at[t] < at[best])) best = t;
    *where = at[best];
    return v[best];
}
static int block_count(const int* v) { int x = 0; for (int t = 0; t < THREADS; ++t) x += v[t] != 0; return x; }
static void group_sum(double* v) {
    for (int g = 0; g < THREADS; g += LANES) {
        double x = 0;
        for (int t = g; t < g + LANES; ++t) x += v[t];
        for (int t = g; t < g + LANES; ++t) v[t] = x;
    }
}
static void group_best(double* v, int* at) {
    for (int g = 0; g < THREADS; g += LANES) {
        int best = g;
        for (int t = g; t < g + LANES; ++t) if (v[t] > v[best] || (v[t] == v[best] && at[t] < at[best])) best = t;
        const double x = v[best];
        const int where = at[best];
        for (int t = g; t < g + LANES; ++t) v[t] = x, at[t] = where;
    }
}
static u64 reserve(u64* at, u64 v) { u64 old = *at; *at += v; return old; }
static void add_to(double* at, double v) { *at += v; }
static void raise(u32* at, u32 v) { if (v > *at) *at = v; }
static u64 bits_of(double v) { u64 b; memcpy(&b, &v, 8); return b; }
static double value_of(u64 b) { double v; memcpy(&v, &b, 8); return v; }
static u64 ordered(double v) { const u64 b = bits_of(v); return b >> 63 ? ~b : b | 1ull << 63; }
static double unordered(u64 key) { return value_of(key >> 63 ? key & ~(1ull << 63) : ~key); }
static u64 claim(u64* at, u64 key) { u64 old = *at; if (old == ~0ull) *at = key; return old; }
#else
#define INFINITE __longlong_as_double(0x7ff0000000000000ll)
#define CONSTANT static __constant__
#define DEVICE static __device__ __forceinline__
#define DEVICE_MEMBER __device__ __forceinline__
#define EACH_THREAD for (int t = threadIdx.x, go = 1; go; go = 0)
#define PRIVATE(type, name) type name
#define MY(name) name
#define UNROLL _Pragma("unroll")
#define ROLLED _Pragma("unroll 1")  // small code: what does not fit the instruction cache waits for it
#define SOME_UNROLL _Pragma("unroll 4")
#if PER <= 8
#define OWN_UNROLL UNROLL
#else
#define OWN_UNROLL ROLLED
#endif
#define ALL 0xffffffffu
#define WARPS (THREADS / 32)
static __shared__ double reduced[4 * WARPS];

// Where warps leave what they found. Two places take turns, so that one wait is enough: who writes to a place again
// has met all others since they read it.
struct Team {
    int turn;
    DEVICE_MEMBER Team() : turn(0) {}
    DEVICE_MEMBER double* next() {
        turn ^= 2 * WARPS;
        return reduced + turn;
    }
};

DEVICE void sync() {
    if (THREADS == 32) __syncwarp(); else __syncthreads();
}
#define SYNC sync()

DEVICE u64 bits_of(double v) { return (u64)__double_as_longlong(v); }
DEVICE double value_of(u64 bits) { return __longlong_as_double((i64)bits); }
DEVICE u64 ordered(double v) {  // integers in the order of the doubles
    const u64 bits = bits_of(v);
    return bits ^ ((u64)((i64)bits >> 63) | 0x8000000000000000ull);
}
DEVICE double unordered(u64 key) { return value_of(key ^ (key >> 63 ? 0x8000000000000000ull : ~0ull)); }

DEVICE double warp_max(double v) {
    const u64 key = ordered(v);
    const u32 high = __reduce_max_sync(ALL, (u32)(key >> 32));
    const u32 low = __reduce_max_sync(ALL, (u32)(key >> 32) == high ? (u32)key : 0u);
    return unordered((u64)high << 32 | low);
}

DEVICE double warp_sum(double v) {
    UNROLL for (int d = 16; d; d >>= 1) v += __shfl_xor_sync(ALL, v, d);
    return v;
}

DEVICE double across_max(const double* place) {
    if (WARPS > 4) return warp_max(place[threadIdx.x % WARPS]);
    double v = place[0];
    UNROLL for (int w = 1; w < WARPS; ++w) v = fmax(v, place[w]);
    return v;
}

// All of these wait for the whole block once.
DEVICE double block_max(Team& team, double v) {
    v = warp_max(v);
    double* place = team.next();
    if (WARPS > 1 && threadIdx.x % 32 == 0) place[threadIdx.x / 32] = v;
    SYNC;
    return WARPS == 1 ? v : across_max(place);
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
    *x = WARPS == 1 ? v : across_max(place);
    *y = WARPS == 1 ? w : across_max(place + WARPS);
}

DEVICE double block_sum(Team& team, double v) {
    v = warp_sum(v);
    double* place = team.next();
    if (WARPS > 1 && threadIdx.x % 32 == 0) place[threadIdx.x / 32] = v;
    SYNC;
    if (WARPS == 1) return v;
    if (WARPS > 4) return warp_sum(threadIdx.x % 32 < WARPS ? place[threadIdx.x % 32] : 0.0);
    v = place[0];
    UNROLL for (int w = 1; w < WARPS; ++w) v += place[w];
    return v;
}

DEVICE int block_min(Team& team, int v) {
    v = __reduce_min_sync(ALL, v);
    int* place = (int*)team.next();
    if (WARPS > 1 && threadIdx.x % 32 == 0) place[threadIdx.x / 32] = v;
    SYNC;
    if (WARPS == 1) return v;
    if (WARPS > 4) return __reduce_min_sync(ALL, place[threadIdx.x % WARPS]);
    v = place[0];
    UNROLL for (int w = 1; w < WARPS; ++w) v = min(v, place[w]);
    return v;
}

// The largest value and, of those that have it, the lowest position.
DEVICE double block_best(Team& team, double v, int at, int* where) {
    double top = warp_max(v);
    int first = __reduce_min_sync(ALL, v == top ? at : 0x7fffffff);
    double* place = team.next();
    int* places = (int*)(place + WARPS);
    if (WARPS > 1 && threadIdx.x % 32 == 0) {
        place[threadIdx.x / 32] = top;
        places[threadIdx.x / 32] = first;
    }
    SYNC;
    if (WARPS > 1) {
        const int w = threadIdx.x % WARPS;
        top = across_max(place);
        first = __reduce_min_sync(ALL, place[w] == top ? places[w] : 0x7fffffff);
    }
    *where = first;
    return top;
}

DEVICE int block_count(int v) {
    if (THREADS == 32) return __popc(__ballot_sync(ALL, v));
    return __syncthreads_count(v);
}

DEVICE void group_sum(double& v) {
    UNROLL for (int d = 1; d < LANES; d *= 2) v += __shfl_xor_sync(ALL, v, d);
}

DEVICE void group_best(double& v, int& at) {
    UNROLL for (int d = 1; d < LANES; d *= 2) {
        const double other = __shfl_xor_sync(ALL, v, d);
        const int there = __shfl_xor_sync(ALL, at, d);
        if (other > v || (other == v && there < at)) v = other, at = there;
    }
}

DEVICE u64 reserve(u64* at, u64 v) { return atomicAdd(at, v); }

DEVICE void add_to(double* at, double v) { atomicAdd(at, v); }
DEVICE void raise(u32* at, u32 v) { if (*(volatile u32*)at < v) atomicMax(at, v); }  // most values are not a new maximum
DEVICE u64 claim(u64* at, u64 key) { return atomicCAS(at, ~0ull, key); }
#endif

#ifdef KINDS
#define SHAPE_OF(kind, a) (SHAPES >> 3 * (a) & 7)
#define EACH_KIND UNROLL for (int a = 0; a < KINDS; ++a)
#else
#define SHAPE_OF(kind, a) (kind).shape
#define EACH_KIND for (int a = 0; a < (int)plan.kinds; ++a)
#endif

DEVICE u32 high_word(double v) { return (u32)(bits_of(v) >> 32); }
DEVICE u32 low_word(double v) { return (u32)bits_of(v); }

DEVICE double power(double x, int n) {
    double y = n & 1 ? x : 1.0;
    UNROLL for (int bit = 2; bit <= 8; bit *= 2) {
        x *= x;
        y *= n & bit ? x : 1.0;
    }
    ROLLED for (n >>= 4; n; n >>= 1) {
        x *= x;
        if (n & 1) y *= x;
    }
    return y;
}

// Where a bin's state is: open addressing, the slot is the place in the table. -1: there is no room left.
DEVICE int slot_of(const Kind& kind, double* arena, i64 key, bool insert) {
    if (kind.bits < 0) return (int)key;
    u64* keys = (u64*)(arena + kind.keys);
    const u32 mask = (u32)kind.room - 1;
    u32 h = (u32)((u64)key * 0x9E3779B97F4A7C15ull >> (64 - kind.bits)) & mask;
    for (u32 tries = 0; tries <= mask; ++tries, h = (h + 1) & mask) {
        u64 found = keys[h];
        if (insert && found == ~0ull) {
            found = claim(keys + h, (u64)key);
            if (found == ~0ull) found = (u64)key;
        }
        if (found == (u64)key) return (int)h;
    }
    return -1;
}

// Polynomials of native/vector.h, highest power first.
CONSTANT double HAVERSINE[12] = {
    3.0086493605811824e-14, -4.5005240002204555e-13, 2.7267797991214103e-12, 9.581879509049855e-12,
    -1.5408982243777974e-09, 9.393032851884951e-08, -4.2755224541067426e-06, 0.0001410934509911561,
    -0.003174603165744267, 0.04444444444263961, -0.3333333333331775, 0.9999999999999972,
};
CONSTANT double DECAY[11] = {
    1.6960230740633885e-16, -1.92895531654358e-14, 1.4681178568439054e-12, -9.455865047956735e-11,
    5.298019794281574e-09, -2.543127862810997e-07, 1.0172525547149941e-05, -0.00032552083292925854,
    0.0078124999998206695, -0.12499999999996551, 0.9999999999999984,
};

// sin(x / 2)^2 for x in -pi..pi.
DEVICE double haversine(double x) {
    const double q = 0.25 * x * x;
    double p = HAVERSINE[0];
    UNROLL for (int j = 1; j < 12; ++j) p = p * q + HAVERSINE[j];
    return p * q;
}

// exp(-e) for e >= 0, as exp(-e / 8)^8; 0 below the cutoff.
DEVICE double decay(double e) {
    double p = DECAY[0];
    UNROLL for (int j = 1; j < 11; ++j) p = p * e + DECAY[j];
    p *= p;
    p *= p;
    p *= p;
    return e <= 5.0 && p >= MASCOT_CUTOFF ? p : 0.0;
}

// One ring of the globe's mesh: cells of equal size, as wide as the ring is high.
struct Ring {
    double cosine, cell;
    int cells, slot;  // dense: the slot of cell 0

    DEVICE_MEMBER Ring(const Kind& kind, const double* arena, const double* fit, int ring) {
        const int stride = (int)fit[FIT_STRIDE];
        slot = 0;
        if (stride) {
            const int at = ring - (int)fit[FIT_LOWEST];
            const double* table = arena + kind.keys + RING_FIELDS * at;
            cosine = table[RING_COSINE];
            cells = (int)table[RING_CELLS];
            cell = table[RING_WIDTH];
            slot = at * stride - (int)table[RING_FIRST];
        } else {
            measure(fit, ring);
        }
    }
    DEVICE_MEMBER Ring() : slot(0) {}

    DEVICE_MEMBER void measure(const double* fit, int ring) {
        cosine = cos((ring + 0.5) * fit[FIT_HEIGHT] - PI / 2);
        cells = (int)fmax(floor(2 * fit[FIT_COUNT] * cosine + 0.5), 1.0);
        cell = 2 * PI / cells;
    }

    // How far along the ring cells lie within reach, rounded up: 2 arcsin(sqrt(rest / along)). Half a ring is rounded up
    // too: a fused multiply-add would otherwise lose the cell where the two halves meet.
    DEVICE_MEMBER static double half(double rest, double along) {
        const float z = sqrtf(fmaxf((float)rest, 0.0f) / fmaxf((float)along, 1e-30f)) * 1.000002f;
        return z < 1.0f ? 2.00001 * asinf(z) + 1e-9 : PI + 1e-9;
    }
};

// The rings within reach of a latitude.
DEVICE void rings_around(const double* fit, double south, double north, int* first, int* last) {
    const double height = fit[FIT_HEIGHT], reach = fit[FIT_REACH];
    *first = (int)fmax(ceil((south - reach + PI / 2) / height - 0.5 - 1e-9), 0.0);
    *last = (int)fmin(floor((north + reach + PI / 2) / height - 0.5 + 1e-9), fit[FIT_COUNT] - 1);
}

// x to the power of a lane's number, and x to the power of the number of lanes.
DEVICE double lane_power(double x, int part) {
    double y = 1.0;
    UNROLL for (int bit = 1; bit < LANES; bit *= 2) {
        y *= part & bit ? x : 1.0;
        x *= x;
    }
    return y;
}
DEVICE double lanes_power(double x) {
    UNROLL for (int bit = 1; bit < LANES; bit *= 2) x *= x;
    return x;
}

// A bump of a plane or a tile as seen by one of LANES threads: which takes every row of that number.
struct Patch {
    const double *tx, *ty;
    double x, rx, y, ry;
    u64 mask;
    int slot, high, wide, stride;

    DEVICE_MEMBER Patch(const Plan& plan, const Kind& kind, const double* arena, bool tile, int i) {
        const i64 most = plan.most;
        const double* data = arena + kind.data;
        const u64* words = (const u64*)data;
        const u64 word = words[4 * most + i];
        tx = arena + kind.table[0];
        ty = arena + kind.table[1];
        x = data[i];
        rx = data[most + i];
        stride = (int)kind.stride;
        if (tile) {
            y = 1.0;
            ry = data[2 * most + i];
            mask = words[3 * most + i];
            slot = (int)kind.origin + (int)(word & 0xffffffffu);
            high = (int)(word >> 32);
            wide = (int)kind.table_size[1];
        } else {
            y = data[2 * most + i];
            ry = data[3 * most + i];
            mask = 0;
            high = (int)(word >> 16 & 0xffff);
            wide = (int)(word >> 48);
            slot = (int)kind.origin + (int)(word & 0xffff) * stride + (int)(word >> 32 & 0xffff);
        }
    }
};

// Calls f(slot, p, odd) for the bins of candidate i, one after the other, or for this lane's share of them.
template <int SHAPE_, class F>
DEVICE void visit_shape(const Plan& plan, const Kind& kind, double* arena, int i, int part, F& f) {
    const i64 most = plan.most;
    const double* data = arena + kind.data;
    const u64* words = (const u64*)data;
    const int origin = (int)kind.origin;
    if constexpr (SHAPE_ == LINE) {
        const u64 word = words[2 * most + i];
        const int count = (int)(word >> 32), first = origin + (int)(word & 0xffffffffu);
        const double* t = arena + kind.table[0];
        const double r = lanes_power(data[most + i]);
        double g = data[i] * lane_power(data[most + i], part);
        ROLLED for (int j = part; j < count; j += 2 * LANES) {
            const double p = g * t[j];
            g *= r;
            f.pair(first + j, p, g * t[j + LANES], j + LANES < count);
            g *= r;
        }
    } else if constexpr (SHAPE_ == CIRCLE) {
        const double u = data[i], step = kind.axes[0][STEP] / kind.axes[0][SIGMA];
        const int size = (int)arena[kind.fit + FIT_COUNT], count = (int)(words[2 * most + i] >> 32);
        ROLLED for (int j = part; j < count; j += LANES) {
            double d = fmod(fabs(u - j), (double)size);
            d = fmin(d, size - d) * step;
            const double p = exp(-0.5 * d * d);
            if (p >= MASCOT_CUTOFF) f(origin + j, p, false);
        }
    } else if constexpr (SHAPE_ == PLANE || SHAPE_ == TILE) {
        const Patch patch(plan, kind, arena, SHAPE_ == TILE, i);
        const int wide = patch.wide, high = patch.high, shift = wide * LANES;
        const double r = lanes_power(patch.rx);
        double gy = patch.y;
        for (int c0 = 0; c0 < wide; c0 += COLUMNS) {
            double fy[COLUMNS];
            UNROLL for (int c = 0; c < COLUMNS; ++c) {
                fy[c] = c0 + c < wide ? gy * patch.ty[c0 + c] : 0.0;
                gy *= patch.ry;
            }
            u64 mask = patch.mask >> (wide * part & 63) >> c0;
            double gx = patch.x * lane_power(patch.rx, part);
            int slot = patch.slot + part * patch.stride + c0;
            ROLLED for (int row = part; row < high; row += LANES, slot += LANES * patch.stride) {
                const double fx = gx * patch.tx[row];
                gx *= r;
                if constexpr (SHAPE_ == TILE) {
                    const u32 bits = (u32)mask & (wide - c0 < COLUMNS ? (1u << (wide - c0)) - 1 : ~0u);
                    f.row(slot, bits, fx, fy);
                    mask >>= shift & 63;  // of 64 no row is left
                } else {
                    UNROLL for (int c = 0; c < COLUMNS; ++c) {
                        const double p = fx * fy[c];
                        if (p >= MASCOT_CUTOFF) f(slot + c, p, (c & 1) != 0);
                    }
                }
            }
        }
    } else if constexpr (SHAPE_ == GLOBE) {
        const u64 word = words[i];
        if (word == ~0ull) return;
        const double* ps = arena + kind.pool + (word >> 32);
        const Slot* slots = (const Slot*)(arena + kind.pool_slots) + (word >> 32);
        const int count = (int)(word & 0xffffffffu);
        SOME_UNROLL for (int j = part; j < count; j += LANES) f(origin + (int)slots[j], ps[j], (j / LANES & 1) != 0);
    } else {
        const int count = (int)(words[most + i] - words[i]);
        const INDEX* keys = kind.indices + words[i];
        const double* ps = kind.values + words[i];
        if (kind.values) {
            SOME_UNROLL for (int j = part; j < count; j += LANES) f.at((i64)keys[j], ps[j]);
        } else {
            SOME_UNROLL for (int j = part; j < count; j += LANES) f.at((i64)keys[j], 1.0);
        }
    }
}

// Store values and slots of the cells around a point in the pool: each slot once, since threads cover them at the same time.
// False: there is no room left.
DEVICE bool pool_cells(const Kind& kind, double* arena, int i, i64 row) {
    const double lat = kind.xs[row], lon = kind.ys[row];
    double* fit = arena + kind.fit;
    u64* word = (u64*)(arena + kind.data) + i;
    *word = ~0ull;
    if (!(lat == lat && lon == lon)) return true;
    int from[MOST_RINGS], many[MOST_RINGS];
    int total = 0, first, last;
    const double limit = fit[FIT_LIMIT], fold = fit[FIT_FOLD], height = fit[FIT_HEIGHT], cos_lat = 1.0 - 2.0 * haversine(lat);
    rings_around(fit, lat, lat, &first, &last);
    if (last >= first + MOST_RINGS) return false;
    ROLLED for (int r = first; r <= last; ++r) {
        const Ring ring(kind, arena, fit, r);
        const double half = Ring::half(limit - haversine(lat - ((r + 0.5) * height - PI / 2)), cos_lat * ring.cosine);
        const double inverse = ring.cells * (0.5 / PI);
        const int left = (int)ceil((lon - half + PI) * inverse - 0.5), right = (int)floor((lon + half + PI) * inverse - 0.5);
        from[r - first] = left;
        total += many[r - first] = right - left < ring.cells ? right - left + 1 : ring.cells;
    }
    const u64 at = reserve((u64*)(fit + FIT_POOL), (u64)total);
    if (at + total > (u64)kind.pool_size) return false;
    int count = 0;
    double* values = arena + kind.pool + at;
    Slot* slots = (Slot*)(arena + kind.pool_slots) + at;
    const bool dense = fit[FIT_STRIDE] != 0.0;
    bool fits = true;
    ROLLED for (int r = first; r <= last; ++r) {
        const Ring ring(kind, arena, fit, r);
        const double across = haversine(lat - ((r + 0.5) * height - PI / 2)) * fold, along = cos_lat * ring.cosine * fold;
        const int left = from[r - first], end = left + many[r - first];
        ROLLED for (int cell = left; cell < end; ++cell) {
            const int home = cell < 0 ? cell + ring.cells : cell >= ring.cells ? cell - ring.cells : cell;
            double x = lon - ((home + 0.5) * ring.cell - PI);
            if (x > PI) x -= 2 * PI;
            if (x < -PI) x += 2 * PI;
            const double p = decay(across + along * haversine(x));
            if (!(p > 0.0)) continue;
            const int slot = dense ? ring.slot + home : slot_of(kind, arena, (i64)r << 32 | home, true);
            fits &= slot >= 0;
            values[count] = p;
            slots[count++] = (Slot)slot;
        }
    }
    *word = at << 32 | (u32)count;
    return fits;
}

// Number the cells within the candidates' range densely, if they are few; otherwise prepare the hash table.
DEVICE void number_cells(Team& team, const Kind& kind, double* arena, const i64* rows, i64 row0, int n) {
    PRIVATE(double, low); PRIVATE(double, high); PRIVATE(double, width);
    double* fit = arena + kind.fit;
    double* table = arena + kind.keys;
    double ends[4];
    for (int axis = 0; axis < 2; ++axis) {
        EACH_THREAD {
            MY(low) = MY(high) = -INFINITE;
            ROLLED for (int i = t; i < n; i += THREADS) {
                const i64 row = rows ? rows[i] : row0 + i;
                const double lat = kind.xs[row], lon = kind.ys[row], x = axis ? lon : lat;
                if (lat == lat && lon == lon) MY(low) = fmax(MY(low), -x), MY(high) = fmax(MY(high), x);
            }
        }
        block_max_both(team, low, high, ends + 2 * axis, ends + 2 * axis + 1);
    }
    const double south = -ends[0], north = ends[1], west = -ends[2], east = ends[3];
    int lowest = 0, highest = -1, stride = 0;
    if (south <= north) rings_around(fit, south, north, &lowest, &highest);
    const int rings = highest - lowest + 1;
    if (rings > 0 && rings <= kind.room / RING_FIELDS) {
        EACH_THREAD {
            MY(width) = 0.0;
            ROLLED for (int r = t; r < rings; r += THREADS) {
                Ring ring;
                ring.measure(fit, lowest + r);
                // A cap of radius `reach` that touches the ring spans at most 2 arcsin(sin(reach) / cosine) of longitude.
                const double inverse = ring.cells * (0.5 / PI), limit = fit[FIT_LIMIT];
                const double ratio = limit < 0.5 ? 2 * sqrt(limit * (1.0 - limit)) / ring.cosine : 1.0;
                const double half = ratio < 1.0 ? asin(ratio) : PI;
                double first = floor((west - half + PI) * inverse - 0.5), last = ceil((east + half + PI) * inverse - 0.5);
                if (first < 0.0 || last > ring.cells - 1.0) first = 0.0, last = ring.cells - 1.0;  // the whole circle
                double* here = table + RING_FIELDS * r;
                here[RING_COSINE] = ring.cosine;
                here[RING_CELLS] = ring.cells;
                here[RING_FIRST] = first;
                here[RING_WIDTH] = ring.cell;
                MY(width) = fmax(MY(width), last - first + 1.0);
            }
        }
        const double widest = block_max(team, width);
        if (widest * rings <= (double)kind.room) stride = (int)widest;
    }
    SYNC;
    EACH_THREAD {
        if (t == 0) fit[FIT_LOWEST] = lowest, fit[FIT_STRIDE] = stride;
        if (!stride) for (int j = t; j < kind.room; j += THREADS) ((u64*)table)[j] = ~0ull;
    }
    SYNC;
}

template <class F>
DEVICE void visit(const Plan& plan, const Kind& kind, double* arena, int shape, int i, int part, F& f) {
    if (shape == LINE) visit_shape<LINE>(plan, kind, arena, i, part, f);
    else if (shape == CIRCLE) visit_shape<CIRCLE>(plan, kind, arena, i, part, f);
    else if (shape == PLANE) visit_shape<PLANE>(plan, kind, arena, i, part, f);
    else if (shape == TILE) visit_shape<TILE>(plan, kind, arena, i, part, f);
    else if (shape == GLOBE) visit_shape<GLOBE>(plan, kind, arena, i, part, f);
    else visit_shape<LABELS>(plan, kind, arena, i, part, f);
}

// The first bins of a cycle are stored once more after the last, so that bumps need not wrap around.
DEVICE int home_of(const Kind& kind, int slot) {
    const int bin = slot - (int)kind.origin;
    return kind.twin && bin >= kind.twin ? bin - (int)kind.twin : bin;
}
DEVICE bool has_twin(const Kind& kind, int bin) { return kind.twin && bin + kind.twin < kind.room; }

// What to do with a bin. `at` takes its key where bins are looked up, `pair` a bin and maybe the one LANES further on,
// `row` the bins of one row of a tile, and which of them count.
#define ONE_BY_ONE                                                                                     \
    DEVICE_MEMBER void pair(int slot, double p, double other, bool both) {                             \
        (*this)(slot, p, false);                                                                       \
        if (both) (*this)(slot + LANES, other, true);                                                  \
    }                                                                                                  \
    DEVICE_MEMBER void row(int slot, u32 bits, double fx, const double* fy) {                          \
        UNROLL for (int c = 0; c < COLUMNS; ++c) if (bits >> c & 1) (*this)(slot + c, fx * fy[c], false); \
    }
struct Worth {
    const Kind& kind; double* arena; const double* state; double even, odd;
    DEVICE_MEMBER Worth(const Kind& k, double* a, const double* s) : kind(k), arena(a), state(s), even(0), odd(0) {}
    DEVICE_MEMBER void pair(int slot, double p, double other, bool both) {
        even += p * state[slot];
        if (both) odd += other * state[slot + LANES];
    }
    DEVICE_MEMBER void row(int slot, u32 bits, double fx, const double* fy) {
        double sums[2] = {0.0, 0.0};
        UNROLL for (int c = 0; c < COLUMNS; ++c) if (bits >> c & 1) sums[c & 1] += fy[c] * state[slot + c];
        even += fx * (sums[0] + sums[1]);
    }
    DEVICE_MEMBER void operator()(int slot, double p, bool second) {
        if (second) odd += p * state[slot]; else even += p * state[slot];
    }
    DEVICE_MEMBER void at(i64 key, double p) { even += p * state[kind.origin + slot_of(kind, arena, key, false)]; }
};
// Maxima of doubles >= 0 with 32-bit atomics alone: the high words first, then the low words of those that have them.
struct Peak {
    ONE_BY_ONE
    const Kind& kind; double* arena; double* state; double relevance; bool low; double sum;
    DEVICE_MEMBER Peak(const Kind& k, double* a, double* s, double r, bool l)
        : kind(k), arena(a), state(s), relevance(r), low(l), sum(0.0) {}
    DEVICE_MEMBER void operator()(int slot, double p, bool) {
        const double value = p * relevance;
        sum += p;
        const int bin = home_of(kind, slot);
        peak(bin, value);
        if (has_twin(kind, bin)) peak(bin + (int)kind.twin, value);
    }
    DEVICE_MEMBER void peak(int bin, double value) {
        u32* words = (u32*)(state + kind.origin + bin);
        if (!low) raise(words + 1, high_word(value));
        else if (words[1] == high_word(value)) raise(words, low_word(value));
    }
    DEVICE_MEMBER void at(i64 key, double p) { (*this)((int)kind.origin + slot_of(kind, arena, key, false), p, false); }
};
struct Sum {
    double even, odd;
    DEVICE_MEMBER Sum() : even(0.0), odd(0.0) {}
    DEVICE_MEMBER void pair(int, double p, double other, bool both) { even += p; if (both) odd += other; }
    DEVICE_MEMBER void row(int, u32 bits, double fx, const double* fy) {
        double sums[2] = {0.0, 0.0};
        UNROLL for (int c = 0; c < COLUMNS; ++c) if (bits >> c & 1) sums[c & 1] += fy[c];
        even += fx * (sums[0] + sums[1]);
    }
    DEVICE_MEMBER void operator()(int, double p, bool second) { if (second) odd += p; else even += p; }
    DEVICE_MEMBER void at(i64, double p) { even += p; }
};
struct Add {
    ONE_BY_ONE
    const Kind& kind; double* arena; double* mean; double share;
    DEVICE_MEMBER Add(const Kind& k, double* a, double* m, double s) : kind(k), arena(a), mean(m), share(s) {}
    DEVICE_MEMBER void operator()(int slot, double p, bool) { add_to(mean + home_of(kind, slot), p * share); }
    DEVICE_MEMBER void at(i64 key, double p) { add_to(mean + slot_of(kind, arena, key, false), p * share); }
};
struct Insert {
    ONE_BY_ONE
    const Kind& kind; double* arena; bool full;
    DEVICE_MEMBER Insert(const Kind& k, double* a) : kind(k), arena(a), full(false) {}
    DEVICE_MEMBER void operator()(int, double, bool) {}
    DEVICE_MEMBER void at(i64 key, double) { if (slot_of(kind, arena, key, true) < 0) full = true; }
};

DEVICE bool is_missing(const Plan& plan, const Kind& kind, const double* arena, int shape, int i) {
    const double* data = arena + kind.data;
    if (shape == LABELS) return ((const u64*)data)[i] == ((const u64*)data)[plan.most + i];
    if (shape == GLOBE) return ((const u64*)data)[i] == ~0ull;
    return data[plan.most + i] < 0.0;
}

// A lane's share of the sum of p * state over the bins of candidate i.
DEVICE double worth(const Plan& plan, const Kind& kind, double* arena, const double* state, int shape, int i, int part) {
#if NEUTRAL
    if (kind.neutral && arena[kind.fit + FIT_UNKNOWN] > 0 && is_missing(plan, kind, arena, shape, i))
        return part == 0 ? arena[kind.fit + FIT_NEUTRAL] : 0.0;
#endif
    Worth sum(kind, arena, state);
    visit(plan, kind, arena, shape, i, part, sum);
    return sum.even + sum.odd;
}

DEVICE double shade(double* at, double p) {
    const double old = *at, less = p * old;
    *at = old - less;
    return less;
}

// How much of a bin one whole membership covers.
DEVICE double fade_of(const Kind& kind, const double* arena) { return BALANCE ? arena[kind.fit + FIT_FADE] : 1.0; }

// state *= 1 - fade * p for those bins of candidate i that thread t handles; returns by how much the state fell there.
DEVICE double cover(const Plan& plan, const Kind& kind, double* arena, double* state, int shape, int i, int t) {
    const i64 most = plan.most;
    const double* data = arena + kind.data;
    const u64* words = (const u64*)data;
    double* here = state + kind.origin;
    const double fade = fade_of(kind, arena);
    double fall = 0.0;
#if NEUTRAL
    if (kind.neutral && arena[kind.fit + FIT_UNKNOWN] > 0 && is_missing(plan, kind, arena, shape, i)) {
        for (int j = t; j < kind.room; j += THREADS) {
            const bool again = kind.twin && j >= kind.twin;
            const double less = shade(here + j, fade * arena[kind.mean + (again ? j - kind.twin : j)]);
            if (!again) fall += less;
        }
        return fall;
    }
#endif
    if (shape == LINE || shape == CIRCLE) {
        const u64 word = words[2 * most + i];
        const int count = (int)(word >> 32), size = (int)arena[kind.fit + FIT_COUNT];
        ROLLED for (int j = t; j < count; j += THREADS) {
            int bin = (int)(word & 0xffffffffu) + j;
            if (bin >= size) bin -= size;
            double p;
            if (shape == CIRCLE) {
                double d = fmod(fabs(data[i] - j), (double)size);
                d = fmin(d, size - d) * (kind.axes[0][STEP] / kind.axes[0][SIGMA]);
                p = exp(-0.5 * d * d);
                if (!(p >= MASCOT_CUTOFF)) continue;
            } else {
                p = data[i] * power(data[most + i], j) * arena[kind.table[0] + j];
            }
            fall += shade(here + bin, fade * p);
            if (has_twin(kind, bin)) shade(here + bin + kind.twin, fade * p);
        }
    } else if (shape == PLANE || shape == TILE) {
        const Patch patch(plan, kind, arena, shape == TILE, i);
        for (int c0 = 0; c0 < patch.wide; c0 += COLUMNS) {
            ROLLED for (int cell = t; cell < patch.high * COLUMNS; cell += THREADS) {
                const int row = cell / COLUMNS, c = c0 + cell % COLUMNS;
                if (c >= patch.wide) continue;
                const double x = power(patch.rx, row) * patch.tx[row], y = power(patch.ry, c) * patch.ty[c];
                const double p = patch.x * x * (patch.y * y);
                if (shape == TILE ? (patch.mask >> (row * patch.wide + c) & 1) != 0 : p >= MASCOT_CUTOFF)
                    fall += shade(state + patch.slot + row * patch.stride + c, fade * p);
            }
        }
    } else if (shape == GLOBE) {
        const u64 word = words[i];
        if (word == ~0ull) return 0.0;
        const u64 at = word >> 32;
        for (int j = t; j < (int)(word & 0xffffffffu); j += THREADS)
            fall += shade(here + ((const Slot*)(arena + kind.pool_slots))[at + j], fade * arena[kind.pool + at + j]);
    } else {
        for (i64 j = (i64)words[i] + t; j < (i64)words[most + i]; j += THREADS)
            fall += shade(here + slot_of(kind, arena, (i64)kind.indices[j], false), fade * (kind.values ? kind.values[j] : 1.0));
    }
    return fall;
}

// What candidates without a value are worth now: the mean of the others, the same for all of them.
DEVICE void refresh_neutral(Team& team, const Kind& kind, double* arena, const double* state) {
#if NEUTRAL
    if (!kind.neutral || !(arena[kind.fit + FIT_UNKNOWN] > 0)) return;
    PRIVATE(double, sum);
    EACH_THREAD {
        MY(sum) = 0.0;
        for (int j = t; j < kind.room; j += THREADS) MY(sum) += arena[kind.mean + j] * state[kind.origin + j];
    }
    const double total = block_sum(team, sum);
    EACH_THREAD if (t == 0) arena[kind.fit + FIT_NEUTRAL] = total;
    SYNC;
#endif
}

// Whether a distance is within a limit, given squared; below 0 there is no limit.
DEVICE bool is_kept(double distance, double limit) { return limit < 0.0 || distance * distance <= limit; }

// Fix the width and range of an axis that follows its rows; as Axis.resolve.
DEVICE void fit_axis(Team& team, const Kind& kind, const i64* rows, i64 row0, int n, double* axis) {
    PRIVATE(double, low); PRIVATE(double, high); PRIVATE(double, sum); PRIVATE(double, number);
    EACH_THREAD {
        MY(low) = MY(high) = -INFINITE;
        MY(number) = 0;
        for (int i = t; i < n; i += THREADS) {
            const double x = kind.xs[rows ? rows[i] : row0 + i];
            if (x == x) { MY(low) = fmax(MY(low), -x); MY(high) = fmax(MY(high), x); MY(number) += 1; }
        }
    }
    const double known = block_sum(team, number);
    double lowest = known > 0 ? -block_max(team, low) : 0.0, highest = known > 0 ? block_max(team, high) : 0.0;
    double sigma = axis[SIGMA];
    if (sigma == 0.0) {
        // As bins.base.inliers: inliers lie within `limit` of origin + centre, squared, once there is a limit.
        double origin = lowest, centre = 0.0, limit = -1.0, kept = known, deviation = 0.0, whole = 0.0;
        double from = lowest, to = highest;  // of the inliers
        for (int turn = 0; turn < MASCOT_ROUNDS; ++turn) {
            EACH_THREAD {
                MY(sum) = 0;
                for (int i = t; i < n; i += THREADS) {
                    const double x = kind.xs[rows ? rows[i] : row0 + i];
                    if (x == x && is_kept(x - origin - centre, limit)) MY(sum) += x - from;
                }
            }
            const double mean = block_sum(team, sum) / fmax(kept, 1.0);
            EACH_THREAD {
                MY(sum) = 0;
                for (int i = t; i < n; i += THREADS) {
                    const double x = kind.xs[rows ? rows[i] : row0 + i], apart = x - from - mean;
                    if (x == x && is_kept(x - origin - centre, limit)) MY(sum) += apart * apart;
                }
            }
            deviation = sqrt(block_sum(team, sum) / fmax(kept, 1.0));
            if (turn == 0) whole = deviation;
            const double bound = MASCOT_OUTLIER * deviation * (MASCOT_OUTLIER * deviation), top = to - from - mean;
            // No value is farther from the mean than the lowest or the highest.
            if (turn == MASCOT_ROUNDS - 1 || (turn == 0 && mean * mean <= bound && top * top <= bound)) break;
            EACH_THREAD {
                MY(number) = 0;
                MY(low) = MY(high) = -INFINITE;
                for (int i = t; i < n; i += THREADS) {
                    const double x = kind.xs[rows ? rows[i] : row0 + i];
                    if (!(x == x && is_kept(x - from - mean, bound))) continue;
                    MY(number) += 1;
                    MY(low) = fmax(MY(low), -x);
                    MY(high) = fmax(MY(high), x);
                }
            }
            const double inside = block_sum(team, number);
            if (inside == kept || inside == 0.0) break;
            kept = inside;
            origin = from;
            centre = mean;
            limit = bound;
            from = -block_max(team, low);
            to = block_max(team, high);
        }
        if (deviation <= MASCOT_LEAST * whole) {
            deviation = whole;
            limit = -1.0;
        }
        sigma = fmax(sqrt(2.0) * deviation / MASCOT_SCALE, axis[SMALLEST]);
        if (sigma == 0.0) sigma = 1.0;
        if (limit >= 0.0) {
            const double first = from - MASCOT_BEYOND * sigma, last = to + MASCOT_BEYOND * sigma;
            if (lowest < first) lowest = axis[FLOOR] = first;
            if (highest > last) highest = axis[CEILING] = last;
        }
    }
    axis[SIGMA] = sigma;
    axis[STEP] = MASCOT_SPACING * sigma;
    axis[START] = lowest - MASCOT_MARGIN * axis[STEP];
    axis[COUNT] = ceil((highest - lowest) / axis[STEP]) + 1 + 2 * MASCOT_MARGIN;
}

DEVICE bool is_near(double x, double y, double z, double limit) { return limit < 0.0 || x * x + y * y + z * z <= limit; }

// Return the self-scaled width in kilometres, as rms_chord_km / 8. Unit vectors are kept in the pool, which is not in use yet.
DEVICE double fit_globe(Team& team, const Kind& kind, double* arena, const i64* rows, i64 row0, int n) {
    PRIVATE(int, at); PRIVATE(double, sx); PRIVATE(double, sy); PRIVATE(double, sz); PRIVATE(double, square);
    PRIVATE(double, number); PRIVATE(double, far);
    double *xs = arena + kind.pool, *ys = xs + n, *zs = ys + n;
    EACH_THREAD {
        MY(at) = n;
        ROLLED for (int i = t; i < n; i += THREADS) {
            const i64 row = rows ? rows[i] : row0 + i;
            const double lat = kind.xs[row], lon = kind.ys[row];
            xs[i] = lat + lon;  // NaN: no value
            if (!(lat == lat && lon == lon)) continue;
            // cos(t) = 1 - 2 hav(t); sin(t) = cos(t - pi / 2)
            double turned = lon - PI / 2;
            if (turned < -PI) turned += 2 * PI;
            const double cosine = 1.0 - 2.0 * haversine(lat);
            xs[i] = cosine * (1.0 - 2.0 * haversine(lon));
            ys[i] = cosine * (1.0 - 2.0 * haversine(turned));
            zs[i] = 1.0 - 2.0 * haversine(PI / 2 - lat);
            if (MY(at) == n) MY(at) = i;
        }
    }
    const int first = block_min(team, at);
    if (first == n) return MASCOT_SMALLEST_KM;
    const double x0 = xs[first], y0 = ys[first], z0 = zs[first];
    // As bins.base.inliers: inliers lie within `limit` of (cx, cy, cz), squared, once there is a limit.
    double cx = 0.0, cy = 0.0, cz = 0.0, limit = -1.0, kept = 0.0, deviation = 0.0, whole = 0.0;
    for (int turn = 0; turn < MASCOT_ROUNDS; ++turn) {
        EACH_THREAD {
            MY(sx) = MY(sy) = MY(sz) = MY(number) = 0;
            ROLLED for (int i = t; i < n; i += THREADS) {
                if (!(xs[i] == xs[i])) continue;
                const double x = xs[i] - x0, y = ys[i] - y0, z = zs[i] - z0;
                if (!is_near(x - cx, y - cy, z - cz, limit)) continue;
                MY(sx) += x; MY(sy) += y; MY(sz) += z;
                MY(number) += 1;
            }
        }
        kept = block_sum(team, number);
        const double mx = block_sum(team, sx) / kept, my = block_sum(team, sy) / kept, mz = block_sum(team, sz) / kept;
        EACH_THREAD {
            MY(square) = MY(far) = 0;
            ROLLED for (int i = t; i < n; i += THREADS) {
                if (!(xs[i] == xs[i])) continue;
                const double x = xs[i] - x0, y = ys[i] - y0, z = zs[i] - z0;
                const double apart = (x - mx) * (x - mx) + (y - my) * (y - my) + (z - mz) * (z - mz);
                if (is_near(x - cx, y - cy, z - cz, limit)) MY(square) += apart;
                MY(far) = fmax(MY(far), apart);
            }
        }
        deviation = sqrt(block_sum(team, square) / kept);
        if (turn == 0) whole = deviation;
        const double bound = MASCOT_OUTLIER * deviation * (MASCOT_OUTLIER * deviation);
        if (turn == MASCOT_ROUNDS - 1 || (turn == 0 && block_max(team, far) <= bound)) break;
        EACH_THREAD {
            MY(number) = 0;
            ROLLED for (int i = t; i < n; i += THREADS) {
                if (xs[i] == xs[i] && is_near(xs[i] - x0 - mx, ys[i] - y0 - my, zs[i] - z0 - mz, bound)) MY(number) += 1;
            }
        }
        const double inside = block_sum(team, number);
        if (inside == kept || inside == 0.0) break;
        cx = mx; cy = my; cz = mz;
        limit = bound;
    }
    if (deviation <= MASCOT_LEAST * whole) deviation = whole;
    return fmax(sqrt(2.0) * MASCOT_EARTH_KM * deviation / MASCOT_SCALE, MASCOT_SMALLEST_KM);
}

// A bump on an even axis as its first value and its ratio; returns how many bins, 0 if none is within reach.
DEVICE int bump(const double* axis, double x, bool circle, double* first_value, double* ratio, int* first) {
    const double inverse = 1.0 / axis[STEP], step = axis[STEP] / axis[SIGMA];
    const double reach = MASCOT_REACH * axis[SIGMA] * inverse;
    const int size = (int)axis[COUNT];
    const double u = (fmin(fmax(x, axis[FLOOR]), axis[CEILING]) - axis[START]) * inverse;
    *first = 0;
    if (circle) {
        *first_value = u;
        *ratio = 1.0;
        return size;
    }
    double from = ceil(u - reach), to = floor(u + reach);
    if (axis[PERIOD] > 0.0) {
        to = fmin(to, from + size - 1);
    } else {
        from = fmax(from, 0.0);
        to = fmin(to, size - 1.0);
    }
    const double a = u - from;
    *first_value = exp(-0.5 * a * step * a * step);
    *ratio = exp(a * step * step);
    if (to < from) return 0;
    int at = (int)(axis[PERIOD] > 0.0 ? from - size * floor(from / size) : from);
    if (at >= size) at -= size;
    *first = at;
    return (int)(to - from) + 1;
}

// Candidate i's bins of one attribute, as few numbers as they can be multiplied out from.
DEVICE void describe(const Plan& plan, const Kind& kind, double* arena, const double* axis, int shape, int i, i64 row) {
    const i64 most = plan.most;
    double* data = arena + kind.data;
    u64* words = (u64*)data;
    if (shape == LABELS) {
        words[i] = (u64)kind.indptr[row];
        words[most + i] = (u64)kind.indptr[row + 1];
    } else if (shape == LINE || shape == CIRCLE) {
        int first = 0, count = 0;
        const double x = kind.xs[row];
        data[i] = 0.0;
        data[most + i] = -1.0;  // a ratio below 0: no value
        if (x == x) count = bump(axis, x, shape == CIRCLE, data + i, data + most + i, &first);
        words[2 * most + i] = (u64)count << 32 | (u32)first;
    } else {
        int top = 0, high = 0, left = 0, wide = 0;
        const double x = kind.xs[row], y = kind.ys[row];
        double gx = 0.0, rx = -1.0, gy = 0.0, ry = 0.0;
        if (x == x && y == y) {
            high = bump(axis, x, false, &gx, &rx, &top);
            wide = bump(axis + AXIS, y, false, &gy, &ry, &left);
            if (!high || !wide) high = wide = 0;
        }
        data[i] = shape == TILE ? gx * gy : gx;
        data[most + i] = rx;
        data[2 * most + i] = shape == TILE ? ry : gy;
        if (shape == TILE) {
            const double *tx = arena + kind.table[0], *ty = arena + kind.table[1];
            const int columns = (int)kind.table_size[1];
            u64 mask = 0;
            for (int c0 = 0; c0 < wide; c0 += COLUMNS) {
                double fy[COLUMNS], g = gx;
                UNROLL for (int c = 0; c < COLUMNS; ++c) {
                    fy[c] = c0 + c < wide ? gy * ty[c0 + c] : 0.0;
                    gy *= ry;
                }
                ROLLED for (int r = 0; r < high; ++r) {
                    const double fx = g * tx[r];
                    u32 bits = 0;
                    g *= rx;
                    UNROLL for (int c = 0; c < COLUMNS; ++c) bits |= fx * fy[c] >= MASCOT_CUTOFF ? 1u << c : 0u;
                    mask |= (u64)bits << (r * columns + c0);
                }
            }
            words[3 * most + i] = mask;
            words[4 * most + i] = (u64)high << 32 | (u32)(top * (int)kind.stride + left);
        } else {
            data[3 * most + i] = ry;
            words[4 * most + i] = (u64)wide << 48 | (u64)left << 32 | (u64)high << 16 | (u64)top;
        }
    }
}

#define EACH_OF(count) (((count) + LANES - 1) / LANES)

// A lane's share of a candidate's bins of one attribute, multiplied out once.
struct Held {
#if TALL
    double fx[EACH_OF(TALL)], fy[COLUMNS];
    u32 bits[EACH_OF(TALL)];
#endif
#if LONG
    double p[EACH_OF(LONG)];
#endif
    int slot, count;
    bool kept;

    DEVICE_MEMBER void take(const Plan& plan, const Kind& kind, const double* arena, int shape, int i, int part) {
        kept = false;
#if NEUTRAL
        if (kind.neutral && is_missing(plan, kind, arena, shape, i)) return;
#endif
#if TALL
        if (shape == TILE && kind.table_size[0] <= TALL && kind.table_size[1] <= COLUMNS) {
            const Patch patch(plan, kind, arena, true, i);
            double gx = patch.x * lane_power(patch.rx, part), gy = 1.0;
            const double r = lanes_power(patch.rx);
            UNROLL for (int c = 0; c < COLUMNS; ++c) {
                fy[c] = c < patch.wide ? gy * patch.ty[c] : 0.0;
                gy *= patch.ry;
            }
            UNROLL for (int j = 0; j < EACH_OF(TALL); ++j) {
                const int row = part + j * LANES;
                const bool inside = row < patch.high;
                fx[j] = inside ? gx * patch.tx[row] : 0.0;
                bits[j] = inside ? (u32)(patch.mask >> row * patch.wide) & ((1u << patch.wide) - 1) : 0u;
                gx *= r;
            }
            slot = patch.slot + part * patch.stride;
            kept = true;
        }
#endif
#if LONG
        if (shape == LINE && kind.table_size[0] <= LONG) {
            const double* data = arena + kind.data;
            const u64 word = ((const u64*)data)[2 * plan.most + i];
            double g = data[i] * lane_power(data[plan.most + i], part);
            const double r = lanes_power(data[plan.most + i]);
            count = (int)(word >> 32) - part;
            slot = (int)kind.origin + (int)(word & 0xffffffffu) + part;
            UNROLL for (int j = 0; j < EACH_OF(LONG); ++j) {
                p[j] = j * LANES < count ? g * arena[kind.table[0] + part + j * LANES] : 0.0;
                g *= r;
            }
            kept = true;
        }
#endif
    }

    DEVICE_MEMBER double worth(const Kind& kind, const double* state, int shape) const {
        double even = 0.0, odd = 0.0;
#if TALL
        if (shape == TILE) {
            const double* here = state + slot;
            UNROLL for (int j = 0; j < EACH_OF(TALL); ++j, here += LANES * kind.stride) {
                double sum = 0.0;
                UNROLL for (int c = 0; c < COLUMNS; ++c) if (bits[j] >> c & 1) sum += fy[c] * here[c];
                if (j & 1) odd += fx[j] * sum; else even += fx[j] * sum;
            }
        }
#endif
#if LONG
        if (shape == LINE) {
            UNROLL for (int j = 0; j < EACH_OF(LONG); ++j) if (j * LANES < count) {
                if (j & 1) odd += p[j] * state[slot + j * LANES]; else even += p[j] * state[slot + j * LANES];
            }
        }
#endif
        return even + odd;
    }
};

#ifdef KINDS
#define HELD_KINDS (KINDS + !KINDS)
#else
#define HELD_KINDS MOST_KINDS
#endif
struct HeldAll { Held of[HELD_KINDS]; };

// The next candidate by score, ties to the lowest position: after (value, at) in that order. n if there is none.
DEVICE int next_best(Team& team, const double* values, const unsigned char* closed, int n, double* value, int at) {
    PRIVATE(double, best); PRIVATE(int, where);
    const double last = *value;
    EACH_THREAD {
        MY(best) = -INFINITE;
        MY(where) = n;
        ROLLED for (int i = t; i < n; i += THREADS) {
            const double v = values[i];
            if ((v < last || (v == last && i > at)) && !(closed && closed[i]) && v > MY(best)) MY(best) = v, MY(where) = i;
        }
    }
    int position;
    *value = block_best(team, best, where, &position);
    return position;
}

// Relevance from scores: low .. high becomes 0 .. 1, and scores outside count as its ends. Relevance never falls where scores rise,
// so the order by relevance, then by score, then by position is the order by score and position.
struct Relevance {
    double low, high, range;
    bool raw;  // the gain uses raw scores
    DEVICE_MEMBER double ideal(double score) const { return (fmin(fmax(score, low), high) / 2 - low / 2) / range; }
    DEVICE_MEMBER double operator()(double score) const { return raw ? score : ideal(score); }
};

// The value that would stand at position `rank` if the scores were sorted: bisection over the bit patterns of doubles.
DEVICE double order_statistic(Team& team, const double* scores, int n, int rank) {
    u64 prefix = 0;
    ROLLED for (int bit = 63; bit >= 0; --bit) {
        const u64 pivot = prefix | 1ull << bit;
        PRIVATE(double, below);
        EACH_THREAD {
            MY(below) = 0.0;
            for (int i = t; i < n; i += THREADS) MY(below) += ordered(scores[i]) < pivot;
        }
        if (block_sum(team, below) <= rank) prefix = pivot;
    }
    return unordered(prefix);
}

// Move `low` and `high` to the range of the scores that are not far outliers.
DEVICE void inner_range(Team& team, const double* scores, int n, double* low, double* high) {
    if (n < MASCOT_FEW) return;
    // Quick way out: where the quartiles are a tenth of the range apart there is no far outlier. Two places are tried, and the four
    // counts are summed as digits of one number.
    PRIVATE(double, counts);
    const double range = *high - *low;
    const double a = *low + 0.10 * range, b = *low + 0.21 * range, c = *low + 0.30 * range, d = *low + 0.41 * range;
    EACH_THREAD {
        u64 sum = 0;
        for (int i = t; i < n; i += THREADS) {
            const double v = scores[i];
            sum += (u64)(v <= a) + ((u64)(v >= b) << 12) + ((u64)(v <= c) << 24) + ((u64)(v >= d) << 36);
        }
        MY(counts) = (double)sum;
    }
    const u64 all = (u64)block_sum(team, counts), few = (u64)(n / 4 + 1);
    if (((all & 4095) > few && (all >> 12 & 4095) > few) || ((all >> 24 & 4095) > few && all >> 36 > few)) return;
    const double first = order_statistic(team, scores, n, (n - 1) / 4) / 2;
    const double third = order_statistic(team, scores, n, 3 * (n - 1) / 4) / 2;
    const double fence = MASCOT_FENCE * (third - first);
    if (!(fence > 0.0)) return;
    PRIVATE(double, below); PRIVATE(double, above);
    EACH_THREAD {
        MY(below) = MY(above) = -INFINITE;
        for (int i = t; i < n; i += THREADS) {
            const double v = scores[i];
            if (v / 2 < first - fence || v / 2 > third + fence) continue;
            MY(below) = fmax(MY(below), -v);
            MY(above) = fmax(MY(above), v);
        }
    }
    block_max_both(team, below, above, low, high);
    *low = -*low;
}

// ---- Quotas. A candidate's labels are one word: how many (16 bits), and the label, or where several labels begin.

#define LABEL_BITS 48
DEVICE u64 label_word(const Quota& quota, i64 row) {
    const i64 first = quota.indptr[row], count = quota.indptr[row + 1] - first;
    return (u64)count << LABEL_BITS | (u64)(count == 1 ? quota.labels[first] : first);
}
DEVICE i64 label_of(const Quota& quota, u64 word, int j) {
    const i64 low = (i64)(word & ((1ull << LABEL_BITS) - 1));
    return word >> LABEL_BITS == 1 ? low : quota.labels[low + j];
}
DEVICE bool has_label(const Quota& quota, u64 word, i64 label) {
    for (int j = 0; j < (int)(word >> LABEL_BITS); ++j) if (label_of(quota, word, j) == label) return true;
    return false;
}
// Whether a label has no room left after `done` results, of which `more` are not in the list.
DEVICE bool is_full(const Quota& quota, const u64* words, i64 label, const int* picked, int done, int more) {
    i64 count = more;
    ROLLED for (int j = 0; j < done; ++j) count += has_label(quota, words[picked[j]], label);
    return count >= quota.capacity[label];
}
// The same, asked by all threads of a warp at once: each looks at other results.
DEVICE bool is_full_for_all(const Quota& quota, const u64* words, i64 label, const int* picked, int done, int more) {
#ifndef EMULATED
    int count = more;
    ROLLED for (int first = 0; first < done; first += 32) {
        const int j = first + (int)(threadIdx.x % 32);
        count += __popc(__ballot_sync(ALL, j < done && has_label(quota, words[picked[j]], label)));
    }
    return count >= quota.capacity[label];
#else
    return is_full(quota, words, label, picked, done, more);
#endif
}
// Whether the quotas of this stage leave room for candidate i.
DEVICE bool is_allowed(const Plan& plan, const double* arena, int i, int stage, const int* picked, int done) {
    ROLLED for (int c = 0; c < (int)plan.quotas; ++c) {
        const Quota& quota = plan.quota[c];
        const u64* words = (const u64*)(arena + quota.words);
        if (stage >= quota.stages) continue;
        for (int j = 0; j < (int)(words[i] >> LABEL_BITS); ++j)
            if (is_full(quota, words, label_of(quota, words[i], j), picked, done, 0)) return false;
    }
    return true;
}

// The candidates of thread t: c counts them, i is their position. A group has those of its lanes.
#define OWNED(t) ((t) / LANES + GROUPS * ((t) % LANES))
#define OWN OWN_UNROLL for (int c = 0, i = OWNED(t); c < PER; ++c, i += THREADS) if (i < n)

// What bounds a gain: without focus the stale gain, without spread the stale gain and what no choice changes.
struct Bounds {
    double *base, *cap, *low;
    const Plan& plan;
    DEVICE_MEMBER double at(int i, double moved) const {
        return !PAYS ? cap[i] : fmin(EARNS ? cap[i] : base[i], low[i] + moved);
    }
    DEVICE_MEMBER bool open(int i) const { return (EARNS ? cap[i] : base[i]) > -INFINITE; }
    DEVICE_MEMBER void set(int i, double most, double gain) const {
        if (EARNS) cap[i] = most;
        if (PAYS) low[i] = gain;
    }
    DEVICE_MEMBER void close(int i) const {
        set(i, -INFINITE, -INFINITE);
        if (!EARNS) base[i] = -INFINITE;
    }
};

// One pass of selection: what it starts from.
struct Pass {
    const double* raw;
    Relevance relevance;
    double lam, tie;
    int n, wanted, heads;
    const int* chosen;  // the heads: protected results, which are selected first

    // The gain that no choice changes.
    DEVICE_MEMBER double still(const Plan& plan, const double* arena, int i) const {
        double offset = 0.0;
        EACH_KIND {
            const Kind& kind = plan.kind[a];
            if (kind.sign < 0 && !kind.neutral && is_missing(plan, kind, arena, SHAPE_OF(kind, a), i))
                offset -= arena[kind.fit + FIT_PENALTY];
        }
        return (1.0 - lam) * relevance(raw[i]) + lam * offset;
    }
};

// Open the candidates that the quotas of this stage allow.
DEVICE void open_stage(
    const Plan& plan, double* arena, const double* state, const Bounds& bounds, const Pass& pass, int stage, const int* picked,
    int done, double moved
) {
    const unsigned char* closed = (const unsigned char*)(arena + plan.at_closed);
    ROLLED for (int first = 0; first < pass.n; first += GROUPS) {
        PRIVATE(double, earn); PRIVATE(double, pay); PRIVATE(int, open);
        EACH_THREAD {
            const int i = first + t / LANES;
            MY(earn) = MY(pay) = 0.0;
            MY(open) = i < pass.n && !closed[i] && is_allowed(plan, arena, i, stage, picked, done);
            if (MY(open)) EACH_KIND {
                const Kind& kind = plan.kind[a];
                const double sum = worth(plan, kind, arena, state, SHAPE_OF(kind, a), i, t % LANES);
                if (kind.sign > 0) MY(earn) += sum; else MY(pay) += sum;
            }
        }
        group_sum(earn);
        group_sum(pay);
        EACH_THREAD if (MY(open) && t % LANES == 0) {
            const int i = first + t / LANES;
            const double still = pass.still(plan, arena, i), most = still + pass.lam * MY(earn);
            bounds.base[i] = still;
            bounds.set(i, most, most - pass.lam * MY(pay) - moved);
        }
    }
    SYNC;
}

// The lazy greedy pass over `state`, which it uses up; returns how many were selected, and the stage that the quotas reached.
DEVICE int pick_all(Team& team, const Plan& plan, double* arena, double* state, const Pass& pass, int* picked, int* last_stage) {
    double* base = arena + plan.at_base;
    unsigned char* closed = (unsigned char*)(arena + plan.at_closed);
    const Bounds bounds = {base, arena + plan.at_cap, arena + plan.at_low, plan};
    const int n = pass.n;
    const double lam = pass.lam, tie = pass.tie, slope = PAYS ? lam : 0.0;
    double fallen = 0.0;
    int stage = 0;
#if EAGER
    PRIVATE(HeldAll, held);
    EACH_THREAD if (t / LANES < n) EACH_KIND {
        const Kind& kind = plan.kind[a];
        MY(held).of[a].take(plan, kind, arena, SHAPE_OF(kind, a), t / LANES, t % LANES);
    }
#endif
    int done = 0;
    ROLLED while (done < pass.wanted) {
        int best = 0;
        if (done < pass.heads) {
            best = pass.chosen[done];
        } else {
            PRIVATE(double, top); PRIVATE(int, where); PRIVATE(double, earn);
            double bar = -INFINITE;
            const double moved = slope * fallen;
#if EAGER
            EACH_THREAD {
                const int i = t / LANES;
                MY(earn) = 0.0;
                if (i < n && bounds.open(i)) EACH_KIND {
                    const Kind& kind = plan.kind[a];
                    const int shape = SHAPE_OF(kind, a);
                    const double sum = MY(held).of[a].kept ? MY(held).of[a].worth(kind, state, shape)
                                                           : worth(plan, kind, arena, state, shape, i, t % LANES);
                    MY(earn) += kind.sign > 0 ? sum : -sum;
                }
            }
            group_sum(earn);
            EACH_THREAD {
                const int i = t / LANES;
                MY(top) = i < n && bounds.open(i) ? base[i] + lam * MY(earn) : -INFINITE;
            }
            bar = block_max(team, top);
            EACH_THREAD MY(where) = MY(top) > -INFINITE && MY(top) >= bar - tie ? t / LANES : n;
#else
            PRIVATE(u64, fresh); PRIVATE(double, bound); PRIVATE(int, mine); PRIVATE(double, pay);
            double next = INFINITE;
            EACH_THREAD MY(fresh) = 0, MY(top) = -INFINITE;
            ROLLED for (bool first = true;; first = false) {
                // The highest bound among the group's candidates that were not evaluated in this step.
                EACH_THREAD {
                    MY(bound) = -INFINITE;
                    MY(mine) = n;
                    OWN {
                        const double b = bounds.at(i, moved);
                        if (b > MY(bound) && !(MY(fresh) & 1ull << c)) MY(bound) = b, MY(mine) = i;
                    }
                    if (done == 0) MY(top) = MY(bound);  // at first all bounds are gains
                }
                group_best(bound, mine);
                if (!first || done == 0) {
                    block_max_both(team, top, bound, &bar, &next);
                    if (done == 0 || !(next > -INFINITE && next >= bar - tie)) break;
                }
                EACH_THREAD {
                    MY(earn) = MY(pay) = 0.0;
                    if (MY(bound) > -INFINITE && MY(bound) >= bar - tie) EACH_KIND {
                        const Kind& kind = plan.kind[a];
                        const double sum = worth(plan, kind, arena, state, SHAPE_OF(kind, a), MY(mine), t % LANES);
                        if (!PAYS || (EARNS && kind.sign > 0)) MY(earn) += sum; else MY(pay) += sum;
                    }
                }
                if (EARNS) group_sum(earn);
                if (PAYS) group_sum(pay);
                EACH_THREAD if (MY(bound) > -INFINITE && MY(bound) >= bar - tie) {
                    const int i = MY(mine);
                    const double most = EARNS ? base[i] + lam * MY(earn) : base[i];
                    const double gain = PAYS ? most - lam * MY(pay) : most;
                    MY(top) = fmax(MY(top), gain);
                    if (i % THREADS == OWNED(t)) {
                        bounds.set(i, most, gain - moved);
                        MY(fresh) |= 1ull << i / THREADS;
                    }
                }
            }
            EACH_THREAD {
                MY(where) = n;
                if (MY(top) >= bar - tie) OWN {
                    const double b = bounds.at(i, moved);
                    if (i < MY(where) && b > -INFINITE && b >= bar - tie) MY(where) = i;
                }
            }
#endif
            best = block_min(team, where);
            if (QUOTAS && best == n) {  // nothing is allowed any more: the next stage lifts quotas
                if (!plan.quotas || stage == STAGES - 1) break;
                open_stage(plan, arena, state, bounds, pass, ++stage, picked, done, moved);
                continue;
            }
        }
        PRIVATE(double, fall);
        EACH_THREAD {
            MY(fall) = 0.0;
            EACH_KIND {
                const Kind& kind = plan.kind[a];
                const double less =
                    cover(plan, kind, arena, state, SHAPE_OF(kind, a), best, a & 1 ? THREADS - 1 - t : t);
                if (PAYS && kind.sign < 0) MY(fall) += less;
            }
            if (t == 0) {
                bounds.close(best);
                picked[done] = best;
                if (QUOTAS) closed[best] |= 2;
            }
#if QUOTAS
            // Where a label of this result becomes full, candidates that have it are closed.
            ROLLED for (int c = 0; c < (int)plan.quotas; ++c) {
                const Quota& quota = plan.quota[c];
                const u64* words = (const u64*)(arena + quota.words);
                const int labels = stage < quota.stages ? (int)(words[best] >> LABEL_BITS) : 0;
                for (int j = 0; j < labels; ++j) {
                    const i64 label = label_of(quota, words[best], j);
                    if (!is_full_for_all(quota, words, label, picked, done, 1)) continue;
                    ROLLED for (int i = t; i < n; i += THREADS) if (has_label(quota, words[i], label)) bounds.close(i);
                }
            }
#endif
        }
        if (EAGER || !PAYS) SYNC; else fallen += block_sum(team, fall);
        EACH_KIND refresh_neutral(team, plan.kind[a], arena, state);
        ++done;
    }
    *last_stage = stage;
    return done;
}

// Raise the bins' maxima of membership times relevance, over the candidates of thread t's group; `flat`: relevance is 1.
DEVICE void raise_peaks(
    const Plan& plan, const Kind& kind, double* arena, double* state, int shape, const Pass& pass, bool flat, bool low, int t
) {
    ROLLED for (int i = t / LANES; i < pass.n; i += GROUPS) {
        const double relevance = flat ? 1.0 : pass.relevance(pass.raw[i]);
        if (!(relevance > 0.0)) continue;
        Peak step(kind, arena, state, relevance, low);
#if NEUTRAL
        if (arena[kind.fit + FIT_UNKNOWN] > 0 && is_missing(plan, kind, arena, shape, i)) {
            const double* mean = arena + kind.mean;
            for (int j = t % LANES; j < (kind.twin ? kind.twin : kind.room); j += LANES)
                if (mean[j] > 0) step((int)kind.origin + j, mean[j], false);
            continue;
        }
#endif
        visit(plan, kind, arena, shape, i, t % LANES, step);
    }
}

DEVICE void select_one(const Plan& plan, const Input& in, const Output& out, i64 q, double* arena) {
    const i64 row0 = in.ptr ? in.ptr[q] : q * in.width;
    const int n = (int)(in.ptr ? in.ptr[q + 1] - row0 : in.width), k = (int)plan.k;
    const double* raw = in.scores + row0;
    const i64* rows = in.rows ? in.rows + row0 : (const i64*)0;
    const i64* seen = in.seen_ptr ? in.seen + in.seen_ptr[q] : (const i64*)0;
    const int shut = in.seen_ptr ? (int)(in.seen_ptr[q + 1] - in.seen_ptr[q]) : 0;
    const int wanted = k < n - shut ? k : n - shut;
    const bool by_query = QUERY && (plan.flags & QUERY_WEIGHT);
    double *spare = arena + plan.at_base, *low = arena + plan.at_low;
    double *earn = arena + plan.at_earn, *pay = arena + plan.at_pay, *state = arena + plan.at_state;
    int *order = (int*)(arena + plan.at_order), *picked = (int*)(arena + plan.at_picked);
    unsigned char* closed = (unsigned char*)(arena + plan.at_closed);  // bit 0: shown before, bit 1: selected
    double *multipliers = out.results + out.total * 2 + q * plan.kinds, *tops = multipliers + out.total * plan.kinds;
    double* rooms = tops + out.total * plan.kinds;
    int* positions = (int*)(out.results + out.total * (2 + 3 * plan.kinds)) + q * k;
    int* shown = positions + out.total * k;
    Team team;
    if (n == 0) {
        EACH_THREAD {
            for (int j = t; j < k; j += THREADS) positions[j] = shown[j] = -1;
            for (int a = t; a < plan.kinds; a += THREADS) multipliers[a] = tops[a] = 0.0, rooms[a] = 1.0;
            if (t == 0) out.results[q] = 0.0, out.results[out.total + q] = 1.0;
        }
        return;
    }

    // The tables of the axes, the labels of the quotas, and the range of the scores.
    EACH_KIND for (int j = 0; j < 2; ++j) {
        const Kind& kind = plan.kind[a];
        EACH_THREAD for (int i = t; i < kind.table_size[j]; i += THREADS)
            arena[kind.table[j] + i] = plan.tables[kind.table_from[j] + i];
    }
#if QUOTAS
    ROLLED for (int c = 0; c < (int)plan.quotas; ++c) {
        u64* words = (u64*)(arena + plan.quota[c].words);
        EACH_THREAD for (int i = t; i < n; i += THREADS) words[i] = label_word(plan.quota[c], rows ? rows[i] : row0 + i);
    }
#endif
    PRIVATE(double, largest); PRIVATE(double, smallest);
    EACH_THREAD {
        MY(largest) = MY(smallest) = -INFINITE;
        for (int i = t; i < n; i += THREADS) {
            const double r = raw[i];
            spare[i] = r;
            closed[i] = 0;
            MY(largest) = fmax(MY(largest), r);
            MY(smallest) = fmax(MY(smallest), -r);
        }
    }
    Pass pass;
    pass.raw = raw;
    pass.n = n;
    pass.wanted = wanted;
    pass.chosen = order;
    Relevance& relevance = pass.relevance;
    block_max_both(team, largest, smallest, &relevance.high, &relevance.low);
    relevance.low = -relevance.low;
    relevance.raw = !(plan.flags & NORMALIZE);
    const double most_raw = fmax(fabs(relevance.high), fabs(relevance.low));
    if (shut) {
        EACH_THREAD for (int j = t; j < shut; j += THREADS) closed[seen[j]] = 1;
        SYNC;
    }
#if ROBUST
    if (plan.flags & ROBUST_SCORES) inner_range(team, spare, n, &relevance.low, &relevance.high);
#endif
    relevance.range = relevance.high / 2 - relevance.low / 2 + MASCOT_EPSILON / 2;

    // Protected results: the best by relevance that the quotas allow. Results of earlier pages count, but are not selected.
    int heads = 0;
    {
        double value = INFINITE;
        int at = -1, protected_count = 0;
        ROLLED for (int rank = 0; rank < n && protected_count < plan.protect && heads < wanted; ++rank) {
            at = next_best(team, spare, 0, n, &value, at);
            const bool fresh = !(closed[at] & 1);
            if (QUOTAS && fresh && !is_allowed(plan, arena, at, 0, order, heads)) continue;
            EACH_THREAD if (t == 0 && fresh) order[heads] = at;
            ++protected_count;
            heads += fresh;
        }
    }
    pass.heads = heads;
    SYNC;

    double total_worth = 0.0;
    EACH_KIND {
        const Kind& kind = plan.kind[a];
        const int shape = SHAPE_OF(kind, a);
        double* fit = arena + kind.fit;
        double axis[2 * AXIS];
        int room = (int)kind.room;
        for (int j = 0; j < 2 * AXIS; ++j) axis[j] = kind.axes[j / AXIS][j % AXIS];
        double km = 0.0;
        if (shape == LINE && axis[STEP] == 0.0) {
            fit_axis(team, kind, rows, row0, n, axis);
            if ((int)axis[COUNT] < room) room = (int)axis[COUNT];
        }
        if (shape == GLOBE) km = axis[SIGMA] > 0 ? axis[SIGMA] : fit_globe(team, kind, arena, rows, row0, n);
        EACH_THREAD {
            if (t == 0) {
                fit[FIT_COUNT] = axis[COUNT];
                fit[FIT_UNKNOWN] = 0.0;
                if (shape == GLOBE) {
                    *(u64*)(fit + FIT_POOL) = 0;
                    const double width = km / MASCOT_EARTH_KM, half_chord = fmin(MASCOT_REACH * width / 2, 1.0);
                    const double rings = ceil(PI / (MASCOT_SPACING * width));
                    fit[FIT_COUNT] = rings;
                    fit[FIT_HEIGHT] = PI / rings;
                    fit[FIT_REACH] = 2 * asin(half_chord);
                    fit[FIT_LIMIT] = half_chord * half_chord;
                    fit[FIT_FOLD] = 2 / (width * width);
                }
            }
            ROLLED for (int i = t; i < n && shape != GLOBE; i += THREADS)
                describe(plan, kind, arena, axis, shape, i, rows ? rows[i] : row0 + i);
            if (shape == LABELS && kind.bits >= 0)
                for (int j = t; j < room; j += THREADS) ((u64*)(arena + kind.keys))[j] = ~0ull;
            if (shape != GLOBE) for (int j = t; j < room; j += THREADS) state[kind.origin + j] = 0.0;
        }
        SYNC;
        if (shape == GLOBE) number_cells(team, kind, arena, rows, row0, n);
        if (shape == GLOBE || (shape == LABELS && kind.bits >= 0)) {
            PRIVATE(int, flag);
            EACH_THREAD {
                Insert into(kind, arena);
                if (shape == GLOBE) {
                    ROLLED for (int i = t; i < n; i += THREADS)
                        into.full |= !pool_cells(kind, arena, i, rows ? rows[i] : row0 + i);
                } else {
                    ROLLED for (int i = t / LANES; i < n; i += GROUPS)
                        visit_shape<LABELS>(plan, kind, arena, i, t % LANES, into);
                }
                MY(flag) = into.full;
            }
            if (block_count(flag)) {
#ifdef EMULATED
                out.overflow[1 + out.overflow[0]++] = q;
#else
                if (threadIdx.x == 0) out.overflow[1 + atomicAdd((u64*)out.overflow, 1ull)] = q;
#endif
                return;
            }
            SYNC;
            if (shape == GLOBE) {  // the table of cells was in the place of the state
                EACH_THREAD for (int j = t; j < room; j += THREADS) state[kind.origin + j] = 0.0;
                SYNC;
            }
        }

        double mean_total = 0.0;  // memberships of a candidate without a value, under the rule "neutral"
#if NEUTRAL
        PRIVATE(double, unknown);
        EACH_THREAD {
            MY(unknown) = 0.0;
            for (int i = t; i < n && kind.neutral; i += THREADS) MY(unknown) += is_missing(plan, kind, arena, shape, i);
        }
        const double missing = block_sum(team, unknown);
        if (missing > 0 && missing < n) {
            double* mean = arena + kind.mean;
            EACH_THREAD for (int j = t; j < kind.room; j += THREADS) {
                mean[j] = 0.0;
                if (j >= room) state[kind.origin + j] = 0.0;
            }
            SYNC;
            EACH_THREAD {
                Add more(kind, arena, mean, 1.0 / (n - missing));
                for (int i = t / LANES; i < n; i += GROUPS) visit(plan, kind, arena, shape, i, t % LANES, more);
            }
            SYNC;
            PRIVATE(double, part);
            EACH_THREAD {
                MY(part) = 0.0;
                for (int j = t; j < kind.room; j += THREADS) MY(part) += mean[j];
                if (t == 0) fit[FIT_UNKNOWN] = missing;  // from now on they count as the mean
            }
            mean_total = block_sum(team, part);
        }
#endif

        // First-step sums under uniform weights; for balance, the largest membership in each bin and the room that follows from it.
        PRIVATE(double, top); PRIVATE(double, total);
        const bool balance = BALANCE && (plan.flags & BALANCED) && kind.sign > 0;
        double fade = 1.0, highest = 0.0, factor = kind.weight / plan.share;
        if (balance || !by_query) {
            EACH_THREAD MY(top) = MY(total) = 0.0;
            ROLLED for (int first = 0; first < n; first += GROUPS) {
                PRIVATE(double, sum);
                EACH_THREAD {
                    const int i = first + t / LANES;
                    MY(sum) = 0.0;
                    if (i < n) {
#if NEUTRAL
                        if (fit[FIT_UNKNOWN] > 0 && is_missing(plan, kind, arena, shape, i)) {
                            if (t % LANES == 0) MY(sum) = mean_total;
                        } else
#endif
                        if (balance) {
                            Peak peak(kind, arena, state, 1.0, false);
                            visit(plan, kind, arena, shape, i, t % LANES, peak);
                            MY(sum) = peak.sum;
                        } else {
                            Sum sum_of;
                            visit(plan, kind, arena, shape, i, t % LANES, sum_of);
                            MY(sum) = sum_of.even + sum_of.odd;
                        }
                    }
                }
                group_sum(sum);
                EACH_THREAD {
                    const int i = first + t / LANES;
                    MY(top) = fmax(MY(top), MY(sum));
                    if (i < n && t % LANES == 0) spare[i] = MY(sum), MY(total) += MY(sum);
                }
            }
            highest = block_max(team, top);
            if (balance) {
                const double memberships = block_sum(team, total);
                EACH_THREAD raise_peaks(plan, kind, arena, state, shape, pass, true, true, t);
                SYNC;
                EACH_THREAD {
                    MY(total) = 0.0;
                    for (int j = t; j < (kind.twin ? (int)kind.twin : room); j += THREADS) MY(total) += state[kind.origin + j];
                }
                const double peaks = block_sum(team, total);
                const double each = peaks > 0.0 ? wanted * (memberships / n) / peaks : 0.0;
                if (each > 1.0) fade = 1.0 / each;
            }
        }
        // Weights of the bins: peak relevance, and the sums under it.
        if (by_query) {
            if (balance) {
                EACH_THREAD for (int j = t; j < room; j += THREADS) state[kind.origin + j] = 0.0;
                SYNC;
            }
            ROLLED for (int half = 0; half < 2; ++half) {
                EACH_THREAD raise_peaks(plan, kind, arena, state, shape, pass, false, half == 1, t);
                SYNC;
            }
            refresh_neutral(team, kind, arena, state);
        }
        bool fell = by_query;  // the sums must be computed over the state
        ROLLED for (int turn = by_query ? 0 : 1; turn < 3; ++turn) {
            if (turn == 1) {
                if (highest < MASCOT_NOTHING) highest = 0.0;
                if ((plan.flags & SCALED) && highest > 0.0) factor /= highest;
                total_worth += factor * highest;
                EACH_THREAD {
                    for (int j = t; j < room; j += THREADS) {
                        double* at = state + kind.origin + j;
                        *at = by_query ? *at * factor : factor;
                    }
                    if (t == 0) {
                        fit[FIT_PENALTY] = factor * highest;
                        fit[FIT_NEUTRAL] = by_query ? fit[FIT_NEUTRAL] * factor : mean_total * factor;
                        fit[FIT_FADE] = fade;
                        multipliers[a] = kind.sign * factor;
                        tops[a] = highest;
                        rooms[a] = fade;
                    }
                }
                SYNC;
                ROLLED for (int j = 0; j < shut; ++j) {  // results of earlier pages count as covered
                    EACH_THREAD cover(plan, kind, arena, state, shape, (int)seen[j], t);
                    SYNC;
                }
                fell = shut > 0;
                if (fell) refresh_neutral(team, kind, arena, state);
                continue;
            }
            if (!fell) break;
            EACH_THREAD MY(top) = 0.0;
            ROLLED for (int first = 0; first < n; first += GROUPS) {
                PRIVATE(double, sum);
                EACH_THREAD {
                    const int i = first + t / LANES;
                    MY(sum) = i < n ? worth(plan, kind, arena, state, shape, i, t % LANES) : 0.0;
                }
                group_sum(sum);
                EACH_THREAD {
                    const int i = first + t / LANES;
                    MY(top) = fmax(MY(top), MY(sum));
                    if (i < n && t % LANES == 0) spare[i] = MY(sum);
                }
            }
            const double largest_sum = block_max(team, top);
            if (turn == 0) highest = largest_sum;
        }
        EACH_THREAD ROLLED for (int i = t; i < n; i += THREADS) {
            const double now = fell ? spare[i] : spare[i] * factor;
            if (EARNS) earn[i] = (a ? earn[i] : 0.0) + (kind.sign > 0 ? now : 0.0);
            if (PAYS) pay[i] = (a ? pay[i] : 0.0) + (kind.sign < 0 ? now : 0.0);
        }
        SYNC;
    }
    if (plan.kinds == 0) {
        EACH_THREAD for (int i = t; i < n; i += THREADS) {
            if (EARNS) earn[i] = 0.0;
            if (PAYS) pay[i] = 0.0;
        }
    }

    const double biggest = (relevance.high / 2 - relevance.low / 2) / relevance.range;  // the largest relevance of 0 .. 1
    double least = 0.0;  // the summed relevance that `keep` asks for
    double *base = arena + plan.at_base, *start = arena + plan.at_start;
    const Bounds bounds = {base, arena + plan.at_cap, low, plan};
    int done = 0, stage = 0, rung = 20;
    bool coarse = true, measure = false;
    pass.lam = plan.strength;
#if KEEP
    if (plan.keep > 0.0) {
        measure = QUOTAS && plan.quotas > 0;  // with quotas, the best that they allow is selected first
        EACH_THREAD {
            for (int i = t; i < n; i += THREADS) low[i] = relevance.ideal(raw[i]);
            for (int j = t; j < plan.slots; j += THREADS) start[j] = state[j];
        }
        SYNC;
        double value = INFINITE;
        int at = -1;
        for (int j = 0; j < wanted && !measure; ++j) {
            at = next_best(team, low, closed, n, &value, at);
            least += plan.keep * value;
        }
        SYNC;
    }
#endif
    // `keep` walks a ladder of strengths: down from 1 by 0.05 until enough is kept, then the hundredths above that rung.
    for (;;) {
        const bool raw_scores = relevance.raw;
#if KEEP
        if (plan.keep > 0.0) {
            pass.lam = measure ? 0.0 : coarse ? rung / 20.0 : rung / 100.0;
            relevance.raw = raw_scores && !measure;
            EACH_THREAD for (int j = t; j < plan.slots; j += THREADS) state[j] = start[j];
            SYNC;
            EACH_KIND refresh_neutral(team, plan.kind[a], arena, state);
        }
#endif
        const double lam = pass.lam;
        EACH_THREAD ROLLED for (int i = t; i < n; i += THREADS) {
            const double still = pass.still(plan, arena, i);
            const double most = EARNS ? still + lam * earn[i] : still, gain = PAYS ? most - lam * pay[i] : most;
            base[i] = still;
            bounds.set(i, most, gain);
            closed[i] &= 1;
            if (closed[i] || (QUOTAS && !is_allowed(plan, arena, i, 0, picked, 0))) bounds.close(i);
        }
        SYNC;
        pass.tie = MASCOT_TIE * ((1.0 - lam) * (relevance.raw ? most_raw : biggest) + lam * total_worth);
        done = pick_all(team, plan, arena, state, pass, picked, &stage);
        relevance.raw = raw_scores;
#if KEEP
        if (plan.keep > 0.0) {
            PRIVATE(double, sum);
            EACH_THREAD {
                MY(sum) = 0.0;
                for (int j = t; j < done; j += THREADS) MY(sum) += relevance.ideal(raw[picked[j]]);
            }
            const double kept = block_sum(team, sum);
            if (measure) {
                measure = false;
                least = plan.keep * kept;
                continue;
            }
            const bool enough = kept >= least - 1e-9;
            if (coarse && (enough || rung == 0)) {
                if (rung == 20 || !enough) break;
                coarse = false;
                rung = rung * 5 + 4;
                continue;
            }
            if (!coarse && (enough || rung % 5 == 0)) break;
            --rung;
            continue;
        }
#endif
        break;
    }

    EACH_THREAD {
        if (t == 0) out.results[q] = pass.lam, out.results[out.total + q] = stage + 1.0;
        for (int j = t; j < k; j += THREADS) {
            positions[j] = j < done ? picked[j] : -1;
            if (j >= done) shown[j] = -1;
            else if (plan.flags & BY_RELEVANCE) base[j] = raw[picked[j]];
            else shown[j] = picked[j];
        }
    }
    SYNC;
    if (plan.flags & BY_RELEVANCE) EACH_THREAD for (int j = t; j < done; j += THREADS) {
        const double score = base[j];
        int rank = 0;
        SOME_UNROLL for (int other = 0; other < done; ++other) {
            const double theirs = base[other];
            rank += theirs > score || (theirs == score && picked[other] < picked[j]);
        }
        shown[rank] = picked[j];
    }
}

#ifdef EMULATED
extern "C" void select_all(const Plan* plan, const Input* in, const Output* out) {
    double* arena = (double*)malloc(plan->arena * 8);
    for (i64 b = 0; b < in->count; ++b) {
        memset(arena, 0xff, plan->arena * 8);  // NaN: nothing may be read before it is written
        select_one(*plan, *in, *out, in->list ? in->list[b] : b, arena);
    }
    free(arena);
}
#else
extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS) select_all(
    const __grid_constant__ Plan plan, const __grid_constant__ Input in, const __grid_constant__ Output out, double* slabs
) {
#if SLAB
    double* arena = slabs + plan.arena * blockIdx.x;
#else
    extern __shared__ double arena[];
#endif
    for (i64 b = blockIdx.x; b < in.count; b += gridDim.x) {
        select_one(plan, in, out, in.list ? in.list[b] : b, arena);
        SYNC;
    }
}
#endif
