"""Sources and sinks close once, and by themselves at the end of a `with`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import wraps
from inspect import isfunction
from typing import Any, TypeVar

from mascot.connect.address import Address
from mascot.errors import InputError

_This = TypeVar("_This", bound="Closing")


class Closing(ABC):
    """A connection to an engine: closing it again changes nothing, and using it then is refused."""

    _address: Address
    _closed = False

    def __init_subclass__(cls) -> None:
        """What a connection is used for is refused once it is closed: all its methods but private ones."""
        super().__init_subclass__()
        for name, method in list(vars(cls).items()):
            if isfunction(method) and not name.startswith("_"):
                setattr(cls, name, _while_open(method))

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


def _while_open(method: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(method)
    def checked(self: Closing, *arguments: Any, **options: Any) -> Any:
        self._must_be_open()
        return method(self, *arguments, **options)

    return checked
