// The law on a GPU: one block of threads per query, from raw values to selected positions in one launch.
//
// All of a query lives in one arena (shared memory; global memory for problems that do not fit): what is left to cover
// in each bin, two numbers per candidate that bound its gain, and a few numbers from which its bins are multiplied out
// when needed. A Gaussian bump on even centres is f_j = f_0 * r^j * t_j with t_j = exp(-(j * step / sigma)^2 / 2), so a
// bump is two numbers per axis and a table that all candidates share.
//
// The greedy pass is lazy and exact, as on the CPU: covering only lowers the state, so a stale spread sum is an upper
// bound, and a stale focus sum has fallen by no more than the state has in all. In a round every thread evaluates the
// most promising of its own candidates; rounds end when no bound reaches the best gain. Groups of LANES neighbouring
// threads may evaluate one candidate together. Where there is a group for every candidate (EAGER), all are evaluated
// in every step, nobody keeps bounds, and a thread may hold its share of the bins in registers.
//
// The same source compiles as plain C++ with -DEMULATED: a phase (EACH_THREAD ...) then is a loop over the threads, a
// PRIVATE variable an array of one value per thread. Compile-time names: THREADS, LANES, EAGER, TALL and LONG (most
// rows of a tile and bins of a line that threads hold), COLUMNS (columns of a grid taken at once), PER (most candidates of a thread), BLOCKS (that should fit on a multiprocessor), SLAB (the arena
// is in global memory), WIDE (slots may need more than 16 bits), INDEX (type of explicit bins), and for speed alone
// KINDS and SHAPES (number and shapes, three bits each, of the attributes), KEEP, NEUTRAL, QUERY, EARNS and PAYS (0
// leaves out what nobody asked for: the last two stand for spread and focus).

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

// POOL: bins and values are stored per query; points on the globe. SPARSE: explicit pairs, read where they are.
// CIRCLE: a line whose bumps meet themselves. TILE: a plane whose bumps have up to 64 bins, which of them is a mask.
enum { LINE, PLANE, POOL, SPARSE, CIRCLE, TILE };
enum { START, STEP, COUNT, SIGMA, PERIOD, SMALLEST, FLOOR, CEILING, AXIS };
// What is known of an attribute once its rows were read.
enum { FIT_COUNT, FIT_HEIGHT, FIT_REACH, FIT_LIMIT, FIT_FOLD, FIT_UNKNOWN, FIT_NEUTRAL, FIT_PENALTY, FIT_POOL };

#define CUTOFF 0.01
#define REACH 3.034854258770293  // sqrt(2 log(1 / CUTOFF))
#define SCALE 8.0
#define OUTLIER 3.23606797749979  // 1 + sqrt(5)
#define ROUNDS 3
#define LEAST 1e-13
#define BEYOND 12.0
#define SPACING 1.5
#define MARGIN 3
#define EARTH_KM 6371.0088
#define SMALLEST_KM 0.05
#define TIE 1e-10
#define NEAR 0.0704  // haversine up to which `angle` is the polynomial of squared angle over haversine
#define PI 3.141592653589793
#define MOST_KINDS 8
#define MOST_CELLS 48  // of the globe's mesh within reach of one point

#if WIDE
typedef u32 Slot;
#else
typedef unsigned short Slot;
#endif

// Every field takes eight bytes, so that the host can write it as one record.
struct Kind {
    i64 shape, neutral, bits, origin, room, twin, keys, data, mean, fit, stride, pool, pool_slots, pool_size;
    i64 table[2], table_from[2], table_size[2], row0;
    const double *xs, *ys;
    const i64* indptr;
    const INDEX* indices;
    const double* values;
    double sign, weight, axes[2][AXIS];
};

struct Plan {
    i64 kinds, k, protect, query_weight, normalize, scale, by_relevance, earns, pays, most, slots;
    i64 at_base, at_cap, at_low, at_earn, at_pay, at_state, at_start, at_order, at_picked, at_closed, arena;
    double strength, keep, share;
    double sine[12], angle[11];
    const double* tables;
    Kind kind[MOST_KINDS];
};

// Query q has the rows rows[ptr[q] .. ptr[q+1]); without `ptr` every query has `width`, without `rows` they follow on.
struct Input {
    i64 count, width;
    const i64 *ptr, *rows;
    const double* scores;
    const i64 *seen_ptr, *seen, *near, *list;
};

// Of `total` queries: strengths, multipliers and tops, then as 32-bit numbers positions and the order they are shown in.
struct Output {
    i64 total;
    double* found;
    i64* overflow;  // how many queries did not fit, then which
};

#ifdef EMULATED
#include <cmath>
#include <cstdlib>
#include <cstring>
using std::fmax;
using std::fmin;
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
static u64 claim(u64* at, u64 key) { u64 old = *at; if (old == ~0ull) *at = key; return old; }
#else
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

DEVICE u64 ordered(double v) {  // whole numbers ordered as the numbers are
    const i64 bits = __double_as_longlong(v);
    return (u64)bits ^ ((u64)(bits >> 63) | 0x8000000000000000ull);
}

DEVICE double warp_max(double v) {
    u64 key = ordered(v);
    const u32 high = __reduce_max_sync(ALL, (u32)(key >> 32));
    const u32 low = __reduce_max_sync(ALL, (u32)(key >> 32) == high ? (u32)key : 0u);
    key = (u64)high << 32 | low;
    return __longlong_as_double((i64)(key ^ (key >> 63 ? 0x8000000000000000ull : ~0ull)));
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
DEVICE void raise(u32* at, u32 v) { atomicMax(at, v); }
DEVICE u64 bits_of(double v) { return (u64)__double_as_longlong(v); }
DEVICE u64 claim(u64* at, u64 key) { return atomicCAS(at, ~0ull, key); }
#endif

#ifdef KINDS
#define SHAPE_OF(kind, a) (SHAPES >> 3 * (a) & 7)
#define EACH_KIND UNROLL for (int a = 0; a < KINDS; ++a)
#else
#define SHAPE_OF(kind, a) (kind).shape
#define EACH_KIND for (int a = 0; a < (int)plan.kinds; ++a)
#endif

#define INFINITE 1e308

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

DEVICE double horner(const double* c, int degree, double x) {
    double y = c[0];
    UNROLL for (int j = 1; j <= degree; ++j) y = y * x + c[j];
    return y;
}

// One ring of the globe's mesh, seen from a point.
struct Ring {
    double across, along, cell_width, lon, fold;
    int cells, first, last;
    bool close;

    DEVICE_MEMBER Ring(const Plan& plan, const double* fit, double lat, double lon_, double cos_lat, int ring) {
        const double height = fit[FIT_HEIGHT], limit = fit[FIT_LIMIT];
        const double centre = (ring + 0.5) * height - PI / 2;
        const double cos_centre = cos(centre);
        const double half_sine = sin((lat - centre) / 2);
        lon = lon_;
        fold = fit[FIT_FOLD];
        close = limit <= NEAR;
        cells = (int)fmax(floor(2 * fit[FIT_COUNT] * cos_centre + 0.5), 1.0);
        across = half_sine * half_sine;
        along = cos_lat * cos_centre;
        const double z = sqrt(fmin(fmax((limit - across) / fmax(along, 1e-300), 0.0), 1.0));
        const double half = 2 * (z + 0.5708 * z * z * z) + 1e-9;  // at least as wide as 2 arcsin(z)
        cell_width = 2 * PI / cells;
        first = (int)ceil((lon - half + PI) / cell_width - 0.5);
        last = (int)floor((lon + half + PI) / cell_width - 0.5);
        if (last > first + cells - 1) last = first + cells - 1;
    }

    DEVICE_MEMBER int home(int cell) const { return cell < 0 ? cell + cells : cell >= cells ? cell - cells : cell; }

    DEVICE_MEMBER double value(const Plan& plan, int cell) const {
        double x = lon - ((cell + 0.5) * cell_width - PI);
        if (!close) {
            const double s = sin(0.5 * x), angle = 2 * asin(sqrt(fmin(across + along * s * s, 1.0)));
            return exp(-fold * angle * angle);
        }
        if (x > PI) x -= 2 * PI;
        if (x < -PI) x += 2 * PI;
        const double square = 0.25 * x * x;
        const double hav = across + along * horner(plan.sine, 11, square) * square;
        return hav > NEAR ? 0.0 : exp(-horner(plan.angle, 10, hav) * hav * fold);
    }
};

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
            if (p >= CUTOFF) f(origin + j, p, false);
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
                        if (p >= CUTOFF) f(slot + c, p, (c & 1) != 0);
                    }
                }
            }
        }
    } else if constexpr (SHAPE_ == POOL) {
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
        SOME_UNROLL for (int j = part; j < count; j += LANES) f.at((i64)keys[j], ps[j]);
    }
}

// Bins of a point on the globe: their values and slots go to the pool. False: there is no room left.
DEVICE bool pool_sphere(const Plan& plan, const Kind& kind, double* arena, int i, i64 row) {
    const double lat = kind.xs[row], lon = kind.ys[row];
    double* fit = arena + kind.fit;
    u64* word = (u64*)(arena + kind.data) + i;
    *word = ~0ull;
    if (!(lat == lat && lon == lon)) return true;
    double ps[MOST_CELLS];
    int slots[MOST_CELLS];
    int count = 0;
    bool fits = true;
    const double height = fit[FIT_HEIGHT], reach = fit[FIT_REACH], cos_lat = cos(lat);
    const int first = (int)fmax(ceil((lat - reach + PI / 2) / height - 0.5 - 1e-9), 0.0);
    const int last = (int)fmin(floor((lat + reach + PI / 2) / height - 0.5 + 1e-9), fit[FIT_COUNT] - 1);
    for (int r = first; r <= last; ++r) {
        const Ring ring(plan, fit, lat, lon, cos_lat, r);
        for (int cell = ring.first; cell <= ring.last; ++cell) {
            const int home = ring.home(cell);
            const double p = ring.value(plan, home);
            if (!(p >= CUTOFF)) continue;
            const int slot = slot_of(kind, arena, (i64)r << 32 | home, true);
            if (slot < 0 || count == MOST_CELLS) { fits = false; continue; }
            ps[count] = p;
            slots[count++] = slot;
        }
    }
    const u64 at = reserve((u64*)(fit + FIT_POOL), (u64)count);
    if (!fits || at + count > (u64)kind.pool_size) return false;
    *word = at << 32 | (u32)count;
    for (int j = 0; j < count; ++j) {
        arena[kind.pool + at + j] = ps[j];
        ((Slot*)(arena + kind.pool_slots))[at + j] = (Slot)slots[j];
    }
    return true;
}

template <class F>
DEVICE void visit(const Plan& plan, const Kind& kind, double* arena, int shape, int i, int part, F& f) {
    if (shape == LINE) visit_shape<LINE>(plan, kind, arena, i, part, f);
    else if (shape == CIRCLE) visit_shape<CIRCLE>(plan, kind, arena, i, part, f);
    else if (shape == PLANE) visit_shape<PLANE>(plan, kind, arena, i, part, f);
    else if (shape == TILE) visit_shape<TILE>(plan, kind, arena, i, part, f);
    else if (shape == POOL) visit_shape<POOL>(plan, kind, arena, i, part, f);
    else visit_shape<SPARSE>(plan, kind, arena, i, part, f);
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
    const Kind& kind; double* arena; double* state; double relevance; bool low;
    DEVICE_MEMBER Peak(const Kind& k, double* a, double* s, double r, bool l)
        : kind(k), arena(a), state(s), relevance(r), low(l) {}
    DEVICE_MEMBER void operator()(int slot, double p, bool) {
        const double value = p * relevance;
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
    if (shape == SPARSE) return ((const u64*)data)[i] == ((const u64*)data)[plan.most + i];
    if (shape == POOL) return ((const u64*)data)[i] == ~0ull;
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

// state *= 1 - p for the bins of candidate i that fall to thread t of all; returns by how much the state fell there.
DEVICE double cover(const Plan& plan, const Kind& kind, double* arena, double* state, int shape, int i, int t) {
    const i64 most = plan.most;
    const double* data = arena + kind.data;
    const u64* words = (const u64*)data;
    double* here = state + kind.origin;
    double fall = 0.0;
#if NEUTRAL
    if (kind.neutral && arena[kind.fit + FIT_UNKNOWN] > 0 && is_missing(plan, kind, arena, shape, i)) {
        for (int j = t; j < kind.room; j += THREADS) {
            const bool again = kind.twin && j >= kind.twin;
            const double less = shade(here + j, arena[kind.mean + (again ? j - kind.twin : j)]);
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
                if (!(p >= CUTOFF)) continue;
            } else {
                p = data[i] * power(data[most + i], j) * arena[kind.table[0] + j];
            }
            fall += shade(here + bin, p);
            if (has_twin(kind, bin)) shade(here + bin + kind.twin, p);
        }
    } else if (shape == PLANE || shape == TILE) {
        const Patch patch(plan, kind, arena, shape == TILE, i);
        for (int c0 = 0; c0 < patch.wide; c0 += COLUMNS) {
            ROLLED for (int cell = t; cell < patch.high * COLUMNS; cell += THREADS) {
                const int row = cell / COLUMNS, c = c0 + cell % COLUMNS;
                if (c >= patch.wide) continue;
                const double x = power(patch.rx, row) * patch.tx[row], y = power(patch.ry, c) * patch.ty[c];
                const double p = patch.x * x * (patch.y * y);
                if (shape == TILE ? (patch.mask >> (row * patch.wide + c) & 1) != 0 : p >= CUTOFF)
                    fall += shade(state + patch.slot + row * patch.stride + c, p);
            }
        }
    } else if (shape == POOL) {
        const u64 word = words[i];
        if (word == ~0ull) return 0.0;
        const u64 at = word >> 32;
        for (int j = t; j < (int)(word & 0xffffffffu); j += THREADS)
            fall += shade(here + ((const Slot*)(arena + kind.pool_slots))[at + j], arena[kind.pool + at + j]);
    } else {
        for (i64 j = (i64)words[i] + t; j < (i64)words[most + i]; j += THREADS)
            fall += shade(here + slot_of(kind, arena, (i64)kind.indices[j], false), kind.values[j]);
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

// Whether a distance is within a limit, given squared; below 0 there is none.
DEVICE bool is_kept(double distance, double limit) { return limit < 0.0 || distance * distance <= limit; }

// Close an axis that follows its rows; as Axis.resolve.
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
        // As memberships.inliers: who is kept lies within `limit` of origin + centre, squared, once there is a limit.
        double origin = lowest, centre = 0.0, limit = -1.0, kept = known, deviation = 0.0, whole = 0.0;
        double from = lowest, to = highest;  // of those who are kept
        for (int turn = 0; turn < ROUNDS; ++turn) {
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
            const double bound = OUTLIER * deviation * (OUTLIER * deviation), top = to - from - mean;
            // Nobody is farther from the mean than the lowest or the highest.
            if (turn == ROUNDS - 1 || (turn == 0 && mean * mean <= bound && top * top <= bound)) break;
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
            if (inside == kept) break;
            kept = inside;
            origin = from;
            centre = mean;
            limit = bound;
            from = -block_max(team, low);
            to = block_max(team, high);
        }
        if (deviation <= LEAST * whole) {
            deviation = whole;
            limit = -1.0;
        }
        sigma = fmax(sqrt(2.0) * deviation / SCALE, axis[SMALLEST]);
        if (sigma == 0.0) sigma = 1.0;
        if (limit >= 0.0) {
            const double first = from - BEYOND * sigma, last = to + BEYOND * sigma;
            if (lowest < first) lowest = axis[FLOOR] = first;
            if (highest > last) highest = axis[CEILING] = last;
        }
    }
    axis[SIGMA] = sigma;
    axis[STEP] = SPACING * sigma;
    axis[START] = lowest - MARGIN * axis[STEP];
    axis[COUNT] = ceil((highest - lowest) / axis[STEP]) + 1 + 2 * MARGIN;
}

// A row's point on the unit sphere as seen from another; false if it has none.
DEVICE bool from_origin(const Kind& kind, i64 row, double x0, double y0, double z0, double* x, double* y, double* z) {
    const double lat = kind.xs[row], lon = kind.ys[row];
    if (!(lat == lat && lon == lon)) return false;
    const double c = cos(lat);
    *x = c * cos(lon) - x0;
    *y = c * sin(lon) - y0;
    *z = sin(lat) - z0;
    return true;
}

DEVICE bool is_near(double x, double y, double z, double limit) { return limit < 0.0 || x * x + y * y + z * z <= limit; }

// Self-scaled width in kilometres; as rms_chord_km / 8.
DEVICE double fit_sphere(Team& team, const Kind& kind, const i64* rows, i64 row0, int n) {
    PRIVATE(int, at); PRIVATE(double, sx); PRIVATE(double, sy); PRIVATE(double, sz); PRIVATE(double, square);
    PRIVATE(double, number); PRIVATE(double, far);
    EACH_THREAD {
        MY(at) = n;
        for (int i = n - 1; i >= 0; --i) {
            if (i % THREADS != t) continue;
            const i64 row = rows ? rows[i] : row0 + i;
            if (kind.xs[row] == kind.xs[row] && kind.ys[row] == kind.ys[row]) MY(at) = i;
        }
    }
    const int first = block_min(team, at);
    if (first == n) return SMALLEST_KM;
    const i64 origin = rows ? rows[first] : row0 + first;
    const double c0 = cos(kind.xs[origin]);
    const double x0 = c0 * cos(kind.ys[origin]), y0 = c0 * sin(kind.ys[origin]), z0 = sin(kind.xs[origin]);
    // As memberships.inliers: who is kept lies within `limit` of (cx, cy, cz), squared, once there is a limit.
    double cx = 0.0, cy = 0.0, cz = 0.0, limit = -1.0, kept = 0.0, deviation = 0.0, whole = 0.0;
    for (int turn = 0; turn < ROUNDS; ++turn) {
        EACH_THREAD {
            MY(sx) = MY(sy) = MY(sz) = MY(number) = 0;
            ROLLED for (int i = t; i < n; i += THREADS) {
                double x, y, z;
                if (!from_origin(kind, rows ? rows[i] : row0 + i, x0, y0, z0, &x, &y, &z)) continue;
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
                double x, y, z;
                if (!from_origin(kind, rows ? rows[i] : row0 + i, x0, y0, z0, &x, &y, &z)) continue;
                const double apart = (x - mx) * (x - mx) + (y - my) * (y - my) + (z - mz) * (z - mz);
                if (is_near(x - cx, y - cy, z - cz, limit)) MY(square) += apart;
                MY(far) = fmax(MY(far), apart);
            }
        }
        deviation = sqrt(block_sum(team, square) / kept);
        if (turn == 0) whole = deviation;
        const double bound = OUTLIER * deviation * (OUTLIER * deviation);
        if (turn == ROUNDS - 1 || (turn == 0 && block_max(team, far) <= bound)) break;
        EACH_THREAD {
            MY(number) = 0;
            ROLLED for (int i = t; i < n; i += THREADS) {
                double x, y, z;
                if (!from_origin(kind, rows ? rows[i] : row0 + i, x0, y0, z0, &x, &y, &z)) continue;
                if (is_near(x - mx, y - my, z - mz, bound)) MY(number) += 1;
            }
        }
        if (block_sum(team, number) == kept) break;
        cx = mx; cy = my; cz = mz;
        limit = bound;
    }
    if (deviation <= LEAST * whole) deviation = whole;
    return fmax(sqrt(2.0) * EARTH_KM * deviation / SCALE, SMALLEST_KM);
}

// A bump on an even axis as its first value and its ratio; returns how many bins, 0 if none is within reach.
DEVICE int bump(const double* axis, double x, bool circle, double* first_value, double* ratio, int* first) {
    const double inverse = 1.0 / axis[STEP], step = axis[STEP] / axis[SIGMA];
    const double reach = REACH * axis[SIGMA] * inverse;
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
    if (shape == SPARSE) {
        words[i] = (u64)kind.indptr[kind.row0 + row];
        words[most + i] = (u64)kind.indptr[kind.row0 + row + 1];
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
                    UNROLL for (int c = 0; c < COLUMNS; ++c) bits |= fx * fy[c] >= CUTOFF ? 1u << c : 0u;
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

// The next of the candidates by value, ties to the lowest: after (value, at) in that order. n if there is none.
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
    int found;
    *value = block_best(team, best, where, &found);
    return found;
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

// The lazy greedy pass over `state`, which it uses up; returns how many were chosen.
DEVICE int pick_all(
    Team& team, const Plan& plan, double* arena, double* state, int n, int heads, const int* chosen, const i64* near,
    int wanted, double lam, double tie, int* picked
) {
    double* base = arena + plan.at_base;
    const Bounds bounds = {base, arena + plan.at_cap, arena + plan.at_low, plan};
    const double slope = PAYS ? lam : 0.0;
    double fallen = 0.0;
#if EAGER
    PRIVATE(HeldAll, held);
    EACH_THREAD if (t / LANES < n) EACH_KIND {
        const Kind& kind = plan.kind[a];
        MY(held).of[a].take(plan, kind, arena, SHAPE_OF(kind, a), t / LANES, t % LANES);
    }
#endif
    ROLLED for (int done = 0; done < wanted; ++done) {
        int best = 0;
        if (done < heads) {
            best = chosen[done];
        } else {
            PRIVATE(double, top); PRIVATE(int, where); PRIVATE(double, earn);
            double bar = -INFINITE;
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
            const double moved = slope * fallen;
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
        }
        PRIVATE(double, fall);
        EACH_THREAD {
            MY(fall) = 0.0;
            EACH_KIND {
                const Kind& kind = plan.kind[a];
                // Where the user names a point, the protected do not vote on where the focus lies.
                if (done < heads && near && near[a] >= 0) continue;
                const double less =
                    cover(plan, kind, arena, state, SHAPE_OF(kind, a), best, a & 1 ? THREADS - 1 - t : t);
                if (PAYS && kind.sign < 0) MY(fall) += less;
            }
            if (t == 0) {
                bounds.close(best);
                picked[done] = best;
            }
        }
        if (EAGER || !PAYS) SYNC; else fallen += block_sum(team, fall);
        EACH_KIND refresh_neutral(team, plan.kind[a], arena, state);
    }
    return wanted;
}

DEVICE void select_one(const Plan& plan, const Input& in, const Output& out, i64 q, double* arena) {
    const i64 row0 = in.ptr ? in.ptr[q] : q * in.width;
    const int n = (int)(in.ptr ? in.ptr[q + 1] - row0 : in.width), k = (int)plan.k;
    const double* raw = in.scores + row0;
    const i64* rows = in.rows ? in.rows + row0 : (const i64*)0;
    const i64* near = in.near ? in.near + q * plan.kinds : (const i64*)0;
    const i64* seen = in.seen_ptr ? in.seen + in.seen_ptr[q] : (const i64*)0;
    const int shut = in.seen_ptr ? (int)(in.seen_ptr[q + 1] - in.seen_ptr[q]) : 0;
    double *spare = arena + plan.at_base, *low = arena + plan.at_low;
    double *earn = arena + plan.at_earn, *pay = arena + plan.at_pay, *state = arena + plan.at_state;
    int *order = (int*)(arena + plan.at_order), *picked = (int*)(arena + plan.at_picked);
    unsigned char* closed = (unsigned char*)(arena + plan.at_closed);  // bit 0: seen before, bit 1: protected
    double *multipliers = out.found + out.total + q * plan.kinds, *tops = multipliers + out.total * plan.kinds;
    int* positions = (int*)(out.found + out.total * (1 + 2 * plan.kinds)) + q * k;
    int* shown = positions + out.total * k;
    Team team;
    if (n == 0) {
        EACH_THREAD {
            for (int j = t; j < k; j += THREADS) positions[j] = shown[j] = -1;
            for (int a = t; a < plan.kinds; a += THREADS) multipliers[a] = tops[a] = 0.0;
            if (t == 0) out.found[q] = plan.strength;
        }
        return;
    }

    // The tables of the axes; relevance, and who is protected.
    EACH_KIND for (int j = 0; j < 2; ++j) {
        const Kind& kind = plan.kind[a];
        EACH_THREAD for (int i = t; i < kind.table_size[j]; i += THREADS)
            arena[kind.table[j] + i] = plan.tables[kind.table_from[j] + i];
    }
    PRIVATE(double, some); PRIVATE(double, other);
    EACH_THREAD {
        MY(some) = MY(other) = -INFINITE;
        for (int i = t; i < n; i += THREADS) {
            const double r = raw[i];
            spare[i] = r;
            closed[i] = 0;
            MY(some) = fmax(MY(some), r);
            MY(other) = fmax(MY(other), -r);
        }
    }
    double largest, smallest;
    block_max_both(team, some, other, &largest, &smallest);
    smallest = -smallest;
    const double range = largest - smallest + 1e-8;
    const double biggest = plan.normalize ? (largest - smallest) / range : fmax(fabs(largest), fabs(smallest));
    if (shut) {
        EACH_THREAD for (int j = t; j < shut; j += THREADS) closed[seen[j]] = 1;
        SYNC;
    }
    int found = 0, heads = 0;
    {
        double value = INFINITE;
        int at = -1;
        ROLLED for (; found < plan.protect && found < n; ++found) {
            at = next_best(team, spare, 0, n, &value, at);
            const bool open = heads < k && !(closed[at] & 1);
            EACH_THREAD if (t == 0) {
                if (open) order[heads] = at;
                closed[at] |= 2;
            }
            heads += open;
        }
    }

    double total_worth = 0.0;
    EACH_KIND {
        const Kind& kind = plan.kind[a];
        const int shape = SHAPE_OF(kind, a);
        const i64 point = near ? near[a] : -1;
        double* fit = arena + kind.fit;
        double axis[2 * AXIS];
        int room = (int)kind.room;
        for (int j = 0; j < 2 * AXIS; ++j) axis[j] = kind.axes[j / AXIS][j % AXIS];
        double km = 0.0;
        if (shape == LINE && axis[STEP] == 0.0) {
            fit_axis(team, kind, rows, row0, n, axis);
            if ((int)axis[COUNT] < room) room = (int)axis[COUNT];
        }
        if (shape == POOL) km = axis[SIGMA] > 0 ? axis[SIGMA] : fit_sphere(team, kind, rows, row0, n);
        EACH_THREAD {
            if (t == 0) {
                fit[FIT_COUNT] = axis[COUNT];
                fit[FIT_UNKNOWN] = 0.0;
                if (shape == POOL) {
                    *(u64*)(fit + FIT_POOL) = 0;
                    const double width = km / EARTH_KM, reach = REACH * width;
                    const double rings = ceil(PI / (SPACING * width)), half = sin(fmin(reach, PI) / 2);
                    fit[FIT_COUNT] = rings;
                    fit[FIT_HEIGHT] = PI / rings;
                    fit[FIT_REACH] = reach;
                    fit[FIT_LIMIT] = half * half;
                    fit[FIT_FOLD] = 0.5 / (width * width);
                }
            }
            const int total = point >= 0 ? n + 1 : n;
            ROLLED for (int i = t; i < total && shape != POOL; i += THREADS)
                describe(plan, kind, arena, axis, shape, i, i == n ? point : rows ? rows[i] : row0 + i);
            if (kind.bits >= 0) for (int j = t; j < room; j += THREADS) ((u64*)(arena + kind.keys))[j] = ~0ull;
            for (int j = t; j < room; j += THREADS) state[kind.origin + j] = QUERY && plan.query_weight ? 0.0 : 1.0;
        }
        SYNC;
        if (shape == POOL || (shape == SPARSE && kind.bits >= 0)) {
            PRIVATE(int, flag);
            EACH_THREAD {
                Insert into(kind, arena);
                const int total = point >= 0 ? n + 1 : n;
                if (shape == POOL) {
                    ROLLED for (int i = t; i < total; i += THREADS)
                        into.full |= !pool_sphere(plan, kind, arena, i, i == n ? point : rows ? rows[i] : row0 + i);
                } else {
                    ROLLED for (int i = t / LANES; i < total; i += GROUPS)
                        visit_shape<SPARSE>(plan, kind, arena, i, t % LANES, into);
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
        }

#if NEUTRAL
        // Rows without a value.
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
                if (t == 0) fit[FIT_UNKNOWN] = missing;  // only now do they count as the mean
            }
            SYNC;
        }
#endif

        // Bin weights, first-step sums, and the scale they set.
        if (QUERY && plan.query_weight) {
            ROLLED for (int pass = 0; pass < 2; ++pass) {
                EACH_THREAD ROLLED for (int i = t / LANES; i < n; i += GROUPS) {
                    const double relevance = plan.normalize ? (raw[i] - smallest) / range : raw[i];
                    if (!(relevance > 0.0)) continue;
                    Peak step(kind, arena, state, relevance, pass == 1);
#if NEUTRAL
                    if (fit[FIT_UNKNOWN] > 0 && is_missing(plan, kind, arena, shape, i)) {
                        const double* mean = arena + kind.mean;
                        for (int j = t % LANES; j < (kind.twin ? kind.twin : room); j += LANES)
                            if (mean[j] > 0) step((int)kind.origin + j, mean[j], false);
                        continue;
                    }
#endif
                    visit(plan, kind, arena, shape, i, t % LANES, step);
                }
                SYNC;
            }
        }
        refresh_neutral(team, kind, arena, state);
        PRIVATE(double, top);
        double factor = 1.0;
        bool fell = true;
        ROLLED for (int pass = 0; pass < 2 && fell; ++pass) {
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
            const double highest = block_max(team, top);
            if (pass) break;
            factor = kind.weight / plan.share;
            if (plan.scale && highest > 0.0) factor /= highest;
            total_worth += factor * highest;
            EACH_THREAD {
                for (int j = t; j < room; j += THREADS) state[kind.origin + j] *= factor;
                if (t == 0) {
                    fit[FIT_PENALTY] = factor * highest;
                    fit[FIT_NEUTRAL] *= factor;
                    multipliers[a] = kind.sign * factor;
                    tops[a] = highest;
                }
            }
            SYNC;
            // Covered before anything is chosen: where focus starts, and what the user has seen.
            fell = false;
            ROLLED for (int j = point >= 0 ? -1 : 0; j < shut; ++j) {
                if (j >= 0 && point >= 0 && (closed[seen[j]] & 2)) continue;
                EACH_THREAD cover(plan, kind, arena, state, shape, j < 0 ? n : (int)seen[j], t);
                SYNC;
                fell = true;
            }
            if (fell) refresh_neutral(team, kind, arena, state);
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

    const int wanted = k < n - shut ? k : n - shut;
    double lam = plan.strength, floor_ = 0.0;
    double *base = arena + plan.at_base, *start = arena + plan.at_start;
    const Bounds bounds = {base, arena + plan.at_cap, low, plan};
    int done = 0, rung = 20;
    bool coarse = true;
#if KEEP
    if (plan.keep > 0.0) {
        EACH_THREAD {
            for (int i = t; i < n; i += THREADS) low[i] = (raw[i] - smallest) / range;
            for (int j = t; j < plan.slots; j += THREADS) start[j] = state[j];
            for (int i = t; i < n; i += THREADS) closed[i] &= 1;
        }
        SYNC;
        double value = INFINITE;
        int at = -1;
        for (int j = 0; j < wanted; ++j) {
            at = next_best(team, low, closed, n, &value, at);
            floor_ += plan.keep * value;
        }
        SYNC;
    }
#endif
    // `keep`: down a ladder of strengths in steps of 0.05, then back up in hundredths.
    for (;;) {
#if KEEP
        if (plan.keep > 0.0) {
            lam = coarse ? rung / 20.0 : rung / 100.0;
            EACH_THREAD for (int j = t; j < plan.slots; j += THREADS) state[j] = start[j];
            SYNC;
            EACH_KIND refresh_neutral(team, plan.kind[a], arena, state);
        }
#endif
        EACH_THREAD ROLLED for (int i = t; i < n; i += THREADS) {
            double offset = 0.0;
            EACH_KIND {
                const Kind& kind = plan.kind[a];
                if (kind.sign < 0 && !kind.neutral && is_missing(plan, kind, arena, SHAPE_OF(kind, a), i))
                    offset -= arena[kind.fit + FIT_PENALTY];
            }
            const double relevance = plan.normalize ? (raw[i] - smallest) / range : raw[i];
            const double still = (1.0 - lam) * relevance + lam * offset;
            const double most = EARNS ? still + lam * earn[i] : still, gain = PAYS ? most - lam * pay[i] : most;
            base[i] = still;
            bounds.set(i, most, gain);
            if (closed[i] & 1) bounds.close(i);
        }
        SYNC;
        const double tie = TIE * ((1.0 - lam) * biggest + lam * total_worth);
        done = pick_all(team, plan, arena, state, n, heads, order, near, wanted, lam, tie, picked);
#if KEEP
        if (plan.keep > 0.0) {
            PRIVATE(double, sum);
            EACH_THREAD {
                MY(sum) = 0.0;
                for (int j = t; j < done; j += THREADS) MY(sum) += (raw[picked[j]] - smallest) / range;
            }
            const bool enough = block_sum(team, sum) >= floor_ - 1e-9;
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
        if (t == 0) out.found[q] = lam;
        for (int j = t; j < k; j += THREADS) {
            positions[j] = j < done ? picked[j] : -1;
            if (j >= done) shown[j] = -1;
            else if (plan.by_relevance) base[j] = raw[picked[j]];
            else shown[j] = picked[j];
        }
    }
    SYNC;
    if (plan.by_relevance) EACH_THREAD for (int j = t; j < done; j += THREADS) {
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
