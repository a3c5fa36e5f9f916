"""A travel library made on the spot: painted postcards with the tags of real photographs, to try everything with."""

from mascot.photos.sample.journeys import Postcard, plan
from mascot.photos.sample.postcards import jpeg, write_sample

__all__ = ["Postcard", "jpeg", "plan", "write_sample"]
