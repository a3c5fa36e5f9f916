"""Tables, figures and comparisons of benchmark results."""
