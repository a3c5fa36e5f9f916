"""The default encoder of a new library: a CLIP on this machine, a small CLIP from the hub, or `lite`."""

from __future__ import annotations

from mascot.errors import InputError
from mascot.extras import installed
from mascot.photos.encoders.clip import DEFAULT, SMALL, clip_forms
from mascot.photos.encoders.folders import Form, local_model, read_json
from mascot.photos.encoders.hub import Download, cached_models, plan_download

_ANSWER_S = 4.0  # timeout of the hub before continuing without it
_ARCHITECTURES = {"CLIPModel", "MetaClip2Model", "SiglipModel"}  # related models with another head cannot be used


def local_clip(device: str = "auto") -> str | None:
    """Return `clip:NAME` of a CLIP in the hub's cache that is complete and runs here; None if there is none."""
    if not _can_run():
        return None
    forms = clip_forms(device)
    cached_names = [name for name in cached_models() if name not in (DEFAULT, SMALL)]
    for name in (DEFAULT, SMALL, *cached_names):
        model = local_model(name, forms)
        if model is None:
            continue
        try:
            architectures = read_json(model.folder / "config.json").get("architectures")
        except InputError:
            continue
        if isinstance(architectures, list) and _ARCHITECTURES.intersection(map(str, architectures)):
            return f"clip:{name}"
    return None


def small_clip() -> Download | None:
    """Return the download of a quantised CLIP; None if onnxruntime is not installed. Raises `HubError`."""
    if not _can_run() or not Form.QUANTIZED.runs:
        return None
    return plan_download(SMALL, (Form.QUANTIZED,), timeout_s=_ANSWER_S)


def _can_run() -> bool:
    return installed("huggingface_hub") and any(form.runs for form in Form)
