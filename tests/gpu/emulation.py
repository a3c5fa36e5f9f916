"""The kernel source of the GPU backend, compiled as plain C++: a block's threads take turns."""

from __future__ import annotations

import ctypes
import functools
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from mascot.corpus import Corpus as Fitted
from mascot.packing import pack
from mascot.problem import Queries, Selections

import mascot as mc
from mascot.kernels import gpu, gpu_plan
from mascot.kernels.gpu_plan import INPUT, OUTPUT, address


@functools.lru_cache(maxsize=16)
def library(*names: str) -> Any:
    """The source built with these names; skips the test where there is no compiler."""
    compiler = shutil.which("g++")
    if compiler is None:
        pytest.skip("the emulation of the GPU kernel needs g++")
    folder = Path(tempfile.mkdtemp(prefix="mascot-gpu-"))
    made = folder / "gpu.so"
    command = [compiler, "-std=c++17", "-O1", "-ffp-contract=off", "-shared", "-fPIC", "-DEMULATED"]
    command += [f"-D{name}" for name in names]
    (folder / "gpu.cpp").write_text(gpu.source(), encoding="utf-8")
    subprocess.run([*command, "-o", str(made), str(folder / "gpu.cpp")], check=True)
    loaded = ctypes.CDLL(str(made))
    shutil.rmtree(folder)
    return loaded


def select_many(
    queries: Queries, method: mc.Mascot, k: int, names: tuple[str, ...] = (), tight: bool = True
) -> Selections:
    """As `Mascot.select_many`, by the emulated kernel."""
    corpus = gpu_plan.Corpus.of(pack(queries.memberships))
    count, kinds = len(queries), len(queries.signs)
    most = int(np.diff(queries.ptr).max())
    near = bool((queries.near >= 0).any())
    out = gpu.Selected(np, count, k, kinds)
    held = [np.ascontiguousarray(part, np.int64) for part in (queries.ptr, queries.rows, queries.seen_ptr)]
    held += [np.ascontiguousarray(queries.seen, np.int64), np.ascontiguousarray(queries.near, np.int64)]
    left = None
    for bet in (tight, False):
        prepared = gpu_plan.prepare(
            corpus, queries.signs, queries.weights, queries.rules, gpu_plan.options(method, k), k, most, near, bet
        )
        ask, answer, overflow = (
            np.zeros((), INPUT),
            np.zeros((), OUTPUT),
            np.zeros(count + 1, np.int64),
        )
        ask["count"], ask["width"] = count if left is None else len(left), most
        for name, array in zip(("ptr", "rows", "seen_ptr", "seen", "near"), held, strict=True):
            ask[name] = address(array)
        ask["scores"], ask["list"] = address(queries.scores), address(left)
        answer["total"], answer["found"], answer["overflow"] = (
            count,
            address(out.held),
            address(overflow),
        )
        pointers = [ctypes.c_void_p(address(record)) for record in (prepared.record, ask, answer)]
        library(*names, gpu_plan.index_name(corpus), f"WIDE={int(not bet)}").select_all(*pointers)
        if not overflow[0]:
            break
        assert bet, "a table of the full size has overflown"
        left = overflow[1 : 1 + overflow[0]].copy()
    return Selections(
        out.positions.astype(np.int64), out.shown.astype(np.int64), out.strengths, out.multipliers, out.tops
    )


def queries_of(found: list[mc.Candidates], asked: list[mc.Wish], already: list[list[int]] | None = None) -> Queries:
    """A batch as `rerank_many` makes it; candidates that an attribute drops are dropped."""
    parts = [Fitted(tuple(asked), c.columns, c.vectors, len(c)) for c in found]
    whole = Fitted.joined(parts)
    starts = np.cumsum([0] + [len(c) for c in found])
    rows = [np.arange(start, start + len(c)) for start, c in zip(starts, found, strict=False)]
    kept = None
    if "drop" in whole.rules:
        kept = [np.arange(len(r)) if of is None else of for r, of in ((r, whole.kept(r)) for r in rows)]
    seen = None if already is None else [np.array(sorted(shown), np.int64) for shown in already]
    return whole._queries(rows, [c.scores for c in found], seen, kept)
