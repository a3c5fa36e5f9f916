"""What the benchmark asks: tasks, studies, parameter grids, published figures."""
