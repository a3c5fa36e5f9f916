"""MS-DPP's tangents and the Vendi score for many queries at once on a GPU, by torch's batched `eigh`.

Tensors in, tensors out, on the device and in the precision of the input (float64 for results like numpy's). The same
formulas as `mascot.kernels.tangents`, `mascot.kernels.dpp` and `mascot.metrics.vendi`; those explain them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mascot.errors import MissingExtra

_RIDGE, _LARGEST_EXPONENT, _QUALITY_EXPONENT, _ROUNDING, _TIE = 1e-3, 100.0, 200.0, 1e-10, 1e-10


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


def msdpp_kernels(features: Sequence[Any], vectors: Any, scores: Any, signs: Any, beta: float, theta: float) -> Any:
    """L of MS-DPP for Q queries: features A x [Q, N, d_j], unit vectors [Q, N, D], raw scores [Q, N]."""
    torch = _torch()
    logarithms = tangents([*features, vectors])
    shares = torch.as_tensor(signs, dtype=scores.dtype, device=scores.device) / max(len(features), 1)
    combined = (1.0 - beta) * torch.einsum("a,qaij->qij", shares, logarithms[:, :-1]) + beta * logarithms[:, -1]
    values, axes = torch.linalg.eigh(combined)
    excess = (values[..., -1:] - _LARGEST_EXPONENT).clamp(min=0.0)
    similarity = (axes * (values - excess).exp()[..., None, :]) @ axes.mT
    exponents = theta / (2.0 * (1.0 - theta)) * scores
    largest = exponents.amax(dim=-1, keepdim=True)
    quality = (exponents - (largest - largest.clamp(-_QUALITY_EXPONENT, _QUALITY_EXPONENT))).exp()
    return similarity * quality[..., :, None] * quality[..., None, :]


def greedy_map(kernels: Any, scores: Any, k: int) -> Any:
    """The greedy maximum-a-posteriori set of each DPP [Q, N, N], by incremental Cholesky: [Q, min(k, N)]."""
    torch = _torch()
    queries, count, _ = kernels.shape
    each = torch.arange(queries, device=kernels.device)
    variance = kernels.diagonal(dim1=-2, dim2=-1).clone()
    floor = _ROUNDING * variance.abs()
    spare = scores.clone()
    steps = min(k, count)
    factors = kernels.new_zeros((queries, steps, count))
    taken = torch.empty((queries, steps), dtype=torch.int64, device=kernels.device)
    for step in range(steps):
        best = variance.amax(dim=1)
        by_variance = (variance >= (best - _TIE * best.abs())[:, None]).to(torch.int8).argmax(dim=1)
        pick = torch.where(best == -torch.inf, spare.argmax(dim=1), by_variance)
        taken[:, step] = pick
        own = variance[each, pick]
        variance[each, pick] = -torch.inf
        spare[each, pick] = -torch.inf
        divisor = torch.where(own > 0, own, torch.inf).sqrt()
        explained = (factors[each, :step, pick][:, :, None] * factors[:, :step]).sum(dim=1)
        update = (kernels[each, pick] - explained) / divisor[:, None]
        factors[:, step] = update
        variance = variance - update * update
        variance = torch.where(variance > floor, variance, -torch.inf)
    return taken


def vendi(kernels: Any, order: float = 0.1, ridge: float = 1e-5) -> Any:
    """Vendi score of each [Q, K, K] similarity matrix, orders other than 1: exp(log(sum lambda^q) / (1 - q))."""
    torch = _torch()
    shown = kernels.shape[-1]
    eigenvalues = torch.linalg.eigvalsh(kernels / shown)
    noise = shown * torch.finfo(kernels.dtype).eps
    eigenvalues = torch.where(eigenvalues > noise, eigenvalues, 0.0) + ridge
    return (eigenvalues.pow(order).sum(dim=-1).log() / (1.0 - order)).exp()
