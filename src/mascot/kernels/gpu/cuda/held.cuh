// Bins in registers: a lane's share of a candidate's bins of one line, multiplied out once for all steps.
#pragma once

#include "shapes.cuh"

constexpr int BINS_EACH = (Config::held_bins + LANES - 1) / LANES;

struct Held {
    double p[BINS_EACH ? BINS_EACH : 1];
    int slot, count;
    bool held;

    DEVICE_MEMBER void take(const Query& q, const Attribute& attribute, int shape, int i, int lane) {
        held = false;
        if constexpr (Config::neutral) if (attribute.neutral && is_missing(q, attribute, shape, i)) return;
        if constexpr (Config::held_bins > 0) {
            if (shape == SHAPE_LINE && attribute.table_size[0] <= Config::held_bins) take_line(q, attribute, i, lane);
        }
    }

    DEVICE_MEMBER void take_line(const Query& q, const Attribute& attribute, int i, int lane) {
        const double* data = q.arena + attribute.data;
        const u64 word = ((const u64*)data)[2 * q.plan.most + i];
        double g = data[i] * lane_power(data[q.plan.most + i], lane);
        const double r = lanes_power(data[q.plan.most + i]);
        count = (int)(word >> 32) - lane;
        slot = (int)attribute.origin + (int)(word & 0xffffffffu) + lane;
        UNROLL for (int j = 0; j < BINS_EACH; ++j) {
            p[j] = j * LANES < count ? g * q.arena[attribute.table[0] + lane + j * LANES] : 0.0;
            g *= r;
        }
        held = true;
    }

    // Return the sum of p * state. Two sums are kept, so that one addition does not wait for the other.
    DEVICE_MEMBER double worth(const Attribute& attribute, const double* state, int shape) const {
        double even = 0.0, odd = 0.0;
        if constexpr (Config::held_bins > 0) if (shape == SHAPE_LINE) {
            UNROLL for (int j = 0; j < BINS_EACH; ++j) if (j * LANES < count) {
                if (j & 1) odd += p[j] * state[slot + j * LANES]; else even += p[j] * state[slot + j * LANES];
            }
        }
        return even + odd;
    }
};

constexpr int HELD_ATTRIBUTES = Config::attributes < 0 ? MOST_ATTRIBUTES : Config::attributes > 0 ? Config::attributes : 1;
struct HeldBins {
    Held of[HELD_ATTRIBUTES];
};
