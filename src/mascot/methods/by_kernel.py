"""Select with the native kernel, and finish in Python the few pages that need a plan, retries or another order."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from mascot.errors import OptionError, warn_once
from mascot.kernels import native
from mascot.kernels.counters import FILLED, LabelRule
from mascot.kernels.objective import Floats, Options
from mascot.kernels.page import Page
from mascot.kernels.solve import Selection, Solver, shown_order
from mascot.methods.method import Problem


def may_use_kernel(problem: Problem, options: Options) -> bool:
    """Return whether the kernel selects; without one numpy does, and a warning says so once."""
    if problem.backend == "numpy":
        return False
    if not native.available():
        if problem.backend == "native":
            raise OptionError(f"backend 'native' cannot be used: {native.description()}")
        reason = f"no native kernel ({native.description()}). Install gcc or clang, then install mascot again"
        warn_once(f"mascot runs on numpy, several times slower: {reason}")
        return False
    # The search for a strength holds limits with fill, and rules count results that another rule dropped: in Python.
    searches = options.keep > 0 and any(rule.gives == FILLED for rule in problem.rules)
    shown = 0 if problem.already is None else len(problem.already)
    dropped = problem.before is not None and sum(map(len, problem.before)) > shown
    return not (problem.rules and (searches or dropped))


def select_by_kernel(
    problem: Problem, k: int, options: Options, relevance: Floats, ideal: Floats, shares: Sequence[float],
    solver: Callable[[int], Solver],
) -> Selection:  # fmt: skip
    """Return what the kernel selects; `solver(q)` selects in Python. A single query has a log."""
    pins = problem.query(0, k, relevance).pinned if problem.pinned else {}
    selection = native.select(
        problem.ptr, problem.rows, problem.scores, relevance, ideal, problem.already_ptr, problem.already,
        [bins.packed() for bins in problem.bins], [rule == "neutral" for rule in problem.missing], shares,
        problem.rules, pins, options, len(problem) == 1, problem.threads,
    )  # fmt: skip
    labelled = [rule for rule in problem.rules if isinstance(rule, LabelRule)]
    ordered = options.by_relevance and (len(pins) > 0 or any(rule.window or rule.first for rule in labelled))
    for q in range(len(problem)) if problem.rules or pins else ():
        length, positions = problem.length_of(q, k), selection.positions[q]
        count, level = int((positions >= 0).sum()), int(selection.levels[q])
        has_least = any(rule.least is not None for rule in labelled)
        unmet = has_least or (len(labelled) > 1 and (level > 0 or count < length))
        unfinished = level == native.CUT_SHORT or unmet or not set(pins.values()) <= set(positions.tolist())
        if not unfinished and not ordered:
            continue
        own = solver(q)
        page = Page(positions[:count].tolist())
        if unfinished and options.keep > 0 and level == native.CUT_SHORT:
            page, selection.strengths[q] = own.search(options.keep)
        elif unfinished:
            page = own.at(float(selection.strengths[q]))
        shown = shown_order(own.query, page, own.ideal) if options.by_relevance else page.positions
        selection.positions[q] = selection.ranked[q] = -1
        selection.positions[q, : len(shown)], selection.ranked[q, : len(shown)] = page.positions, shown
        if unfinished and selection.log is not None:
            selection.pages, selection.log = [page], None
    return selection
