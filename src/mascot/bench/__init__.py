"""The benchmark of the paper and beyond it.

A `Benchmark` names a dataset, methods and tasks. A `BenchTask` is a set of attributes to spread or to focus; `Widths`
are the published bins of its places and hours, and `PublishedHour` is its hour as published. A `Point` is a method with
a setting on a task. `run` turns the points into `Job`s for the `job_workers`: a job asks a `QuerySet`, the queries of a
split with their candidates, and each `PointSelection` of a method becomes a record in the `RecordStore`.

`mascot.bench.averages` groups these records; `tables`, `figures` and `compare` are functions of them; `datasets`,
`prepare` and `encode` make datasets.
"""
