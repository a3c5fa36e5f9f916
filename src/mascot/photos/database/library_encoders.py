"""The encoders that a library uses."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from mascot.errors import InputError, OptionError
from mascot.photos.database import encodings
from mascot.photos.database.store import Store

if TYPE_CHECKING:
    from mascot.photos.encoders.encoder import Encoder


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
            from mascot.photos.encoders import open_encoder

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
        """Return the encoder to index with; a change without `again` is refused."""
        if encoder is not None and not isinstance(encoder, str):
            return self.open(encoder)
        name = encodings.check_change(store, encoder, again)
        return self.named(name) if encoder is None else self.open(name)
