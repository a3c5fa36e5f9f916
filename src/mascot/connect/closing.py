"""Sources and sinks close once, and by themselves at the end of a `with`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TypeVar

from mascot.connect.address import Address
from mascot.errors import InputError

_This = TypeVar("_This", bound="Closing")


class Closing(ABC):
    """A connection to an engine: closing it again changes nothing, and using it then is refused."""

    _address: Address
    _closed = False

    def __enter__(self: _This) -> _This:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        if not self._closed:
            self._closed = True
            self._release()

    @abstractmethod
    def _release(self) -> None:
        """Let go of the engine; called once."""

    def _must_be_open(self) -> None:
        if self._closed:
            raise InputError(f"{self._address.shown} is closed: open it anew")
