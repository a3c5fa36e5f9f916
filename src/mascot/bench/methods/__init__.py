"""The methods that the paper compares with, and rivals beyond it. One file per method."""

from mascot.bench.methods.clustering import Clustering
from mascot.bench.methods.kdpp import KDpp
from mascot.bench.methods.msdpp import MsDpp

__all__ = ["Clustering", "KDpp", "MsDpp"]
