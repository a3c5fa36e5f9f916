"""Print invented, judged search results as JSON lines: `python judged_example.py > judged.jsonl`.

Sixty searches of a news archive ("flood") with forty articles each. People judged the articles (0 to 2) and said which
event each relevant one reports. The events lie in one year, and their articles within days of each other; articles
that are not relevant come from ten years. The search scores articles of the largest event too high.
"""

from __future__ import annotations

import json
import random
from datetime import date, timedelta

QUERIES, ARTICLES = 60, 40
SHARES = (0.5, 0.2, 0.12, 0.1, 0.08)  # of the relevant articles, by event


def main() -> None:
    """Print the articles of every query."""
    rng = random.Random(18)
    for query in range(QUERIES):
        year = date(rng.randrange(2012, 2020), 1, 1)
        events = [year + timedelta(days=days) for days in rng.sample(range(0, 360, 24), len(SHARES))]
        for number in range(ARTICLES):
            hit = {"query": f"search-{query:02}", "id": f"{query:02}-{number:02}"}
            relevance = rng.choices((0, 1, 2), (0.4, 0.35, 0.25))[0]
            event = rng.choices(range(len(SHARES)), SHARES)[0] if relevance else None
            if event is None:
                published = date(2010, 1, 1) + timedelta(days=rng.randrange(3650))
            else:
                published = events[event] + timedelta(days=rng.randrange(4))
            score = 0.3 + 0.15 * relevance + 0.2 * (event == 0) + rng.gauss(0, 0.1)
            hit |= {"score": round(score, 3), "published": published.isoformat(), "relevance": relevance}
            print(json.dumps(hit | {"event": None if event is None else f"event-{event}"}))


if __name__ == "__main__":
    main()
