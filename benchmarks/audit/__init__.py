"""The audit of the package against the paper: 96 items, checks that compute, and named tests."""
