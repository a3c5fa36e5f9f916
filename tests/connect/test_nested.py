"""Names of columns that look into dictionaries, and what records say of columns named as ours."""

import doctest

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import mascot as mc
from mascot.connect import nested
from mascot.connect.nested import names_of, unfolded, value_of
from mascot.connect.searching import _wish
from mascot.connect.source import Found, steer

LEAVES = st.none() | st.integers() | st.text(max_size=3)
ROWS = st.lists(
    st.dictionaries(
        st.sampled_from(["a", "b", "a.b", "b.a"]),
        st.recursive(LEAVES, lambda inner: st.dictionaries(st.sampled_from(["a", "b"]), inner, max_size=2)),
    ),
    min_size=1,
    max_size=4,
)


def test_docstring_examples():
    result = doctest.testmod(nested)
    assert result.attempted
    assert not result.failed


@given(ROWS)
def test_a_column_of_that_name_comes_first_and_the_rest_is_kept(rows):
    columns = {name: [row.get(name) for row in rows] for name in dict.fromkeys(key for row in rows for key in row)}
    wide = unfolded(columns)
    assert {name: wide[name] for name in columns} == columns
    for row in rows:
        for name, value in row.items():
            assert value_of(row, name) == value
            if isinstance(value, dict):
                for inner in value:
                    assert f"{name}.{inner}" in wide


def test_labels_within_a_dictionary_are_steered():
    cells = {"meta": [{"by": "Ann", "at": {"lat": 1.0}}, {"by": "Ann"}, None, {"by": "Bob"}]}
    found = Found(["p", "q", "r", "s"], np.array([0.9, 0.8, 0.7, 0.6]), cells)
    wish = mc.spread(mc.Category("meta.by"))
    assert mc.rerank(found.candidates(), wish, k=2, method=mc.Mascot(1.0, protect=1)).ids == ["p", "s"]
    assert found.candidates().columns["meta.at.lat"].tolist() == [1.0, None, None, None]
    assert list(found.records()[0]) == ["meta", "id", "score"]


def test_records_have_our_id_and_score_and_keep_the_table_s_own():
    scores = np.array([0.5, 0.25])
    columns = {"id": [7, 8], "name": ["x", None], "score": [99, None]}
    assert Found(["p", "q"], scores, columns).records() == [
        {"name": "x", "own_id": 7, "own_score": 99, "id": "p", "score": 0.5},
        {"name": None, "own_id": 8, "own_score": None, "id": "q", "score": 0.25},
    ]
    # Nothing is said twice, nor is nothing said.
    assert Found(["p", "q"], scores, {"id": ["p", "q"], "score": [None, None]}).records() == [
        {"id": "p", "score": 0.5}, {"id": "q", "score": 0.25},
    ]  # fmt: skip
    assert Found(["p"], scores[:1], {}).records() == [{"id": "p", "score": 0.5}]
    assert Found([], scores[:0], {"name": []}).records() == []


def test_wishes_in_words_look_into_dictionaries():
    found = Found(["p", "q"], np.array([0.9, 0.8]), {"meta": [{"by": 5}, {"by": "Bob"}]})
    assert _wish("category:meta.by=5", -1, found, "last") == mc.focus(mc.Category("meta.by"), near=5)
    assert _wish("category:meta.to=5", -1, found, "last") == mc.focus(mc.Category("meta.to"), near="5")  # all missing


def test_whatever_can_be_searched_is_steered():
    class Twice:
        """Has `search`, and neither facts nor an end."""

        def search(self, vector, *, candidates=200, where=None):
            return Found(["p", "q"], np.array([0.9, 0.8]), {"by": [vector, where]})

    assert [record["by"] for record in steer(Twice(), "sunset", [], k=2, where="now").records()] == ["sunset", "now"]
    for wrong in ({"k": "2"}, {"candidates": "2"}):
        with pytest.raises(mc.OptionError, match="must be a whole number >= 1, got '2'"):
            steer(Twice(), "sunset", [], **wrong)


@pytest.mark.parametrize("wrong", ["source", [3]])
def test_names_are_a_list(wrong):
    with pytest.raises(mc.OptionError, match="columns must be a list of names, got"):
        names_of(wrong)
