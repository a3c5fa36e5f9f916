"""Files that attack whoever reads them: small to store, expensive or fatal to read."""

from __future__ import annotations

import io
import struct
import zlib
from collections.abc import Callable
from functools import partial
from pathlib import Path

from PIL import ExifTags, Image

_RDF = 'xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:dc="http://purl.org/dc/elements/1.1/"'


def jpeg(exif: Image.Exif | None = None, xmp: bytes | None = None) -> bytes:
    """A small JPEG with these blocks."""
    content = io.BytesIO()
    blocks = {"exif": exif} if exif is not None else {}
    Image.new("RGB", (48, 32), (90, 120, 200)).save(content, "JPEG", **blocks)
    return content.getvalue() if xmp is None else _with_xmp(content.getvalue(), xmp)


def _with_xmp(content: bytes, packet: bytes) -> bytes:
    body = b"http://ns.adobe.com/xap/1.0/\0" + packet
    return content[:2] + b"\xff\xe1" + struct.pack(">H", len(body) + 2) + body + content[2:]


def commas() -> bytes:
    """A camera maker of 60,000 commas: a regular expression took 178 s."""
    exif = Image.Exif()
    exif[ExifTags.Base.Make] = "," * 60_000
    exif[ExifTags.Base.Model] = "X"
    return jpeg(exif)


def nested_xmp() -> bytes:
    """Descriptions inside descriptions: walking them took 21 s."""
    depth = 30_000
    inside = "<rdf:RDF><rdf:Description><dc:subject>" * depth + "</dc:subject></rdf:Description></rdf:RDF>" * depth
    return _png(64, 64, [_xmp_chunk(f"<x {_RDF}>{inside}</x>".encode())])


def many_keywords(count: int = 150_000) -> bytes:
    """A PNG whose XMP holds very many keywords: 500,000 took 12 GB."""
    packet = f"<x {_RDF}><rdf:RDF><rdf:Description><dc:subject><rdf:Bag>".encode()
    packet += b"<rdf:li>k</rdf:li>" * count
    packet += b"</rdf:Bag></dc:subject></rdf:Description></rdf:RDF></x>"
    return _png(64, 64, [_xmp_chunk(packet)])


def long_caption() -> bytes:
    """A caption of 22 megabytes."""
    packet = f"<x {_RDF}><rdf:RDF><rdf:Description><dc:description><rdf:Alt><rdf:li>".encode()
    packet += b"word " * 4_400_000
    packet += b"</rdf:li></rdf:Alt></dc:description></rdf:Description></rdf:RDF></x>"
    return _png(64, 64, [_xmp_chunk(packet)])


def many_scans(count: int = 5000, side: int = 3000) -> bytes:
    """A progressive JPEG of many scans over the same large picture."""
    content = io.BytesIO()
    Image.new("RGB", (side, side), (90, 120, 200)).save(content, "JPEG", progressive=True, quality=20)
    data = content.getvalue()
    scans = [i for i in range(len(data) - 1) if data[i : i + 2] == b"\xff\xda"]
    last, end = scans[-1], data.rindex(b"\xff\xd9")
    return data[:end] + data[last:end] * count + data[end:]


def deep_png(megapixels: int = 149) -> bytes:
    """A 16-bit grey PNG of very many pixels: decoding took 2 GB."""
    side = int((megapixels * 1e6) ** 0.5)
    return _png(side, side, [], depth=16, kind=0)


def lying_tiff() -> bytes:
    """A TIFF whose only strip claims four gigabytes."""
    entries = [(256, 4, 1, 60_000), (257, 4, 1, 2_000), (258, 3, 1, 8), (259, 3, 1, 1), (262, 3, 1, 1),
               (273, 4, 1, 8), (277, 3, 1, 1), (278, 4, 1, 2_000), (279, 4, 1, 0xFFFFFFFF)]  # fmt: skip
    fields = b"".join(struct.pack("<HHII", *entry) for entry in entries)
    return b"II*\0" + struct.pack("<IH", 8, len(entries)) + fields + b"\0\0\0\0"


def sparse_tiff(path: Path, gigabytes: int = 40) -> None:
    """A file that claims to be large and holds nothing."""
    with path.open("wb") as file:
        file.write(b"II*\0\x08\0\0\0")
        file.truncate(gigabytes << 30)


def _png(width: int, height: int, chunks: list[bytes], depth: int = 8, kind: int = 2) -> bytes:
    channels = {0: 1, 2: 3, 6: 4}[kind]
    row = b"\0" * (1 + width * channels * depth // 8)
    packer = zlib.compressobj(9)
    pixels = b"".join(packer.compress(row) for _ in range(height)) + packer.flush()
    header = struct.pack(">IIBBBBB", width, height, depth, kind, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        [_chunk(b"IHDR", header), _chunk(b"IDAT", pixels), *chunks, _chunk(b"IEND", b"")]
    )


def _chunk(kind: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))


def _xmp_chunk(packet: bytes) -> bytes:
    return _chunk(b"iTXt", b"XML:com.adobe.xmp\0\0\0\0\0" + packet)


FILES: dict[str, Callable[[], bytes]] = {
    "commas.jpg": commas,
    "nested.png": nested_xmp,
    "keywords.png": many_keywords,  # just short enough to be parsed
    "more keywords.png": partial(many_keywords, 500_000),
    "caption.png": long_caption,
    "scans.jpg": many_scans,
    "deep.png": deep_png,
    "lying.tif": lying_tiff,
}
