"""Indexing: from files to the rows of a library.

An `Indexer` walks the folders, a `LibrarySink` decides which files need a new row, the indexer reads and encodes these
files, and the sink stores the rows. A run may be killed at any time: the rows written so far are complete, and the next
run continues.
"""
