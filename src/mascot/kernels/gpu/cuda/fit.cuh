// Widths that follow the candidates, for self-scaled axes and the globe; as bins.base.inliers in Python.
#pragma once

#include "arithmetic.cuh"
#include "layout.cuh"

// The inliers of an axis: values within sqrt(limit) of origin + centre. A limit below 0 means that there is none.
struct Inliers {
    double origin, centre, limit;
    double count, from, to;  // their number and range

    DEVICE_MEMBER bool hold(double x) const {
        const double distance = x - origin - centre;
        return x == x && (limit < 0.0 || distance * distance <= limit);
    }
};

// Set the number and the range of the values that `inliers` holds; the range stays as it is if there are none.
DEVICE void measure_range(Query& q, const Attribute& attribute, const Inliers& inliers, double* count, double* from, double* to) {
    Private<double> low, high, number;
    EACH_THREAD {
        MY(low) = MY(high) = -INFINITE;
        MY(number) = 0;
        for (int i = t; i < q.n; i += THREADS) {
            const double x = attribute.xs[q.row(i)];
            if (!inliers.hold(x)) continue;
            MY(number) += 1;
            MY(low) = fmax(MY(low), -x);
            MY(high) = fmax(MY(high), x);
        }
    }
    *count = block_sum(q.team, number);
    if (!(*count > 0.0)) return;
    *from = -block_max(q.team, low);
    *to = block_max(q.team, high);
}

// Return the standard deviation of the inliers of an axis, and set which these are.
DEVICE double fit_inliers(Query& q, const Attribute& attribute, Inliers& inliers) {
    double deviation = 0.0, whole = 0.0;
    for (int round = 0; round < MASCOT_ROUNDS; ++round) {
        Private<double> sum;
        const double from = inliers.from;
        EACH_THREAD {
            MY(sum) = 0;
            for (int i = t; i < q.n; i += THREADS) {
                const double x = attribute.xs[q.row(i)];
                if (inliers.hold(x)) MY(sum) += x - from;
            }
        }
        const double mean = block_sum(q.team, sum) / fmax(inliers.count, 1.0);
        EACH_THREAD {
            MY(sum) = 0;
            for (int i = t; i < q.n; i += THREADS) {
                const double x = attribute.xs[q.row(i)], apart = x - from - mean;
                if (inliers.hold(x)) MY(sum) += apart * apart;
            }
        }
        deviation = sqrt(block_sum(q.team, sum) / fmax(inliers.count, 1.0));
        if (round == 0) whole = deviation;
        const double bound = MASCOT_OUTLIER * deviation * (MASCOT_OUTLIER * deviation), top = inliers.to - from - mean;
        // No value is farther from the mean than the lowest or the highest.
        if (round == MASCOT_ROUNDS - 1 || (round == 0 && mean * mean <= bound && top * top <= bound)) break;
        Inliers next = {from, mean, bound, 0.0, 0.0, 0.0};
        measure_range(q, attribute, next, &next.count, &next.from, &next.to);
        if (next.count == inliers.count || next.count == 0.0) break;
        inliers = next;
    }
    if (deviation <= MASCOT_LEAST * whole) {
        deviation = whole;
        inliers.limit = -1.0;
    }
    return deviation;
}

// Set width, start and number of bins of an axis that follows its rows; as Axis.resolve in Python.
DEVICE void fit_axis(Query& q, const Attribute& attribute, double* axis) {
    Inliers inliers = {0.0, 0.0, -1.0, 0.0, 0.0, 0.0};
    measure_range(q, attribute, inliers, &inliers.count, &inliers.from, &inliers.to);
    double lowest = inliers.from, highest = inliers.to, sigma = axis[AXIS_SIGMA];
    if (sigma <= 0.0) {  // below 0: at most -sigma
        const double deviation = fit_inliers(q, attribute, inliers);
        sigma = fmax(sqrt(2.0) * deviation / MASCOT_SCALE, axis[AXIS_SMALLEST]);
        if (sigma == 0.0) sigma = 1.0;
        if (axis[AXIS_SIGMA] < 0.0) sigma = fmin(sigma, -axis[AXIS_SIGMA]);
        if (inliers.limit >= 0.0) {
            const double first = inliers.from - MASCOT_BEYOND * sigma, last = inliers.to + MASCOT_BEYOND * sigma;
            if (lowest < first) lowest = axis[AXIS_FLOOR] = first;
            if (highest > last) highest = axis[AXIS_CEILING] = last;
        }
    }
    axis[AXIS_SIGMA] = sigma;
    axis[AXIS_STEP] = MASCOT_SPACING * sigma;
    axis[AXIS_ORIGIN] = lowest;  // differences from it keep the digits of dates
    axis[AXIS_START] = -MASCOT_MARGIN * axis[AXIS_STEP];
    axis[AXIS_COUNT] = ceil((highest - lowest) / axis[AXIS_STEP]) + 1 + 2 * MASCOT_MARGIN;
}

// Places as unit vectors, relative to the first of them. A NaN in `xs` means that there is no value.
struct Places {
    double *xs, *ys, *zs;
    double x0, y0, z0;

    DEVICE_MEMBER bool known(int i) const { return xs[i] == xs[i]; }
    DEVICE_MEMBER double x(int i) const { return xs[i] - x0; }
    DEVICE_MEMBER double y(int i) const { return ys[i] - y0; }
    DEVICE_MEMBER double z(int i) const { return zs[i] - z0; }
};

// Places within sqrt(limit) of a centre. A limit below 0 means that there is none.
struct Cap {
    double x, y, z, limit;
    DEVICE_MEMBER double square(double px, double py, double pz) const {
        return (px - x) * (px - x) + (py - y) * (py - y) + (pz - z) * (pz - z);
    }
    DEVICE_MEMBER bool holds(double px, double py, double pz) const { return limit < 0.0 || square(px, py, pz) <= limit; }
};

// Compute the unit vectors of all places, in the memory of the pool, which is not in use yet. Returns whether there are any.
DEVICE bool load_places(Query& q, const Attribute& attribute, Places& places) {
    Private<int> at;
    double *xs = q.arena + attribute.pool, *ys = xs + q.n, *zs = ys + q.n;
    EACH_THREAD {
        MY(at) = q.n;
        ROLLED for (int i = t; i < q.n; i += THREADS) {
            const i64 row = q.row(i);
            const double lat = attribute.xs[row], lon = attribute.ys[row];
            xs[i] = lat + lon;
            if (!(lat == lat && lon == lon)) continue;
            // cos(t) = 1 - 2 hav(t); sin(t) = cos(t - pi / 2)
            double turned = lon - PI / 2;
            if (turned < -PI) turned += 2 * PI;
            const double cosine = 1.0 - 2.0 * haversine(lat);
            xs[i] = cosine * (1.0 - 2.0 * haversine(lon));
            ys[i] = cosine * (1.0 - 2.0 * haversine(turned));
            zs[i] = 1.0 - 2.0 * haversine(PI / 2 - lat);
            if (MY(at) == q.n) MY(at) = i;
        }
    }
    const int first = block_min(q.team, at);
    if (first == q.n) return false;
    places = {xs, ys, zs, xs[first], ys[first], zs[first]};
    return true;
}

// Return the number of places that a cap holds, and set their mean.
DEVICE double mean_place(Query& q, const Places& places, const Cap& cap, Cap* mean) {
    Private<double> sx, sy, sz, number;
    EACH_THREAD {
        MY(sx) = MY(sy) = MY(sz) = MY(number) = 0;
        ROLLED for (int i = t; i < q.n; i += THREADS) {
            if (!places.known(i)) continue;
            const double x = places.x(i), y = places.y(i), z = places.z(i);
            if (!cap.holds(x, y, z)) continue;
            MY(sx) += x;
            MY(sy) += y;
            MY(sz) += z;
            MY(number) += 1;
        }
    }
    const double count = block_sum(q.team, number);
    mean->x = block_sum(q.team, sx) / count;
    mean->y = block_sum(q.team, sy) / count;
    mean->z = block_sum(q.team, sz) / count;
    return count;
}

// Return the self-scaled width in kilometres, as rms_chord_km / 8.
DEVICE double fit_globe(Query& q, const Attribute& attribute) {
    Places places;
    if (!load_places(q, attribute, places)) return MASCOT_SMALLEST_KM;
    Cap inliers = {0.0, 0.0, 0.0, -1.0};
    double deviation = 0.0, whole = 0.0;
    for (int round = 0; round < MASCOT_ROUNDS; ++round) {
        Private<double> square, far, number;
        Cap mean;
        const double count = mean_place(q, places, inliers, &mean);
        EACH_THREAD {
            MY(square) = MY(far) = 0;
            ROLLED for (int i = t; i < q.n; i += THREADS) {
                if (!places.known(i)) continue;
                const double x = places.x(i), y = places.y(i), z = places.z(i), apart = mean.square(x, y, z);
                if (inliers.holds(x, y, z)) MY(square) += apart;
                MY(far) = fmax(MY(far), apart);
            }
        }
        deviation = sqrt(block_sum(q.team, square) / count);
        if (round == 0) whole = deviation;
        mean.limit = MASCOT_OUTLIER * deviation * (MASCOT_OUTLIER * deviation);
        if (round == MASCOT_ROUNDS - 1 || (round == 0 && block_max(q.team, far) <= mean.limit)) break;
        EACH_THREAD {
            MY(number) = 0;
            ROLLED for (int i = t; i < q.n; i += THREADS)
                if (places.known(i) && mean.holds(places.x(i), places.y(i), places.z(i))) MY(number) += 1;
        }
        const double inside = block_sum(q.team, number);
        if (inside == count || inside == 0.0) break;
        inliers = mean;
    }
    if (deviation <= MASCOT_LEAST * whole) deviation = whole;
    return fmax(sqrt(2.0) * MASCOT_EARTH_KM * deviation / MASCOT_SCALE, MASCOT_SMALLEST_KM);
}
