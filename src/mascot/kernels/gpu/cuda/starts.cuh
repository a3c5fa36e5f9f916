// Several runs of a focus, as native/starts.h: from which further candidates they start, and which run wins.
#pragma once

#include "leaders.cuh"
#include "passes.cuh"

// Numbers of runs: a single pass, the most relevant results, the run by the wishes alone, and those from the protected results and from
// centres.
enum { SINGLE_PASS, PLAIN_RUN, STRICT_RUN, FIRST_RUN };

DEVICE int* positions_of(const Query& q, int run) { return (int*)(q.arena + q.plan.at_selected) + run * (int)q.plan.k; }
DEVICE Run* runs_of(const Query& q) { return (Run*)(q.arena + q.plan.at_runs); }

// Where a run starts, beside the protected results, and its strength. Beside a spread one run starts from each place. Otherwise the
// strengths are fixed, and without a centre the protected results take its place.
struct Start {
    int centre;  // -1: none
    double strength;

    DEVICE_MEMBER Start(const Query& q, int run) : centre(-1), strength(q.dial) {
        constexpr double steps[] = MASCOT_CENTRE_STEPS;
        constexpr int count = sizeof steps / sizeof *steps;
        const int further = run - FIRST_RUN - 1;
        if (has_spread(q.plan)) {
            centre = further;
        } else if (run == STRICT_RUN) {
            strength = 1.0;
        } else if (further < 0) {
            strength = MASCOT_PROTECTED_STEP;
        } else {
            centre = q.centre_count ? further / count : -1;
            strength = steps[further % count];
        }
    }
    // Return how many runs there are, without the most relevant results and the run by the wishes alone.
    static DEVICE_MEMBER int count(const Query& q) {
        constexpr double steps[] = MASCOT_CENTRE_STEPS;
        constexpr int each = sizeof steps / sizeof *steps;
        return 1 + (has_spread(q.plan) ? q.centre_count : each * (q.centre_count ? q.centre_count : 1));
    }
};

// Prepare further starts, if there is something to focus. Uses up the state.
DEVICE void prepare_starts(Query& q) {
    double stakes = 0.0;
    EACH_ATTRIBUTE(q.plan) stakes += stake_of(q, a);
    q.several = stakes > 0.0;
    if (!q.several) return;
    const Leaders leaders(q);
    q.plain = positions_of(q, PLAIN_RUN);
    find_leaders(q, leaders);
    choose_centres(q, leaders, stakes);
}

// Raise the bar to a completed run. It stays below it by more ties than runs, each of which a tie can let win. Runs that compete at
// several strengths are completed, as are those with quotas, of which the longest wins.
DEVICE void raise_bar(Query& q, const Run& run) {
    if (has_spread(q.plan) || q.plan.quotas || q.plan.keep > 0.0 || run.count < q.wanted) return;
    q.bar = fmax(q.bar, run.objective(q.dial) - 8 * LEADERS * tie_of(q, q.dial));
}

// Select one of the runs that compete at strength q.dial, or a single pass. The most relevant results are a run, too: all of them are
// protected.
DEVICE Run select_run(Query& q, int run) {
    const int protected_count = q.protected_count, wanted = q.wanted;
    int* const protected_positions = q.protected_positions;
    q.strength = q.dial;
    q.selected = positions_of(q, run);
    if (Config::starts && run == PLAIN_RUN) {
        q.protected_positions = q.plain;
        q.protected_count = q.wanted = q.plain_count;
    } else if (Config::starts && run != SINGLE_PASS) {
        const Start start(q, run);
        q.strength = start.strength;
        EACH_THREAD if (t == 0 && start.centre >= 0) q.protected_positions[protected_count] = Leaders(q).centres[start.centre];
        q.protected_count += start.centre >= 0;
    }
    if (q.saved) restore_state(q);
    Run selected = select_once(q);
    if (Config::starts && run == PLAIN_RUN && selected.count < wanted) selected.stage = 2;
    q.protected_positions = protected_positions;
    q.protected_count = protected_count;
    q.wanted = wanted;
    if (Config::starts && run != SINGLE_PASS) {
        EACH_THREAD if (t == 0) runs_of(q)[run] = selected;
        raise_bar(q, selected);
    }
    return selected;
}

// Return whether run `other` beats `best`: more results, then fewer broken quotas, then the larger objective.
DEVICE bool beats(const Query& q, const Run& other, const Run& best) {
    if (other.count != best.count) return other.count > best.count;
    if (other.stage != best.stage) return other.stage < best.stage;
    return other.objective(q.dial) > best.objective(q.dial) + tie_of(q, q.dial);
}

// Return the run that wins at strength q.dial.
DEVICE Run choose_run(Query& q, int end, bool strict) {
    const Run *runs = runs_of(q), *by_wishes = runs + STRICT_RUN;
    int best = FIRST_RUN;
    ROLLED for (int run = FIRST_RUN + 1; run < end; ++run) if (beats(q, runs[run], runs[best])) best = run;
    if (beats(q, runs[PLAIN_RUN], runs[best])) best = PLAIN_RUN;
    // By the wishes alone, only if that costs no more: the dial stays monotone.
    if (strict && by_wishes->wishes >= runs[best].wishes - tie_of(q, q.dial) && beats(q, *by_wishes, runs[best])) best = STRICT_RUN;
    q.selected = positions_of(q, best);
    return runs[best];
}

// Select with q.strength, under a focus by several runs. Without a spread these do not depend on the strength, so that a higher
// strength never prefers a list that costs more; they are selected once.
DEVICE Run select_with_strength(Query& q) {
    const bool several = Config::starts && q.several && q.strength > 0.0, fixed = several && !has_spread(q.plan);
    const bool strict = fixed && q.strength > MASCOT_PROTECTED_STEP;
    const int end = several ? FIRST_RUN + Start::count(q) : SINGLE_PASS + 1, last = end + strict;
    q.dial = q.strength;
    // The most relevant results come first, because they raise the bar.
    int number = !several ? SINGLE_PASS : !q.compared ? PLAIN_RUN : fixed ? last : FIRST_RUN;
    Run run = {0.0, 0.0, 0, 0};
    ROLLED while (number != last) {
        run = select_run(q, strict && number == end ? STRICT_RUN : number);
        number = several && number == PLAIN_RUN ? FIRST_RUN : number + 1;
    }
    if constexpr (Config::starts) {
        q.strength = q.dial;
        q.compared |= several;
        SYNC;
        if (several) return choose_run(q, end, strict);
    }
    return run;
}
