"""Relevance alone: the order of the search engine."""

from __future__ import annotations

from dataclasses import dataclass

from mascot.methods.method import Problem, Selection, select_pages
from mascot.serialize import Value


@dataclass(frozen=True, slots=True)
class Relevance(Value):
    """The k highest scores, which every method returns at strength 0.

    Equal scores keep the order of their positions. Candidates of earlier pages are left out; quotas are obeyed.
    """

    def select(self, problem: Problem, k: int) -> Selection:
        """Select k candidates of each query, or all if there are fewer."""
        return select_pages(problem, k, self)
