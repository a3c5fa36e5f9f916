"""The profiles of a folder, which are read again when their files change."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import anyio
from msgspec import Struct

import mascot as mc
from mascot.errors import require
from mascot.profiles import SUFFIXES
from mascot.server.schemas import MOST_RESULTS

_INTERVAL_S = 1.0  # between two looks at the files
log = logging.getLogger("mascot.server")


class VariantOut(Struct):
    """The rules of a profile, or of one of its variants."""

    name: str
    weight: float
    k: int
    method: dict[str, Any]
    wishes: list[dict[str, Any]]


class ProfileOut(Struct):
    """A profile that requests can name."""

    name: str
    version: str
    description: str
    allow: list[str]
    variants: list[VariantOut]


class ProfilesOut(Struct):
    """All profiles, and the errors in files by file name. A broken file does not replace its last valid version."""

    profiles: list[ProfileOut]
    errors: dict[str, str]


class ProfileStore:
    """The profiles in the JSON and TOML files of a folder, without hidden files. `errors` names each broken file.

    A reader takes a profile once per request, so that a change of its file never mixes two versions in an answer.
    """

    def __init__(self, folder: str | None = None) -> None:
        self._folder = None if folder is None else Path(folder)
        self._states: dict[Path, tuple[int, ...]] = {}
        self._profiles: dict[str, mc.Profile] = {}
        self.errors: dict[str, str] = {}
        self.reload()

    def get(self, name: str) -> mc.Profile:
        profile = self._profiles.get(name)
        if profile is None:
            names = ", ".join(sorted(self._profiles)) or "none, see mascot serve --profiles"
            raise mc.OptionError(f"there is no profile {name!r}; profiles: {names}")
        return profile

    def describe(self) -> ProfilesOut:
        profiles = sorted(self._profiles.values(), key=lambda profile: profile.name)
        return ProfilesOut([ProfileOut(**profile.to_dict()) for profile in profiles], self.errors)

    async def watch(self) -> None:
        """Read changed files until the task is cancelled, and log each new error."""
        logged: dict[str, str] = {}
        while self._folder is not None:
            await anyio.sleep(_INTERVAL_S)
            try:
                await anyio.to_thread.run_sync(self.reload)
            except Exception:
                log.exception("the profiles could not be read again")
            for name, message in self.errors.items():
                if logged.get(name) != message:
                    log.error("%s", message)
            logged = self.errors

    def reload(self) -> None:
        """Read new, changed and broken files, and forget the profiles of deleted ones."""
        if self._folder is None:
            return
        try:
            files = sorted(path for path in self._folder.iterdir() if path.suffix in SUFFIXES and path.name[0] != ".")
        except OSError as error:
            self.errors = {self._folder.name: f"{self._folder} cannot be read: {error.strerror}"}
            return
        states = {path: _state(path) for path in files}
        profiles: dict[str, mc.Profile] = {}
        errors: dict[str, str] = {}
        stems = [path.stem for path in files]
        for path in files:
            name, last = path.stem, self._profiles.get(path.stem)
            is_unchanged = states[path] == self._states.get(path) and path.name not in self.errors
            try:
                rule = f"must be the only file of the profile {name}"
                require(stems.count(name) == 1, path.name, rule, [file.name for file in files])
                profiles[name] = last if is_unchanged and last else _load(path)
            except mc.MascotError as error:
                errors[path.name] = str(error)
                if last is not None:
                    profiles[name] = last
        self._states, self._profiles, self.errors = states, profiles, errors


def _load(path: Path) -> mc.Profile:
    profile = mc.load_profile(path)
    for variant in profile.variants:
        require(variant.k <= MOST_RESULTS, f"{path.name}: k", f"must be at most {MOST_RESULTS}", variant.k)
    return profile


def _state(path: Path) -> tuple[int, ...]:
    """Return what changes when a file is written or replaced; nothing if it cannot be read."""
    try:
        status = path.stat()
    except OSError:
        return ()
    return status.st_mtime_ns, status.st_size, status.st_ino
