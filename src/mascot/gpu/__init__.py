"""Rank tensors that are on a GPU already."""

from mascot.gpu.device_batch import DeviceBatch

__all__ = ["DeviceBatch"]
