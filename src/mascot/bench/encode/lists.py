"""The candidate lists of both splits, beside the vectors they are made of."""

from __future__ import annotations

import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np

from mascot.bench.datasets.folder import TEXTS, TOKENS, Stored, splits
from mascot.bench.encode.progress import Made, save_made
from mascot.bench.encode.scoring import BestLists, best_lists
from mascot.bench.files import replacing
from mascot.errors import InputError

Report = Callable[[str, int, int], None]


def write_lists(
    where: Path, stored: Stored, made: Made, candidates: int, device: str, report: Report | None = None
) -> None:
    """Make the lists, unless they are there with as many candidates; then the folder is complete."""
    parts = splits(stored)
    there = all(_there(_path(where, split), len(queries), candidates) for split, (_, queries) in parts.items())
    if made.complete and made.candidates == candidates and there:
        return
    save_made(where, replace(made, candidates=0, complete=False))
    tokens, texts = (np.load(where / name, mmap_mode="r", allow_pickle=False) for name in (TOKENS, TEXTS))
    total = sum(len(queries) for _, queries in parts.values())
    before = 0
    for split, (rows, queries) in parts.items():

        def tell(done: int, _: int, before: int = before) -> None:
            if report is not None:
                report("lists", before + done, total)

        _write(_path(where, split), best_lists(tokens, texts, rows, queries, candidates, device=device, report=tell))
        before += len(queries)
    save_made(where, replace(made, candidates=candidates, complete=True))


def _path(where: Path, split: str) -> Path:
    return where / f"lists-{split}.npz"


def _write(path: Path, lists: BestLists) -> None:
    try:
        with replacing(path) as stream:
            np.savez(stream, queries=lists.queries, rows=lists.rows, scores=lists.scores)
    except OSError as error:
        raise InputError(f"{path} cannot be written ({error.strerror})") from None


def _there(path: Path, queries: int, candidates: int) -> bool:
    try:
        with np.load(path, allow_pickle=False) as stored:
            shapes = [stored[name].shape for name in ("queries", "rows", "scores")]
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
        return False
    return shapes == [(queries,), (queries, candidates), (queries, candidates)]
