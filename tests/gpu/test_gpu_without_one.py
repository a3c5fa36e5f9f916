"""What the GPU backend says where there is no GPU, and what it refuses anywhere."""

from __future__ import annotations

import numpy as np
import pytest

import mascot as mc
from mascot.kernels import gpu
from mascot.packing import pack


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
    corpus = gpu.Corpus.of(pack([member] * wishes))
    with pytest.raises(mc.OptionError, match=text):
        gpu.prepare(
            corpus, [1.0] * wishes, [1.0] * wishes, ["last"] * wishes, gpu.options(mc.Mascot()), k, n, near=False
        )


def test_linear_algebra_on_tensors_is_numpys() -> None:
    torch = pytest.importorskip("torch", reason="MS-DPP and Vendi on a GPU need torch")
    from mascot.kernels import gpu_linalg, tangents
    from mascot.kernels.dpp import ensemble, greedy_map
    from mascot.metrics import vendi

    rng = np.random.default_rng(0)
    features, vectors = rng.normal(size=(3, 30, 3)), rng.normal(size=(3, 30, 8))
    scores = rng.uniform(0.28, 0.45, (3, 30))
    given = [torch.from_numpy(part) for part in (features, vectors, scores)]
    ours = gpu_linalg.msdpp_kernels([given[0]], given[1], given[2], [1.0], 0.5, 0.9)
    logs = tangents.tangents([features, vectors])
    similarity = tangents.combine(logs[:, :1], logs[:, 1], scores, np.ones(1), np.ones(1), 0.5)
    law = ensemble(similarity, scores, 0.9)
    np.testing.assert_allclose(ours.numpy(), law, rtol=1e-8, atol=1e-10)
    picked = greedy_map(law, scores, 10, np.empty((3, 0), np.int64))
    assert np.array_equal(gpu_linalg.greedy_map(ours, given[2], 10).numpy(), picked)
    kernel = gpu_linalg.similarities(given[0])
    np.testing.assert_allclose(gpu_linalg.vendi(kernel).numpy(), vendi(kernel.numpy()), rtol=1e-9)
