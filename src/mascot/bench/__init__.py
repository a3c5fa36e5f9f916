"""The benchmark of the paper and beyond it.

A `Benchmark` names a `Dataset`, methods and tasks. A `BenchTask` is a set of attributes to spread or to focus, with the
published `Widths` of its bins. A `Point` is a method with a setting on a task. `run` turns the points into `Job`s for
processes: a job asks a `QuerySet`, the queries of a `Split` with their candidates, and each `PointSelection` of a
method becomes a record in the `RecordStore`.

`mascot.bench.report` groups these records and prints tables, figures and comparisons; `datasets`, `prepare` and
`encode` make datasets.
"""
