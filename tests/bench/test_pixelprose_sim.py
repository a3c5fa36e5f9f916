"""The simulated PixelProse: sizes, determinism, and the base retriever's published rows."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from importlib.resources import files

import numpy as np
import pytest
from benchmarks import pixelprose_margins

from mascot.bench.datasets import pixelprose_sim
from mascot.bench.datasets.dataset import Dataset, Lists, Ragged, Split
from mascot.bench.datasets.pixelprose_sim import PUBLISHED_BASE, PixelProseSim, base_figures
from mascot.bench.published import Published
from mascot.errors import InputError, OptionError

SEEDS = (0, 1, 2)


@pytest.fixture(scope="module")
def datasets() -> list[Dataset]:
    return [PixelProseSim(seed=seed).load() for seed in SEEDS]


@pytest.fixture(scope="module")
def means(datasets: list[Dataset]) -> dict[str, float]:
    runs = [base_figures(dataset) for dataset in datasets]
    return {key: float(np.mean([run[key] for run in runs])) for key in PUBLISHED_BASE}


@pytest.mark.parametrize("figure", list(PUBLISHED_BASE))
def test_the_base_retriever_lands_on_its_published_row(figure: str, means: dict[str, float]) -> None:
    tolerance = 0.01 if figure == "appearance" else 0.02
    assert means[figure] == pytest.approx(PUBLISHED_BASE[figure], abs=tolerance)


def test_the_documented_table_is_the_one_that_is_printed(means: dict[str, float]) -> None:
    assert pixelprose_sim.__doc__ is not None
    rows = re.findall(r"^    (\S.*?) +(0\.\d{4}) +(0\.\d{4}) +[+-]", pixelprose_sim.__doc__, flags=re.MULTILINE)
    assert [name for name, *_ in rows] == list(PUBLISHED_BASE)
    for name, published, simulated in rows:
        assert float(published) == PUBLISHED_BASE[name]
        assert float(simulated) == pytest.approx(means[name], abs=0.002)


def test_the_published_rows_are_those_of_the_paper() -> None:
    file = files("mascot.bench").joinpath("published.json")
    if not file.is_file():
        pytest.skip("mascot/bench/published.json is not here")
    paper = json.loads(file.read_text(encoding="utf-8"))
    expected = {f"R@{k}": value for k, value in paper["recall_at_k"]["geo/decrease"]["base"].items()}
    expected["appearance"] = paper["appearance_img_vendi_geo_hour"]["increase"]["base"]
    for direction, tasks in paper["pixelprose"].items():
        expected |= {f"DM {task} {direction}": rows["base"]["dm"] for task, rows in tasks.items()}
    assert expected == PUBLISHED_BASE


def test_the_same_seed_gives_the_same_data_and_another_seed_other_data(datasets: list[Dataset]) -> None:
    hashes = [dataset.content_hash for dataset in datasets]
    assert PixelProseSim(seed=1).load().content_hash == hashes[1]
    assert len(set(hashes)) == len(SEEDS)


def test_sizes_and_splits(datasets: list[Dataset]) -> None:
    for dataset in datasets:
        validation, test = dataset.splits["validation"], dataset.splits["test"]
        assert (dataset.images, dataset.queries) == (996, 996)
        assert (len(validation.images), len(test.images)) == (199, 797)
        np.testing.assert_array_equal(np.sort(np.concatenate([validation.images, test.images])), np.arange(996))
        for split in (validation, test):
            np.testing.assert_array_equal(split.images, split.queries)
        assert dataset.positives.lengths.tolist() == [1] * 996
        assert dataset.positives[17].tolist() == [17]


def test_vectors_are_unit_and_scores_positive_and_in_range(datasets: list[Dataset]) -> None:
    for dataset in datasets:
        assert dataset.vectors is not None
        assert dataset.query_vectors is not None
        for vectors in (dataset.vectors, dataset.query_vectors):
            assert vectors.shape == (996, 256)
            np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-6)
        for split, count in (("validation", 199), ("test", 200)):
            scores = np.concatenate([block.scores for block in dataset.blocks(200, split)])
            assert scores.shape == (len(dataset.splits[split].queries), count)
            assert scores.min() > 0
        assert scores[:, 0].mean() == pytest.approx(0.44, abs=0.02)
        assert scores[:, -1].mean() == pytest.approx(0.29, abs=0.02)


def test_columns_look_like_photographs(datasets: list[Dataset]) -> None:
    for dataset in datasets:
        columns = dataset.columns
        assert list(columns) == ["lat", "lon", "taken", "city", "country", "topic"]
        assert columns["taken"].dtype == np.dtype("datetime64[s]")
        assert np.abs(columns["lat"]).max() <= 90
        assert columns["lon"].min() >= -180
        assert columns["lon"].max() < 180
        hours = columns["taken"].astype("datetime64[h]").astype(np.int64) % 24
        assert ((hours >= 8) & (hours < 20)).mean() > 0.7
        # The paper: 0.4% of the test split lie north of 60 degrees.
        assert (columns["lat"] > 60).mean() < 0.02
    countries = np.concatenate([dataset.columns["country"] for dataset in datasets])
    assert np.isin(countries, ["US", "CA", "GB", "FR", "DE", "IT", "ES"]).mean() > 0.5


def test_a_parameter_of_the_captions_leaves_images_and_places_alone(datasets: list[Dataset]) -> None:
    other = replace(PixelProseSim(), noise=2.0).load()
    np.testing.assert_array_equal(other.vectors, datasets[0].vectors)
    for name, column in datasets[0].columns.items():
        np.testing.assert_array_equal(other.columns[name], column)
    assert other.content_hash != datasets[0].content_hash


def test_every_city_is_on_the_globe_and_named_once() -> None:
    cities = pixelprose_sim._cities()
    assert len(cities.name) > 300
    assert len(set(cities.name)) == len(cities.name)
    assert np.abs(cities.lat).max() <= 90
    assert np.abs(cities.lon).max() <= 180
    assert cities.weight.min() > 0
    assert all(re.fullmatch("[A-Z]{2}", country) for country in cities.country)
    paris, london = (np.flatnonzero(cities.name == name) for name in ("Paris", "London"))
    assert cities.distances(paris)[0, london[0]] == pytest.approx(344, abs=10)  # kilometres


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"seed": -1}, "PixelProseSim.seed must be >= 0, got -1"),
        ({"validation": 996}, "PixelProseSim.validation must be >= 1 and < images, got 996"),
        ({"hour_link": 1.0}, "PixelProseSim.hour_link must be > 0 and < 1, got 1.0"),
        ({"shared": 1.0}, "PixelProseSim.shared must be >= 0 and < 1, got 1.0"),
    ],
)
def test_parameters_are_checked(wrong: dict[str, float], message: str) -> None:
    with pytest.raises(OptionError, match=re.escape(message)):
        PixelProseSim(**wrong)  # type: ignore[arg-type]


# The Dataset class itself.


def test_blocks_and_single_queries_agree_with_a_full_sort(datasets: list[Dataset]) -> None:
    dataset = datasets[0]
    assert dataset.vectors is not None
    assert dataset.query_vectors is not None
    pool = np.sort(dataset.splits["test"].images)
    blocks = list(dataset.blocks(200, size=300))
    assert [len(block.queries) for block in blocks] == [300, 300, 197]
    for block in blocks:
        query, images = int(block.queries[5]), block.images[5]
        dots = dataset.vectors[pool] @ dataset.query_vectors[query]
        np.testing.assert_array_equal(images, pool[np.argsort(-dots, kind="stable")[:200]])
        hits = dataset.candidates(query, 200)
        np.testing.assert_array_equal(hits.images, images)
        np.testing.assert_allclose(hits.scores, block.scores[5], rtol=0, atol=2e-12)
        np.testing.assert_array_equal(hits.relevant, images == query)


def test_equal_images_tie_and_the_lower_row_comes_first_at_the_cut_too() -> None:
    rng = np.random.default_rng(3)
    vector, query = rng.standard_normal((2, 33))
    if vector @ query < 0:
        query = -query
    vectors = np.vstack([-vector, np.tile(vector, (8, 1)), 2 * vector])
    everything = Split(np.arange(10), np.arange(1))
    dataset = Dataset("ties", {}, Ragged.of([[4]]), {"test": everything}, vectors, query[None])
    assert dataset.candidates(0, 5).images.tolist() == [9, 1, 2, 3, 4]


def _listed(**changes: object) -> Dataset:
    given: dict[str, object] = {
        "name": "listed",
        "columns": {"camera": np.array(["a", "b", None, "a", "c"], dtype=object)},
        "positives": Ragged.of([[2, 4], [], [0]]),
        "splits": {
            "validation": Split(np.array([3]), np.array([1])),
            "test": Split(np.array([0, 1, 2, 4]), np.array([0, 1, 2])),
        },
        "lists": Lists(Ragged.of([[4, 0, 2], [3, 1], []]), np.array([0.2, 0.9, 0.9, 0.5, 0.4])),
    }
    return Dataset(**(given | changes))  # type: ignore[arg-type]


def test_ready_made_lists_are_sorted_padded_and_kept_to_the_split() -> None:
    dataset = _listed()
    (block,) = dataset.blocks(3)
    assert block.images.tolist() == [[0, 2, 4], [1, -1, -1], [-1, -1, -1]]
    assert block.counts.tolist() == [3, 1, 0]
    assert block.relevant.tolist() == [[False, True, True], [False] * 3, [False] * 3]
    assert block.scores[1].tolist() == [0.4, -np.inf, -np.inf]
    assert dataset.candidates(1, 3, "validation").images.tolist() == [3]
    assert dataset.candidates(2, 3).images.tolist() == []
    assert dataset.content_hash == _listed(name="another name").content_hash
    assert dataset.content_hash != _listed(positives=Ragged.of([[2], [], [0]])).content_hash


def test_what_a_dataset_holds_cannot_be_written_to_and_the_given_arrays_can() -> None:
    column = np.arange(5.0)
    dataset = _listed(columns={"number": column})
    with pytest.raises(ValueError, match="read-only"):
        dataset.columns["number"][0] = 1
    column[0] = 7


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"columns": {"a": np.zeros(5), "b": np.zeros(4)}}, "as many in every column"),
        ({"lists": None}, "either query_vectors or lists"),
        ({"query_vectors": np.zeros((3, 2))}, "either query_vectors or lists"),
        ({"positives": Ragged.of([[5], [], []])}, "Dataset.positives must be between 0 and 4, got 5"),
        ({"splits": {"test": Split(np.array([-1]), np.array([0]))}}, "images must be between 0 and 4, got -1"),
        ({"lists": Lists(Ragged.of([[0, 0], [], []]), np.zeros(2))}, "must not name an image twice"),
        ({"lists": Lists(Ragged.of([[0], [], []]), np.array([np.nan]))}, "must be finite, got nan"),
        ({"lists": Lists(Ragged.of([[0]]), np.array([0.5]))}, "must have 3 lists like positives"),
    ],
)
def test_a_dataset_is_checked_at_the_door(changes: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=re.escape(message)):
        _listed(**changes)


def test_a_query_is_asked_only_in_its_split() -> None:
    with pytest.raises(InputError, match="must be of the split 'validation', got 0"):
        _listed().candidates(0, 3, "validation")
    with pytest.raises(InputError, match=re.escape("must be one of ['test', 'validation'], got 'train'")):
        _listed().candidates(0, 3, "train")
    with pytest.raises(InputError, match="must be >= 1, got 0"):
        _listed().candidates(0, 0)


@pytest.fixture(scope="module")
def few_rows() -> dict[str, dict[pixelprose_margins.Key, tuple[float, ...]]]:
    """R@10 at the published settings on a few queries, with the scores as they are, doubled, and lowered."""
    plain = PixelProseSim(seed=0).load()
    test = plain.splits["test"]
    few = replace(plain, splits={"test": Split(test.images, test.queries[:40])})
    found = {}
    for name, factor, shift in (("plain", 1.0, 0.0), ("doubled", 2.0, 0.0), ("lower", 1.0, -0.2)):
        changed = pixelprose_margins.bent(few, 1.0, factor=factor, shift=shift)
        # Without vectors nobody looks at appearance, which takes most of the time.
        found[name] = pixelprose_margins.rows(replace(changed, vectors=None), measures=("r@10", "metadata"))
    return found


def test_only_raw_scores_see_their_level(few_rows: dict[str, dict[pixelprose_margins.Key, tuple[float, ...]]]) -> None:
    plain, doubled, lower = few_rows["plain"], few_rows["doubled"], few_rows["lower"]
    assert len(plain) == 24
    blind = [key for key in plain if key[0] in ("mascot", "uniform-binning")]
    assert all(plain[key] == doubled[key] == lower[key] for key in blind)
    # Its bins are weighed by the same raw scores: a factor cancels, a shift does not.
    raw = [key for key in plain if key[0] == "no-normalization"]
    assert all(plain[key] == doubled[key] for key in raw)
    assert any(plain[key] != lower[key] for key in raw)
    # Its bins do not know the scores: a shift is the same for every candidate, a factor is not.
    even = [key for key in plain if key[0] == "prob-coverage"]
    assert all(plain[key] == lower[key] for key in even)
    assert any(plain[key] != doubled[key] for key in even)


def test_lower_scores_bring_the_rows_without_normalization_nearer(
    few_rows: dict[str, dict[pixelprose_margins.Key, tuple[float, ...]]],
) -> None:
    def missed(rows: dict[pixelprose_margins.Key, tuple[float, ...]]) -> float:
        paper = Published("pixelprose")
        raw = [key for key in rows if key[0] == "no-normalization"]
        return float(np.mean([abs(rows[key][0] - (paper.row(key[1], key[2], key[0]) or {})["r@10"]) for key in raw]))

    assert missed(few_rows["lower"]) < 0.6 * missed(few_rows["plain"])
