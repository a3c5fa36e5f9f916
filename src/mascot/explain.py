"""Explanations: why each result was selected, in sentences and as gains."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from mascot.attributes.category import Category
from mascot.attributes.place import NamedPoint
from mascot.attributes.vectors import Vectors
from mascot.bins import AxisBins, Bins, Floats, GlobeBins, Ints, SparseBins, VectorBins
from mascot.bins.distance import UNITS, distances, unit_of
from mascot.constraints import AtLeast, Constraint, Limit, Share
from mascot.kernels import reference
from mascot.kernels.constants import COPY_TOLERANCE
from mascot.kernels.novelty import QueryVectors, WeighedVectors, unit_vectors
from mascot.kernels.quotas import Quota
from mascot.methods.mascot import Mascot
from mascot.serialize import plain
from mascot.wishes import AnyWish, Wish

if TYPE_CHECKING:
    from mascot.ranking import Ranking

_OPEN = 0.5  # a result opens a bin if it newly covers at least this share of its own largest membership
_MOST_BINS = 3  # names of bins per candidate and attribute
_LEFT_OUT = 3  # candidates left out that are explained


class Account(NamedTuple):
    """Contributions to the gains, weighted by strength, and the names of the bins that results open."""

    gains: Floats  # [1 + A, k + M] of relevance and the attributes: of results, and of others in place of the last one
    opened: list[list[list[str]]]  # [A][k] names of bins


@dataclass(frozen=True)
class Reason:
    """Why one candidate is a result or was left out. `because` is the reason in one sentence and is never empty."""

    id: Hashable
    position: int  # in the input, from 0
    was: int  # its rank by score, from 1
    relevance: float  # in 0..1 over the candidates
    step: int | None  # when it was selected, from 1; None: left out
    gains: dict[str, float]  # of relevance and of each attribute; their sum is `gain`
    opened: dict[str, list[str]] = field(default_factory=dict)  # bins it was the first to cover
    because: str = ""

    @property
    def gain(self) -> float:
        return sum(self.gains.values())

    def to_dict(self) -> dict[str, Any]:
        return {
            "id": plain(self.id), "position": self.position, "was": self.was, "relevance": self.relevance,
            "step": self.step, "gain": self.gain, "gains": self.gains, "opened": self.opened, "because": self.because,
        }  # fmt: skip


@dataclass(frozen=True)
class Explanation:
    """Reasons for each result, best first, and for the best candidates that were left out. `print` shows it as text."""

    results: list[Reason]
    left_out: list[Reason]
    strength: float
    wishes: tuple[AnyWish, ...]
    notes: tuple[str, ...] = ()  # shares that could not be met

    def __str__(self) -> str:
        title = ", ".join(describe_wish(wish) for wish in self.wishes) or "relevance only"
        lines = [f"{title}; strength {self.strength:g}"]
        width = max((len(str(r.id)) for r in self.results + self.left_out), default=2)
        for place, reason in enumerate(self.results, 1):
            moved = "" if place == reason.was else f", was {_ordinal(reason.was)}"
            lines.append(f"{_ordinal(place) + moved:<17} {reason.id!s:<{width}}  {reason.because}".rstrip())
        if self.left_out:
            lines.append("left out")
            lines += [
                f"{'was ' + _ordinal(reason.was):<17} {reason.id!s:<{width}}  {reason.because}".rstrip()
                for reason in self.left_out
            ]
        return "\n".join([*lines, *self.notes])

    def to_dict(self) -> dict[str, Any]:
        """Return the explanation as plain data, ready for JSON."""
        return {
            "strength": self.strength,
            "wishes": [plain(wish) for wish in self.wishes],
            "results": [{"rank": rank, **reason.to_dict()} for rank, reason in enumerate(self.results, 1)],
            "left_out": [reason.to_dict() for reason in self.left_out],
            "notes": list(self.notes),
        }


def names_of(wishes: Sequence[Wish]) -> list[str]:
    """Return the names of the attributes. Names that repeat, or that equal "relevance", get a number."""
    names = ["relevance"]
    for wish in wishes:
        name, number = wish.attribute.name, 2
        while name in names:
            name, number = f"{wish.attribute.name} {number}", number + 1
        names.append(name)
    return names[1:]


def describe_wish(wish: AnyWish) -> str:
    """Return a wish as text: "focus hour near 18:00"."""
    name = wish.attribute.name
    if isinstance(wish, Limit):
        counted = "near-copies" if isinstance(wish.attribute, Vectors) else f"per {name}"
        most = ", ".join(f"{n} {value}" for value, n in wish.n.items()) if isinstance(wish.n, Mapping) else str(wish.n)
        where = f" in every {wish.window}" if wish.window else f" among the first {wish.first}" if wish.first else ""
        return f"at most {most} {counted}{where}"
    if isinstance(wish, AtLeast):
        return f"at least {name} " + ", ".join(f"{value} {count}" for value, count in wish.counts.items())
    if isinstance(wish, Share):
        bound = "" if wish.bound == "exactly" else f" {wish.bound}"
        return f"share {name}{bound} " + ", ".join(f"{value} {part:.0%}" for value, part in wish.shares.items())
    text = f"{'spread' if wish.sign > 0 else 'focus'} {name}"
    if wish.near is not None:
        text += f" near {_target_text(wish)}" + (f" within {wish.within:g}" if wish.within is not None else "")
    return text + (f" x {wish.weight:g}" if wish.weight != 1 else "")


def replay_gains(ranking: Ranking[Any]) -> Account | None:
    """Return the gains of each result and of the best candidates left out; None for methods other than `Mascot`."""
    method, problem, selection = ranking.method, ranking._problem, ranking._selection
    if not isinstance(method, Mascot) or not len(ranking):
        return None
    options = method.kernel_options(len(ranking), problem.weights, problem.named_weight)
    strength = options.strength if method.keep is None else float(selection.strengths[0])
    relevance = problem.scores
    if method.normalize:
        relevance = reference.normalized(problem.scores, options.robust)
    results, others, already = selection.positions[0][: len(ranking)], _runners_up(ranking), problem.already_of(0)
    candidates = np.concatenate([results, others, already])
    gains = [(1 - strength) * relevance[candidates[: len(results) + len(others)]]]
    opened: list[list[list[str]]] = []
    for a, bins in enumerate(problem.bins):
        resolved = bins.take(problem.rows_of(0)).resolve()
        neutral = problem.rules[a] == "neutral"
        # Neutral values and query weights depend on all candidates; otherwise a few rows are enough.
        rows = np.arange(resolved.rows) if neutral or options.query_weight else candidates
        at: list[Any] = [results, others, already]
        if rows is candidates:
            at = np.split(np.arange(len(candidates)), [len(results), len(results) + len(others)])
        if isinstance(resolved, VectorBins):
            order = reference.by_relevance(relevance, problem.scores)
            wish = resolved.missing(), problem.signs[a], problem.weights[a], neutral
            vectors = QueryVectors(unit_vectors(resolved.vectors), *wish).scaled(order)
            replayed = WeighedVectors(vectors, selection.gain_factors[0, a]).replay(results, others, already)
            gains.append(strength * replayed)
            opened.append([[] for _ in results])
            continue
        pairs, used = resolved.take(rows).sparse().compact()
        membership, missing = pairs.dense(), resolved.missing(rows)
        query_bins = reference.QueryBins(membership, missing, problem.signs[a], problem.weights[a], neutral)
        attribute = reference.WeighedAttribute(
            *query_bins.weighed(relevance[rows], options.query_weight), query_bins.last,
            selection.gain_factors[0, a], selection.largest_gains[0, a], selection.coverage_per_result[0, a],
        )  # fmt: skip
        attribute_gains, parts = attribute.replay(*at)
        gains.append(strength * attribute_gains)
        names = []
        for position, part in zip(at[0], parts, strict=True):
            largest = np.argsort(-part, kind="stable")[:_MOST_BINS]
            least = _OPEN * attribute.membership[position].max(initial=0.0)
            names.append([resolved.name(int(used[u])) for u in largest if part[u] > 0 and part[u] >= least])
        opened.append(names)
    return Account(np.array(gains), opened)


def _runners_up(ranking: Ranking[Any]) -> Ints:
    """Return the best candidates left out, by score."""
    excluded = np.concatenate([ranking._problem_positions, ranking._problem.already_of(0)])
    order = np.argsort(-ranking._problem.scores, kind="stable")
    return np.asarray(order[~np.isin(order, excluded)][:_LEFT_OUT])


class Explainer:
    """Explains one ranking by its fitted wishes and gains."""

    def __init__(self, ranking: Ranking[Any]) -> None:
        self.ranking, self.fitted, self.results = ranking, ranking._fitted, ranking._problem_positions
        self.rows, self.account = ranking._problem.rows_of(0), ranking._account
        self.names = names_of(self.fitted.coverage)
        self.step = {position: s for s, position in enumerate(ranking._selection.positions[0].tolist())}

    def explanation(self) -> Explanation:
        ranking = self.ranking
        results = [self._selected(int(i), place) for place, i in enumerate(self.results)]
        left_out = [self._left_out(m, int(i)) for m, i in enumerate(_runners_up(ranking))]
        return Explanation(results, left_out, ranking.strength, ranking.wishes, tuple(self._notes()))

    def _reason(self, i: int, step: int | None, gains: dict[str, float], opened: Any, because: str) -> Reason:
        ranking = self.ranking
        position = int(ranking._problem.remaining.to_input(np.array([i]))[0])
        was, relevance = int(ranking._rank_of[position]), float(ranking._all_relevance[position])
        return Reason(ranking._ids[position], position, was, relevance, step, gains, opened, because)

    def _codes(self, labels: SparseBins | VectorBins, i: int) -> list[int]:
        """Return the labels of a candidate that a limit or share counts."""
        if isinstance(labels, VectorBins):
            return []
        return labels.take(self.rows[[i]]).indices.tolist()

    def _selected(self, i: int, place: int) -> Reason:
        opened: dict[str, list[str]] = {}
        if self.account is not None:
            opened = {name: self.account.opened[a][self.step[i]] for a, name in enumerate(self.names)}
        gains = {name: float(values[place]) for name, values in self.ranking.gains.items()}
        reason = "for its relevance" if self.account is not None else f"by {type(self.ranking.method).__name__}"
        because = "; ".join(filter(None, self._sentences(i, place))) or f"selected {reason}"
        return self._reason(i, self.step[i] + 1, gains, opened, because)

    def _sentences(self, i: int, place: int) -> Iterator[str]:
        fitted, selection = self.fitted, self.ranking._selection
        step = self.step[i] - selection.pinned
        if step < 0:
            yield "pinned"
        for wish, focus in zip(fitted.aims, fitted.focuses, strict=True):
            point = focus.point
            if point is None:  # the candidate with an id
                position = np.array([list(self.ranking._ids).index(focus.near)])
                point = focus.bins.take(self.rows[self.ranking._problem.remaining.from_input(0, position)])
            if point.rows:
                yield _near_text(wish, focus.bins, point, int(self.rows[i]))
        for wish, bins in zip(fitted.coverage, fitted.bins, strict=True):
            yield _coverage_text(wish, bins, int(self.rows[i]), self.rows[self.results])
        for constraint, labels in zip(fitted.constraints, fitted.labels, strict=True):
            yield self._count_text(constraint, labels, i, place)
        if 0 <= step < selection.protect:
            best = "closest good" if fitted.aims else "best"  # closeness to named values is part of relevance
            yield f"one of the {best} matches" if selection.protect > 1 else f"the {best} match"

    def _count_text(self, wish: Constraint, labels: SparseBins | VectorBins, i: int, place: int) -> str:
        codes = self._codes(labels, i)
        if not codes:
            return ""
        name = labels.name(codes[0])
        same = [p for p, j in enumerate(self.results) if codes[0] in self._codes(labels, j)]
        if isinstance(wish, Limit):
            return f"{_ordinal(same.index(place) + 1, words=True)} of at most {_number(wish.most(name))} from {name}"
        if name not in wish.named:
            return ""
        return f"the only one from {name}" if len(same) == 1 else f"one of {len(same)} from {name}"

    def _left_out(self, m: int, i: int) -> Reason:
        for wish, labels in zip(self.fitted.constraints, self.fitted.labels, strict=True):
            if isinstance(labels, VectorBins) and isinstance(wish, Limit):
                near = (
                    labels.cosines(labels.take(self.rows[[i]]), self.rows[self.results])
                    >= labels.copies - COPY_TOLERANCE
                )
                if near.sum() >= wish.most(""):
                    original = self.ranking.ids[int(near.argmax())]
                    return self._reason(i, None, {}, {}, f"a near-copy of {original} is already shown")
            for code in self._codes(labels, i):
                count = sum(code in self._codes(labels, j) for j in self.results)
                if isinstance(wish, Limit) and count >= wish.most(labels.name(code)):
                    return self._reason(i, None, {}, {}, f"{labels.name(code)} already has {_number(count)}")
        account, selection = self.account, self.ranking._selection
        if account is None or not len(self.results):
            return self._reason(i, None, {}, {}, f"not selected by {type(self.ranking.method).__name__}")
        names, count = ["relevance", *self.names], len(self.results)
        behind = account.gains[:, count - 1] - account.gains[:, count + m]
        worst = int(behind.argmax())
        if len(self.results) - selection.pinned <= selection.protect:
            because = f"every result is {'protected' if len(self.results) > selection.pinned else 'pinned'}"
        elif behind[worst] <= 0:
            because = "as good as the last result, but later in the input"
        elif worst == 0:
            because = f"less relevant {'or less close ' if self.fitted.aims else ''}than the last result"
        else:
            because = self._shortcoming(worst - 1, i)
        gains = dict(zip(names, account.gains[:, count + m].tolist(), strict=True))
        return self._reason(i, None, gains, {}, because)

    def _shortcoming(self, a: int, i: int) -> str:
        """Return why the value of attribute a speaks against candidate i."""
        name, bins, spread = self.names[a], self.fitted.bins[a], self.fitted.coverage[a].sign > 0
        if bins.missing(self.rows[[i]])[0]:
            return f"its {name} is unknown"
        if isinstance(bins, VectorBins):
            return f"too {'like' if spread else 'unlike'} the other results"
        return f"its {name} is {'already covered' if spread else 'too far from the other results'}"

    def _notes(self) -> Iterator[str]:
        """Yield the shares that could not be met."""
        for wish, quota in zip(self.fitted.constraints, self.fitted.quotas, strict=True):
            if isinstance(wish, Limit):
                continue
            assert isinstance(quota, Quota)
            groups = [set(quota.of(row).tolist()) for row in self.rows.tolist()]
            for group, value in enumerate(wish.named):
                having = np.array([group in row_groups for row_groups in groups], bool)
                count, available, target = (
                    int(having[self.results].sum()),
                    int(having.sum()),
                    wish.bounds(value, len(self.results))[0],
                )
                if count >= target:
                    continue
                reason = "no candidate has it" if not available else "the candidates have no more"
                if available >= target:
                    reason = "limits and protected results leave no room"
                word = "at least" if isinstance(wish, AtLeast) else "share"
                yield f"{word} {wish.attribute.name}: {count} of {target} from {value} ({reason})"


def _near_text(wish: Wish, bins: Bins, point: Bins, row: int) -> str:
    """Return for example "2 km from Paris" or "18:12, 12 minutes from 18:00"."""
    distance = float(distances(bins, point, np.array([row]))[0])
    unit = unit_of(bins)
    target = wish.near
    if np.isnan(distance):
        return f"{wish.attribute.name} unknown"
    if unit == "cosine":
        return f"cosine {1 - distance:.2f} to {_target_text(wish)}"
    if unit == "label":
        return f"{wish.attribute.name} {_text(target)}" if distance == 0 else f"not {_text(target)}"
    if UNITS.get(unit) == "km":
        return f"{_distance_text(distance, unit)} from {_text(target)}"
    value, target_text = _value_text(bins, row), _value_text(point, 0)
    if unit == "date" and distance >= 1 and isinstance(bins, AxisBins) and isinstance(point, AxisBins):
        distance = abs(np.floor(bins.values[0][row]) - np.floor(point.values[0][0]))  # days as the calendar counts them
    if distance == 0 or value == target_text:
        return value
    return f"{value}, {_distance_text(distance, unit)} from {target_text}"


def _coverage_text(wish: Wish, bins: Bins, row: int, results: Ints) -> str:
    """Return how the value of one result compares with those of the other results; results are rows of the bins."""
    own = bins.take(np.array([row]))
    if own.missing()[0]:
        return f"{wish.attribute.name} unknown"
    if isinstance(bins, SparseBins) and isinstance(own, SparseBins):
        codes = own.indices
        name = bins.name(int(codes[0]))
        same = sum(bool(np.isin(bins.take(np.array([j])).indices, codes).any()) for j in results)
        article = f"from {name}" if isinstance(wish.attribute, Category) else f"of {name}"
        return f"the only one {article}" if same == 1 else f"one of {same} {article}"
    other_results = results[results != row]
    if not len(other_results) or not isinstance(bins, (GlobeBins, AxisBins, VectorBins)):
        return ""
    other_distances = distances(bins, own, other_results)
    nearest = float(np.nanmin(other_distances)) if not np.isnan(other_distances).all() else np.nan
    if np.isnan(nearest):
        return f"the only one with a {wish.attribute.name}"
    unit = unit_of(bins)
    if unit == "cosine":
        return f"cosine {1 - nearest:.2f} to the nearest other result"
    value = "" if UNITS.get(unit) == "km" else f"{_value_text(bins, row)}, "
    return f"{value}{_distance_text(nearest, unit)} from the nearest other result"


def _value_text(bins: Bins, row: int) -> str:
    """Return the value of a row as text: "18:30", "2019-07-14"."""
    assert isinstance(bins, AxisBins)
    value = float(bins.values[0][row])
    if bins.unit == "hour":
        minutes = round(value * 60) % 1440
        return f"{minutes // 60}:{minutes % 60:02}"
    if bins.unit == "date":
        return str(np.datetime64(int(value * 86_400), "s").astype("M8[D]"))
    if bins.unit in ("weekday", "season"):
        (axis,) = bins.resolve().axes
        return bins.name(round(value / axis.step) % axis.count)
    return f"{value:g}"


def _distance_text(value: float, unit: str) -> str:
    """Return a distance in the attribute's unit: "12 minutes", "3 days", "1.2 km", "4.5"."""
    if UNITS.get(unit) == "km":
        return f"{value * 1000:.0f} m" if value < 1 else f"{value:.1f} km" if value < 10 else f"{value:,.0f} km"
    if unit == "hour":
        minutes = round(value * 60)
        if minutes < 60:
            return f"{minutes} minute{'' if minutes == 1 else 's'}"
        return f"{minutes // 60} h" + (f" {minutes % 60} min" if minutes % 60 else "")
    if UNITS.get(unit) == "days":
        if value < 1:
            return _distance_text(value * 24, "hour")
        days = round(value)
        return f"{days:,} day{'' if days == 1 else 's'}"
    return f"{value:.4g}"


def _target_text(wish: Wish) -> str:
    """Return the named value as text; a vector is too long to be shown."""
    return "the vector" if isinstance(wish.attribute, Vectors) and isinstance(wish.near, tuple) else _text(wish.near)


def _text(target: Any) -> str:
    if isinstance(target, NamedPoint):
        return target.name
    if isinstance(target, tuple) and len(target) == 2 and all(isinstance(part, (int, float)) for part in target):
        lat, lon = target
        return f"{abs(lat):g} {'S' if lat < 0 else 'N'} {abs(lon):g} {'W' if lon < 0 else 'E'}"
    return ", ".join(map(str, target)) if isinstance(target, tuple) else str(target)


def _number(number: int) -> str:
    return _NUMBERS[number] if number < len(_NUMBERS) else str(number)


def _ordinal(number: int, words: bool = False) -> str:
    if words and number < len(_ORDINALS):
        return _ORDINALS[number]
    suffix = "th" if 10 <= number % 100 <= 20 else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{suffix}"


_NUMBERS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_ORDINALS = ("", "first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")
