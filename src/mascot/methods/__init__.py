"""Methods: each chooses k of a query's candidates. One file per method."""

from mascot.methods.clustering import Clustering
from mascot.methods.kdpp import KDpp
from mascot.methods.mascot import Mascot
from mascot.methods.mmr import Mmr
from mascot.methods.msdpp import MsDpp
from mascot.methods.relevance import Relevance

__all__ = ["Clustering", "KDpp", "Mascot", "Mmr", "MsDpp", "Relevance"]
