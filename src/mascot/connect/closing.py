"""Base class of sources and sinks: they close once, and at the end of a `with`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import wraps
from inspect import isfunction
from typing import Any, TypeVar

from mascot.connect.address import Address
from mascot.errors import InputError

_Self = TypeVar("_Self", bound="Closing")


class Closing(ABC):
    """A connection to an engine. Closing it twice has no effect; using it after that raises."""

    _address: Address
    _closed = False

    def __init_subclass__(cls) -> None:
        """Make all public methods raise once the connection is closed."""
        super().__init_subclass__()
        for name, method in list(vars(cls).items()):
            if isfunction(method) and not name.startswith("_"):
                setattr(cls, name, _while_open(method))

    def __enter__(self: _Self) -> _Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        if not self._closed:
            self._closed = True
            self._release()

    @abstractmethod
    def _release(self) -> None:
        """Release the engine; called once."""

    def _must_be_open(self) -> None:
        if self._closed:
            raise InputError(f"{self._address.label} is closed: open it anew")


def _while_open(method: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(method)
    def checked(self: Closing, *arguments: Any, **options: Any) -> Any:
        self._must_be_open()
        return method(self, *arguments, **options)

    return checked
