"""Choose the encoder of `mascot index`: confirm a change, and download a model with a progress bar."""

from __future__ import annotations

import sys
from contextlib import closing

import typer

from mascot.cli.printing import note, progress_bar
from mascot.errors import InputError, OptionError
from mascot.extras import mascot_command
from mascot.photos.database import encodings
from mascot.photos.database.store import DamagedLibrary, Store
from mascot.photos.encoders import parse_spec
from mascot.photos.encoders.hub import Download, HubError, locate_model, plan_download
from mascot.photos.encoders.model_folders import Form
from mascot.photos.library import Library
from mascot.photos.locations import DATABASE

AUTO = "auto"
ENCODERS = "auto, lite, clip[:MODEL] or blip2[:MODEL]"


def choose_encoder(library: Library, encoder: str | None, again: bool, device: str) -> tuple[str | None, bool]:
    """Return the encoder for `Library.index` and whether to encode everything again.

    A model is on this machine when this returns. A change of encoder is confirmed before the download: by `again`, or
    by the user on a terminal.
    """
    current = _current_encoder(library, again)
    if encoder in (None, AUTO):
        return (_automatic(device) if current is None else None), again
    spec = current if current is not None and encodings.is_same(str(encoder), current) else str(encoder)
    download = _plan(spec, device)
    is_change = current not in (None, spec)
    if is_change and not again:
        _confirm(library, str(current), spec, download)
    if download is not None:
        try:
            _fetch(download)
        except HubError as error:
            raise InputError(f"the download of {download.model} was interrupted: {error}") from None
        except KeyboardInterrupt:
            raise InputError("the download was stopped; the same command resumes it") from None
    return spec, again or is_change


def _current_encoder(library: Library, again: bool) -> str | None:
    """Return the name of the encoder of the library, or of its replacement; None for a new or a damaged library."""
    path = library.folder / DATABASE
    if not path.is_file():
        return None
    try:
        with closing(Store(path)) as store:
            encoding = encodings.replacement(store) or encodings.serving(store)
    except DamagedLibrary:
        if again:
            return None
        raise
    return None if encoding is None else encoding.encoder


def _plan(spec: str, device: str) -> Download | None:
    """Return the download that a spec needs; None if its model is on this machine."""
    kind, model = parse_spec(spec)
    if kind == "lite":
        return None
    if kind == "clip":
        from mascot.photos.encoders.clip import clip_forms, default_model

        forms, model = clip_forms(device), model or default_model()
    else:
        from mascot.photos.encoders.blip2 import DEFAULT

        forms, model = (Form.TORCH,), model or DEFAULT
    if locate_model(kind, model, forms) is not None:
        return None
    try:
        return plan_download(model, forms)
    except HubError as error:
        raise InputError(
            f"{kind}: the model {model} is not on this machine and cannot be downloaded: {error}"
        ) from None


def _confirm(library: Library, current: str, spec: str, download: Download | None) -> None:
    size = "" if download is None else f" ({_megabytes(download)} to download)"
    count = library.store.count()
    change = f"this library is encoded with {current}: encode all {count:,} photographs anew with {spec}{size}"
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise OptionError(f"{change}? Then run: {mascot_command()} index --encoder {spec} --again")
    note(f"searches use {current} until all photographs are encoded")
    if not typer.confirm(f"{change}?", err=True):
        raise OptionError(f"nothing was changed; the library stays encoded with {current}")


def _fetch(download: Download, hint: str = "") -> None:
    note(f"downloading {download.model}, {_megabytes(download)}{hint}")
    with progress_bar(in_bytes=True) as report:
        download.fetch(report)


def _automatic(device: str) -> str:
    """Return the encoder of a new library: a CLIP on this machine, a small one from the hub, else `lite`."""
    from mascot.photos.encoders.clip import local_clip, small_clip

    spec = local_clip(device)
    if spec is not None:
        note(f"encoding with {spec}, which is on this machine")
        return spec
    try:
        download = small_clip()
        if download is not None:
            _fetch(download, "; Ctrl-C continues with lite")
            return f"clip:{download.model}"
    except HubError as error:
        note(f"encoding with lite: no model from the hub ({error})")
    except KeyboardInterrupt:
        note("encoding with lite: the download was stopped, and is resumed next time")
    return "lite"


def _megabytes(download: Download) -> str:
    return f"{max(download.size / 1e6, 0.1):.{0 if download.size >= 1e7 else 1}f} MB"
