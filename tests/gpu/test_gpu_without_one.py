"""What the GPU backend says where there is no GPU, and what it refuses anywhere."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from mascot.packing import pack

import mascot as mc
from mascot.kernels import gpu, gpu_plan


def hits(n: int = 5) -> mc.Candidates:
    return mc.Candidates(scores=np.linspace(1, 0, n), columns={"hour": np.arange(n) % 24})


def test_without_a_gpu_the_error_names_the_cure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "cupy", None)
    gpu.cupy.cache_clear()
    with pytest.raises(mc.MissingExtra, match=r"pip install 'mascot\[gpu\]'"):
        mc.rerank_many([hits()], [mc.spread(mc.HourOfDay("hour"))], backend="gpu")
    gpu.cupy.cache_clear()


def test_methods_that_do_not_select_there_are_refused() -> None:
    with pytest.raises(mc.OptionError, match="backend 'gpu' must have a method that selects there"):
        mc.rerank_many([hits()], [mc.spread(mc.HourOfDay("hour"))], method=mc.Mmr(), backend="gpu")


@pytest.mark.parametrize(
    ("n", "k", "wishes", "text"),
    [
        (2049, 5, 1, "takes at most 2,048 candidates a query, got 2049"),
        (300, 257, 1, "takes k up to 256, got 257"),
        (5, 5, 9, "takes at most 8 wishes, got 9"),
    ],
)
def test_limits_are_named(n: int, k: int, wishes: int, text: str) -> None:
    member = mc.HourOfDay("hour").membership(hits(n).columns, None)
    corpus = gpu_plan.Corpus.of(pack([member] * wishes))
    options = gpu_plan.options(mc.Mascot(), k)
    with pytest.raises(mc.OptionError, match=text):
        gpu_plan.prepare(corpus, [1.0] * wishes, [1.0] * wishes, ["last"] * wishes, options, k, n, near=False)


@pytest.mark.parametrize("kibibytes", [64, 99, 163, 227])  # T4, Ada, A100, H100
@pytest.mark.parametrize("n", [200, 500, 1000, 2048])
def test_what_a_device_cannot_hold_goes_to_global_memory(kibibytes: int, n: int) -> None:
    member = mc.HourOfDay("hour").membership(hits(n).columns, None)
    chip = gpu_plan.Chip(kibibytes * 1024, (kibibytes + 1) * 1024)
    options = gpu_plan.options(mc.Mascot(), 20)
    made = gpu_plan.prepare(
        gpu_plan.Corpus.of(pack([member] * 4)), [1.0] * 4, [1.0] * 4, ["last"] * 4, options, 20, n, False, chip=chip
    )
    assert made.slab or made.size + 1024 <= kibibytes * 1024
    assert made.slab == (made.size > min(200, kibibytes - 1) * 1024)


@pytest.mark.parametrize("normalize", [None, "tn", "tn+tvms"])
@pytest.mark.parametrize("released", [False, True], ids=["exact", "released"])
@pytest.mark.parametrize(("kinds", "beta"), [(0, 0.5), (1, 0.0), (2, 0.5)])
def test_msdpp_on_tensors_is_the_method(normalize: Any, released: bool, kinds: int, beta: float) -> None:
    torch = pytest.importorskip("torch", reason="MS-DPP and Vendi on a GPU need torch")
    from mascot.kernels import gpu_linalg

    rng = np.random.default_rng(kinds)
    found = [
        mc.Candidates(
            scores=rng.uniform(0.28, 0.45, 30),
            columns={name: rng.uniform(0, 24, 30) for name in ("lat", "lon", "hour")},
            vectors=rng.normal(size=(30, 8)),
        )
        for _ in range(3)
    ]
    wishes = [mc.spread(mc.Place(), 2.0), mc.focus(mc.HourOfDay("hour"), 0.5)][:kinds]
    method = mc.MsDpp(0.1, beta, normalize, released)
    features = [
        torch.tensor(np.stack([wish.attribute.features(one.columns, None) for one in found])) for wish in wishes
    ]
    vectors = torch.tensor(np.stack([one.vectors / np.linalg.norm(one.vectors, axis=1)[:, None] for one in found]))
    scores = torch.tensor(np.stack([one.scores for one in found]))
    signs, weights = [float(wish.sign) for wish in wishes], [wish.weight for wish in wishes]
    kernels = gpu_linalg.msdpp_kernels(features, vectors, scores, signs, beta, 0.9, weights or None, normalize)
    first = gpu_linalg.greedy_map(kernels, scores, 8, released=released)
    second = gpu_linalg.greedy_map(kernels, scores, 30, first.sort(dim=1).values, released)
    for q, one in enumerate(found):
        law = mc.rerank(one, wishes, 8, method)
        assert first[q].tolist() == law.ids
        page = mc.rerank(one, wishes, 30, method, already=law)
        assert [position for position in second[q].tolist() if position >= 0] == page.ids


def test_kernels_and_vendi_on_tensors_are_numpys() -> None:
    torch = pytest.importorskip("torch", reason="MS-DPP and Vendi on a GPU need torch")
    from mascot.kernels import gpu_linalg, tangents
    from mascot.kernels.dpp import ensemble
    from mascot.metrics import vendi

    rng = np.random.default_rng(0)
    features, vectors = rng.normal(size=(3, 30, 3)), rng.normal(size=(3, 30, 8))
    scores = rng.uniform(0.28, 0.45, (3, 30))
    given = [torch.from_numpy(part) for part in (features, vectors, scores)]
    logs = tangents.tangents([features, vectors])
    for image in (True, False):
        ours = gpu_linalg.msdpp_kernels([given[0]], given[1] if image else None, given[2], [1.0], 0.5, 0.9)
        blocks = (logs[:, :1], logs[:, 1] if image else None)
        similarity = tangents.combine(*blocks, scores, np.ones(1), np.ones(1), 0.5)
        np.testing.assert_allclose(ours.numpy(), ensemble(similarity, scores, 0.9), rtol=1e-8, atol=1e-10)
    kernel = gpu_linalg.similarities(given[0])
    for order in (0.1, 1.0, 2.0, np.inf):
        ours = gpu_linalg.vendi(kernel, order)
        np.testing.assert_allclose(ours.numpy(), vendi(kernel.numpy(), order=order), rtol=1e-9)
