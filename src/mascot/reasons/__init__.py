"""Reasons: why each result was selected, and what the rules of a page count."""
