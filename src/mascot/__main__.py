"""`python -m mascot` is `mascot`."""

from mascot.cli import main

if __name__ == "__main__":
    main()
