"""The audit of the package against the paper: 95 items, checks that compute, and named tests."""
