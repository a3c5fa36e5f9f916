"""Loops over arrays. `reference` is the specification; the other backends select what it selects."""
