"""Read the text in photographs, such as signs, receipts and menus. A stopped pass continues where it stopped."""

from __future__ import annotations

import io
import re
from collections.abc import Collection
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from pathlib import Path

import numpy as np
from PIL import Image

from mascot.extras import package
from mascot.photos.database.store import Store
from mascot.photos.encoders.encoder import Report
from mascot.photos.files.decode_limits import Limits
from mascot.photos.files.decoder_pool import DecoderPool
from mascot.photos.files.images import Unreadable
from mascot.photos.indexing.stages import in_batches, interruptible

_BATCH = 8  # photographs whose text is stored in one transaction
_SIDE = 1600  # longest side, in pixels, of the pictures that are read
_LEAST_SCORE = 0.7  # of a line; bricks and leaves that resemble characters score below
_TWO_CHARACTERS = re.compile(r"[^\W_].*[^\W_]")


class TextReader:
    """Recognizes lines of text with the models that the package rapidocr contains."""

    def __init__(self) -> None:
        rapidocr = package("rapidocr", "ocr", "--text")
        self._recognize = rapidocr.RapidOCR(params={"Global.log_level": "error", "Global.text_score": _LEAST_SCORE})

    def read(self, picture: bytes) -> str:
        """Return the lines of text in an encoded picture; an empty string if there are none."""
        with Image.open(io.BytesIO(picture)) as image:
            pixels = np.asarray(image.convert("RGB"))[:, :, ::-1]  # the models take BGR
        lines = self._recognize(pixels, use_cls=False).txts or ()
        return "\n".join(line for line in lines if _TWO_CHARACTERS.search(line))


def read_texts(
    store: Store, root: Path, folders: Collection[Path], limits: Limits, reader: TextReader, report: Report | None
) -> int:
    """Read the text of every photograph of these folders that was not read yet; return how many were read."""
    paths: dict[str, Path] = {}  # by the hash of their content, which copies share
    for digest, name in store.unread_texts():
        path = root / name
        if any(path.is_relative_to(folder) for folder in folders) and path.is_file():
            paths.setdefault(digest, path)
    done = count = 0
    with DecoderPool(limits) as decoders, ThreadPoolExecutor() as pool:

        def decode(path: Path) -> bytes | None:
            with suppress(Unreadable):  # it cannot be decoded at this size
                return decoders.convert(path, _SIDE, limits.max_megapixels)
            return None

        for batch in in_batches(paths.items(), _BATCH):
            pictures = list(pool.map(decode, [path for _, path in batch]))
            texts = {
                digest: interruptible(partial(reader.read, picture))
                for (digest, _), picture in zip(batch, pictures, strict=True)
                if picture is not None
            }
            store.put_texts(texts)
            count, done = count + len(texts), done + len(batch)
            if report is not None:
                report("reading text", done, len(paths))
    return count
