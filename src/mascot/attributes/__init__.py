"""Attributes turn columns into soft bins (`membership`) and into points (`features`).

An attribute is any object with `name`, `membership(columns, vectors)` and `features(columns, vectors)`.
Those here are frozen dataclasses, and also say what a missing value means and how to read a point (`near=`).
"""

from mascot.attributes.attribute import Attribute, Columns
from mascot.attributes.category import Category
from mascot.attributes.clusters import Clusters
from mascot.attributes.cycle import Cycle, DayOfYear, HourOfDay, Weekday
from mascot.attributes.line import Date, Number
from mascot.attributes.place import Grid, Place
from mascot.attributes.vectors import Vectors

__all__ = [
    "Attribute", "Category", "Clusters", "Columns", "Cycle", "Date", "DayOfYear", "Grid", "HourOfDay",
    "Number", "Place", "Vectors", "Weekday",
]  # fmt: skip
