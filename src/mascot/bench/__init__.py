"""The benchmark: datasets, experiments and tables."""
