"""`python -m mascot.cli`."""

from mascot.cli import main

main()
