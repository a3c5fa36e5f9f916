"""LangChain, LlamaIndex and Haystack: one object each, which steers documents, beside the framework's own MMR."""

from __future__ import annotations

import doctest
import shlex
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from framework_documents import BY_CITY, CITIES, METADATA, SCORES, UNGUARDED, Framework, Haystack, LangChain, LlamaIndex

import mascot as mc
from mascot.connect import documents
from mascot.extras import packages_of

pytestmark = pytest.mark.integration


@pytest.fixture(scope="module", params=[LangChain, LlamaIndex, Haystack], ids=lambda kind: kind.__name__)
def framework(request: pytest.FixtureRequest) -> Framework:
    return request.param()


def test_it_steers_and_returns_the_same_objects(framework: Framework) -> None:
    hits = framework.documents()
    steered = framework.steered(wishes=[BY_CITY], k=4, method=UNGUARDED)
    selection = framework.run(steered, hits)
    assert framework.numbers(selection) == [0, 4, 5, 6]
    assert all(hit is hits[n] for hit, n in zip(selection, [0, 4, 5, 6], strict=True))
    assert hits == framework.documents()
    assert framework.choose(wishes=[BY_CITY.to_dict()], k=4, method=UNGUARDED.to_dict()) == [0, 4, 5, 6]


def test_it_is_what_rerank_chooses(framework: Framework) -> None:
    rng = np.random.default_rng(0)
    columns = {"lat": rng.uniform(-60, 60, 80), "lon": rng.uniform(-180, 180, 80), "taken": rng.uniform(0, 24, 80)}
    scores = rng.random(80)
    rows = [{"n": n, **{name: float(column[n]) for name, column in columns.items()}} for n in range(80)]
    wishes = [mc.spread(mc.Place()), mc.focus(mc.HourOfDay("taken"), near=18)]
    expected = mc.rerank(mc.Candidates(scores, columns=columns), wishes, k=15).ids
    assert framework.choose(framework.documents(rows, scores.tolist()), wishes=wishes, k=15) == expected


def test_scores_may_be_missing(framework: Framework) -> None:
    """Without any the order is the relevance; a document without one among others gets the lowest."""
    assert framework.choose(framework.documents(scores=[None] * 7), k=3) == [0, 1, 2]
    assert framework.choose(framework.documents(scores=[None, 0.9, 0.8, None, 0.6, 0.5, 0.4]), k=7) == [
        1,
        2,
        4,
        5,
        0,
        3,
        6,
    ]


def test_fewer_documents_than_k_and_none(framework: Framework) -> None:
    assert sorted(framework.choose(wishes=BY_CITY, k=50)) == list(range(7))
    assert framework.choose([], wishes=BY_CITY) == []


def test_metadata_may_be_missing_or_nested(framework: Framework) -> None:
    rows = [*METADATA[:5], {"n": 5}, {"n": 6, "city": None}]
    assert framework.choose(framework.documents(rows), wishes=BY_CITY, k=3, method=mc.Mascot(1.0, protect=1)) == [
        0,
        1,
        4,
    ]
    with pytest.warns(UserWarning, match="no document has the metadata key 'town'"):
        assert framework.choose(wishes=mc.spread(mc.Category("town")), k=3) == [0, 1, 2]
    inner = [{"n": n, "at": {"city": city, "lat": 10.0 * n, "lon": 0.0}} for n, city in enumerate(CITIES)]
    by_city = mc.spread(mc.Category("at.city"))
    assert framework.choose(framework.documents(inner), wishes=by_city, k=4, method=UNGUARDED) == [0, 4, 5, 6]
    assert len(framework.choose(framework.documents(inner), wishes=mc.spread(mc.Place("at.lat", "at.lon")), k=3)) == 3
    both = [row | {"at.city": city} for row, city in zip(inner, reversed(CITIES), strict=True)]  # that name comes first
    assert framework.choose(framework.documents(both), wishes=by_city, k=4, method=UNGUARDED) == [0, 1, 2, 3]


def test_explain_notes_why_and_leaves_the_rest(framework: Framework) -> None:
    hits = framework.documents()
    steered = framework.steered(wishes=BY_CITY, k=4, method=UNGUARDED, explain=True)
    selection = framework.run(steered, hits)
    notes = [framework.metadata(hit).pop("mascot") for hit in selection]
    assert [(note["rank"], note["was"]) for note in notes] == [(1, 1), (2, 5), (3, 6), (4, 7)]
    assert notes[1]["gains"].keys() == {"relevance", "city"}
    assert notes[1]["gains"]["city"] > 0
    assert hits == framework.documents()
    if not isinstance(framework, LlamaIndex):  # whose copies keep the note from prompts
        assert selection == [hits[n] for n in framework.numbers(selection)]


def test_one_call_has_its_own_k_wishes_and_already(framework: Framework) -> None:
    run, steered, hits = framework.run, framework.steered(wishes=[], k=5), framework.documents()
    assert run(steered, hits) == hits[:5]
    first = run(steered, hits, k=2, wishes=[mc.limit("city", 1)])
    assert framework.numbers(first) == [0, 4]
    for already in (first, ["d0", "d4", "gone"]):
        assert framework.numbers(run(steered, hits, k=2, already=already)) == [1, 2]
    assert run(steered, [], k=2) == []
    assert len(run(steered, hits, k=np.int32(2))) == 2
    for wrong in (0, "2", 2.0):
        with pytest.raises(mc.OptionError, match=f"k must be a whole number >= 1, got {wrong!r}"):
            run(steered, hits, k=wrong)
    with pytest.raises(mc.InputError, match="already must be a list of ids or of documents"):
        run(steered, hits, already="d0")


def test_a_saved_object_does_the_same(framework: Framework) -> None:
    wishes = [BY_CITY, mc.focus(mc.Number("n"), near=2, weight=2)]
    for method in (None, mc.Mascot(keep=0.9), mc.Mmr(0.3), mc.KDpp(0.2, beta=0.1), mc.Relevance()):
        steered = framework.steered(wishes=wishes, k=4, method=method, columns=["city", "n"], explain=True)
        again = framework.loaded(steered)
        assert again._steering == steered._steering
        assert (again._steering.wishes, again._steering.columns) == (tuple(wishes), ("city", "n"))
        assert framework.run(again, framework.documents()) == framework.run(steered, framework.documents())


@pytest.mark.parametrize("value", [0.0, 0.1, 0.5, 1.0])
def test_the_knob_of_the_framework_goes_there_and_back(framework: Framework, value: float) -> None:
    steered = framework.loaded(framework.steered(value, wishes=BY_CITY))
    assert steered._steering.method.strength == 1 - value
    assert getattr(steered, framework.knob) == pytest.approx(value, abs=1e-15)


def test_the_knob_is_checked(framework: Framework) -> None:
    knob = framework.knob
    for wrong in (-1, 1.5):
        with pytest.raises(mc.OptionError, match=rf"{knob} must be in 0\.\.1, got {wrong}"):
            framework.steered(wrong)
    for method in (mc.Relevance, mc.Mmr(0.3)):
        with pytest.raises(mc.OptionError, match=f"{knob} needs a method that takes a strength, such as Mascot"):
            framework.steered(0.7, method=method)
    assert getattr(framework.steered(method=mc.Mascot(keep=0.9)), knob) is None


def vectors_and_query(seed: int, count: int = 40) -> tuple[Any, Any, list[float]]:
    """Vectors best first, as a retriever returns them, and their cosines."""
    rng = np.random.default_rng(seed)
    vectors, query = rng.normal(size=(count, 8)), rng.normal(size=8)
    scores = vectors @ query / np.linalg.norm(vectors, axis=1) / np.linalg.norm(query)
    order = np.argsort(-scores)
    return vectors[order], query, scores[order].tolist()


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("value", [0.0, 1.0])
def test_the_ends_of_the_knob_are_those_of_the_frameworks_own_mmr(
    framework: Framework, seed: int, value: float
) -> None:
    vectors, query, scores = vectors_and_query(seed)
    hits = framework.documents([{"n": n} for n in range(40)], scores, vectors.tolist())
    expected = framework.own_mmr(query, vectors, scores, value, 12)
    ours = framework.steered(value, k=len(expected), method=mc.Mmr)
    assert framework.numbers(framework.run(ours, hits)) == expected
    clusters = framework.steered(0.0, wishes=mc.spread(mc.Clusters(10)), k=12)
    spread = framework.numbers(framework.run(clusters, hits))
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    assert (unit[spread] @ unit[spread].T).sum() < (unit[:12] @ unit[:12].T).sum()


@pytest.mark.parametrize("method", [mc.Mmr(), mc.KDpp(), mc.MsDpp(), mc.Clustering()])
def test_a_method_that_compares_nothing_says_how_vectors_come(framework: Framework, method: Any) -> None:
    for options in ({"method": method}, {"wishes": mc.spread(mc.Clusters(2))}):
        message = rf"({type(method).__name__}|Clusters) needs vectors.*{framework.remedy}"
        with pytest.raises(mc.InputError, match=message):
            framework.choose(k=3, **options)
    hits = framework.documents(vectors=np.eye(7).tolist())
    assert len(framework.choose(hits, k=3, method=method)) == 3
    assert len(framework.choose(wishes=BY_CITY, k=3, method=method)) == 3  # it compares cities
    assert framework.choose(k=3, method=type(method)(strength=0)) == [0, 1, 2]


def test_a_missing_vector_is_a_missing_value(framework: Framework) -> None:
    vectors = [[1.0, 0.0], [1.0, 0.0], [1.0, 0.0], None, [1.0, 1.0]]
    hits = framework.documents(METADATA[:5], SCORES[:5], vectors)
    options = {"wishes": mc.spread(mc.Clusters(2)), "k": 2, "method": UNGUARDED}
    assert framework.choose(hits, **options) == [0, 4]
    with pytest.raises(mc.InputError, match="vectors must be of one length, got 2 and 1"):
        framework.choose(framework.documents(METADATA[:2], SCORES[:2], [[1.0, 0.0], [1.0]]), **options)


class Initial:
    """A user's own attribute: it reads a column nobody can know of."""

    name = "initial"

    def membership(self, columns: Any, vectors: Any) -> Any:
        return np.array([[city.startswith("R"), not city.startswith("R")] for city in columns["city"]], float)

    features = membership


@pytest.mark.parametrize("columns", [None, ["city"]])
def test_a_users_own_attribute_reads_any_key(framework: Framework, columns: Any) -> None:
    method = mc.Mascot(1.0, protect=0)
    assert framework.choose(wishes=mc.spread(Initial()), k=2, method=method, columns=columns) == [0, 4]


def test_what_is_wrong_is_said(framework: Framework) -> None:
    for wrong in (None, 3, "city", ["city"]):
        with pytest.raises(ValueError, match=r"wishes must be spread\(...\), focus\(...\), limit"):
            framework.steered(wishes=wrong)
    for wrong in ("mmr", mc.Mmr):
        with pytest.raises(ValueError, match="method must be a method such as"):
            framework.steered(method=wrong)
    with pytest.raises(ValueError, match=r"greater than or equal to 1|k must be a whole number >= 1, got 0"):
        framework.steered(k=0)
    with pytest.raises(ValueError, match="columns"):
        framework.steered(columns="source")
    with pytest.raises((ValueError, TypeError), match="top_n"):
        framework.steered(top_n=3)


# Without the frameworks


def test_docstring_examples() -> None:
    result = doctest.testmod(documents)
    assert result.attempted
    assert not result.failed


def test_nothing_is_loaded_before_it_is_needed_and_its_absence_is_told() -> None:
    """In a fresh process in which no framework can be found: the install command is named."""
    code = """
import sys
from importlib.abc import MetaPathFinder
import mascot.connect.documents, mascot.connect.convert
assert not {"langchain_core", "llama_index", "haystack", "pydantic", "torch"} & set(sys.modules)

class Absent(MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in ("langchain_core", "llama_index", "haystack"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Absent())
from mascot.errors import MissingExtra
for module in ("langchain", "llamaindex", "haystack"):
    try:
        __import__(f"mascot.connect.{module}")
    except MissingExtra as error:
        print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    needed = {"langchain": "langchain_core", "llamaindex": "llama_index", "haystack": "haystack"}
    for line, (module, package) in zip(done.stdout.splitlines(), needed.items(), strict=True):
        assert f"mascot.connect.{module} needs the package {package}" in line
        assert f"pip install {shlex.join(packages_of(module))}" in line


def test_the_examples_of_the_page_run(request: pytest.FixtureRequest) -> None:
    from test_docs import ROOT, run_page

    run_page(ROOT / "docs" / "frameworks.md", request)
