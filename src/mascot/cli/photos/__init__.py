"""Commands of photo search."""
