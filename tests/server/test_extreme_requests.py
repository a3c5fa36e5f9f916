"""Numbers at and beyond the edges of float64 in a request: a named error or a sound result, and the server goes on."""

from __future__ import annotations

import json

import httpx
import pytest

COLUMNS = '"columns": {"x": ["a", "b"], "t": ["03:00", "04:00"], "n": [1, 2]}'
SPREAD = '{"spread": "x"}'


@pytest.mark.parametrize(
    ("score", "wish", "k", "message"),
    [
        ("1" + "0" * 400, SPREAD, "2", "scores[0]: Number out of range"),
        ("1" + "0" * 5000, SPREAD, "2", "scores[0]: Number out of range"),
        ("1e400", SPREAD, "2", "scores[0]: Number out of range"),
        ("1", SPREAD, str(10**18), "k: Expected `int` <= 200"),
        ("1", SPREAD, "1" + "0" * 400, "k: Expected `int` <= 200"),
        ("1", '{"spread": {"kind": "Cycle", "column": "n", "period": 1e-300}}', "2", "wishes[0].spread.period"),
        ("1", '{"spread": {"kind": "Date", "column": "t"}}', "2", "Date column 't' must hold times"),
    ],
)
def test_the_answer_names_the_field_and_the_rule(
    service: httpx.Client, score: str, wish: str, k: str, message: str
) -> None:
    body = f'{{"scores": [{score}, 1], {COLUMNS}, "wishes": [{wish}], "k": {k}}}'
    answer = service.post("/api/rerank", content=body, headers={"content-type": "application/json"})
    assert answer.status_code in (400, 422)
    assert message in answer.json()["error"]["message"]
    assert len(answer.content) < 1000


def test_denormal_scores_give_every_candidate_once(service: httpx.Client) -> None:
    method = {"kind": "Mascot", "bin_weight": "query"}
    scores = [0, 5e-324, 1e-323, 0, 5e-324]
    body = {"scores": scores, "columns": {"x": list("abaca")}, "wishes": [{"spread": "x"}], "k": 5, "method": method}
    answer = service.post("/api/rerank", content=json.dumps(body), headers={"content-type": "application/json"})
    assert sorted(result["id"] for result in answer.json()["results"]) == [0, 1, 2, 3, 4]
