"""Index a folder of photographs into an engine, in one process or on a Ray cluster."""

from __future__ import annotations

from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from mascot.cluster.ray_runner import RayRunner
from mascot.errors import InputError, OptionError
from mascot.photos.database.store import stamp_of
from mascot.photos.encoders import open_encoder
from mascot.photos.encoders.encoder import Encoder
from mascot.photos.files.decode_limits import Limits
from mascot.photos.indexing.indexer import Indexer, Report, Summary
from mascot.photos.indexing.runners import LocalRunner
from mascot.photos.indexing.stages import Encode
from mascot.photos.indexing.table_sink import FIELDS, TableSink

if TYPE_CHECKING:
    from mascot.connect.engines import Sink


def index_into(
    root: Path,
    into: str | Sink,
    encoder: str | Encoder | None = None,
    *,
    ray: str | None = None,
    workers: int | None = None,
    prune: bool = False,
    again: bool = False,
    hidden: bool = False,
    follow_links: bool = False,
    max_megapixels: float = Limits.max_megapixels,
    max_megabytes: float = Limits.max_megabytes,
    max_seconds: float = Limits.max_seconds,
    max_memory_mb: float = Limits.max_memory_mb,
    device: str = "auto",
    report: Report | None = None,
) -> Summary:
    """Bring an engine's table up to date with a folder.

    Parameters
    ----------
    root
        The folder; every machine of the cluster must see it under this path.
    into
        The table's address, as `mascot.connect.engines.open_sink` takes it; or a sink, which stays open.
    encoder
        Name or encoder (default: that of the table; `lite` for a new one). A different encoder needs `again`.
    ray
        `local`, `auto` or a cluster's address; None is this process alone.
    workers
        Number of encoders on Ray (default: one for each GPU, else one for each core).
    prune, again, hidden, follow_links, max_megapixels, max_megabytes, max_seconds, max_memory_mb, report
        As `mascot.photos.Library.index` has them.
    device
        Where encoders run.
    """
    limits = Limits(max_megapixels, max_megabytes, max_seconds, max_memory_mb)
    if not root.is_dir():
        raise InputError(f"a library is a folder of photographs, and there is no folder {root}")
    with ExitStack() as stack:
        runner: LocalRunner | RayRunner
        if ray is None:
            runner = stack.enter_context(LocalRunner(limits))
        else:
            from mascot.cluster.connection import cluster

            connection = stack.enter_context(cluster(ray))
            runner = stack.enter_context(RayRunner(connection, limits, device, workers))
        local_device = device if ray is None else "cpu"
        if isinstance(into, str):
            from mascot.connect.engines import open_sink

            model = _opened(encoder or _table_encoder(into) or "lite", local_device)
            table: Sink = open_sink(into, fields=FIELDS, dim=model.dim, tokens=model.tokens)
            stack.callback(table.close)
        else:
            table = into
            model = _opened(encoder or table.facts().get("encoder", "lite"), local_device)
        stamp = _claim(table, model, again)
        open_stage = partial(Encode, model)
        if ray is not None and (encoder is None or isinstance(encoder, str)):
            # Workers open an encoder by its name; a user's own object is sent to them.
            open_stage = partial(Encode, model.name, device, model.fingerprint)
        del model
        sink = stack.enter_context(TableSink(table, stamp, limits))
        return Indexer(
            [root.resolve()],
            sink,
            runner,
            open_stage,
            prune=prune,
            hidden=hidden,
            follow_links=follow_links,
            report=report,
        ).run()


def _table_encoder(uri: str) -> str | None:
    """Return the encoder of a table, None where the table does not exist."""
    from mascot.connect.engines import open_source

    try:
        source = open_source(uri)
    except InputError:  # there is none yet
        return None
    with source:
        return source.facts().get("encoder")


def _opened(encoder: str | Encoder, device: str) -> Encoder:
    return open_encoder(encoder, device=device) if isinstance(encoder, str) else encoder


def _claim(table: Sink, encoder: Encoder, again: bool) -> str:
    """Record the encoder of the table, or refuse another one; return the first part of the stamps of its rows."""
    facts = table.facts()
    fingerprint, name, epoch = facts.get("fingerprint"), facts.get("encoder"), int(facts.get("epoch", 0))
    if fingerprint not in (None, encoder.fingerprint) and not again:
        raise OptionError(
            f"this table was encoded with {name}, and {encoder.name} is not the same: keep that one with "
            f"--encoder {name}, or encode everything anew with --encoder {encoder.name} --again"
        )
    if fingerprint is None or again:
        epoch += 1
        shape = {"dim": str(encoder.dim), "tokens": str(encoder.tokens)}
        table.set_facts({"encoder": encoder.name, "fingerprint": encoder.fingerprint, "epoch": str(epoch)} | shape)
    return stamp_of(encoder.fingerprint, max(epoch, 1))
