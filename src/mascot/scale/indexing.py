"""Index a folder of photographs into an engine, in one process or on a Ray cluster."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mascot.errors import InputError, OptionError
from mascot.photos.encoders import open_encoder
from mascot.photos.encoders.encoder import Encoder
from mascot.photos.indexer import Report, Summary
from mascot.photos.limits import Limits
from mascot.scale.pipeline import LocalRunner, RayRunner, Runner
from mascot.scale.run import EngineSpace, Run, RunOptions

if TYPE_CHECKING:
    from mascot.connect.source import Sink


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
        The table's address, as `mascot.connect.source.open_sink` takes it; or a sink, which stays open.
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
        runner: Runner = LocalRunner()
        sink: Sink
        if ray is not None:
            from mascot.scale.cluster import cluster

            runner = RayRunner(stack.enter_context(cluster(ray)), workers)
        if isinstance(into, str):
            from mascot.connect.source import open_sink, open_source

            if encoder is None:
                encoder = _table_encoder(into, open_source)
            opened = _opened(encoder or "lite", device if ray is None else "cpu")
            sink = open_sink(into, dim=opened.dim, tokens=opened.tokens)
            stack.callback(sink.close)
        else:
            sink = into
            opened = _opened(encoder or sink.facts().get("encoder", "lite"), device if ray is None else "cpu")
        epoch = _claim(sink, opened, again)
        # Workers open an encoder by its name, and this process does not need it; a user's own object is sent to them.
        by_name = ray is not None and (encoder is None or isinstance(encoder, str))
        space = EngineSpace(opened.name if by_name else opened, opened.fingerprint, epoch, device)
        del opened
        options = RunOptions(prune, hidden, follow_links, limits)
        return Run(root.resolve(), sink, runner, space, options, report or (lambda stage, count, total: None)).run()


def _table_encoder(uri: str, open_source: Any) -> str | None:
    """Return the encoder of a table, None where the table does not exist."""
    try:
        source = open_source(uri)
    except InputError:  # there is none yet
        return None
    try:
        return dict(source.facts()).get("encoder")
    finally:
        source.close()


def _opened(encoder: str | Encoder, device: str) -> Encoder:
    return open_encoder(encoder, device=device) if isinstance(encoder, str) else encoder


def _claim(sink: Sink, encoder: Encoder, again: bool) -> str:
    """Record the encoder of the table, or raise; return the number of its encoding."""
    facts = sink.facts()
    fingerprint = facts.get("fingerprint")
    if fingerprint is not None and fingerprint != encoder.fingerprint and not again:
        name = facts.get("encoder")
        raise OptionError(
            f"this table was encoded with {name}, and {encoder.name} is not the same: keep that one with "
            f"--encoder {name}, or encode everything anew with --encoder {encoder.name} --again"
        )
    if fingerprint is None or again:
        epoch = str(int(facts.get("epoch", 0)) + 1)
        shape = {"dim": str(encoder.dim), "tokens": str(encoder.tokens)}
        sink.set_facts({"encoder": encoder.name, "fingerprint": encoder.fingerprint, "epoch": epoch} | shape)
        return epoch
    return facts.get("epoch", "1")
