"""Names of columns that look into dictionaries, and what records say of columns named as ours."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import mascot as mc
from mascot.candidates import value_of
from mascot.cli.hit_tables import RecordTable
from mascot.connect.engines import EngineHits, steer

LEAVES = st.none() | st.integers() | st.text(max_size=3)
ROWS = st.dictionaries(
    st.sampled_from(["a", "b", "a.b", "b.a"]),
    st.recursive(LEAVES, lambda inner: st.dictionaries(st.sampled_from(["a", "b", "a.b"]), inner, max_size=2)),
)


@given(ROWS)
@settings(max_examples=25)
def test_a_column_of_that_name_comes_first_and_dictionaries_are_looked_into(row):
    columns = EngineHits(["p"], np.array([1.0]), {name: [value] for name, value in row.items()}).candidates().columns
    for name, value in row.items():
        assert value_of(row, name) == value
        for key, inner in value.items() if isinstance(value, dict) else ():
            RecordTable("t", [row], [1]).require(f"{name}.{key}", "it is there, even if its value is None")
            if f"{name}.{key}" not in row and inner is not None:
                assert columns.cells(f"{name}.{key}") == [value_of(row, f"{name}.{key}")]


def test_labels_within_a_dictionary_are_steered():
    cells = {"meta": [{"by": "Ann", "at": {"lat": 1.0}}, {"by": "Ann"}, None, {"by": "Bob"}]}
    found = EngineHits(["p", "q", "r", "s"], np.array([0.9, 0.8, 0.7, 0.6]), cells)
    wish = mc.spread(mc.Category("meta.by"))
    assert mc.rerank(found.candidates(), wish, k=2, method=mc.Mascot(1.0, protect=1)).ids == ["p", "s"]
    assert found.candidates().columns["meta.at.lat"].tolist() == [1.0, None, None, None]
    assert list(found.records()[0]) == ["meta", "id", "score"]


def test_records_have_our_id_and_score_and_keep_the_table_s_own():
    scores = np.array([0.5, 0.25])
    columns = {"id": [7, 8], "name": ["x", None], "score": [99, None]}
    assert EngineHits(["p", "q"], scores, columns).records() == [
        {"name": "x", "own_id": 7, "own_score": 99, "id": "p", "score": 0.5},
        {"name": None, "own_id": 8, "own_score": None, "id": "q", "score": 0.25},
    ]
    assert EngineHits(["p"], scores[:1], {"id": ["p"], "score": [None]}).records() == [{"id": "p", "score": 0.5}]


def test_whatever_can_be_searched_is_steered():
    class Twice:
        """Has `search`, and neither facts nor an end."""

        def search(self, vector, *, candidates=200, where=None):
            return EngineHits(["p", "q"], np.array([0.9, 0.8]), {"by": [vector, where]})

    assert [record["by"] for record in steer(Twice(), "sunset", [], k=2, where="now").records()] == ["sunset", "now"]
