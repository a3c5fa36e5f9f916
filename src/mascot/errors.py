"""The few exceptions. A message names the owner, the rule and the value."""

from __future__ import annotations

from typing import Any


class MascotError(ValueError):
    """Anything this library refuses to do."""


class InputError(MascotError):
    """Candidates, columns or vectors that cannot be ranked."""


class OptionError(MascotError):
    """A parameter outside its rule, or options that contradict each other."""


class MissingExtra(MascotError, ImportError):
    """An optional part that is not installed; the message names the command that installs it."""


def require(holds: bool, owner: str, rule: str, value: Any) -> None:
    """Raise `OptionError("owner rule, got value")` unless the rule holds."""
    if not holds:
        raise OptionError(f"{owner} {rule}, got {value!r}")
