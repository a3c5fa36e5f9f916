// Quotas. A candidate's labels are one word: their number (16 bits), and the label, or where several labels begin.
#pragma once

#include "layout.cuh"

constexpr int LABEL_BITS = 48;

DEVICE u64 label_word(const Quota& quota, i64 row) {
    const i64 first = quota.indptr[row], count = quota.indptr[row + 1] - first;
    return (u64)count << LABEL_BITS | (u64)(count == 1 ? quota.labels[first] : first);
}

DEVICE i64 label_of(const Quota& quota, u64 word, int j) {
    const i64 low = (i64)(word & ((1ull << LABEL_BITS) - 1));
    return word >> LABEL_BITS == 1 ? low : quota.labels[low + j];
}

DEVICE bool has_label(const Quota& quota, u64 word, i64 label) {
    for (int j = 0; j < (int)(word >> LABEL_BITS); ++j)
        if (label_of(quota, word, j) == label) return true;
    return false;
}

// Return whether `done` selected results and `more` others fill a label.
DEVICE bool is_full(const Quota& quota, const u64* words, i64 label, const int* selected, int done, int more) {
    i64 count = more;
    ROLLED for (int j = 0; j < done; ++j) count += has_label(quota, words[selected[j]], label);
    return count >= quota.capacity[label];
}

// The same, if all threads of a warp ask for the same label: each of them looks at other results.
#ifdef EMULATED
DEVICE bool is_full_for_all(const Quota& quota, const u64* words, i64 label, const int* selected, int done, int more) {
    return is_full(quota, words, label, selected, done, more);
}
#else
DEVICE bool is_full_for_all(const Quota& quota, const u64* words, i64 label, const int* selected, int done, int more) {
    int count = more;
    ROLLED for (int first = 0; first < done; first += 32) {
        const int j = first + (int)(threadIdx.x % 32);
        count += __popc(__ballot_sync(WHOLE_WARP, j < done && has_label(quota, words[selected[j]], label)));
    }
    return count >= quota.capacity[label];
}
#endif

DEVICE void load_labels(const Query& q) {
    if constexpr (Config::quotas) {
        ROLLED for (int c = 0; c < (int)q.plan.quotas; ++c) {
            u64* words = (u64*)(q.arena + q.plan.quota[c].words);
            EACH_THREAD for (int i = t; i < q.n; i += THREADS) words[i] = label_word(q.plan.quota[c], q.row(i));
        }
    }
}

// Return by how much a quota's capacities are raised at this stage, or -1 if the quota does not hold; see QuotaCounts in quotas.py.
DEVICE int raised_by(const Quota& quota, int stage) {
    if (quota.stages == SHARED && stage > 0) return -1;
    return quota.stages == FILLED && stage > 1 ? stage - 1 : 0;
}

// Return whether the quotas of this stage allow candidate i after the `done` selected results.
DEVICE bool is_allowed(const Query& q, int i, int stage, const int* selected, int done) {
    if constexpr (Config::quotas) {
        ROLLED for (int c = 0; c < (int)q.plan.quotas; ++c) {
            const Quota& quota = q.plan.quota[c];
            const u64* words = (const u64*)(q.arena + quota.words);
            const int raised = raised_by(quota, stage);
            if (raised < 0) continue;
            for (int j = 0; j < (int)(words[i] >> LABEL_BITS); ++j)
                if (is_full(quota, words, label_of(quota, words[i], j), selected, done, -raised)) return false;
        }
    }
    return true;
}
