"""Datasets of the benchmark, one file each."""
