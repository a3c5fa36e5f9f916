"""The index of a library: SQLite and vectors."""
