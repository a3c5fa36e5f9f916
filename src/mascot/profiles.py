"""Profiles: named wishes and a method in a file, which Python, the service, the command line and frameworks read."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from hashlib import sha256
from os import PathLike
from pathlib import Path
from typing import Any

from mascot.candidates import Id
from mascot.errors import InputError, OptionError, check_positive, require
from mascot.methods.method import Method
from mascot.ranking import Ranking
from mascot.registry import from_dict
from mascot.reranking import Already, Pins, check_call, rerank
from mascot.serialize import plain
from mascot.wishes import AnyWish, Wish, check_wishes

SUFFIXES = (".json", ".toml")
OPTIONS = ("strength", "keep", "protect", "order")
_RULES = ("wishes", "k", "method", *OPTIONS)
_FIELDS = (*_RULES, "allow", "description", "variants")
_K = 20
_VERSION_DIGITS = 12


@dataclass(frozen=True, slots=True)
class Variant:
    """The rules of a profile, or of one of its variants, as `rerank` takes them.

    Attributes
    ----------
    name, weight
        The name of the variant, empty if the profile has no variants, and its weight among the variants.
    wishes, k, method
        As for `rerank`.
    unnamed
        Focuses whose value only a call names, as dictionaries, by the names of their attributes.
    """

    name: str
    weight: float
    wishes: tuple[AnyWish, ...]
    k: int
    method: Method
    unnamed: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Profile:
    """Named rules, as `load_profile` reads them.

    Attributes
    ----------
    name, description
        The name of the file without its suffix, and the description in it.
    version
        Digits of a hash of the rules. It changes if and only if a rule changes.
    allow
        The fields that a call may override: names of fields such as ``"k"``, and ``"near.place"`` for the value of a
        focus on the attribute `place`. If such a focus has no value, it applies only to calls that name one.
    variants
        The variants; a profile without variants has one with an empty name.
    """

    name: str
    version: str
    variants: tuple[Variant, ...]
    allow: tuple[str, ...] = ()
    description: str = ""

    def assign(self, key: str | None = None) -> Variant:
        """Return the variant of a user, session or any other key. The same key has the same variant.

        The variants are assigned by a hash of the key and the name of the profile, in proportion to their weights.
        Without a key the first variant is returned.
        """
        if key is None or len(self.variants) == 1:
            return self.variants[0]
        digest = sha256(f"{self.name}\0{key}".encode("utf-8", "surrogatepass")).digest()
        rest = int.from_bytes(digest[:8], "big") / 2**64 * sum(variant.weight for variant in self.variants)
        for variant in self.variants[:-1]:
            rest -= variant.weight
            if rest < 0:
                return variant
        return self.variants[-1]

    def variant(self, name: str) -> Variant:
        """Return the variant with this name."""
        names = [variant.name for variant in self.variants]
        if name not in names:
            advice = f"its variants: {', '.join(names)}" if names != [""] else "it has no variants"
            raise OptionError(f"profile {self.name!r} has no variant {name!r}; {advice}")
        return self.variants[names.index(name)]

    def rules(
        self,
        key: str | None = None,
        variant: str | None = None,
        near: Mapping[str, Any] | None = None,
        **overrides: Any,
    ) -> Variant:
        """Return the rules of one call.

        Parameters
        ----------
        key, variant
            The key that `assign` maps to a variant, or the name of a variant (default: None, the first variant).
        near
            The value of a focus, by the name of its attribute: ``{"place": (38.7, -9.1)}`` (default: None).
        overrides
            Other fields that the profile allows: `k`, `strength`, `keep`, `protect`, `order`, `wishes`, `method`. A
            field that is None is not overridden.
        """
        rules = self.assign(key) if variant is None else self.variant(variant)
        overrides = {name: value for name, value in overrides.items() if value is not None}
        require(near is None or isinstance(near, Mapping), "near", "must be a dictionary of name: value", near)
        values = {name: value for name, value in (near or {}).items() if value is not None}
        for name in (*overrides, *(f"near.{name}" for name in values)):
            if name not in self.allow:
                allowed = ", ".join(self.allow) or "nothing"
                raise OptionError(f"profile {self.name!r} does not allow {name} to be overridden; it allows {allowed}")
        if overrides:
            options: dict[str, Any] = {"wishes": rules.wishes, "k": rules.k, "method": rules.method} | overrides
            rules = replace(_variant(rules.name, (), rules.weight, **options), unnamed=rules.unnamed)
        return _with_values(rules, values) if values else rules

    def to_dict(self) -> dict[str, Any]:
        """Return the profile as plain data, ready for JSON, with all rules of each variant."""
        variants = [
            {
                "name": variant.name, "weight": variant.weight, "k": variant.k, "method": plain(variant.method),
                "wishes": [*map(plain, variant.wishes), *map(dict, variant.unnamed.values())],
            }
            for variant in self.variants
        ]  # fmt: skip
        names = {name: getattr(self, name) for name in ("name", "version", "description")}
        return {**names, "allow": list(self.allow), "variants": variants}

    def rerank(
        self,
        candidates: Any,
        *,
        key: str | None = None,
        variant: str | None = None,
        already: Already = None,
        pin: Pins = (),
        near: Mapping[str, Any] | None = None,
        **overrides: Any,
    ) -> Ranking[Id]:
        """Re-rank candidates by the profile: `mascot.rerank` with the rules of this call, see `rules`."""
        rules = self.rules(key, variant, near, **overrides)
        return rerank(candidates, rules.wishes, rules.k, rules.method, already, pin=pin)


def load_profile(path: str | PathLike[str]) -> Profile:
    """Read a profile from a JSON or TOML file.

    Parameters
    ----------
    path
        A file with the suffix ``.json`` or ``.toml``, which contains a dictionary. `wishes` is a list of wishes as
        `to_dict` writes them; `k`, `method`, `strength`, `keep`, `protect` and `order` are those of `rerank`. `allow`
        lists the fields that a call may override. `variants` maps names to a `weight` (default: 1) and to fields that
        differ from those of the profile. Every field may be omitted.
    """
    path = Path(path)
    with _located(path.name):
        return profile_of(path.stem, _read(path))


def profile_of(name: str, data: Any) -> Profile:
    """Return the profile that a dictionary describes, as `load_profile` reads it from a file."""
    _check_fields("a profile", data, _FIELDS)
    allow, description = data.get("allow", ()), data.get("description", "")
    require(isinstance(allow, (list, tuple)), "allow", "must be a list of names of fields", allow)
    require(isinstance(description, str), "description", "must be a text", description)
    base = {field: data[field] for field in _RULES if field in data}
    parts = data.get("variants", {"": {}})
    require(isinstance(parts, Mapping) and bool(parts), "variants", "must be a dictionary of name: fields", parts)
    variants = []
    for variant, changes in parts.items():
        with _located(f"variants.{variant}" if variant else ""):
            _check_fields("a variant", changes, ("weight", *_RULES))
            check_positive("weight", changes.get("weight", 1))
            variants.append(_variant(variant, allow, **{"weight": 1, **base, **changes}))
    focused = [wish.attribute.name for part in variants for wish in part.wishes if _is_focus(wish)]
    focused += [name for part in variants for name in part.unnamed]
    names = (*_RULES, *dict.fromkeys(f"near.{name}" for name in focused))
    for field_name in allow:
        require(field_name in names, "allow", f"must be among {', '.join(names)}", field_name)
    profile = Profile(name, "", tuple(variants), tuple(allow), description)
    rules = json.dumps([sorted(allow), profile.to_dict()["variants"]], default=str)
    return replace(profile, version=sha256(rules.encode()).hexdigest()[:_VERSION_DIGITS])


def _variant(
    name: str, allow: Sequence[str], weight: float, wishes: Any = (), k: int = _K, method: Any = None, **options: Any
) -> Variant:
    """Return a variant, checked for values and for contradictions."""
    require(isinstance(wishes, (list, tuple)), "wishes", "must be a list", wishes)
    objects: list[AnyWish] = []
    unnamed: dict[str, Mapping[str, Any]] = {}
    for place, part in enumerate(wishes):
        with _located(f"wishes[{place}]"):
            attribute = _unnamed_focus(part, allow)
            if attribute is None:
                objects.append(from_dict(part) if isinstance(part, Mapping) else part)
            else:
                unnamed[attribute] = dict(sorted(part.items()))
    call = check_call(k, "auto", from_dict(method) if isinstance(method, Mapping) else method, **options)
    return Variant(name, float(weight), check_wishes(objects, k), k, call.method, unnamed)


def _unnamed_focus(part: Any, allow: Sequence[str]) -> str | None:
    """Return the name of the attribute if the part is a focus whose value only a call names, otherwise None."""
    if not isinstance(part, Mapping) or "focus" not in part or "near" in part:
        return None
    name: str = from_dict({key: part[key] for key in part if key != "within"}).attribute.name
    if f"near.{name}" not in allow:
        return None
    check_positive(f"focus({name}).within", part.get("within", 1))
    return name


def _with_values(rules: Variant, near: Mapping[str, Any]) -> Variant:
    """Return the rules with the values that a call names for focuses."""
    wishes: list[Any] = [
        from_dict({**wish.to_dict(), "near": near[wish.attribute.name]})
        if _is_focus(wish) and wish.attribute.name in near
        else wish
        for wish in rules.wishes
    ]
    wishes += [from_dict({**focus, "near": near[name]}) for name, focus in rules.unnamed.items() if name in near]
    return replace(rules, wishes=tuple(wishes))


def _is_focus(wish: AnyWish) -> bool:
    return isinstance(wish, Wish) and wish.sign < 0


def _check_fields(owner: str, data: Any, fields: Sequence[str]) -> None:
    require(isinstance(data, Mapping), owner, "must be a dictionary", data)
    for name in data:
        require(name in fields, owner, f"has the fields {', '.join(fields)}", name)


@contextmanager
def _located(place: str) -> Iterator[None]:
    """Write the place of an error before its message."""
    try:
        yield
    except (ValueError, TypeError) as error:  # `MascotError` is a `ValueError`
        raise OptionError(f"{place}: {error}" if place else str(error)) from None


def _read(path: Path) -> Any:
    require(path.suffix in SUFFIXES, "a profile", "must be a file .json or .toml", path.name)
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}") from None
    if path.suffix == ".json":
        try:
            return json.loads(text, object_pairs_hook=_distinct)
        except json.JSONDecodeError as error:
            raise InputError(f"not JSON: {error}") from None
    return tomllib.loads(text)


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return a dictionary; a key that occurs twice is an error."""
    data = dict(pairs)
    for key, _ in pairs if len(data) < len(pairs) else ():
        require([name for name, _ in pairs].count(key) == 1, "a key", "must occur once in an object", key)
    return data
