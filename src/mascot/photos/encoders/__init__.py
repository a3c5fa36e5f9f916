"""Encoders: photographs and texts to vectors that can be compared."""

from __future__ import annotations

from mascot.errors import OptionError
from mascot.photos.encoders.describe import describe
from mascot.photos.encoders.encoder import Encoder, Picture

__all__ = ["Encoder", "Picture", "describe", "open_encoder"]


def open_encoder(spec: str = "lite", *, device: str = "auto", offline: bool = False) -> Encoder:
    """The encoder that `spec` names.

    Parameters
    ----------
    spec
        ``"lite"``; ``"clip"`` or ``"clip:MODEL"``; ``"blip2"`` or ``"blip2:MODEL"``. MODEL is a folder or a name on
        the model hub.
    device
        ``"auto"``, ``"cpu"`` or ``"cuda"``.
    offline
        Never ask the model hub: the model must be on this machine.

    Examples
    --------
    >>> open_encoder("lite").dim
    513
    """
    kind, colon, model = (part.strip() for part in spec.partition(":"))
    if kind == "lite" and not colon:
        from mascot.photos.encoders.lite import Lite

        return Lite(device)
    if kind == "clip" and bool(colon) == bool(model):
        from mascot.photos.encoders.clip import open_clip

        return open_clip(model or None, device=device, offline=offline)
    if kind == "blip2" and bool(colon) == bool(model):
        from mascot.photos.encoders.blip2 import Blip2

        return Blip2(model or None, device=device, offline=offline)
    raise OptionError(f"encoder must be lite, clip, clip:MODEL, blip2 or blip2:MODEL, got {spec!r}")
