// What is done with bins: sum up their worth, raise or add to them, or insert their keys. `visit` in shapes.cuh calls these.
#pragma once

#include "shapes.cuh"

// Return the number of a bin within its attribute. The first bins of a cycle are stored once more after the last, so that bumps do
// not wrap around; these copies have the number of their original.
DEVICE int home_of(const Attribute& attribute, int slot) {
    const int bin = slot - (int)attribute.origin;
    return attribute.cycle && bin >= attribute.cycle ? bin - (int)attribute.cycle : bin;
}
DEVICE bool has_copy(const Attribute& attribute, int bin) { return attribute.cycle && bin + attribute.cycle < attribute.slots; }

// The calls `pair` and `row` for visitors that take bins one by one.
template <class Visitor>
struct OneByOne {
    DEVICE_MEMBER void pair(int slot, double p, double next, bool both) {
        Visitor& self = *static_cast<Visitor*>(this);
        self(slot, p, false);
        if (both) self(slot + LANES, next, true);
    }
    DEVICE_MEMBER void row(int slot, u32 bits, double x, const double* ys) {
        Visitor& self = *static_cast<Visitor*>(this);
        UNROLL for (int c = 0; c < COLUMNS; ++c) if (bits >> c & 1) self(slot + c, x * ys[c], false);
    }
};

// The sum of p * state. Two sums are kept, so that one addition does not wait for the other.
struct Worth {
    const Attribute& attribute;
    double* arena;
    const double* state;
    double even, odd;

    DEVICE_MEMBER Worth(const Attribute& attribute_, double* arena_, const double* state_)
        : attribute(attribute_), arena(arena_), state(state_), even(0.0), odd(0.0) {}
    DEVICE_MEMBER void pair(int slot, double p, double next, bool both) {
        even += p * state[slot];
        if (both) odd += next * state[slot + LANES];
    }
    DEVICE_MEMBER void row(int slot, u32 bits, double x, const double* ys) {
        double sums[2] = {0.0, 0.0};
        UNROLL for (int c = 0; c < COLUMNS; ++c) if (bits >> c & 1) sums[c & 1] += ys[c] * state[slot + c];
        even += x * (sums[0] + sums[1]);
    }
    DEVICE_MEMBER void operator()(int slot, double p, bool second) {
        if (second) odd += p * state[slot]; else even += p * state[slot];
    }
    DEVICE_MEMBER void at(i64 key, double p) { even += p * state[attribute.origin + slot_of(attribute, arena, key, false)]; }
};

// The sum of p.
struct Sum {
    double even, odd;

    DEVICE_MEMBER Sum() : even(0.0), odd(0.0) {}
    DEVICE_MEMBER void pair(int, double p, double next, bool both) {
        even += p;
        if (both) odd += next;
    }
    DEVICE_MEMBER void row(int, u32 bits, double x, const double* ys) {
        double sums[2] = {0.0, 0.0};
        UNROLL for (int c = 0; c < COLUMNS; ++c) if (bits >> c & 1) sums[c & 1] += ys[c];
        even += x * (sums[0] + sums[1]);
    }
    DEVICE_MEMBER void operator()(int, double p, bool second) {
        if (second) odd += p; else even += p;
    }
    DEVICE_MEMBER void at(i64, double p) { even += p; }
};

// The sum of p squared.
struct Squares : OneByOne<Squares> {
    double sum;

    DEVICE_MEMBER Squares() : sum(0.0) {}
    DEVICE_MEMBER void operator()(int, double p, bool) { sum += p * p; }
    DEVICE_MEMBER void at(i64, double p) { sum += p * p; }
};

// Raise bins to p * relevance, and sum up p. Maxima of doubles >= 0 need 32-bit atomics alone: first the high words are raised, then
// (`low`) the low words of the values that have this high word.
struct Peak : OneByOne<Peak> {
    const Attribute& attribute;
    double *arena, *state;
    double relevance, sum;
    bool low;

    DEVICE_MEMBER Peak(const Attribute& attribute_, double* arena_, double* state_, double relevance_, bool low_)
        : attribute(attribute_), arena(arena_), state(state_), relevance(relevance_), sum(0.0), low(low_) {}
    DEVICE_MEMBER void operator()(int slot, double p, bool) {
        const double value = p * relevance;
        sum += p;
        const int bin = home_of(attribute, slot);
        raise_bin(bin, value);
        if (has_copy(attribute, bin)) raise_bin(bin + (int)attribute.cycle, value);
    }
    DEVICE_MEMBER void raise_bin(int bin, double value) {
        u32* words = (u32*)(state + attribute.origin + bin);
        if (!low) raise_word(words + 1, high_word(value));
        else if (words[1] == high_word(value)) raise_word(words, low_word(value));
    }
    DEVICE_MEMBER void at(i64 key, double p) {
        (*this)((int)attribute.origin + slot_of(attribute, arena, key, false), p, false);
    }
};

// Add p * share to the mean of the bins.
struct AddToMean : OneByOne<AddToMean> {
    const Attribute& attribute;
    double *arena, *mean;
    double share;

    DEVICE_MEMBER AddToMean(const Attribute& attribute_, double* arena_, double* mean_, double share_)
        : attribute(attribute_), arena(arena_), mean(mean_), share(share_) {}
    DEVICE_MEMBER void operator()(int slot, double p, bool) { add_to(mean + home_of(attribute, slot), p * share); }
    DEVICE_MEMBER void at(i64 key, double p) { add_to(mean + slot_of(attribute, arena, key, false), p * share); }
};

// Insert the keys of bins that are looked up.
struct Insert : OneByOne<Insert> {
    const Attribute& attribute;
    double* arena;
    bool full;

    DEVICE_MEMBER Insert(const Attribute& attribute_, double* arena_) : attribute(attribute_), arena(arena_), full(false) {}
    DEVICE_MEMBER void operator()(int, double, bool) {}
    DEVICE_MEMBER void at(i64 key, double) {
        if (slot_of(attribute, arena, key, true) < 0) full = true;
    }
};

// Return a lane's share of the sum of p * state over the bins of candidate i.
DEVICE double worth_of(const Query& q, const Attribute& attribute, int shape, int i, int lane) {
    if (is_neutral(q, attribute, shape, i)) return lane == 0 ? q.arena[attribute.fit + FIT_NEUTRAL] : 0.0;
    Worth sum(attribute, q.arena, q.state);
    visit(q, attribute, shape, i, lane, sum);
    return sum.even + sum.odd;
}

// Return a lane's share of the sum of the squared memberships of candidate i.
DEVICE double squares_of(const Query& q, const Attribute& attribute, int shape, int i, int lane) {
    Squares squares;
    if (!is_neutral(q, attribute, shape, i)) visit(q, attribute, shape, i, lane, squares);
    else for (int j = lane; j < (attribute.cycle ? attribute.cycle : attribute.slots); j += LANES)
        squares(j, q.arena[attribute.mean + j], false);
    return squares.sum;
}

// Compute what candidates without a value are worth now: the mean of the others, the same for all of them.
DEVICE void refresh_neutral(Query& q, const Attribute& attribute) {
    if constexpr (Config::neutral) {
        if (!attribute.neutral || !(q.arena[attribute.fit + FIT_UNKNOWN] > 0)) return;
        Private<double> sum;
        EACH_THREAD {
            MY(sum) = 0.0;
            for (int j = t; j < attribute.slots; j += THREADS)
                MY(sum) += q.arena[attribute.mean + j] * q.state[attribute.origin + j];
        }
        const double total = block_sum(q.team, sum);
        EACH_THREAD if (t == 0) q.arena[attribute.fit + FIT_NEUTRAL] = total;
        SYNC;
    }
}
