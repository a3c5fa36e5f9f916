// The law on a GPU: one block of threads per query, from raw values to selected positions in one launch.
//
// All of a query lives in one arena (shared memory; global memory for problems that do not fit): what is left to cover
// in each bin, two numbers per candidate that bound its gain, and a few numbers from which its bins are multiplied out
// when needed. A Gaussian bump on even centres is f_j = f_0 * r^j * t_j with t_j = exp(-(j * step / sigma)^2 / 2), so a
// bump is two numbers per axis and a table that all candidates share.
//
// The greedy pass is lazy and exact, as on the CPU: covering only lowers the state, so a stale spread sum is an upper
// bound, and a stale focus sum has fallen by no more than the state has in all. In a round every thread evaluates the
// most promising of its own candidates; rounds end when no bound reaches the best gain.
//
// The same source compiles as plain C++ with -DEMULATED: a phase (EACH_THREAD ... SYNC) then is a loop over the
// threads, a PRIVATE variable an array of one value per thread. Compile-time names: THREADS, COLUMNS (columns of a
// grid taken at once), PER (most candidates of a thread), BLOCKS (that should fit on a multiprocessor), SLAB (the arena
// is in global memory), WIDE (slots may need more than 16 bits), and for speed alone KINDS and SHAPES (number and
// shapes, two bits each, of the attributes), KEEP and NEUTRAL (0 leaves out what nobody asked for).

typedef long long i64;
typedef unsigned long long u64;
typedef unsigned int u32;

#ifndef THREADS
#define THREADS 32
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

enum { LINE, PLANE, POOL, SPARSE };  // POOL: bins and values are stored per query; points on the globe, or pairs
enum { START, STEP, COUNT, SIGMA, PERIOD, SMALLEST };
// What is known of an attribute once its rows were read.
enum { FIT_COUNT, FIT_HEIGHT, FIT_REACH, FIT_LIMIT, FIT_FOLD, FIT_UNKNOWN, FIT_NEUTRAL, FIT_PENALTY, FIT_POOL };

#define CUTOFF 0.01
#define REACH 3.034854258770293  // sqrt(2 log(1 / CUTOFF))
#define SCALE 8.0
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
    i64 shape, neutral, bits, origin, room, keys, data, mean, fit, whole, stride, pool, pool_slots, pool_size, pairs;
    i64 table[2], table_from[2], table_size[2], row0;
    const double *xs, *ys;
    const i64 *indptr, *indices;
    const double* values;
    double sign, weight, axes[2][6];
};

struct Plan {
    i64 kinds, k, protect, query_weight, normalize, scale, by_relevance, most, slots;
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

struct Output {
    int *positions, *shown;
    double *strengths, *multipliers, *tops;
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
static double block_max(const double* v) {
    double x = v[0];
    for (int t = 1; t < THREADS; ++t) x = fmax(x, v[t]);
    return x;
}
static double block_sum(const double* v) {
    double x = 0;
    for (int t = 0; t < THREADS; ++t) x += v[t];
    return x;
}
static int block_min(const int* v) {
    int x = v[0];
    for (int t = 1; t < THREADS; ++t) x = v[t] < x ? v[t] : x;
    return x;
}
static int block_count(const int* v) { int x = 0; for (int t = 0; t < THREADS; ++t) x += v[t] != 0; return x; }
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
static __shared__ double reduced[32];

DEVICE void sync() {
    if (THREADS == 32) __syncwarp(); else __syncthreads();
}
#define SYNC sync()

DEVICE double warp_max(double v) {
    i64 bits = __double_as_longlong(v);
    u64 key = (u64)bits ^ ((u64)(bits >> 63) | 0x8000000000000000ull);  // ordered as the numbers are
    u32 high = __reduce_max_sync(ALL, (u32)(key >> 32));
    u32 low = __reduce_max_sync(ALL, (u32)(key >> 32) == high ? (u32)key : 0u);
    key = (u64)high << 32 | low;
    return __longlong_as_double((i64)(key ^ (key >> 63 ? 0x8000000000000000ull : ~0ull)));
}

DEVICE double block_max(double v) {
    v = warp_max(v);
    if (THREADS == 32) return v;
    __syncthreads();
    if ((threadIdx.x & 31) == 0) reduced[threadIdx.x >> 5] = v;
    __syncthreads();
    v = reduced[0];
    for (int w = 1; w < THREADS / 32; ++w) v = fmax(v, reduced[w]);
    return v;
}

DEVICE double block_sum(double v) {
    for (int d = 16; d; d >>= 1) v += __shfl_xor_sync(ALL, v, d);
    if (THREADS == 32) return v;
    __syncthreads();
    if ((threadIdx.x & 31) == 0) reduced[threadIdx.x >> 5] = v;
    __syncthreads();
    v = reduced[0];
    for (int w = 1; w < THREADS / 32; ++w) v += reduced[w];
    return v;
}

DEVICE int block_min(int v) {
    v = __reduce_min_sync(ALL, v);
    if (THREADS == 32) return v;
    int* found = (int*)reduced;
    __syncthreads();
    if ((threadIdx.x & 31) == 0) found[threadIdx.x >> 5] = v;
    __syncthreads();
    v = found[0];
    for (int w = 1; w < THREADS / 32; ++w) v = min(v, found[w]);
    return v;
}

DEVICE int block_count(int v) {
    if (THREADS == 32) return __popc(__ballot_sync(ALL, v));
    return __syncthreads_count(v);
}

DEVICE u64 reserve(u64* at, u64 v) { return atomicAdd(at, v); }

DEVICE void add_to(double* at, double v) { atomicAdd(at, v); }
DEVICE void raise(u32* at, u32 v) { atomicMax(at, v); }
DEVICE u64 bits_of(double v) { return (u64)__double_as_longlong(v); }
DEVICE u64 claim(u64* at, u64 key) { return atomicCAS(at, ~0ull, key); }
#endif

#ifdef KINDS
#define SHAPE_OF(kind, a) (SHAPES >> 2 * (a) & 3)
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

// Calls f(slot, p, odd) for the bins of candidate i, one after the other; `odd` alternates.
template <int SHAPE_, class F>
DEVICE void visit_shape(const Plan& plan, const Kind& kind, double* arena, int i, F& f) {
    const i64 most = plan.most;
    const double* data = arena + kind.data;
    const u64* words = (const u64*)data;
    const int origin = (int)kind.origin;
    if (SHAPE_ == LINE) {
        const u64 word = words[2 * most + i];
        const int first = (int)(word & 0xffffffffu), count = (int)(word >> 32);
        const int size = (int)arena[kind.fit + FIT_COUNT];
        const double* t = arena + kind.table[0];
        double g = data[i];
        const double r = data[most + i];
        if (kind.whole) {  // the whole circle: the bump meets itself
            const double step = kind.axes[0][STEP] / kind.axes[0][SIGMA];
            for (int j = 0; j < count; ++j) {
                double d = fmod(fabs(g - j), (double)size);
                d = fmin(d, size - d) * step;
                const double p = exp(-0.5 * d * d);
                if (p >= CUTOFF) f(origin + j, p, false);
            }
            return;
        }
        int bin = first;
        ROLLED for (int j = 0; j < count; j += 2) {
            double p = g * t[j];
            g *= r;
            if (p >= CUTOFF) f(origin + bin, p, false);
            if (++bin == size) bin = 0;
            if (j + 1 < count) {
                p = g * t[j + 1];
                g *= r;
                if (p >= CUTOFF) f(origin + bin, p, true);
                if (++bin == size) bin = 0;
            }
        }
    } else if (SHAPE_ == PLANE) {
        const u64 word = words[4 * most + i];
        const int top = (int)(word & 0xffff), high = (int)(word >> 16 & 0xffff);
        const int left = (int)(word >> 32 & 0xffff), wide = (int)(word >> 48), stride = (int)kind.stride;
        const double *tx = arena + kind.table[0], *ty = arena + kind.table[1];
        const double rx = data[most + i], ry = data[3 * most + i];
        double gy = data[2 * most + i];
        for (int c0 = 0; c0 < wide; c0 += COLUMNS) {
            double fy[COLUMNS];
            UNROLL for (int c = 0; c < COLUMNS; ++c) {
                fy[c] = c0 + c < wide ? gy * ty[c0 + c] : 0.0;
                gy *= ry;
            }
            double gx = data[i];
            int slot = origin + top * stride + left + c0;
            ROLLED for (int r = 0; r < high; ++r, slot += stride) {
                const double fx = gx * tx[r];
                gx *= rx;
                UNROLL for (int c = 0; c < COLUMNS; ++c) {
                    const double p = fx * fy[c];
                    if (p >= CUTOFF) f(slot + c, p, (c & 1) != 0);
                }
            }
        }
    } else if (SHAPE_ == POOL) {
        const u64 word = words[i];
        if (word == ~0ull) return;
        const double* ps = arena + kind.pool + (word >> 32);
        const Slot* slots = (const Slot*)(arena + kind.pool_slots) + (word >> 32);
        const int count = (int)(word & 0xffffffffu);
        SOME_UNROLL for (int j = 0; j < count; ++j) f(origin + (int)slots[j], ps[j], (j & 1) != 0);
    } else {
        const i64 end = (i64)words[most + i];
        for (i64 j = (i64)words[i]; j < end; ++j) f.at(kind.indices[j], kind.values[j]);
    }
}

// The same bins shared out: this is part `part` of `parts`.
template <class F>
DEVICE void visit_part(const Plan& plan, const Kind& kind, double* arena, int shape, int i, int part, int parts, F& f) {
    const i64 most = plan.most;
    const double* data = arena + kind.data;
    const u64* words = (const u64*)data;
    const int origin = (int)kind.origin;
    if (shape == LINE) {
        const u64 word = words[2 * most + i];
        const int first = (int)(word & 0xffffffffu), count = (int)(word >> 32);
        const int size = (int)arena[kind.fit + FIT_COUNT];
        const double* table = arena + kind.table[0];
        const double g = data[i], ratio = data[most + i];
        ROLLED for (int j = part; j < count; j += parts) {
            double p;
            int bin = first + j;
            if (kind.whole) {
                double d = fmod(fabs(g - j), (double)size);
                d = fmin(d, size - d) * (kind.axes[0][STEP] / kind.axes[0][SIGMA]);
                p = exp(-0.5 * d * d);
                bin = j;
            } else {
                p = g * power(ratio, j) * table[j];
            }
            if (bin >= size) bin -= size;
            if (p >= CUTOFF) f(origin + bin, p, false);
        }
    } else if (shape == PLANE) {
        const u64 word = words[4 * most + i];
        const int top = (int)(word & 0xffff), high = (int)(word >> 16 & 0xffff);
        const int left = (int)(word >> 32 & 0xffff), wide = (int)(word >> 48), stride = (int)kind.stride;
        const double *tx = arena + kind.table[0], *ty = arena + kind.table[1];
        const double x0 = data[i], rx = data[most + i], ry = data[3 * most + i];
        double gy = data[2 * most + i];
        for (int c0 = 0; c0 < wide; c0 += COLUMNS) {
            double fy[COLUMNS];
            UNROLL for (int c = 0; c < COLUMNS; ++c) {
                fy[c] = c0 + c < wide ? gy * ty[c0 + c] : 0.0;
                gy *= ry;
            }
            ROLLED for (int r = part; r < high; r += parts) {
                const double fx = x0 * power(rx, r) * tx[r];
                const int slot = origin + (top + r) * stride + left + c0;
                UNROLL for (int c = 0; c < COLUMNS; ++c) {
                    const double p = fx * fy[c];
                    if (p >= CUTOFF) f(slot + c, p, (c & 1) != 0);
                }
            }
        }
    } else if (shape == POOL) {
        const u64 word = words[i];
        if (word == ~0ull) return;
        const double* ps = arena + kind.pool + (word >> 32);
        const Slot* slots = (const Slot*)(arena + kind.pool_slots) + (word >> 32);
        for (int j = part; j < (int)(word & 0xffffffffu); j += parts) f(origin + (int)slots[j], ps[j], false);
    } else {
        const i64 end = (i64)words[most + i];
        for (i64 j = (i64)words[i] + part; j < end; j += parts) f.at(kind.indices[j], kind.values[j]);
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

// Explicit bins of a row: a place in the pool. False: there is no room left.
DEVICE bool pool_pairs(const Kind& kind, double* arena, int i, i64 row) {
    const i64 begin = kind.indptr[kind.row0 + row];
    const int count = (int)(kind.indptr[kind.row0 + row + 1] - begin);
    const u64 at = count ? reserve((u64*)(arena + kind.fit + FIT_POOL), (u64)count) : 0;
    ((u64*)(arena + kind.data))[i] = count ? at << 32 | (u32)count : ~0ull;
    return at + count <= (u64)kind.pool_size;
}

// Then the bins themselves, a row by 32 threads, which read side by side. False: there is no room left.
DEVICE bool fill_pairs(const Kind& kind, double* arena, const i64* rows, i64 row0, i64 point, int n, int t) {
    const int total = point >= 0 ? n + 1 : n, lane = t % 32, parts = THREADS < 32 ? THREADS : 32;
    bool fits = true;
    for (int i = t / 32; i < total; i += THREADS < 32 ? 1 : THREADS / 32) {
        const u64 word = ((const u64*)(arena + kind.data))[i];
        if (word == ~0ull) continue;
        const i64 begin = kind.indptr[kind.row0 + (i == n ? point : rows ? rows[i] : row0 + i)];
        const i64 at = (i64)(word >> 32);
        for (int j = lane; j < (int)(word & 0xffffffffu); j += parts) {
            const int slot = slot_of(kind, arena, kind.indices[begin + j], true);
            if (slot < 0) fits = false;
            arena[kind.pool + at + j] = kind.values[begin + j];
            ((Slot*)(arena + kind.pool_slots))[at + j] = (Slot)slot;
        }
    }
    return fits;
}

template <class F>
DEVICE void visit(const Plan& plan, const Kind& kind, double* arena, int shape, int i, F& f) {
    if (shape == LINE) visit_shape<LINE>(plan, kind, arena, i, f);
    else if (shape == PLANE) visit_shape<PLANE>(plan, kind, arena, i, f);
    else if (shape == POOL) visit_shape<POOL>(plan, kind, arena, i, f);
    else visit_shape<SPARSE>(plan, kind, arena, i, f);
}

// What to do with a bin. `at` takes its key where bins are looked up.
struct Worth {
    const Kind& kind; double* arena; const double* state; double even, odd;
    DEVICE_MEMBER Worth(const Kind& k, double* a, const double* s) : kind(k), arena(a), state(s), even(0), odd(0) {}
    DEVICE_MEMBER void operator()(int slot, double p, bool second) {
        if (second) odd += p * state[slot]; else even += p * state[slot];
    }
    DEVICE_MEMBER void at(i64 key, double p) { even += p * state[kind.origin + slot_of(kind, arena, key, false)]; }
};
struct Cover {
    const Kind& kind; double* arena; double* state; double fall;
    DEVICE_MEMBER Cover(const Kind& k, double* a, double* s) : kind(k), arena(a), state(s), fall(0) {}
    DEVICE_MEMBER void operator()(int slot, double p, bool) {
        const double old = state[slot], less = p * old;
        state[slot] = old - less;
        fall += less;
    }
    DEVICE_MEMBER void at(i64 key, double p) { (*this)((int)kind.origin + slot_of(kind, arena, key, false), p, false); }
};
// Maxima of doubles >= 0 with 32-bit atomics alone: the high words first, then the low words of those that have them.
struct Peak {
    const Kind& kind; double* arena; double* state; double relevance; bool low;
    DEVICE_MEMBER Peak(const Kind& k, double* a, double* s, double r, bool l)
        : kind(k), arena(a), state(s), relevance(r), low(l) {}
    DEVICE_MEMBER void operator()(int slot, double p, bool) {
        const double value = p * relevance;
        u32* words = (u32*)(state + slot);
        if (!low) raise(words + 1, high_word(value));
        else if (words[1] == high_word(value)) raise(words, low_word(value));
    }
    DEVICE_MEMBER void at(i64 key, double p) { (*this)((int)kind.origin + slot_of(kind, arena, key, false), p, false); }
};
struct Add {
    const Kind& kind; double* arena; double* mean; double share;
    DEVICE_MEMBER Add(const Kind& k, double* a, double* m, double s) : kind(k), arena(a), mean(m), share(s) {}
    DEVICE_MEMBER void operator()(int slot, double p, bool) { add_to(mean + slot - kind.origin, p * share); }
    DEVICE_MEMBER void at(i64 key, double p) { add_to(mean + slot_of(kind, arena, key, false), p * share); }
};
struct Insert {
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

// The sum of p * state over the bins of candidate i.
DEVICE double worth(const Plan& plan, const Kind& kind, double* arena, const double* state, int shape, int i) {
#if NEUTRAL
    if (kind.neutral && arena[kind.fit + FIT_UNKNOWN] > 0 && is_missing(plan, kind, arena, shape, i))
        return arena[kind.fit + FIT_NEUTRAL];
#endif
    Worth sum(kind, arena, state);
    visit(plan, kind, arena, shape, i, sum);
    return sum.even + sum.odd;
}

// state *= 1 - p for candidate i, by all threads; returns by how much the state fell in all.
DEVICE double cover(const Plan& plan, const Kind& kind, double* arena, double* state, int shape, int i, bool count) {
    PRIVATE(double, fall);
    bool average = false;
#if NEUTRAL
    double* mean = arena + kind.mean;
    average = kind.neutral && arena[kind.fit + FIT_UNKNOWN] > 0 && is_missing(plan, kind, arena, shape, i);
#endif
    EACH_THREAD {
        MY(fall) = 0.0;
        if (!average) {
            Cover step(kind, arena, state);
            visit_part(plan, kind, arena, shape, i, t, THREADS, step);
            MY(fall) = step.fall;
        }
#if NEUTRAL
        else for (int j = t; j < kind.room; j += THREADS) {
            const double old = state[kind.origin + j], less = mean[j] * old;
            state[kind.origin + j] = old - less;
            MY(fall) += less;
        }
#endif
    }
    SYNC;
    return count ? block_sum(fall) : 0.0;
}

// What candidates without a value are worth now: the mean of the others, the same for all of them.
DEVICE void refresh_neutral(const Kind& kind, double* arena, const double* state) {
#if NEUTRAL
    if (!kind.neutral || !(arena[kind.fit + FIT_UNKNOWN] > 0)) return;
    PRIVATE(double, sum);
    EACH_THREAD {
        MY(sum) = 0.0;
        for (int j = t; j < kind.room; j += THREADS) MY(sum) += arena[kind.mean + j] * state[kind.origin + j];
    }
    const double total = block_sum(sum);
    EACH_THREAD if (t == 0) arena[kind.fit + FIT_NEUTRAL] = total;
    SYNC;
#endif
}

// Close an axis that follows its rows; as Axis.resolve.
DEVICE void fit_axis(const Kind& kind, const i64* rows, i64 row0, int n, double* axis) {
    PRIVATE(double, low); PRIVATE(double, high); PRIVATE(double, sum); PRIVATE(double, number);
    EACH_THREAD {
        MY(low) = MY(high) = -INFINITE;
        MY(number) = 0;
        for (int i = t; i < n; i += THREADS) {
            const double x = kind.xs[rows ? rows[i] : row0 + i];
            if (x == x) { MY(low) = fmax(MY(low), -x); MY(high) = fmax(MY(high), x); MY(number) += 1; }
        }
    }
    const double known = block_sum(number);
    const double lowest = known > 0 ? -block_max(low) : 0.0, highest = known > 0 ? block_max(high) : 0.0;
    double sigma = axis[SIGMA];
    if (sigma == 0.0) {
        EACH_THREAD {
            MY(sum) = 0;
            for (int i = t; i < n; i += THREADS) {
                const double x = kind.xs[rows ? rows[i] : row0 + i];
                if (x == x) MY(sum) += x - lowest;
            }
        }
        const double mean = block_sum(sum) / fmax(known, 1.0);
        EACH_THREAD {
            MY(sum) = 0;
            for (int i = t; i < n; i += THREADS) {
                const double x = kind.xs[rows ? rows[i] : row0 + i] - lowest - mean;
                if (x == x) MY(sum) += x * x;
            }
        }
        sigma = fmax(sqrt(2.0) * sqrt(block_sum(sum) / fmax(known, 1.0)) / SCALE, axis[SMALLEST]);
        if (sigma == 0.0) sigma = 1.0;
    }
    axis[SIGMA] = sigma;
    axis[STEP] = SPACING * sigma;
    axis[START] = lowest - MARGIN * axis[STEP];
    axis[COUNT] = ceil((highest - lowest) / axis[STEP]) + 1 + 2 * MARGIN;
}

// Self-scaled width in kilometres; as rms_chord_km / 8.
DEVICE double fit_sphere(const Kind& kind, const i64* rows, i64 row0, int n) {
    PRIVATE(int, at); PRIVATE(double, sx); PRIVATE(double, sy); PRIVATE(double, sz); PRIVATE(double, square);
    PRIVATE(double, number);
    EACH_THREAD {
        MY(at) = n;
        for (int i = n - 1; i >= 0; --i) {
            if (i % THREADS != t) continue;
            const i64 row = rows ? rows[i] : row0 + i;
            if (kind.xs[row] == kind.xs[row] && kind.ys[row] == kind.ys[row]) MY(at) = i;
        }
    }
    const int first = block_min(at);
    if (first == n) return SMALLEST_KM;
    const i64 origin = rows ? rows[first] : row0 + first;
    const double c0 = cos(kind.xs[origin]);
    const double x0 = c0 * cos(kind.ys[origin]), y0 = c0 * sin(kind.ys[origin]), z0 = sin(kind.xs[origin]);
    EACH_THREAD {
        MY(sx) = MY(sy) = MY(sz) = MY(square) = MY(number) = 0;
        ROLLED for (int i = t; i < n; i += THREADS) {
            const i64 row = rows ? rows[i] : row0 + i;
            const double lat = kind.xs[row], lon = kind.ys[row];
            if (!(lat == lat && lon == lon)) continue;
            const double c = cos(lat), x = c * cos(lon) - x0, y = c * sin(lon) - y0, z = sin(lat) - z0;
            MY(sx) += x; MY(sy) += y; MY(sz) += z;
            MY(square) += x * x + y * y + z * z;
            MY(number) += 1;
        }
    }
    const double m = block_sum(number), mx = block_sum(sx) / m, my = block_sum(sy) / m, mz = block_sum(sz) / m;
    const double spread = 2 * (block_sum(square) / m - (mx * mx + my * my + mz * mz));
    return fmax(EARTH_KM * sqrt(fmax(0.0, spread)) / SCALE, SMALLEST_KM);
}

// A bump on an even axis as its first value and its ratio; returns how many bins, 0 if none is within reach.
DEVICE int bump(const double* axis, double x, bool whole, double* first_value, double* ratio, int* first) {
    const double inverse = 1.0 / axis[STEP], step = axis[STEP] / axis[SIGMA];
    const double reach = REACH * axis[SIGMA] * inverse + 1e-9;
    const int size = (int)axis[COUNT];
    const double u = (x - axis[START]) * inverse;
    if (whole) {
        *first_value = u;
        *ratio = 1.0;
        *first = 0;
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
    int at = (int)(axis[PERIOD] > 0.0 ? fmod(from, (double)size) : from);
    if (at < 0) at += size;
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
    } else if (shape == LINE) {
        int first = 0, count = 0;
        const double x = kind.xs[row];
        data[i] = 0.0;
        data[most + i] = -1.0;  // a ratio below 0: no value
        if (x == x) count = bump(axis, x, kind.whole != 0, data + i, data + most + i, &first);
        words[2 * most + i] = (u64)count << 32 | (u32)first;
    } else {
        int top = 0, high = 0, left = 0, wide = 0;
        const double x = kind.xs[row];
        data[i] = data[2 * most + i] = data[3 * most + i] = 0.0;
        data[most + i] = -1.0;
        if (x == x && kind.ys[row] == kind.ys[row]) {
            high = bump(axis, x, false, data + i, data + most + i, &top);
            wide = bump(axis + 6, kind.ys[row], false, data + 2 * most + i, data + 3 * most + i, &left);
            if (!high || !wide) high = wide = 0;
        }
        words[4 * most + i] = (u64)wide << 48 | (u64)left << 32 | (u64)high << 16 | (u64)top;
    }
}

// The next of the candidates by value, ties to the lowest: after (value, at) in that order. n if there is none.
DEVICE int next_best(const double* values, const unsigned char* closed, int n, double* value, int at) {
    PRIVATE(double, best); PRIVATE(int, where);
    const double last = *value;
    EACH_THREAD {
        MY(best) = -INFINITE;
        ROLLED for (int i = t; i < n; i += THREADS)
            if ((values[i] < last || (values[i] == last && i > at)) && !(closed && closed[i]))
                MY(best) = fmax(MY(best), values[i]);
    }
    const double top = block_max(best);
    EACH_THREAD {
        MY(where) = n;
        ROLLED for (int i = t; i < n; i += THREADS)
            if (values[i] == top && (top < last || i > at) && !(closed && closed[i]) && i < MY(where)) MY(where) = i;
    }
    *value = top;
    return block_min(where);
}

// The candidates of thread t: c counts them, i is their position.
#define OWN OWN_UNROLL for (int c = 0, i = t; c < PER; ++c, i += THREADS) if (i < n)

// The lazy greedy pass over `state`, which it uses up; returns how many were chosen.
DEVICE int pick_all(
    const Plan& plan, double* arena, double* state, int n, int heads, const int* chosen, const i64* near, int wanted,
    double lam, double tie, int* picked
) {
    double *base = arena + plan.at_base, *cap = arena + plan.at_cap, *low = arena + plan.at_low;
    double slope = 0.0, fallen = 0.0;
    bool stale = false;
    EACH_KIND if (plan.kind[a].sign < 0) slope = lam;
    ROLLED for (int done = 0; done < wanted; ++done) {
        int best = 0;
        if (done < heads) {
            best = chosen[done];
        } else {
            PRIVATE(u64, fresh); PRIVATE(double, top); PRIVATE(double, bound); PRIVATE(int, mine); PRIVATE(int, where);
            PRIVATE(int, more);
            const double moved = slope * fallen;
            double bar = -INFINITE;
            EACH_THREAD MY(fresh) = 0, MY(top) = -INFINITE;
            ROLLED for (;;) {
                // The highest bound among the own candidates that were not evaluated in this step.
                EACH_THREAD {
                    MY(bound) = -INFINITE;
                    MY(mine) = 0;
                    OWN {
                        const double b = fmin(cap[i], low[i] + moved);
                        if (b > MY(bound) && !(MY(fresh) & 1ull << c)) { MY(bound) = b; MY(mine) = c; }
                    }
                    if (!stale) MY(top) = MY(bound);  // at first all bounds are gains
                    MY(more) = stale && MY(bound) > -INFINITE && MY(bound) >= bar - tie;
                }
                if (!block_count(more)) break;
                EACH_THREAD if (MY(more)) {
                    const int i = t + MY(mine) * THREADS;
                    double earn = 0.0, pay = 0.0;
                    EACH_KIND {
                        const Kind& kind = plan.kind[a];
                        const double sum = worth(plan, kind, arena, state, SHAPE_OF(kind, a), i);
                        if (kind.sign > 0) earn += sum; else pay += sum;
                    }
                    const double most = base[i] + lam * earn, gain = most - lam * pay;
                    cap[i] = most;
                    low[i] = gain - moved;
                    MY(fresh) |= 1ull << MY(mine);
                    MY(top) = fmax(MY(top), gain);
                }
                bar = block_max(top);
            }
            if (!stale) bar = block_max(top);
            EACH_THREAD {
                MY(where) = n;
                if (MY(top) >= bar - tie) OWN {
                    const double b = fmin(cap[i], low[i] + moved);
                    if (i < MY(where) && b > -INFINITE && b >= bar - tie) MY(where) = i;
                }
            }
            best = block_min(where);
        }
        EACH_KIND {
            const Kind& kind = plan.kind[a];
            // Where the user names a point, the protected do not vote on where the focus lies.
            if (done < heads && near && near[a] >= 0) continue;
            fallen += cover(plan, kind, arena, state, SHAPE_OF(kind, a), best, kind.sign < 0);
            stale = true;
        }
        EACH_KIND refresh_neutral(plan.kind[a], arena, state);
        EACH_THREAD if (t == best % THREADS) {
            cap[best] = low[best] = -INFINITE;
            picked[done] = best;
        }
        SYNC;
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
    double *spare = arena + plan.at_base, *cap = arena + plan.at_cap, *low = arena + plan.at_low;
    double *earn = arena + plan.at_earn, *pay = arena + plan.at_pay, *state = arena + plan.at_state;
    int *order = (int*)(arena + plan.at_order), *picked = (int*)(arena + plan.at_picked);
    unsigned char* closed = (unsigned char*)(arena + plan.at_closed);  // bit 0: seen before, bit 1: protected
    if (n == 0) {
        EACH_THREAD {
            for (int j = t; j < k; j += THREADS) out.positions[q * k + j] = out.shown[q * k + j] = -1;
            for (int a = t; a < plan.kinds; a += THREADS)
                out.multipliers[q * plan.kinds + a] = out.tops[q * plan.kinds + a] = 0.0;
            if (t == 0) out.strengths[q] = plan.strength;
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
    const double largest = block_max(some), smallest = -block_max(other), range = largest - smallest + 1e-8;
    const double biggest = plan.normalize ? (largest - smallest) / range : fmax(fabs(largest), fabs(smallest));
    SYNC;
    EACH_THREAD for (int j = t; j < shut; j += THREADS) closed[seen[j]] = 1;
    SYNC;
    int found = 0, heads = 0;
    {
        double value = INFINITE;
        int at = -1;
        ROLLED for (; found < plan.protect && found < n; ++found) {
            at = next_best(spare, 0, n, &value, at);
            if (heads < k && !(closed[at] & 1)) {
                EACH_THREAD if (t == 0) order[heads] = at;
                ++heads;
            }
            SYNC;
            EACH_THREAD if (t == 0) closed[at] |= 2;
            SYNC;
        }
    }
    EACH_THREAD for (int i = t; i < n; i += THREADS) {
        earn[i] = pay[i] = 0.0;
    }
    SYNC;

    double total_worth = 0.0;
    EACH_KIND {
        const Kind& kind = plan.kind[a];
        const int shape = SHAPE_OF(kind, a);
        const i64 point = near ? near[a] : -1;
        double* fit = arena + kind.fit;
        double axis[12];
        int room = (int)kind.room;
        for (int j = 0; j < 12; ++j) axis[j] = kind.axes[j / 6][j % 6];
        double km = 0.0;
        if (shape == LINE && axis[STEP] == 0.0) {
            fit_axis(kind, rows, row0, n, axis);
            if ((int)axis[COUNT] < room) room = (int)axis[COUNT];
        }
        if (shape == POOL && !kind.pairs) km = axis[SIGMA] > 0 ? axis[SIGMA] : fit_sphere(kind, rows, row0, n);
        EACH_THREAD {
            if (t == 0) {
                fit[FIT_COUNT] = axis[COUNT];
                fit[FIT_UNKNOWN] = 0.0;
                if (shape == POOL) *(u64*)(fit + FIT_POOL) = 0;
                if (shape == POOL && !kind.pairs) {
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
            for (int j = t; j < room; j += THREADS) state[kind.origin + j] = plan.query_weight ? 0.0 : 1.0;
        }
        SYNC;
        PRIVATE(int, flag);
        EACH_THREAD {
            Insert into(kind, arena);
            const int total = point >= 0 ? n + 1 : n;
            ROLLED for (int i = t; i < total; i += THREADS) {
                if (shape == POOL) {
                    const i64 row = i == n ? point : rows ? rows[i] : row0 + i;
                    const bool fits =
                        kind.pairs ? pool_pairs(kind, arena, i, row) : pool_sphere(plan, kind, arena, i, row);
                    into.full |= !fits;
                } else if (shape == SPARSE && kind.bits >= 0) {
                    visit_shape<SPARSE>(plan, kind, arena, i, into);
                }
            }
            MY(flag) = into.full;
        }
        SYNC;
        if (shape == POOL && kind.pairs && !block_count(flag)) {
            EACH_THREAD MY(flag) = !fill_pairs(kind, arena, rows, row0, point, n, t);
            SYNC;
        }
        if (block_count(flag)) {
#ifdef EMULATED
            out.overflow[1 + out.overflow[0]++] = q;
#else
            if (threadIdx.x == 0) out.overflow[1 + atomicAdd((u64*)out.overflow, 1ull)] = q;
#endif
            return;
        }

        // Rows without a value.
        PRIVATE(double, unknown);
        EACH_THREAD {
            MY(unknown) = 0.0;
            for (int i = t; i < n; i += THREADS) MY(unknown) += is_missing(plan, kind, arena, shape, i);
        }
        const double missing = block_sum(unknown);
#if NEUTRAL
        if (kind.neutral && missing > 0 && missing < n) {
            double* mean = arena + kind.mean;
            EACH_THREAD for (int j = t; j < kind.room; j += THREADS) {
                mean[j] = 0.0;
                if (j >= room) state[kind.origin + j] = 0.0;
            }
            SYNC;
            EACH_THREAD {
                Add more(kind, arena, mean, 1.0 / (n - missing));
                for (int i = t; i < n; i += THREADS) visit(plan, kind, arena, shape, i, more);
                if (t == 0) fit[FIT_UNKNOWN] = missing;  // only now do they count as the mean
            }
            SYNC;
        }
#endif

        // Bin weights, first-step sums, and the scale they set.
        if (plan.query_weight) {
            ROLLED for (int pass = 0; pass < 2; ++pass) {
                EACH_THREAD ROLLED for (int i = t; i < n; i += THREADS) {
                    const double relevance = plan.normalize ? (raw[i] - smallest) / range : raw[i];
                    if (!(relevance > 0.0)) continue;
                    Peak step(kind, arena, state, relevance, pass == 1);
#if NEUTRAL
                    if (fit[FIT_UNKNOWN] > 0 && is_missing(plan, kind, arena, shape, i)) {
                        const double* mean = arena + kind.mean;
                        for (int j = 0; j < room; ++j) if (mean[j] > 0) step((int)kind.origin + j, mean[j], false);
                        continue;
                    }
#endif
                    visit(plan, kind, arena, shape, i, step);
                }
                SYNC;
            }
        }
        refresh_neutral(kind, arena, state);
        PRIVATE(double, top);
        double factor = 1.0;
        bool fell = true;
        ROLLED for (int pass = 0; pass < 2 && fell; ++pass) {
            EACH_THREAD {
                MY(top) = 0.0;
                ROLLED for (int i = t; i < n; i += THREADS) {
                    spare[i] = worth(plan, kind, arena, state, shape, i);
                    MY(top) = fmax(MY(top), spare[i]);
                }
            }
            if (pass) break;
            const double highest = block_max(top);
            factor = kind.weight / plan.share;
            if (plan.scale && highest > 0.0) factor /= highest;
            total_worth += factor * highest;
            SYNC;
            EACH_THREAD {
                for (int j = t; j < room; j += THREADS) state[kind.origin + j] *= factor;
                if (t == 0) {
                    fit[FIT_PENALTY] = factor * highest;
                    fit[FIT_NEUTRAL] *= factor;
                    out.multipliers[q * plan.kinds + a] = kind.sign * factor;
                    out.tops[q * plan.kinds + a] = highest;
                }
            }
            SYNC;
            // Covered before anything is chosen: where focus starts, and what the user has seen.
            fell = false;
            ROLLED for (int j = point >= 0 ? -1 : 0; j < shut; ++j) {
                if (j >= 0 && point >= 0 && (closed[seen[j]] & 2)) continue;
                cover(plan, kind, arena, state, shape, j < 0 ? n : (int)seen[j], false);
                fell = true;
            }
            if (fell) refresh_neutral(kind, arena, state);
        }
        EACH_THREAD ROLLED for (int i = t; i < n; i += THREADS) {
            const double now = fell ? spare[i] : spare[i] * factor;
            if (kind.sign > 0) earn[i] += now; else pay[i] += now;
        }
        SYNC;
    }

    const int wanted = k < n - shut ? k : n - shut;
    double lam = plan.strength, floor_ = 0.0;
    double *base = arena + plan.at_base, *start = arena + plan.at_start;
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
            at = next_best(low, closed, n, &value, at);
            floor_ += plan.keep * value;
        }
        SYNC;
    }
#endif
    // `keep`: down a ladder of strengths in steps of 0.05, then back up in hundredths.
    for (;;) {
#if KEEP
        if (plan.keep > 0.0) {
            lam = coarse ? rung * 0.05 : rung * 0.01;
            EACH_THREAD for (int j = t; j < plan.slots; j += THREADS) state[j] = start[j];
            SYNC;
            EACH_KIND refresh_neutral(plan.kind[a], arena, state);
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
            const double most = still + lam * earn[i], gain = most - lam * pay[i];
            base[i] = still;
            cap[i] = closed[i] & 1 ? -INFINITE : most;
            low[i] = closed[i] & 1 ? -INFINITE : gain;
        }
        SYNC;
        const double tie = TIE * ((1.0 - lam) * biggest + lam * total_worth);
        done = pick_all(plan, arena, state, n, heads, order, near, wanted, lam, tie, picked);
#if KEEP
        if (plan.keep > 0.0) {
            PRIVATE(double, sum);
            EACH_THREAD {
                MY(sum) = 0.0;
                for (int j = t; j < done; j += THREADS) MY(sum) += (raw[picked[j]] - smallest) / range;
            }
            const bool enough = block_sum(sum) >= floor_ - 1e-9;
            SYNC;
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
        if (t == 0) out.strengths[q] = lam;
        for (int j = t; j < k; j += THREADS) {
            out.positions[q * k + j] = j < done ? picked[j] : -1;
            if (j >= done) out.shown[q * k + j] = -1;
        }
        for (int j = t; j < done; j += THREADS) {
            const int mine = picked[j];
            int rank = j;
            if (plan.by_relevance) {
                const double score = raw[mine];
                rank = 0;
                for (int other = 0; other < done; ++other) {
                    const double theirs = raw[picked[other]];
                    rank += theirs > score || (theirs == score && picked[other] < mine);
                }
            }
            out.shown[q * k + rank] = mine;
        }
    }
    SYNC;
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
__constant__ Plan the_plan;

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS) select_all(
    i64 count, i64 width, const i64* ptr, const i64* rows, const double* scores, const i64* seen_ptr, const i64* seen,
    const i64* near, const i64* list, int* positions, int* shown, double* strengths, double* multipliers, double* tops,
    i64* overflow, double* slabs
) {
#if SLAB
    double* arena = slabs + the_plan.arena * blockIdx.x;
#else
    extern __shared__ double arena[];
#endif
    const Input in = {count, width, ptr, rows, scores, seen_ptr, seen, near, list};
    const Output out = {positions, shown, strengths, multipliers, tops, overflow};
    for (i64 b = blockIdx.x; b < count; b += gridDim.x) {
        select_one(the_plan, in, out, list ? list[b] : b, arena);
        SYNC;
    }
}
#endif
