"""From wishes to the arrays of a method, and from what it selects to the shown order."""
