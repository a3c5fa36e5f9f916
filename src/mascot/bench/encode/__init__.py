"""`mascot bench encode`: the vectors that a model makes of a prepared folder's images and queries::

    DIR/encoded/NAME/model.json             which model, of which data, how many vectors are there
    DIR/encoded/NAME/tokens.npy             [M, T, D] float32: T vectors for each image
    DIR/encoded/NAME/vectors.npy            [M, D] float32: their mean, made unit length; how an image looks
    DIR/encoded/NAME/texts.npy              [Q, D] float32: a vector for each query
    DIR/encoded/NAME/lists-validation.npz   the best images of each query of the split: queries [q], rows [q, n]
    DIR/encoded/NAME/lists-test.npz         (best first, -1 after the end) and scores [q, n]

The score of an image is the largest dot product of one of its vectors with the query's.
"""

from __future__ import annotations

from mascot.bench.encode.encoding import encode
from mascot.bench.encode.scoring import BestLists, best_lists
from mascot.bench.encode.vector_files import store_vectors

__all__ = ["BestLists", "best_lists", "encode", "store_vectors"]
