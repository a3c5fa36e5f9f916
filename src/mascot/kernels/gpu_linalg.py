"""MS-DPP's tangents and the Vendi score for many queries at once on a GPU, by torch's batched `eigh`.

Tensors in, tensors out, on the device and in the precision of the input (float64 for results like numpy's). The same
formulas as `mascot.kernels.tangents`, `mascot.kernels.dpp` and `mascot.metrics.vendi`; those explain them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from mascot.errors import MissingExtra

_RIDGE, _NOTHING, _LARGEST_EXPONENT, _QUALITY_EXPONENT = 1e-3, 1e-12, 100.0, 200.0
_ROUNDING = _TIE = _RELEASED_EPSILON = 1e-10


def _torch() -> Any:
    try:
        import torch
    except ImportError as error:
        raise MissingExtra("MS-DPP and Vendi on a GPU need torch: pip install torch") from error
    return torch


def similarities(features: Any) -> Any:
    """S_ij = 1 / (1 + distance) of the rows of [..., N, d]."""
    torch = _torch()
    exact = torch.cdist(features, features, compute_mode="donot_use_mm_for_euclid_dist")
    return 1.0 / (1.0 + exact)


def tangents(features: Sequence[Any]) -> Any:
    """T_j = logm(S_j + 1e-3 I) of each block of features [Q, N, d_j]: [Q, A, N, N]."""
    torch = _torch()
    stacked = torch.stack([similarities(block) for block in features], dim=1)
    stacked.diagonal(dim1=-2, dim2=-1).add_(_RIDGE)
    values, axes = torch.linalg.eigh(stacked)
    logarithms = torch.where(values > 0, values, 1.0).log()
    return (axes * logarithms[..., None, :]) @ axes.mT


def combine(
    attributes: Any, image: Any, scores: Any, signs: Any, beta: float, weights: Any = None, normalize: str | None = None
) -> Any:
    """M = expm((1 - beta) * mean_j(s_j T_j) + beta * T_img) of [Q, A, N, N] and [Q, N, N] or None: [Q, N, N].

    `weights` are those of the mean; `normalize` is None, "tn" or "tn+tvms", as in `mascot.kernels.tangents.combine`.
    """
    torch = _torch()
    kinds = attributes.shape[1]
    if image is None or not kinds:
        beta = 0.0 if image is None else 1.0
    shares = torch.as_tensor(signs, dtype=scores.dtype, device=scores.device)
    if weights is not None:
        shares = shares * torch.as_tensor(weights, dtype=scores.dtype, device=scores.device)
        shares = shares * (kinds / torch.as_tensor(weights, dtype=scores.dtype).sum().item())
    shares = (shares / max(kinds, 1)).expand(len(scores), kinds)
    length = torch.ones_like(scores[:, 0])
    if normalize is not None:
        shares = shares / _norm(attributes)
    if normalize == "tn":
        length = scores.log().norm(dim=-1)
    combined = torch.einsum("qa,qaij->qij", shares, attributes)
    if normalize == "tn":
        combined = combined * (length / _norm(combined))[:, None, None]
    combined = (1.0 - beta) * combined
    if image is not None:
        share = beta * length if normalize is None else beta * length / _norm(image)
        combined = combined + share[:, None, None] * image
    if normalize == "tn+tvms":
        combined = combined * ((scores != 1).any(dim=-1) / _norm(combined))[:, None, None]
    values, axes = torch.linalg.eigh(combined)
    excess = (values[..., -1:] - _LARGEST_EXPONENT).clamp(min=0.0)
    return (axes * (values - excess).exp()[..., None, :]) @ axes.mT


def _norm(tangents: Any) -> Any:
    """Frobenius norms to divide by; 1 for tangents that cancelled."""
    found = (tangents * tangents).sum(dim=(-2, -1)).sqrt()
    return _torch().where(found > _NOTHING, found, 1.0)


def unit_logarithm(scores: Any) -> Any:
    """exp(log r / ||log r||) of [Q, N]."""
    logarithms = scores.log()
    length = logarithms.norm(dim=-1, keepdim=True)
    return (logarithms / _torch().where(length > 0, length, 1.0)).exp()


def msdpp_kernels(
    features: Sequence[Any], vectors: Any, scores: Any, signs: Any, beta: float, theta: float, weights: Any = None,
    normalize: str | None = None,
) -> Any:  # fmt: skip
    """L of MS-DPP for Q queries: features A x [Q, N, d_j], unit vectors [Q, N, D] or None, raw scores [Q, N].

    theta is 1 - strength; `weights` and `normalize` are those of the wishes and of `MsDpp`.
    """
    logarithms = tangents([*features, *([] if vectors is None else [vectors])])
    image = None if vectors is None else logarithms[:, -1]
    similarity = combine(logarithms[:, : len(features)], image, scores, signs, beta, weights, normalize)
    exponents = theta / (2.0 * (1.0 - theta)) * (unit_logarithm(scores) if normalize == "tn+tvms" else scores)
    largest = exponents.amax(dim=-1, keepdim=True)
    quality = (exponents - (largest - largest.clamp(-_QUALITY_EXPONENT, _QUALITY_EXPONENT))).exp()
    return similarity * quality[..., :, None] * quality[..., None, :]


def greedy_map(kernels: Any, scores: Any, k: int, seen: Any = None, released: bool = False) -> Any:
    """The greedy maximum-a-posteriori set of each DPP [Q, N, N], by incremental Cholesky: [Q, min(k, N)].

    `seen` [Q, S] was taken before, -1 is no position; -1 comes back where a query has fewer left. `released` divides
    by the variance where the exact algorithm divides by its root.
    """
    torch = _torch()
    queries, count, _ = kernels.shape
    each = torch.arange(queries, device=kernels.device)
    # The last column of both stands for no position, -1: never worth anything, harmless to take.
    variance = kernels.new_full((queries, count + 1), -torch.inf)
    variance[:, :count] = kernels.diagonal(dim1=-2, dim2=-1)
    floor = _ROUNDING * variance.abs()
    spare = kernels.new_full((queries, count + 1), -torch.inf)
    spare[:, :count] = scores
    before = 0 if seen is None else seen.shape[1]
    steps = before + min(k, count)
    factors = kernels.new_zeros((queries, steps, count))
    taken = torch.empty((queries, steps), dtype=torch.int64, device=kernels.device)
    for step in range(steps):
        if step < before:
            pick = seen[:, step]
        else:
            best = variance.amax(dim=1)
            by_variance = (variance >= (best - _TIE * best.abs())[:, None]).to(torch.int8).argmax(dim=1)
            by_score = torch.where(spare.amax(dim=1) == -torch.inf, -1, spare.argmax(dim=1))
            pick = torch.where(best == -torch.inf, by_score, by_variance)
        taken[:, step] = pick
        own = variance[each, pick]
        variance[each, pick] = -torch.inf
        spare[each, pick] = -torch.inf
        own = torch.where(own > 0, own, torch.inf)
        divisor = own + _RELEASED_EPSILON if released else own.sqrt()
        explained = (factors[each, :step, pick][:, :, None] * factors[:, :step]).sum(dim=1)
        update = (kernels[each, pick] - explained) / divisor[:, None]
        factors[:, step] = update
        variance[:, :count] -= update * update
        variance = torch.where(~(variance > floor) & (pick >= 0)[:, None], -torch.inf, variance)
    return taken[:, before:]


def vendi(kernels: Any, order: float = 0.1, ridge: float = 1e-5) -> Any:
    """Vendi score of each [Q, K, K] similarity matrix, as `mascot.metrics.vendi`."""
    torch = _torch()
    shown = kernels.shape[-1]
    eigenvalues = torch.linalg.eigvalsh(kernels / shown)
    noise = shown * torch.finfo(kernels.dtype).eps
    eigenvalues = torch.where(eigenvalues > noise, eigenvalues, 0.0) + ridge
    if order == math.inf:
        return 1.0 / eigenvalues.amax(dim=-1)
    if order == 1:
        return (-torch.special.xlogy(eigenvalues, eigenvalues).sum(dim=-1)).exp()
    return (eigenvalues.pow(order).sum(dim=-1).log() / (1.0 - order)).exp()
