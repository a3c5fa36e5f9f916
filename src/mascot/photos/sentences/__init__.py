"""Sentences such as `boats in Portugal at dusk, one per year`: which parts are filters, wishes, and words to search."""

from mascot.photos.sentences.sentence_parser import parse
from mascot.photos.sentences.understanding import Chip, Ignored, Understanding
from mascot.photos.sentences.vocabulary import Vocabulary

__all__ = ["Chip", "Ignored", "Understanding", "Vocabulary", "parse"]
