"""Rank tensors that are already on a GPU."""

from mascot.gpu.device_batch import DeviceBatch

__all__ = ["DeviceBatch"]
