"""The stand-in for pyversity against the package itself."""

import dataclasses
import doctest
import inspect
import subprocess
import sys

import numpy as np
import pytest

import mascot as mc
from mascot.connect import documents
from mascot.connect import pyversity as ours
from mascot.extras import packages_of

theirs = pytest.importorskip("pyversity", reason="needs pyversity")

DIVERSITIES = [0.0, 0.1, 0.5, 0.9, 1.0]
SEEDS = range(8)


def problem(seed, kind="random"):
    """Random items; `copies` repeats whole ones, `levels` has few distinct scores, `flat` one score for all."""
    rng = np.random.default_rng(seed)
    count, width = int(rng.integers(2, 200)), int(rng.integers(1, 64))
    vectors, scores = rng.normal(size=(count, width)), rng.random(count)
    if kind == "copies":
        rows = rng.integers(0, max(1, count // 4), count)
        vectors, scores = vectors[rows], scores[rows]
    elif kind == "levels":
        scores = np.round(scores * 3) / 3
        vectors = np.round(vectors)
    elif kind == "flat":
        scores = np.full(count, 0.5)
    elif kind == "singles":
        vectors, scores = vectors.astype(np.float32), scores.astype(np.float32)
    elif kind == "zeros":
        vectors[rng.random(count) < 0.3] = 0
    return vectors, scores, int(rng.integers(1, count + 5))


KINDS = ["random", "copies", "levels", "flat", "singles", "zeros"]


def assert_same(given, expected):
    assert given.indices.tolist() == expected.indices.tolist()
    np.testing.assert_array_equal(given.selection_scores, expected.selection_scores)
    assert given.indices.dtype == expected.indices.dtype
    assert given.selection_scores.dtype == expected.selection_scores.dtype
    assert given.strategy == expected.strategy
    assert given.diversity == expected.diversity
    assert given.parameters == expected.parameters


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "options", [{}, {"metric": "dot"}, {"normalize": False}, {"metric": "dot", "normalize": False}]
)
def test_mmr_selects_the_same(kind, options):
    for seed in SEEDS:
        vectors, scores, k = problem(seed, kind)
        for diversity in DIVERSITIES:
            expected = theirs.diversify(vectors, scores, k, strategy="mmr", diversity=diversity, **options)
            given = ours.diversify(vectors, scores, k, strategy="mmr", diversity=diversity, **options)
            assert_same(given, expected)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("options", [{}, {"scale": 3.0}, {"scale": 0.2}])
def test_dpp_selects_the_same(kind, options):
    for seed in SEEDS:
        vectors, scores, k = problem(seed, kind)
        for diversity in DIVERSITIES:
            with np.errstate(over="ignore", invalid="ignore"):  # of theirs, where k exceeds the rank of the vectors
                expected = theirs.diversify(vectors, scores, k, diversity=diversity, **options)
            assert_same(ours.diversify(vectors, scores, k, diversity=diversity, **options), expected)


@pytest.mark.parametrize("strategy", ["mmr", "dpp"])
def test_numbers_of_numpy_are_taken_like_theirs(strategy):
    vectors, scores, _ = problem(3)
    for diversity in (np.float64(0.3), np.float32(0.3), 1, 0):
        expected = theirs.diversify(vectors, scores, np.int64(5), strategy, diversity)
        assert_same(ours.diversify(vectors, scores, np.int64(5), strategy, diversity), expected)


@pytest.mark.parametrize("strategy", ["mmr", "dpp"])
@pytest.mark.parametrize("k", [0, -3])
def test_nothing_to_select(strategy, k):
    vectors, scores, _ = problem(1)
    assert_same(ours.diversify(vectors, scores, k, strategy), theirs.diversify(vectors, scores, k, strategy))
    none = np.empty((0, 4)), np.empty(0)
    assert_same(ours.diversify(*none, 5, strategy), theirs.diversify(*none, 5, strategy))


def test_their_enums_and_functions_have_their_names_here():
    vectors, scores, _ = problem(2)
    for given, expected in [
        (ours.diversify(vectors, scores, 5, theirs.Strategy.MMR, metric=theirs.Metric.DOT),
         theirs.diversify(vectors, scores, 5, theirs.Strategy.MMR, metric=theirs.Metric.DOT)),
        (ours.mmr(vectors, scores, 5, 0.3, ours.Metric.COSINE, True), theirs.mmr(vectors, scores, 5, 0.3)),
        (ours.dpp(vectors, scores, 5, 0.3, 2.0), theirs.dpp(vectors, scores, 5, 0.3, 2.0)),
        (ours.diversify(embeddings=vectors, scores=scores, k=5),
         theirs.diversify(embeddings=vectors, scores=scores, k=5)),
    ]:  # fmt: skip
        assert_same(given, expected)


def test_signature_and_fields_are_theirs():
    for name in ("diversify", "mmr", "dpp"):
        here = inspect.signature(getattr(ours, name)).parameters
        for parameter in inspect.signature(getattr(theirs, name)).parameters.values():
            if parameter.kind is parameter.VAR_KEYWORD:
                continue
            assert parameter.name in here
            assert here[parameter.name].default == parameter.default
            assert here[parameter.name].kind == parameter.kind
        same = [p for p in here if p in inspect.signature(getattr(theirs, name)).parameters]
        assert same == list(here)[: len(same)]  # by position, too
    fields = [field.name for field in dataclasses.fields(theirs.DiversificationResult)]
    assert [field.name for field in dataclasses.fields(ours.DiversificationResult)] == fields


@pytest.mark.parametrize("strategy", ["msd", "cover", "ssd", theirs.Strategy.MSD, "nonsense"])
def test_the_other_strategies_are_named_with_the_way_to_them(strategy):
    vectors, scores, _ = problem(0)
    with pytest.raises(mc.OptionError, match=r"must be one of mmr, dpp, mascot, got .*pip install pyversity"):
        ours.diversify(vectors, scores, 5, strategy)


def test_what_they_refuse_is_refused_here():
    vectors, scores, _ = problem(0)
    for module in (ours, theirs):
        for strategy in ("mmr", "dpp"):
            for diversity in (-0.1, 1.1):
                with pytest.raises(ValueError, match="diversity must be in"):
                    module.diversify(vectors, scores, 5, strategy, diversity)
            with pytest.raises(ValueError):
                module.diversify(vectors, scores[:-1], 5, strategy)
            with pytest.raises(ValueError):
                module.diversify(vectors[0], scores, 5, strategy)
            with pytest.raises(TypeError):
                module.diversify(vectors, scores, 5, strategy, nonsense=1)
    with pytest.raises(mc.InputError, match="scores must be finite, got nan"):
        ours.diversify(vectors, np.where(scores == scores[0], np.nan, scores), 5)
    with pytest.raises(mc.OptionError, match="metric must be 'cosine' or 'dot', got 'l2'"):
        ours.mmr(vectors, scores, 5, metric="l2")


def cities(count=60, seed=0):
    rng = np.random.default_rng(seed)
    scores = np.sort(rng.random(count))[::-1]
    return rng.normal(size=(count, 8)), scores, {"city": rng.choice(list("ABCDEFGH"), count)}


def test_wishes_steer_attributes_in_both_directions():
    vectors, scores, columns = cities()
    city = mc.Category("city")
    spread = ours.diversify(vectors, scores, 8, diversity=0.9, wishes=mc.spread(city), columns=columns)
    focus = ours.diversify(vectors, scores, 8, diversity=0.9, wishes=[mc.focus(city)], columns=columns)
    assert len(set(columns["city"][spread.indices])) == 8
    assert len(set(columns["city"][focus.indices])) < len(set(columns["city"][:8]))
    assert spread.strategy == "mascot"


@pytest.mark.parametrize("options", [{}, {"protect": 0}, {"keep": 0.8}])
def test_wishes_are_answered_by_rerank(options):
    vectors, scores, columns = cities()
    wishes = [mc.spread(mc.Category("city")), mc.spread(mc.Clusters(5))]
    given = ours.diversify(vectors, scores, 10, "mascot", 0.6, wishes=wishes, columns=columns, **options)
    single = vectors.astype(np.float32), scores.astype(np.float32)
    found = mc.Candidates(single[1], columns=columns, vectors=single[0])
    strength = {} if "keep" in options else {"strength": 0.6}
    ranking = mc.rerank(found, wishes, 10, mc.Mascot(order="selection", **strength, **options))
    assert given.indices.tolist() == ranking.ids
    assert given.diversity == ranking.strength
    np.testing.assert_allclose(given.selection_scores, sum(ranking.gains.values()), rtol=1e-6)
    assert mc.from_dict(given.parameters) == ranking.method


def test_diversity_0_with_wishes_is_relevance_only():
    vectors, scores, columns = cities()
    wish = mc.spread(mc.Category("city"))
    assert ours.diversify(vectors, scores, 6, diversity=0.0, wishes=wish, columns=columns).indices.tolist() == [
        *range(6)
    ]
    assert ours.diversify(vectors, scores, 0, wishes=wish, columns=columns).indices.tolist() == []


def test_what_is_wrong_with_wishes_is_said():
    vectors, scores, columns = cities()
    wish = mc.spread(mc.Category("city"))
    with pytest.raises(mc.OptionError, match="strategy 'mmr' takes no wishes"):
        ours.diversify(vectors, scores, 5, "mmr", wishes=wish, columns=columns)
    with pytest.raises(mc.OptionError, match="columns are for wishes"):
        ours.diversify(vectors, scores, 5, columns=columns)
    with pytest.raises(mc.OptionError, match="strategy 'mascot' needs wishes"):
        ours.diversify(vectors, scores, 5, "mascot")
    with pytest.raises(mc.OptionError, match="options are those of Mascot"):
        ours.diversify(vectors, scores, 5, wishes=wish, columns=columns, metric="dot")
    with pytest.raises(mc.InputError, match="needs column 'city'"):
        ours.diversify(vectors, scores, 5, wishes=wish)


@pytest.mark.parametrize("module", [ours, documents])
def test_docstring_examples(module):
    result = doctest.testmod(module)
    assert result.attempted
    assert not result.failed


def test_nothing_is_loaded_before_it_is_needed():
    """In a fresh process: the package, and this stand-in, know no framework, and neither needs pyversity itself."""
    code = (
        "import sys, mascot, mascot.connect, mascot.connect.documents, mascot.connect.pyversity;"
        "heavy = ('langchain_core', 'llama_index', 'haystack', 'pydantic', 'pyversity', 'torch');"
        "print([name for name in heavy if name in sys.modules])"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


@pytest.mark.parametrize(
    ("module", "package", "extra"),
    [
        ("langchain", "langchain_core", "langchain"),
        ("llamaindex", "llama_index", "llamaindex"),
        ("haystack", "haystack", "haystack"),
    ],
)
def test_without_the_package_the_extra_is_named(module, package, extra):
    """In a fresh process in which the package cannot be found."""
    code = f"""
import sys
from importlib.abc import MetaPathFinder

class Absent(MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] == {package!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Absent())
from mascot.errors import MissingExtra
try:
    import mascot.connect.{module}
except MissingExtra as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert f"mascot.connect.{module} needs the package {package}" in done.stdout
    assert f"pip install {' '.join(packages_of(extra))}" in done.stdout


@pytest.mark.parametrize(("embeddings", "scores"), [([[1.0], [1.0, 2.0]], [1.0, 2.0]), ([[1.0], [2.0]], ["a", {}])])
def test_rows_of_several_lengths_are_refused(embeddings, scores):
    with pytest.raises(mc.InputError, match="embeddings and scores must be numbers, as many in each row"):
        ours.diversify(embeddings, scores, k=1)
