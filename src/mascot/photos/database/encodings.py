"""The encoders of a library, the encoding that it is searched with, and the one that will replace it.

A change of encoder takes as long as indexing everything. Until it is complete, the old vectors are searched. A run that
was stopped or killed is continued by the next run.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from mascot.errors import InputError, OptionError
from mascot.photos.database.store import DamagedLibrary, Store, stamp_of
from mascot.photos.encoders import Encoder, open_encoder, parse_spec

_NEXT = "next_encoding"


@dataclass(frozen=True, slots=True)
class Encoding:
    encoder: str  # its name
    fingerprint: str
    dim: int
    tokens: int
    epoch: int  # counts how often the whole library was encoded
    sees: bool  # whether every vector was made from the pixels

    @property
    def stamp(self) -> str:
        return stamp_of(self.fingerprint, self.epoch)


def serving(store: Store) -> Encoding | None:
    """Return the encoding that searches use; None in a new library."""
    name, fingerprint = store.fact("encoder"), store.fact("fingerprint")
    if name is None or fingerprint is None:
        return None
    dim, tokens, epoch = (store.number(fact, 1) for fact in ("dim", "tokens", "epoch"))
    return Encoding(name, fingerprint, dim, tokens, epoch, store.fact("sees") == "yes")


def replacement(store: Store) -> Encoding | None:
    """Return the encoding that is not complete yet; None if the encoder is not being changed."""
    text = store.fact(_NEXT)
    try:
        return Encoding(**json.loads(text)) if text else None
    except (ValueError, TypeError):
        raise DamagedLibrary(store.path, "the encoding in progress") from None


def is_same(spec: str, name: str) -> bool:
    """Return whether a spec names the encoder of this name. A spec without a model means the model of the library."""
    kind, model = parse_spec(spec)
    own_kind, _, own_model = name.partition(":")
    if model is None or kind != own_kind:
        return kind == own_kind
    folder = Path(model).expanduser()
    return model == own_model or (folder.is_dir() and str(folder.resolve()) == own_model)


def begin(store: Store, encoder: Encoder, again: bool) -> Encoding:
    """Return the encoding under which the indexer writes, and record it in the library."""
    current, next_encoding = serving(store), replacement(store)
    sees = bool(getattr(encoder, "sees", True))
    if current is not None and next_encoding is not None and next_encoding.fingerprint == encoder.fingerprint:
        encoding = replace(next_encoding, sees=next_encoding.sees and sees)
        store.set_facts({_NEXT: json.dumps(asdict(encoding))})
        return encoding
    epoch = 1 + max(encoding.epoch if encoding else 0 for encoding in (current, next_encoding))
    new_encoding = Encoding(encoder.name, encoder.fingerprint, encoder.dim, encoder.tokens, epoch, sees)
    if current is None:
        _serve(store, new_encoding)
        return new_encoding
    if current.fingerprint != encoder.fingerprint:
        if not again:
            raise _refusal(current.encoder, encoder.name)
        _keep_only(store, current)
        store.set_facts({_NEXT: json.dumps(asdict(new_encoding))})
        return new_encoding
    if next_encoding is not None:  # the user returned to the old encoder by its name
        _keep_only(store, current)
    encoding = new_encoding if again else replace(current, sees=current.sees and sees)
    if encoding != current:
        _serve(store, encoding)
    return encoding


def finish(store: Store, encoding: Encoding) -> None:
    """Search with this encoding from now on, because every photograph in the folder has been encoded with it."""
    if replacement(store) is not None:
        _serve(store, encoding)
        _keep_only(store, encoding)


def _serve(store: Store, encoding: Encoding) -> None:
    values = asdict(encoding) | {"sees": "yes" if encoding.sees else "no"}
    store.set_facts({name: str(value) for name, value in values.items()})


def _keep_only(store: Store, encoding: Encoding) -> None:
    with store.writing() as connection:
        connection.execute("DELETE FROM vectors WHERE space != ?", (encoding.fingerprint,))
        connection.execute("DELETE FROM facts WHERE name = ?", (_NEXT,))


def _refusal(current: str, spec: str) -> OptionError:
    """Return the error that the library was encoded with another encoder."""
    return OptionError(
        f"this library was encoded with {current}, and {spec} is not the same: "
        f"keep that one with --encoder {current}, or encode everything anew with --encoder {spec} --again"
    )


@dataclass(frozen=True, slots=True)
class LibraryEncoders:
    """Encoders by name, opened once."""

    root: Path  # of the library
    device: str
    opened: dict[str, Encoder] = field(default_factory=dict)

    def open(self, encoder: str | Encoder, offline: bool = False) -> Encoder:
        """Return an encoder that the user named or passed."""
        if not isinstance(encoder, str):
            self.opened[encoder.name] = encoder  # it cannot be opened by its name
            return encoder
        if encoder not in self.opened:
            self.opened[encoder] = open_encoder(encoder, device=self.device, offline=offline)
        return self.opened[encoder]

    def named(self, name: str) -> Encoder:
        """Return the encoder that the library names. A library may be from elsewhere, so it cannot start a download."""
        if name in self.opened:
            return self.opened[name]
        folder = Path(name.partition(":")[2])
        if folder.is_absolute() and folder.resolve().is_relative_to(self.root):
            raise OptionError(
                f"this library names a model inside its own folder: if you trust it, add --encoder {name}"
            )
        try:
            return self.open(name, offline=True)
        except InputError as error:
            raise InputError(f"{error}. A library cannot start a download; allow it with --encoder {name}") from None

    def for_index(self, store: Store, encoder: str | Encoder | None, again: bool) -> Encoder:
        """Return the encoder to index with (default: the library's own).

        A change without `again` is refused here, before a model is downloaded or loaded.
        """
        current, next_encoding = serving(store), replacement(store)
        if encoder is None:
            return self.named((next_encoding or current).encoder if current else "lite")
        if current is None or not isinstance(encoder, str):
            return self.open(encoder)
        names = [encoding.encoder for encoding in (next_encoding, current) if encoding is not None]
        own_name = next((name for name in names if is_same(encoder, name)), None)
        if own_name is None and not again:
            raise _refusal(current.encoder, encoder)
        return self.open(own_name or encoder)
