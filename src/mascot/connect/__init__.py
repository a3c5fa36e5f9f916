"""Where people already search: frameworks, vector databases and other libraries. Each module needs its own extra."""
