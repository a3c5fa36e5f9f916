"""Choose the encoder of `mascot index`: confirm a change, and download a model."""

from __future__ import annotations

import sys
from contextlib import closing

import typer

from mascot.cli.printing import note
from mascot.errors import InputError, OptionError
from mascot.extras import mascot_command
from mascot.photos.database import encodings
from mascot.photos.database.store import DamagedLibrary, Store
from mascot.photos.encoders import parse_spec
from mascot.photos.encoders.hub import HubError, download, locate_model
from mascot.photos.library import Library
from mascot.photos.locations import DATABASE

AUTO = "auto"
ENCODERS = "auto, lite or clip[:MODEL]"


def choose_encoder(library: Library, encoder: str | None, again: bool) -> tuple[str | None, bool]:
    """Return the encoder for `Library.index` and whether to encode everything again.

    A model is on this machine when this returns. A change of encoder is confirmed before the download: by `again`, or
    by the user on a terminal.
    """
    current = _current_encoder(library, again)
    if encoder in (None, AUTO):
        return (_automatic() if current is None else None), again
    spec = current if current is not None and encodings.is_same(str(encoder), current) else str(encoder)
    missing = _missing_model(spec)
    is_change = current not in (None, spec)
    if is_change and not again:
        _confirm(library, str(current), spec)
    if missing is not None:
        try:
            _fetch(missing)
        except HubError as error:
            raise InputError(f"clip: the model {missing} is not on this machine and not downloaded: {error}") from None
        except KeyboardInterrupt:
            raise InputError("the download was stopped: run the same command again") from None
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


def _missing_model(spec: str) -> str | None:
    """Return the name of the model that a spec needs; None if it is on this machine."""
    from mascot.photos.encoders.clip import DEFAULT, FORMS

    kind, model = parse_spec(spec)
    if kind == "lite" or locate_model(kind, model or DEFAULT, FORMS) is not None:
        return None
    return model or DEFAULT


def _confirm(library: Library, current: str, spec: str) -> None:
    change = (
        f"this library is encoded with {current}: encode all {library.store.count():,} photographs anew with {spec}"
    )
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise OptionError(f"{change}? Then run: {mascot_command()} index --encoder {spec} --again")
    note(f"searches use {current} until all photographs are encoded")
    if not typer.confirm(f"{change}?", err=True):
        raise OptionError(f"nothing was changed; the library stays encoded with {current}")


def _fetch(model: str, hint: str = "") -> None:
    from mascot.photos.encoders.clip import FORMS

    note(f"downloading {model}{hint}")
    download(model, FORMS)


def _automatic() -> str:
    """Return the encoder of a new library: a CLIP on this machine, a small one from the hub, else `lite`."""
    from mascot.photos.encoders.clip import DEFAULT, can_run, local_clip

    if not can_run():
        return "lite"
    spec = local_clip()
    if spec is not None:
        note(f"encoding with {spec}, which is on this machine")
        return spec
    try:
        _fetch(DEFAULT, ", 154 MB; Ctrl-C continues with lite")
    except HubError as error:
        note(f"encoding with lite: no model from the hub ({error})")
    except KeyboardInterrupt:
        note("encoding with lite: the download was stopped")
    else:
        return f"clip:{DEFAULT}"
    return "lite"
