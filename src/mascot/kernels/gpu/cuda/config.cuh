// What the kernel is compiled for. The host defines CONFIG_... for each member (`plan_task` in plan.py chooses the values). Branches
// on these constants cost nothing: code that a problem does not need is left out.
#pragma once

#include "constants.h"

typedef long long i64;
typedef unsigned long long u64;
typedef unsigned int u32;

struct Config {
    // Threads. A block of `threads` selects for one query, and `lanes` neighbouring threads evaluate one candidate together.
    static constexpr int threads = CONFIG_THREADS;
    static constexpr int lanes = CONFIG_LANES;
    static constexpr int per_thread = CONFIG_PER_THREAD;  // most candidates of a thread
    static constexpr int blocks = CONFIG_BLOCKS;          // blocks that should fit on a multiprocessor

    // Evaluation. `eager` evaluates all candidates in every step instead of bounding their gains. It needs `lanes` threads for each
    // candidate. They hold lines of up to `held_bins` bins in registers.
    static constexpr bool eager = CONFIG_EAGER;
    static constexpr int held_bins = CONFIG_HELD_BINS;
    static constexpr int columns = CONFIG_COLUMNS;  // columns of a grid that are processed at once

    // Memory. The arena of a query is in shared memory, or in global memory (`slab`).
    static constexpr bool slab = CONFIG_SLAB;
    static constexpr bool wide = CONFIG_WIDE;  // slots may need more than 16 bits

    // The problem. For `spread`, `focus` and `attributes`, -1 means that the plan decides, as in the emulation.
    static constexpr bool keep = CONFIG_KEEP;
    static constexpr bool neutral = CONFIG_NEUTRAL;
    static constexpr bool query_weight = CONFIG_QUERY_WEIGHT;
    static constexpr bool robust = CONFIG_ROBUST;
    static constexpr bool balance = CONFIG_BALANCE;
    static constexpr bool quotas = CONFIG_QUOTAS;
    static constexpr bool starts = CONFIG_STARTS;
    static constexpr int spread = CONFIG_SPREAD;
    static constexpr int focus = CONFIG_FOCUS;
    static constexpr int attributes = CONFIG_ATTRIBUTES;
    static constexpr int shapes = CONFIG_SHAPES;  // three bits for each attribute
};

typedef CONFIG_INDEX Index;  // of explicit bins

constexpr int THREADS = Config::threads, LANES = Config::lanes, GROUPS = THREADS / LANES, COLUMNS = Config::columns;
