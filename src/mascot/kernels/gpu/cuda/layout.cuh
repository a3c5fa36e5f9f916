// The records that the host writes (plan.py repeats their fields), and a query as the threads of its block see it.
//
// Every field takes eight bytes. `at_...`, `keys`, `data`, `mean`, `fit`, `pool`, `pool_slots`, `table` and `words` are indices into
// the arena, the memory of one query.
#pragma once

#include "platform.cuh"
#include "relevance.cuh"

// CIRCLE is a LINE whose bumps meet themselves. TILE is a PLANE whose bumps have up to 64 bins; a mask says which of them count.
// GLOBE stores bins and values for each query. LABELS are explicit pairs, read from where they are.
enum { SHAPE_CIRCLE = 4, SHAPE_TILE = 5 };

// What is computed for an attribute after its rows were read. FIT_LOWEST and FIT_STRIDE number the cells of the globe densely: the
// lowest ring and the cells per ring. A stride of 0 means that cells are hashed.
enum {
    FIT_COUNT, FIT_HEIGHT, FIT_REACH, FIT_LIMIT, FIT_FOLD, FIT_UNKNOWN, FIT_NEUTRAL, FIT_PENALTY, FIT_POOL, FIT_COVERAGE,
    FIT_LOWEST, FIT_STRIDE
};

constexpr double PI = 3.141592653589793;
constexpr int MOST_ATTRIBUTES = 8, MOST_QUOTAS = 8, SHARED = 1, FILLED = 2;

template <bool WIDE> struct SlotType { typedef unsigned short type; };
template <> struct SlotType<true> { typedef u32 type; };
typedef SlotType<Config::wide>::type Slot;

struct Attribute {
    i64 shape, neutral, bits, origin, slots;  // bits < 0: bins are numbered; otherwise they are looked up in a table of 2^bits
    i64 cycle;  // bins of a cycle, whose first bins are stored once more after the last; 0: not a cycle
    i64 keys, data, mean, fit, stride, pool, pool_slots, pool_size;
    i64 table[2], table_from[2], table_size[2];
    const double *xs, *ys;
    const double* names;  // under a focus: the whole part is a value's name, NaN a name of its own; NULL: none
    const i64* indptr;
    const Index* indices;
    const double* values;  // NULL: every membership is 1
    double name_price;  // of a name, in new bins
    double sign, weight, axes[2][AXIS_FIELDS];
};

// At most capacity[label] results for each label, in the first `stages` stages of selection.
struct Quota {
    const i64 *indptr, *labels, *capacity;
    i64 stages, words;
};

struct Plan {
    i64 attributes, quotas, k, protect, flags, starts, spread, focus, most, slots;
    i64 at_base, at_cap, at_low, at_spread, at_focus, at_state, at_start, at_protected, at_selected, at_taken;
    i64 at_leaders, at_runs, arena;
    double strength, keep, total_weight;
    const double* tables;
    Attribute attribute[MOST_ATTRIBUTES];
    Quota quota[MOST_QUOTAS];
};

// Query q has the rows rows[ptr[q] .. ptr[q + 1]). Without `ptr`, every query has `width` candidates. Without `rows`, candidate t is
// row t. `list` names the queries to select for; without it, all are.
struct Input {
    i64 count, width;
    const i64 *ptr, *rows;
    const double* scores;
    const i64 *already_ptr, *already, *list;
};

// For `total` queries: strengths, stages, gain factors, largest gains and coverage per result, then as 32-bit numbers the positions in the order of
// selection and the same positions, best first.
struct Output {
    i64 total;
    double* results;
    i64* overflow;  // how many queries did not fit, then which
};

// The places of one query's results.
struct Results {
    double *strength, *stages, *gain_factors, *largest_gains, *coverage_per_result;
    int *positions, *ranked;

    DEVICE_MEMBER Results(const Plan& plan, const Output& out, i64 query) {
        strength = out.results + query;
        stages = strength + out.total;
        gain_factors = out.results + out.total * 2 + query * plan.attributes;
        largest_gains = gain_factors + out.total * plan.attributes;
        coverage_per_result = largest_gains + out.total * plan.attributes;
        positions = (int*)(out.results + out.total * (2 + 3 * plan.attributes)) + query * plan.k;
        ranked = positions + out.total * plan.k;
    }
};

enum { TAKEN_ALREADY = 1, TAKEN_SELECTED = 2 };  // bits of `taken`

// One query. `spare` is memory for one number per candidate, in use until the greedy pass begins.
struct Query {
    const Plan& plan;
    double* arena;
    i64 first_row;
    int n, already_count, wanted;  // wanted: results that there can be
    const double* scores;
    const i64 *rows, *already;
    double *spare, *state;
    int *protected_positions, *selected;
    unsigned char* taken;  // which candidates may not be selected, and why
    Team team;

    Relevance relevance;
    double largest_score;      // by size
    double total_worth;        // what covering all bins is worth, at most
    double strength, tie;      // of the pass
    int protected_count;       // results that are selected first
    bool several, compared;    // several runs of a focus compete; they were selected
    bool saved;                // the state was saved, for several passes
    int leader_count, centre_count, plain_count;  // see starts.cuh
    int* plain;                // the most relevant results that the quotas allow
    double dial, bar;          // a run that cannot reach the objective `bar` at strength `dial` ends

    DEVICE_MEMBER Query(const Plan& plan_, const Input& in, i64 query, double* arena_) : plan(plan_), arena(arena_) {
        first_row = in.ptr ? in.ptr[query] : query * in.width;
        n = (int)(in.ptr ? in.ptr[query + 1] - first_row : in.width);
        already = in.already_ptr ? in.already + in.already_ptr[query] : (const i64*)0;
        already_count = in.already_ptr ? (int)(in.already_ptr[query + 1] - in.already_ptr[query]) : 0;
        wanted = (int)plan.k < n - already_count ? (int)plan.k : n - already_count;
        scores = in.scores + first_row;
        rows = in.rows ? in.rows + first_row : (const i64*)0;
        spare = arena + plan.at_base;
        state = arena + plan.at_state;
        protected_positions = (int*)(arena + plan.at_protected);
        selected = (int*)(arena + plan.at_selected);
        taken = (unsigned char*)(arena + plan.at_taken);
        total_worth = 0.0;
        protected_count = 0;
        bar = -INFINITE;
        compared = saved = false;
        several = Config::starts && plan.starts > 0 && plan.focus && (plan.strength > 0.0 || plan.keep > 0.0);
    }

    DEVICE_MEMBER i64 row(int i) const { return rows ? rows[i] : first_row + i; }
};

DEVICE bool has_spread(const Plan& plan) { return Config::spread < 0 ? plan.spread != 0 : Config::spread != 0; }
DEVICE bool has_focus(const Plan& plan) { return Config::focus < 0 ? plan.focus != 0 : Config::focus != 0; }
DEVICE int attributes_of(const Plan& plan) { return Config::attributes < 0 ? (int)plan.attributes : Config::attributes; }
DEVICE int shape_of(const Plan& plan, int a) {
    return Config::attributes < 0 ? (int)plan.attribute[a].shape : Config::shapes >> 3 * a & 7;
}
#define EACH_ATTRIBUTE(plan) UNROLL for (int a = 0; a < attributes_of(plan); ++a)
