"""Names of columns that look into dictionaries."""

from hypothesis import given, settings
from hypothesis import strategies as st

import mascot as mc
from mascot.candidates import value_of
from mascot.cli.hit_tables import RecordTable
from mascot.connect.converters import from_rows
from mascot.connect.converters.hit_lists import NamedColumns

LEAVES = st.none() | st.integers() | st.text(max_size=3)
ROWS = st.dictionaries(
    st.sampled_from(["a", "b", "a.b", "b.a"]),
    st.recursive(LEAVES, lambda inner: st.dictionaries(st.sampled_from(["a", "b", "a.b"]), inner, max_size=2)),
)


@given(ROWS)
@settings(max_examples=25)
def test_a_column_of_that_name_comes_first_and_dictionaries_are_looked_into(row):
    columns = NamedColumns(1, row, {name: [value] for name, value in row.items()}.__getitem__)
    for name, value in row.items():
        assert value_of(row, name) == value
        for key, inner in value.items() if isinstance(value, dict) else ():
            RecordTable("t", [row], [1]).require(f"{name}.{key}", "it is there, even if its value is None")
            if f"{name}.{key}" not in row and inner is not None:
                assert columns.cells(f"{name}.{key}") == [value_of(row, f"{name}.{key}")]


def test_labels_within_a_dictionary_are_steered():
    meta = [{"by": "Ann", "at": {"lat": 1.0}}, {"by": "Ann"}, None, {"by": "Bob"}]
    rows = list(zip(["p", "q", "r", "s"], [0.9, 0.8, 0.7, 0.6], meta, strict=True))
    candidates = from_rows(rows, ["id", "score", "meta"])
    wish = mc.spread(mc.Category("meta.by"))
    assert mc.rerank(candidates, wish, k=2, method=mc.Mascot(1.0, protect=1)).ids == ["p", "s"]
    assert candidates.columns["meta.at.lat"].tolist() == [1.0, None, None, None]
