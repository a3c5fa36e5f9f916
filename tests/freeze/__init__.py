"""What the project selects and answers, stored: `python -m tests.freeze` compares, `--write` stores it anew."""
