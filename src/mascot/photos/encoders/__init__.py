"""Encoders: photographs and texts to vectors that can be compared."""

from __future__ import annotations

from mascot.errors import OptionError
from mascot.photos.encoders.describe import describe
from mascot.photos.encoders.encoder import Encoder, Picture

__all__ = ["Encoder", "Picture", "describe", "open_encoder", "parse_spec"]
_SPECS = "lite, clip or clip:MODEL"


def open_encoder(spec: str | Encoder = "lite", *, device: str = "auto", offline: bool = False) -> Encoder:
    """Open the encoder that `spec` names.

    Parameters
    ----------
    spec
        ``"lite"``; ``"clip"`` or ``"clip:MODEL"``. MODEL is a folder or a name on the model hub. An encoder is returned
        as it is.
    device
        ``"auto"``, ``"cpu"`` or ``"cuda"``.
    offline
        Never contact the model hub: the model must be on this machine.

    Examples
    --------
    >>> open_encoder("lite").dim
    513
    """
    if not isinstance(spec, str):
        return spec
    kind, model = parse_spec(spec)
    if kind == "lite":
        from mascot.photos.encoders.lite import Lite

        return Lite(device)
    from mascot.photos.encoders.clip import open_clip

    return open_clip(model, device=device, offline=offline)


def parse_spec(spec: str) -> tuple[str, str | None]:
    """Return kind and model of a spec; a model of None means the default of the kind."""
    kind, colon, model = (part.strip() for part in spec.partition(":"))
    if kind not in ("lite", "clip") or bool(colon) != bool(model) or (kind == "lite" and model):
        raise OptionError(f"encoder must be {_SPECS}, got {spec!r}")
    return kind, model or None
