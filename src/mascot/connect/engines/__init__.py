"""Search engines and databases that hold vectors."""
