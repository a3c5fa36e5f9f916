"""Attributes of the user's own: read as they are meant, refused in our words, and never changed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mascot as mc

SCORES = [0.9, 0.8, 0.7, 0.6, 0.5]
UNGUARDED = mc.Mascot(0.9, protect=1)


class Bins:
    """Bins as they are given."""

    name = "bins"

    def __init__(self, rows: Any, **more: Any) -> None:
        self.rows = rows
        self.__dict__.update(more)

    def membership(self, columns: Any, vectors: Any) -> Any:
        return self.rows

    def features(self, columns: Any, vectors: Any) -> Any:
        return np.ones((5, 1))


def ids(attribute: Any, **more: Any) -> list[Any]:
    return mc.rerank(mc.Candidates(SCORES), mc.focus(attribute), 5, UNGUARDED, **more).ids


@pytest.mark.parametrize("rule", ["Drop", "first", None, 3, ["drop"]])
def test_a_rule_for_missing_values_that_is_none_is_refused(rule: Any) -> None:
    for made in (mc.spread, mc.focus):
        with pytest.raises(mc.OptionError) as caught:
            made(Bins(np.eye(5), missing=rule))
        assert str(caught.value) == f"Bins.missing must be 'last', 'neutral' or 'drop', got {rule!r}"


@pytest.mark.parametrize("rule", ["last", "neutral", "drop"])
def test_a_rule_for_missing_values_is_kept(rule: str) -> None:
    rows = np.eye(5)
    rows[2] = 0
    assert (2 in ids(Bins(rows, missing=rule))) == (rule != "drop")


@pytest.mark.parametrize("kind", ["csr_matrix", "csc_matrix", "coo_matrix", "csr_array"])
def test_a_row_of_stored_zeros_is_missing_and_the_matrix_stays(kind: str) -> None:
    sparse = pytest.importorskip("scipy.sparse")
    at = np.array([0, 0, 1, 2, 3, 4])  # the first value stands there twice, in halves
    made = sparse.coo_matrix((np.array([0.5, 0.5, 1, 0, 1, 1]), (at, at)), (5, 5))
    if kind == "csr_matrix":  # a conversion would add up the halves
        made = sparse.csr_matrix((made.data, at, np.array([0, 2, 3, 4, 5, 6])), (5, 5))
    made = getattr(sparse, kind)(made)
    before = made.data.copy()
    member = mc.focus(Bins(made)).bins({}, None, 5)
    assert member.missing().tolist() == [False, False, True, False, False]
    assert member.sparse().values.tolist() == [1.0] * 4
    assert made.data.tolist() == before.tolist()
    for backend in ("numpy", "native"):
        assert 2 not in ids(Bins(made, missing="drop"), backend=backend)
        assert ids(Bins(made), backend=backend) == ids(Bins(made.toarray()), backend=backend)


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([["a"]] * 5, "must be numbers in rows of one length, got [['a'], ['a'], ['a'], ['a'], ['a']]"),
        ([[1], [1, 0], [0], [0], [0]], "must be numbers in rows of one length, got [[1], [1, 0], [0], [0], [0]]"),
        ([[{}]] * 5, "must be numbers in rows of one length, got [[{}], [{}], [{}], [{}], [{}]]"),
        ("dark", "must be numbers in rows of one length, got 'dark'"),
        (None, "must be an array of two dimensions, got 0"),
    ],
)
def test_bins_that_are_no_numbers_are_refused(rows: Any, said: str) -> None:
    with pytest.raises(mc.InputError) as caught:
        ids(Bins(rows))
    assert str(caught.value) == f"Bins.membership {said}"


def test_a_sparse_row_alone_is_refused() -> None:
    sparse = pytest.importorskip("scipy.sparse")
    flat = sparse.coo_array(np.ones(5))
    if flat.ndim != 1:
        pytest.skip("this SciPy makes a matrix of it")
    with pytest.raises(mc.InputError, match=r"Bins.membership must be an array of two dimensions, got 1"):
        ids(Bins(flat))


@pytest.mark.parametrize("point", [4.0, [4.0], None, "brightness"])
def test_a_point_that_names_no_columns_is_refused_at_once(point: Any) -> None:
    with pytest.raises(mc.InputError) as caught:
        mc.focus(Bins(np.eye(5), point=lambda near: point), near=4)
    assert str(caught.value) == f"Bins.point must return a dict of columns by name, got {point!r}"
