"""Loops over arrays. `reference` is the law; the other backends select what it selects."""
