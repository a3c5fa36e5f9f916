"""A folder of photographs: index it, search it, steer it."""

from mascot.photos.library import Library
from mascot.photos.photo import Photo
from mascot.photos.results import Hits, Result, Results

__all__ = ["Hits", "Library", "Photo", "Result", "Results"]
