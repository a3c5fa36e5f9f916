// Powers, and the polynomials of native/vector.h.
#pragma once

#include "platform.cuh"

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

// Return x to the power of a lane's number.
DEVICE double lane_power(double x, int lane) {
    double y = 1.0;
    UNROLL for (int bit = 1; bit < LANES; bit *= 2) {
        y *= lane & bit ? x : 1.0;
        x *= x;
    }
    return y;
}

// Return x to the power of the number of lanes.
DEVICE double lanes_power(double x) {
    UNROLL for (int bit = 1; bit < LANES; bit *= 2) x *= x;
    return x;
}

// Coefficients, the highest power first.
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

// Return sin(x / 2)^2 for x in -pi..pi.
DEVICE double haversine(double x) {
    const double q = 0.25 * x * x;
    double p = HAVERSINE[0];
    UNROLL for (int j = 1; j < 12; ++j) p = p * q + HAVERSINE[j];
    return p * q;
}

// Return exp(-e) for e >= 0, as exp(-e / 8)^8; 0 below the cutoff.
DEVICE double decay(double e) {
    double p = DECAY[0];
    UNROLL for (int j = 1; j < 11; ++j) p = p * e + DECAY[j];
    p *= p;
    p *= p;
    p *= p;
    return e <= 5.0 && p >= MASCOT_CUTOFF ? p : 0.0;
}
