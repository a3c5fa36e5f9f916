"""Methods: each chooses k of a query's candidates. One file per method."""

from mascot.methods.mascot import Mascot
from mascot.methods.mmr import Mmr
from mascot.methods.relevance import Relevance

__all__ = ["Mascot", "Mmr", "Relevance"]
