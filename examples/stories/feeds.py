"""Three feeds of headlines: an agency, a website that rewords it, and blogs that come later still.

A headline becomes a vector by hashing the triples of its letters, so that there is no model to
download. Headlines about the same story have triples in common, and their vectors a small angle.
"""

from __future__ import annotations

import zlib
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

__all__ = ["DIMENSIONS", "FEEDS", "LAGS", "MINUTES", "feeds", "vector"]

DIMENSIONS: Final = 64
MINUTES: Final = 60
FEEDS: Final = ("agency", "website", "blogs")
LAGS: Final = {"agency": (0.0, 0.0), "website": (4.0, 0.7), "blogs": (13.0, 1.5)}
"""Minutes after the agency, and their standard deviation."""

# Stories in a minute, and the chance of each feed to report one.
_STORIES_PER_MINUTE: Final = 200
_REPORTED: Final = 0.7
_WORDS: Final = (
    "market", "river", "council", "minister", "storm", "bridge", "harbour", "budget",
    "strike", "museum", "railway", "election", "factory", "school", "hospital", "court",
    "energy", "water", "border", "festival", "airport", "forest", "island", "company",
    "union", "police", "orchestra", "vaccine", "satellite", "glacier", "harvest", "tunnel",
    "castle", "parliament", "embassy", "volcano", "submarine", "library", "stadium",
    "vineyard",
)  # fmt: skip
_DOES: Final = (
    "opens", "closes", "warns", "delays", "rejects", "doubles", "loses", "finds", "plans",
    "sells", "stops", "rebuilds",
)  # fmt: skip


def vector(text: str) -> npt.NDArray[np.float32]:
    """Return a vector of length 1: each triple of letters adds to one number, or takes from it.

    >>> one, other, third = map(vector, ("storm closes bridge", "storm shuts bridge", "a vineyard"))
    >>> float(one @ other) > float(one @ third)
    True
    """
    found = np.zeros(DIMENSIONS, np.float32)
    padded = f" {text.lower()} "
    for at in range(len(padded) - 2):
        number = zlib.crc32(padded[at : at + 3].encode())
        found[number % DIMENSIONS] += 1.0 if number & 1 << 16 else -1.0
    length = float(np.sqrt(found @ found))
    return found / length if length else found


def _headline(draw: np.random.Generator) -> list[str]:
    nouns = draw.choice(len(_WORDS), 7, replace=False)
    verb = _DOES[draw.integers(len(_DOES))]
    return [_WORDS[nouns[0]], verb, *(_WORDS[n] for n in nouns[1:])]


def _reworded(words: list[str], draw: np.random.Generator) -> str:
    """Return the headline with its verb changed, and perhaps its last word left out."""
    changed = words.copy()
    changed[1] = _DOES[draw.integers(len(_DOES))]
    return " ".join(changed[: -1 if draw.random() < 0.3 else None])


def feeds(minutes: int = MINUTES, seed: int = 0) -> dict[str, pa.Table]:
    """Return each feed's headlines of some minutes, with their times and vectors."""
    draw = np.random.default_rng(seed)
    count = _STORIES_PER_MINUTE * minutes
    times = np.sort(draw.uniform(0.0, minutes, count))
    stories = [_headline(draw) for _ in range(count)]
    tables = {}
    for name in FEEDS:
        mean, deviation = LAGS[name]
        at = times + np.abs(draw.normal(mean, deviation, count))
        reported = (draw.random(count) < _REPORTED) & (at < minutes)
        places = np.flatnonzero(reported)[np.argsort(at[reported])]
        texts = [
            " ".join(stories[n]) if name == "agency" else _reworded(stories[n], draw)
            for n in places.tolist()
        ]
        flat = np.concatenate([vector(text) for text in texts])
        tables[name] = pa.table(
            {
                "at": pa.array((6e7 * at[places]).astype(np.int64), pa.timestamp("us", "UTC")),
                "headline": texts,
                "vector": pa.FixedSizeListArray.from_arrays(pa.array(flat), DIMENSIONS),
                "story": places,
            }
        )
    return tables
