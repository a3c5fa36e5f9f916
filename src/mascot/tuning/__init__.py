"""Measure what each parameter of a call does."""
