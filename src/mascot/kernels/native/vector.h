/* Vectors of as many doubles as the processor's registers hold, by the vector extension of gcc and clang. */
#ifndef MASCOT_VECTOR_H
#define MASCOT_VECTOR_H

#include <math.h>
#include <stdint.h>

#if defined(__AVX2__)
#include <immintrin.h>
#endif

#include "constants.h"

#if defined(__AVX512F__)
#define LANES 8
#elif defined(__AVX2__)
#define LANES 4
#else
#define LANES 2
#endif
#define INLINE static inline __attribute__((always_inline))

/* Round a number of bins or candidates up to whole vectors. */
INLINE int64_t whole_blocks(int64_t count) { return (count + LANES - 1) / LANES * LANES; }

typedef double vector __attribute__((vector_size(8 * LANES)));
typedef double vector_unaligned __attribute__((vector_size(8 * LANES), aligned(8), may_alias));
typedef int64_t mask __attribute__((vector_size(8 * LANES))); /* all bits of a lane set, or none */

#if LANES == 8
static const vector STEPS = {0, 1, 2, 3, 4, 5, 6, 7};
static const mask LANE_NUMBERS = {0, 1, 2, 3, 4, 5, 6, 7};
INLINE vector all(double x) { return (vector){x, x, x, x, x, x, x, x}; }
#elif LANES == 4
static const vector STEPS = {0, 1, 2, 3};
static const mask LANE_NUMBERS = {0, 1, 2, 3};
INLINE vector all(double x) { return (vector){x, x, x, x}; }
#else
static const vector STEPS = {0, 1};
static const mask LANE_NUMBERS = {0, 1};
INLINE vector all(double x) { return (vector){x, x}; }
#endif

INLINE vector load(const double *from) { return *(const vector_unaligned *)from; }
INLINE void store(double *to, vector values) { *(vector_unaligned *)to = values; }
INLINE vector where(mask lanes, vector values) { return (vector)((mask)values & lanes); } /* 0 elsewhere */
INLINE vector choose_lanes(mask lanes, vector yes, vector no) { return (vector)(((mask)yes & lanes) | ((mask)no & ~lanes)); }
#if LANES == 8
INLINE vector larger(vector a, vector b) { return (vector)_mm512_max_pd((__m512d)a, (__m512d)b); } /* a > b ? a : b */
INLINE vector smaller(vector a, vector b) { return (vector)_mm512_min_pd((__m512d)a, (__m512d)b); }
#elif LANES == 4
INLINE vector larger(vector a, vector b) { return (vector)_mm256_max_pd((__m256d)a, (__m256d)b); }
INLINE vector smaller(vector a, vector b) { return (vector)_mm256_min_pd((__m256d)a, (__m256d)b); }
#else
INLINE vector larger(vector a, vector b) { return choose_lanes(a > b, a, b); }
INLINE vector smaller(vector a, vector b) { return choose_lanes(a < b, a, b); }
#endif
INLINE unsigned bits(mask lanes) { /* bit j is set if lane j is */
#if LANES == 8
    return _mm512_movepi64_mask((__m512i)lanes);
#elif LANES == 4
    return (unsigned)_mm256_movemask_pd((__m256d)lanes);
#else
    return (unsigned)((lanes[0] & 1) | (lanes[1] & 2));
#endif
}
/* Write first + j for every bit j that is set, and anything after them. Returns how many are set. There is no branch on the bits,
 * because the processor could not predict it. */
INLINE int64_t list_lanes(int64_t *to, int64_t first, unsigned set) {
#if LANES == 8
    __m512i numbers = _mm512_add_epi64((__m512i)LANE_NUMBERS, _mm512_set1_epi64(first));
    _mm512_storeu_si512(to, _mm512_maskz_compress_epi64((__mmask8)set, numbers));
    return __builtin_popcount(set);
#else
    int64_t count = 0;
    for (int64_t lane = 0; lane < LANES; lane++) {
        to[count] = first + lane;
        count += set >> lane & 1;
    }
    return count;
#endif
}
INLINE vector round_up(vector a) {
#if LANES == 8
    return (vector)_mm512_roundscale_pd((__m512d)a, _MM_FROUND_TO_POS_INF | _MM_FROUND_NO_EXC);
#elif LANES == 4
    return (vector)_mm256_ceil_pd((__m256d)a);
#else
    return (vector){ceil(a[0]), ceil(a[1])};
#endif
}
INLINE vector absolute(vector a) { return larger(a, -a); }
#if LANES == 8
INLINE double sum(vector a) { return _mm512_reduce_add_pd((__m512d)a); } /* by halves: lanes do not wait for one another */
INLINE double largest(vector a) { return _mm512_reduce_max_pd((__m512d)a); }
#else
INLINE double sum(vector a) {
    double total = 0.0;
    for (int j = 0; j < LANES / 2; j++) total += a[j] + a[j + LANES / 2];
    return total;
}
INLINE double largest(vector a) {
    double top = a[0];
    for (int j = 1; j < LANES; j++) top = a[j] > top ? a[j] : top;
    return top;
}
#endif

/* Return the sum of n values. */
INLINE double sum_of(const double *values, int64_t n) {
    vector totals = all(0.0);
    int64_t i = 0;
    for (; i + LANES <= n; i += LANES) totals += load(values + i);
    double total = sum(totals);
    for (; i < n; i++) total += values[i];
    return total;
}

/* Return the largest absolute value, 0 if there is none. */
INLINE double largest_of(const double *values, int64_t n) {
    vector tops = all(0.0);
    int64_t i = 0;
    for (; i + LANES <= n; i += LANES) tops = larger(absolute(load(values + i)), tops);
    double top = largest(tops);
    for (; i < n; i++) top = fabs(values[i]) > top ? fabs(values[i]) : top;
    return top;
}

/* c0 + c1 x, one step of a polynomial. Steps are joined in pairs (Estrin's scheme), so that they do not wait for one another. */
INLINE vector linear(double c0, double c1, vector x) { return all(c1) * x + all(c0); }

/* exp(-e) for e in 0..5, as exp(-e / 8) ** 8. Relative error below 2e-14. */
INLINE vector exp_minus(vector e) {
    vector e2 = e * e, e4 = e2 * e2, e8 = e4 * e4;
    vector low = linear(0.9999999999999984, -0.12499999999996551, e);
    low += linear(0.0078124999998206695, -0.00032552083292925854, e) * e2;
    vector middle = linear(1.0172525547149941e-05, -2.543127862810997e-07, e);
    middle += linear(5.298019794281574e-09, -9.455865047956735e-11, e) * e2;
    vector high = linear(1.4681178568439054e-12, -1.92895531654358e-14, e) + all(1.6960230740633885e-16) * e2;
    vector p = low + middle * e4 + high * e8;
    p = p * p;
    p = p * p;
    return p * p;
}

/* exp(-e) for e >= 0; 0 below the cutoff. */
INLINE vector decay(vector e) {
    vector p = exp_minus(e);
    return where((e <= all(5.0)) & (p >= all(MASCOT_CUTOFF)), p);
}

/* sin(x / 2) ** 2 for x in -pi..pi; the relative error is below 3e-15 also where x is small. */
INLINE vector haversine(vector x) {
    vector q = x * x * all(0.25), q2 = q * q, q4 = q2 * q2, q8 = q4 * q4;
    vector low = linear(0.9999999999999972, -0.3333333333331775, q);
    low += linear(0.04444444444263961, -0.003174603165744267, q) * q2;
    vector middle = linear(0.0001410934509911561, -4.2755224541067426e-06, q);
    middle += linear(9.393032851884951e-08, -1.5408982243777974e-09, q) * q2;
    vector high = linear(9.581879509049855e-12, 2.7267797991214103e-12, q);
    high += linear(-4.5005240002204555e-13, 3.0086493605811824e-14, q) * q2;
    return (low + middle * q4 + high * q8) * q;
}

/* sin(x) for x in -pi/2..pi/2, by its Taylor series. The relative error is below 4e-16. */
INLINE vector sine(vector x) {
    vector q = x * x, q2 = q * q, q4 = q2 * q2, q8 = q4 * q4;
    vector low = linear(1.0, -1.0 / 6, q) + linear(1.0 / 120, -1.0 / 5040, q) * q2;
    vector middle = linear(1.0 / 362880, -1.0 / 39916800, q) + linear(1.0 / 6227020800, -1.0 / 1307674368000, q) * q2;
    vector high = linear(1.0 / 355687428096000, -1.0 / 121645100408832000, q) + all(1.0 / 51090942171709440000.0) * q2;
    return (low + middle * q4 + high * q8) * x;
}

#endif
