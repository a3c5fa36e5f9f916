"""Indexing and the benchmark on a Ray cluster: many machines, or the cores of one."""

LOCAL = "local"  # the address of a cluster that is started on this machine, and ends with the run
