// MASCOT's selection on a GPU: one block of threads per query, from raw values to selected positions in one launch. The numpy
// reference (mascot/kernels/reference.py) is the specification.
//
// All data of a query is in one arena (shared memory, or global memory for problems that do not fit): what is left to cover in each
// bin, two numbers per candidate that bound its gain, and a few numbers from which its bins are multiplied out when they are needed
// (shapes.cuh). The greedy pass (greedy.cuh) is lazy and exact.
#include "starts.cuh"
#include "weigh.cuh"

// Load the tables of the axes, the labels of the quotas and the scores.
DEVICE void load_query(Query& q) {
    EACH_ATTRIBUTE(q.plan) for (int j = 0; j < 2; ++j) {
        const Attribute& attribute = q.plan.attribute[a];
        EACH_THREAD for (int i = t; i < attribute.table_size[j]; i += THREADS)
            q.arena[attribute.table[j] + i] = q.plan.tables[attribute.table_from[j] + i];
    }
    load_labels(q);
    Private<double> largest, smallest;
    EACH_THREAD {
        MY(largest) = MY(smallest) = -INFINITE;
        for (int i = t; i < q.n; i += THREADS) {
            const double score = q.scores[i];
            q.spare[i] = score;
            q.taken[i] = 0;
            MY(largest) = fmax(MY(largest), score);
            MY(smallest) = fmax(MY(smallest), -score);
        }
    }
    block_max_both(q.team, largest, smallest, &q.relevance.high, &q.relevance.low);
    q.relevance.low = -q.relevance.low;
    if (q.already_count) {
        EACH_THREAD for (int j = t; j < q.already_count; j += THREADS) q.taken[q.already[j]] = TAKEN_ALREADY;
        SYNC;
    }
}

DEVICE void measure_relevance(Query& q) {
    Relevance& relevance = q.relevance;
    relevance.raw = !(q.plan.flags & FLAG_NORMALIZE);
    q.largest_score = fmax(fabs(relevance.high), fabs(relevance.low));
    if (Config::robust && (q.plan.flags & FLAG_ROBUST)) inner_range(q.team, q.spare, q.n, &relevance.low, &relevance.high);
    relevance.range = relevance.high / 2 - relevance.low / 2 + MASCOT_EPSILON / 2;
}

// Protect the best by relevance that the quotas allow. Results of earlier pages count, but are not selected.
DEVICE void choose_protected(Query& q) {
    double value = INFINITE;
    int at = -1, count = 0;
    ROLLED for (int rank = 0; rank < q.n && count < q.plan.protect && q.protected_count < q.wanted; ++rank) {
        at = next_best(q.team, q.spare, 0, q.n, &value, at);
        const bool fresh = !(q.taken[at] & TAKEN_ALREADY);
        if (fresh && !is_allowed(q, at, 0, q.protected_positions, q.protected_count)) continue;
        EACH_THREAD if (t == 0 && fresh) q.protected_positions[q.protected_count] = at;
        ++count;
        q.protected_count += fresh;
    }
    SYNC;
}

// Without attributes, the first sums are 0.
DEVICE void clear_sums(Query& q) {
    double *spread = q.arena + q.plan.at_spread, *focus = q.arena + q.plan.at_focus;
    EACH_THREAD for (int i = t; i < q.n; i += THREADS) {
        if (has_spread(q.plan)) spread[i] = 0.0;
        if (has_focus(q.plan)) focus[i] = 0.0;
    }
}

// The strengths that `keep` tries: down from 1 in steps of 0.05 until enough is kept, then the hundredths above that step.
struct Ladder {
    int step;
    bool coarse;

    DEVICE_MEMBER Ladder() : step(20), coarse(true) {}
    DEVICE_MEMBER double strength() const { return coarse ? step / 20.0 : step / 100.0; }
    // Move to the next strength. Returns false if the current one is the last.
    DEVICE_MEMBER bool advance(bool enough) {
        if (coarse && (enough || step == 0)) {
            if (step == 20 || !enough) return false;
            coarse = false;
            step = step * 5 + 4;
            return true;
        }
        if (!coarse && (enough || step % 5 == 0)) return false;
        --step;
        return true;
    }
};

// Return the relevance that `keep` asks for; with quotas, a pass measures it.
DEVICE double prepare_search(Query& q, bool measure) {
    double* ideal = q.arena + q.plan.at_low;
    EACH_THREAD for (int i = t; i < q.n; i += THREADS) ideal[i] = q.relevance.ideal(q.scores[i]);
    SYNC;
    double value = INFINITE, required = 0.0;
    int at = -1;
    for (int j = 0; j < q.wanted && !measure; ++j) {
        at = next_best(q.team, ideal, q.taken, q.n, &value, at);
        required += q.plan.keep * value;
    }
    SYNC;
    return required;
}

// Return the summed relevance of the results.
DEVICE double retained_relevance(Query& q, int done) {
    Private<double> sum;
    EACH_THREAD {
        MY(sum) = 0.0;
        for (int j = t; j < done; j += THREADS) MY(sum) += q.relevance.ideal(q.scores[q.selected[j]]);
    }
    return block_sum(q.team, sum);
}

// Select with the strength of the plan, or with the largest one that keeps enough relevance.
DEVICE Run search_strength(Query& q) {
    const bool search = Config::keep && q.plan.keep > 0.0, raw = q.relevance.raw;
    bool measure = search && Config::quotas && q.plan.quotas > 0;  // first select the best that the quotas allow
    Ladder ladder;
    q.strength = q.plan.strength;
    q.saved = search || q.several;
    if (q.saved) save_state(q);
    if constexpr (Config::starts) if (q.several) prepare_starts(q);
    double required = search ? prepare_search(q, measure) : 0.0;
    for (;;) {
        if (search) {
            q.strength = measure ? 0.0 : ladder.strength();
            q.relevance.raw = raw && !measure;
        }
        const Run run = select_with_strength(q);
        q.relevance.raw = raw;
        if (!search) return run;
        const double retained = retained_relevance(q, run.count);
        if (measure) {
            measure = false;
            required = q.plan.keep * retained;
        } else if (!ladder.advance(retained >= required - 1e-9)) {
            return run;
        }
    }
}

DEVICE void write_results(Query& q, const Results& results, int done, int stage) {
    const bool by_relevance = (q.plan.flags & FLAG_BY_RELEVANCE) != 0;
    double* scores = q.arena + q.plan.at_base;
    EACH_THREAD {
        if (t == 0) *results.strength = q.strength, *results.stages = stage + 1.0;
        for (int j = t; j < (int)q.plan.k; j += THREADS) {
            results.positions[j] = j < done ? q.selected[j] : -1;
            if (j >= done) results.ranked[j] = -1;
            else if (by_relevance) scores[j] = q.scores[q.selected[j]];
            else results.ranked[j] = q.selected[j];
        }
    }
    SYNC;
    if (by_relevance) EACH_THREAD for (int j = t; j < done; j += THREADS) {
        const double score = scores[j];
        int rank = 0;
        SOME_UNROLL for (int other = 0; other < done; ++other)
            rank += scores[other] > score || (scores[other] == score && q.selected[other] < q.selected[j]);
        results.ranked[rank] = q.selected[j];
    }
}

// Write the results of a query without candidates.
DEVICE void write_nothing(const Query& q, const Results& results) {
    EACH_THREAD {
        for (int j = t; j < (int)q.plan.k; j += THREADS) results.positions[j] = results.ranked[j] = -1;
        for (int a = t; a < q.plan.attributes; a += THREADS) {
            results.gain_factors[a] = results.largest_gains[a] = 0.0;
            results.coverage_per_result[a] = 1.0;
        }
        if (t == 0) *results.strength = q.plan.strength, *results.stages = 1.0;
    }
}

// Select for one query. Returns false if there is not enough memory for its bins.
DEVICE bool select_one(const Plan& plan, const Input& in, const Output& out, i64 query, double* arena) {
    Query q(plan, in, query, arena);
    const Results results(plan, out, query);
    if (q.n == 0) {
        write_nothing(q, results);
        return true;
    }
    load_query(q);
    measure_relevance(q);
    choose_protected(q);
    EACH_ATTRIBUTE(plan) if (!weigh_attribute(q, results, a)) return false;
    if (plan.attributes == 0) clear_sums(q);
    const Run run = search_strength(q);
    write_results(q, results, run.count, run.stage);
    return true;
}

#ifdef EMULATED
extern "C" void select_all(const Plan* plan, const Input* in, const Output* out) {
    double* arena = (double*)malloc(plan->arena * 8);
    for (i64 b = 0; b < in->count; ++b) {
        const i64 query = in->list ? in->list[b] : b;
        memset(arena, 0xff, plan->arena * 8);  // NaN: nothing may be read before it is written
        if (!select_one(*plan, *in, *out, query, arena)) out->overflow[1 + out->overflow[0]++] = query;
    }
    free(arena);
}
#else
extern "C" __global__ void __launch_bounds__(Config::threads, Config::blocks) select_all(
    const __grid_constant__ Plan plan, const __grid_constant__ Input in, const __grid_constant__ Output out, double* slabs
) {
    extern __shared__ double shared_arena[];
    double* arena = Config::slab ? slabs + plan.arena * blockIdx.x : shared_arena;
    for (i64 b = blockIdx.x; b < in.count; b += gridDim.x) {
        const i64 query = in.list ? in.list[b] : b;
        const bool fits = select_one(plan, in, out, query, arena);
        if (!fits && threadIdx.x == 0) out.overflow[1 + atomicAdd((u64*)out.overflow, 1ull)] = query;
        SYNC;
    }
}
#endif
