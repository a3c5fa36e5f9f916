"""The attacks of `python -m benchmarks.torture`, one file per target."""
