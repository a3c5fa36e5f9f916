"""Find, read and watch picture files."""
