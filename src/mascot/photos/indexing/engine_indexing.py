"""Index a folder of photographs into a table of an engine."""

from __future__ import annotations

from contextlib import ExitStack
from functools import partial
from pathlib import Path

from mascot.connect.engines import Sink, open_sink, open_source
from mascot.errors import InputError
from mascot.photos.database.encodings import encoder_refusal
from mascot.photos.database.store import stamp_of
from mascot.photos.encoders import open_encoder
from mascot.photos.encoders.encoder import Encoder, Report
from mascot.photos.files.decode_limits import Limits
from mascot.photos.indexing.indexer import Indexer, Summary
from mascot.photos.indexing.stages import LocalRunner, encode_with
from mascot.photos.indexing.table_sink import FIELDS, TableSink


def index_into(
    root: Path,
    into: str | Sink,
    encoder: str | Encoder | None = None,
    *,
    limits: Limits | None = None,
    prune: bool = False,
    again: bool = False,
    hidden: bool = False,
    follow_links: bool = False,
    device: str = "auto",
    report: Report | None = None,
) -> Summary:
    """Bring a table of an engine up to date with a folder.

    `into` is the address of the table, as `mascot.connect.engines.open_sink` takes it, or a sink, which stays open.
    A different encoder than that of the table (`lite` for a new one) needs `again`. The other
    options are those of `mascot.photos.Library.index`.
    """
    limits = limits or Limits()
    if not root.is_dir():
        raise InputError(f"there is no folder {root}: a library is a folder of photographs")
    with ExitStack() as stack:
        if isinstance(into, str):
            model = open_encoder(encoder or _table_encoder(into) or "lite", device=device)
            table: Sink = open_sink(into, fields=FIELDS, dim=model.dim, tokens=model.tokens)
            stack.callback(table.close)
        else:
            table = into
            model = open_encoder(encoder or table.facts().get("encoder", "lite"), device=device)
        stamp = _claim(table, model, again)
        sink = stack.enter_context(TableSink(table, stamp, limits))
        return Indexer(
            [root.resolve()],
            sink,
            stack.enter_context(LocalRunner(limits)),
            partial(encode_with, model),
            prune=prune,
            hidden=hidden,
            follow_links=follow_links,
            report=report,
        ).run()


def _table_encoder(uri: str) -> str | None:
    """Return the encoder of a table; None if the table does not exist."""
    try:
        source = open_source(uri)
    except InputError:
        return None
    with source:
        return source.facts().get("encoder")


def _claim(table: Sink, encoder: Encoder, again: bool) -> str:
    """Record the encoder of the table, or refuse another one; return the first part of the stamps of its rows."""
    facts = table.facts()
    fingerprint, epoch = facts.get("fingerprint"), int(facts.get("epoch", 0))
    if fingerprint not in (None, encoder.fingerprint) and not again:
        raise encoder_refusal("table", facts["encoder"], encoder.name)
    if fingerprint is None or again:
        epoch += 1
        shape = {"dim": str(encoder.dim), "tokens": str(encoder.tokens)}
        table.set_facts({"encoder": encoder.name, "fingerprint": encoder.fingerprint, "epoch": str(epoch)} | shape)
    return stamp_of(encoder.fingerprint, max(epoch, 1))
