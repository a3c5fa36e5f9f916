"""Re-ranking of the caller's own candidates over HTTP: what can be asked, in which formats, and what is refused."""

from __future__ import annotations

import gzip
import json
import math
from typing import Any

import httpx
import msgspec
import pytest

import mascot as mc
from mascot.attributes import Clusters, Cycle
from mascot.server.request_body import MSGPACK
from mascot.wishes import Wish
from tests.server.serving import message, result_ids

BOM = b"\xef\xbb\xbf"
SENT = {"content-type": "application/json"}
COLUMNS: dict[str, list[Any]] = {
    "camera": ["X100", "X100", "Pixel", None], "flash": [True, False, True, None],
    "geo": [{"lat": 38.7, "lon": -9.1}, {"lat": 59.9, "lon": 10.7}, None, {"lat": 38.7, "lon": -9.2}],
    "hour": [18, 9.5, 3, 23], "tags": [["a", 1, True], [], None, ["b"]],
}  # fmt: skip
HITS: dict[str, Any] = {"scores": [0.9, 0.8, 0.7, 0.6], "ids": ["a", "b", "c", "d"], "columns": COLUMNS}
FLAT = COLUMNS | {"lat": [38.7, 59.9, None, 38.7], "lon": [-9.1, 10.7, None, -9.2]}
del FLAT["geo"]
OWN = {
    "ids": ["a", "b", "c"], "scores": [0.9, 0.8, 0.7], "columns": {"camera": ["X100", "X100", "Pixel"]},
    "wishes": [{"spread": {"kind": "Category", "column": "camera"}}],
    "method": {"kind": "Mascot", "protect": 1}, "k": 2,
}  # fmt: skip


def _rerank(service: httpx.Client, **request: Any) -> httpx.Response:
    return service.post("/api/rerank", json=request)


@pytest.mark.parametrize(
    ("request_", "wishes"),
    [
        ([{"focus": "flash", "near": False, "weight": 2}], [mc.focus(mc.Category("flash"), 2, near=False)]),
        ([{"focus": {"kind": "HourOfDay", "column": "hour"}, "near": "18:30", "within": 2}],
         [mc.focus(mc.HourOfDay("hour"), near="18:30", within=2)]),
        ([{"spread": "tags"}, {"focus": "camera"}], [mc.spread(mc.Category("tags")), mc.focus(mc.Category("camera"))]),
        ([{"spread": {"kind": "Place", "lat": "geo.lat", "lon": "geo.lon"}}], [mc.spread(mc.Place())]),
        ([{"limit": "camera", "n": 1}], [mc.limit("camera", 1)]),
        ([{"share": "flash", "shares": {"True": 0.6}}], [mc.share("flash", {True: 0.6})]),
    ],
)  # fmt: skip
def test_wishes_are_the_library_s_own(service: httpx.Client, request_: list[Any], wishes: list[Wish]) -> None:
    candidates = mc.Candidates(HITS["scores"], HITS["ids"], FLAT)
    for options in ({"strength": 0.9, "protect": 1}, {"keep": 0.8}):
        answer = _rerank(service, **HITS, wishes=request_, k=3, **options)
        ranking = mc.rerank(candidates, wishes, 3, mc.Mascot(**options))
        assert (result_ids(answer), answer.json()["strength"]) == (ranking.ids, ranking.strength)
    shown = ranking.ids[:1]
    answer = _rerank(service, **HITS, wishes=request_, k=2, already=shown)
    assert result_ids(answer) == mc.rerank(candidates, wishes, 2, already=shown).ids


def test_gains_and_explanations_come_only_on_request(service: httpx.Client) -> None:
    candidates = mc.Candidates(OWN["scores"], OWN["ids"], OWN["columns"])
    ranking = mc.rerank(candidates, [mc.spread(mc.Category("camera"))], 2, mc.Mascot(protect=1))
    answer = _rerank(service, **OWN, explain=True, gains=True).json()
    reasons = [{"because": reason.because} for reason in ranking.explain().results]
    results = [result | reason for result, reason in zip(ranking.to_dict()["results"], reasons, strict=True)]
    assert answer["results"] == json.loads(json.dumps(results))
    assert answer["explanation"] == json.loads(json.dumps(ranking.explain().to_dict()))
    plain = _rerank(service, **OWN).json()
    assert set(plain) == {"results", "strength"}
    assert set(plain["results"][0]) == {"id", "position", "rank", "was", "score", "relevance"}


def test_every_attribute_and_method_is_accepted_as_to_dict_writes_it(service: httpx.Client) -> None:
    values = {
        "lat": [1.5, None, 30], "lon": [2, 3, -170.5], "taken": ["2019-07-14T20:15:00", None, "2020-01-01 10:00"],
        "n": [1, 2.5, None], "tags": [["a", "b"], [], "c"], "mixed": [1, "x", None],
    }  # fmt: skip
    vectors = [[1, 0], [0, 1], [1, 1]]
    attributes = [mc.Place(), mc.HourOfDay(), mc.DayOfYear(), mc.Weekday(), mc.Date(), mc.Number("n"),
                  Cycle("n", 360.0), mc.Category("tags"), mc.Category("mixed"), Clusters(2),
                  mc.Place.grid(), mc.Vectors()]  # fmt: skip
    methods = [mc.Mascot(), mc.Mascot.paper(0.4), mc.Mascot(keep=0.9), mc.Mmr(), mc.Relevance()]
    for attribute, method in [(part, methods[0]) for part in attributes] + [(attributes[0], part) for part in methods]:
        request = {"scores": [3, 2, 1], "columns": values, "vectors": vectors, "method": method.to_dict()}
        answer = _rerank(service, **request, wishes=[mc.spread(attribute).to_dict()])
        ranking = mc.rerank(mc.Candidates([3, 2, 1], None, values, vectors), [mc.spread(attribute)], method=method)
        assert result_ids(answer) == ranking.ids, (attribute, method)


def test_ids_and_labels_stay_what_they_are(service: httpx.Client) -> None:
    request = {"scores": [2, 1], "ids": [2**62 + 1, "é"], "columns": {"n": [2**62 + 1, 2**62 + 2]}}
    answer = _rerank(service, **request, wishes=[{"spread": "n"}], explain=True, gains=True)
    assert result_ids(answer) == [2**62 + 1, "é"]
    assert answer.json()["explanation"]["results"][0]["opened"]["n"] == [str(2**62 + 1)]


@pytest.mark.parametrize(
    ("change", "status", "text"),
    [
        ({"scores": []}, 400, "Candidates.ids must have 0 entries like the candidates, got 3"),
        ({"scores": None}, 422, "send exactly one of scores, records, response, got none"),
        ({"records": []}, 422, "send exactly one of scores, records, response, got scores, records"),
        ({"k": 10**400}, 422, "k: Expected `int` <= 200"),
        ({"nonsense": 1}, 422, "Object contains unknown field `nonsense`"),
        ({"ids": [2**63]}, 422, "ids[0]: Expected `int` <= 9223372036854775807"),
        ({"columns": {"d": [[{}]]}}, 422, "columns[...][0][0]: Expected `bool | int | float | str | null`, got"),
        ({"method": {"kind": "Mascot", "strength": 0.1, "keep": 0.5}}, 400, "Mascot.keep searches for the strength"),
        ({"wishes": [{"spread": {"kind": "os.system"}}]}, 422, "wishes[0].spread.kind: Invalid value"),
        ({"wishes": [{"spread": "camera", "focus": "camera"}]}, 422, "wishes[0] must have exactly one of spread,"),
        ({"wishes": [{"focus": {"kind": "HourOfDay"}, "near": "25:99"}]}, 400, "HourOfDay near must be an hour like"),
        ({"wishes": [{"spread": {"kind": "Number", "column": "n", "sigma": 1e-100}}], "columns": {"n": [0, 5, 1e6]}},
         400, "Number.sigma must leave at most"),
    ],
)  # fmt: skip
def test_mistakes_are_named_with_their_place(
    service: httpx.Client, change: dict[str, Any], status: int, text: str
) -> None:
    answer = _rerank(service, **OWN | change)
    assert message(answer, status).startswith(text)


RECORDS: list[dict[str, Any]] = [
    {"sku": "a", "points": 3, "seller": {"name": "x"}, "text": "long " * 1000},
    {"sku": "b", "points": 2, "seller": {"name": "x"}},
    {"sku": "c", "points": 1, "seller": {"name": "y"}},
]
NAMED = {"id": "sku", "score": "points"}
ONE_EACH = [{"limit": "seller.name", "n": 1}]


def test_records_and_responses_of_engines_are_bodies(service: httpx.Client) -> None:
    hits = [{"_id": record["sku"], "_score": record["points"], "_source": record} for record in RECORDS]
    points = [{"id": n, "score": -n, "payload": record} for n, record in enumerate(RECORDS)]
    for body, ids in [
        ({"records": RECORDS} | NAMED, ["a", "c"]),
        ({"from": "elasticsearch", "response": {"hits": {"hits": hits}}}, ["a", "c"]),
        ({"from": "qdrant", "response": {"result": {"points": points}}}, [0, 2]),
        ({"from": "solr", "id": "sku", "response": {"response": {"docs": RECORDS}}}, ["a", "c"]),
    ]:
        answer = _rerank(service, **body, wishes=ONE_EACH, k=2, explain=True)
        assert result_ids(answer) == ids
        assert [result["position"] for result in answer.json()["results"]] == [0, 2]


@pytest.mark.parametrize(
    "body", [{"scores": []}, {"scores": [], "columns": {"seller.name": []}}, {"records": []},
             {"from": "elasticsearch", "response": {"hits": {"hits": []}}}],
)  # fmt: skip
def test_a_search_without_hits_has_an_empty_page(service: httpx.Client, body: dict[str, Any]) -> None:
    answer = _rerank(service, **body, wishes=[*ONE_EACH, {"spread": {"kind": "Place"}}], explain=True, gains=True)
    assert result_ids(answer) == []


@pytest.mark.parametrize(
    ("body", "status", "text"),
    [
        ({"records": RECORDS, **NAMED, "wishes": [{"limit": "sellr", "n": 1}]}, 400, "Category needs column 'sellr'"),
        ({"records": RECORDS, **NAMED, "wishes": [{"spread": "text"}]}, 422, "text[0]: Expected `str` of length <= "),
        ({"records": [{"id": 1, "score": 1e101}]}, 422, "scores must be numbers from -1e+100 to 1e+100"),
        ({"records": [1]}, 422, "records[0]: Expected `object`, got `int`"),
        ({"records": [{"score": 1}], "already": ["a"]}, 400, "already must be positions, because the records"),
        ({"from": "chroma", "response": {"ids": [["a"]], "distances": [[]]}}, 400, "from_chroma needs a response in a"),
        ({"records": RECORDS, "columns": {"a": [1]}}, 422, "columns: belongs to scores; records hold everything"),
        ({"from": "solr", "response": {"hits": 1}}, 400, "from_solr"),
        ({"from": "faiss", "response": {}}, 422, "from: Invalid enum value"),
    ],
)  # fmt: skip
def test_mistakes_in_records_and_responses(service: httpx.Client, body: Any, status: int, text: str) -> None:
    assert text in message(_rerank(service, **body), status)


def test_a_body_must_be_there_and_compressed_by_gzip_or_not_at_all(client: httpx.Client) -> None:
    assert "empty" in message(client.post("/api/rerank", headers=SENT), 422)

    def post(path: str, content: bytes, coding: str = "gzip") -> httpx.Response:
        return client.post(path, content=content, headers=SENT | {"content-encoding": coding})

    body = gzip.compress(json.dumps(OWN).encode())
    assert result_ids(post("/api/rerank", body)) == result_ids(client.post("/api/rerank", json=OWN))
    bomb = gzip.compress(b" " * (1 << 25))
    for content, status, text in [
        (b"{}", 422, "the body must be gzip, as content-encoding says"),
        (body[:-9], 422, "the body must be one whole gzip stream"),
        (body + body, 422, "the body must be one whole gzip stream"),
        (gzip.compress(b""), 422, "empty"),
        (bomb, 413, "a request must be at most 16777216 bytes"),
    ]:
        assert text in message(post("/api/rerank", content), status)
    for path, coding in [("/api/rerank", "br"), ("/api/search", "gzip, gzip")]:
        text = f"send the request uncompressed or with content-encoding: gzip, got {coding}"
        assert message(post(path, body, coding), 415) == text


def test_what_would_take_long_or_fill_the_memory_is_refused_at_once(service: httpx.Client) -> None:
    scores = [float(i % 24) for i in range(5000)]
    hours = {"columns": {"h": scores}}
    labels = {"columns": {"tags": [[f"{row}-{label}" for label in range(20)] for row in range(5000)]}}
    vectors = {"vectors": [[float(i % 7), float(i % 11)] * 120 for i in range(5000)]}
    dense = {"spread": {"kind": "HourOfDay", "column": "h", "bins": 1440, "sigma": 100}}
    tags, clusters = {"spread": "tags"}, {"spread": {"kind": "Clusters", "count": 200}}
    keep, query = {"kind": "Mascot", "keep": 0.9}, {"kind": "Mascot", "bin_weight": "query"}
    requests: list[tuple[dict[str, Any], str]] = [
        (hours | {"wishes": [dense], "method": keep}, "candidates x bins per candidate: 7,200,000 > 2,500,000"),
        (vectors | {"wishes": [clusters] * 2}, "candidates x dimension x clusters: "),
        (labels | {"wishes": [tags], "method": query}, "candidates x bins, with bin_weight 'query' or missing"),
        (labels | {"wishes": [tags], "method": {"kind": "Mmr"}}, "candidates x labels, for Mmr: "),
    ]
    for request, text in requests:
        assert text in message(_rerank(service, scores=scores, **request), 400)


def test_numbers_in_answers_are_json(service: httpx.Client) -> None:
    wishes = [{"focus": {"kind": "Number", "column": "n"}, "near": 1e99}]
    for scores in ([1e100, -1e100, 0], [5e-324, 0, -5e-324]):
        for method in ({"kind": "Mascot", "bin_weight": "query"}, {"kind": "Mmr", "published": True}):
            request = {"scores": scores, "columns": {"n": [1e100, -1e100, 0]}, "method": method}
            answer = _rerank(service, **request, wishes=wishes, explain=True)
            msgspec.json.decode(answer.content)  # refuses NaN and Infinity
            assert all(math.isfinite(result["relevance"]) for result in answer.json()["results"])


def test_all_formats_give_the_same_answer(service: httpx.Client) -> None:
    """Text, numbers, missing values, booleans, lists, times and vectors."""
    times = ["2019-07-14T20:15:00", None, "2020-01-01T10:00:00"]
    columns = {"n": [1.5, 2.5, None], "flag": [True, False, True], "tags": [["a", "b"], [], ["c"]], "i": [1, 2, 3]}
    vectors = [[1.0, 0.0], [0.0, 1.0], [0.5, 0.5]]
    options = {
        "k": 2, "protect": 1, "gains": True,
        "wishes": [{"spread": "flag"}, {"focus": {"kind": "Number", "column": "n"}, "near": 2}, {"spread": "tags"},
                   {"spread": {"kind": "HourOfDay"}}, {"spread": {"kind": "Clusters", "count": 2}}],
    }  # fmt: skip
    request = {"scores": [0.9, 0.8, 0.7], "ids": ["a", "b", "c"], "columns": columns | {"taken": times}}
    request |= {"vectors": vectors} | options
    expected = _rerank(service, **request).json()
    headers = {"content-type": MSGPACK, "accept": MSGPACK}
    binary = service.post("/api/rerank", content=msgspec.msgpack.encode(request), headers=headers)
    assert binary.headers["content-type"] == MSGPACK
    assert msgspec.msgpack.decode(binary.content) == expected
    body = BOM + json.dumps(request).encode()
    assert service.post("/api/rerank", content=body, headers=SENT).json() == expected


def test_formats_and_routes_that_are_gone_name_what_to_do_instead(service: httpx.Client) -> None:
    arrow = {"content-type": "application/vnd.apache.arrow.stream"}
    assert "is gone: send application/msgpack" in message(service.post("/api/rerank", content=b"x", headers=arrow), 415)
    assert "is gone: send several requests" in message(service.post("/api/rerank/stream", json=[]), 404)
