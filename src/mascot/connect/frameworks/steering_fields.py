"""The fields that the pydantic models of LangChain and LlamaIndex share."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Annotated, Any, ClassVar

from pydantic import AfterValidator, BaseModel, BeforeValidator, Field, PlainSerializer, model_validator

from mascot.connect.frameworks.documents import (
    DocumentKind,
    Steering,
    as_method,
    as_wishes,
    plain_method,
    plain_wishes,
    resolve_rules,
)


def _as_names(names: Any) -> Any:
    """Return a list of names as a tuple; any other value is returned unchanged, to be refused later."""
    return tuple(names) if isinstance(names, Iterable) and not isinstance(names, (str, bytes)) else names


Names = Annotated[Sequence[str], BeforeValidator(_as_names), AfterValidator(tuple)]


class SteeredModel(BaseModel):
    """Wishes, k, a method and columns, checked and saved as plain data."""

    _kind: ClassVar[DocumentKind]
    wishes: Annotated[Any, BeforeValidator(as_wishes), PlainSerializer(plain_wishes)] = ()
    k: int = Field(default=20, ge=1)
    method: Annotated[Any, BeforeValidator(as_method), PlainSerializer(plain_method)] = Field(
        default=None, validate_default=True
    )
    columns: Names | None = None
    explain: bool = False

    @model_validator(mode="before")
    @classmethod
    def _of_profile(cls, data: Any) -> Any:
        """Replace a profile, a strength and a keep by wishes, k and a method."""
        return resolve_rules(data) if isinstance(data, dict) else data

    @property
    def _steering(self) -> Steering:
        distances = getattr(self, "distances", False)
        return Steering(self._kind, self.wishes, self.k, self.method, self.columns, self.explain, distances)
