"""Indexing: one pipeline from files to rows, into a library.

An `Indexer` walks the folders, a sink decides which files need a new row, a runner reads and encodes these files, and
the sink stores the rows. A run may be killed at any time: the rows written so far are complete, and the next run
continues.
"""
