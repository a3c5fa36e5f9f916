"""A sample travel library: 600 JPEG files with the metadata of photographs, written from a table and 80 pictures.

Table and pictures were generated once. The generator is in the history of the repository, at commit 922e55d.
"""

from mascot.photos.sample.postcards import Postcard, plan
from mascot.photos.sample.writer import jpeg, write_sample

__all__ = ["Postcard", "jpeg", "plan", "write_sample"]
