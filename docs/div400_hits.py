"""Print the judged photographs of Div400 as JSON lines: `python -m docs.div400_hits FOLDER > div400.jsonl`.

Each line is one hit of one of the 57 topics: query, id, score, lat, lon, taken, user, relevance (1 or 0, as people
judged it), cluster (the group that people sorted it into, null where it is not relevant) and vector (32 principal
components of the visual descriptors).
"""

from __future__ import annotations

import gzip
import json
import sys
from pathlib import Path

import numpy as np

from mascot.bench.datasets.div400 import Div400

COMPONENTS = 32


def main(folder: Path) -> None:
    """Print the hits of all topics, best first."""
    dataset = Div400(folder).load()
    with gzip.open(folder / "photos.jsonl.gz", "rt", encoding="utf-8") as stream:
        photos = [json.loads(line) for line in stream]
    assert dataset.vectors is not None
    assert dataset.lists is not None
    assert dataset.scores is not None
    centred = dataset.vectors - dataset.vectors.mean(axis=0)
    _, _, axes = np.linalg.svd(centred, full_matrices=False)
    vectors = (centred @ axes[:COMPONENTS].T).round(4)
    rows, scores = (np.concatenate(parts).tolist() for parts in (dataset.lists, dataset.scores))
    for row, score in zip(rows, scores, strict=True):
        photo = photos[row]
        hit = {"query": photo["topic"], "id": photo["id"], "score": round(score, 4)}
        hit |= {name: photo[name] for name in ("lat", "lon", "taken", "user")}
        hit |= {"relevance": photo["rel"], "cluster": photo["cluster"], "vector": vectors[row].tolist()}
        print(json.dumps(hit))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
