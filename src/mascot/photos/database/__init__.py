"""The index of a library: SQLite, vectors, checksums and repair."""
