"""Models compared by what they predicted: of monitored rows, and of the rows of a sample."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from penstock.statistics.age_curve import AgeCurve
from penstock.statistics.outlook import Outlook
from penstock.strategies import Rows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from penstock.engine.arrays import Array, Floats
    from penstock.engine.kernels.layout import Memory
    from penstock.engine.store import Store
    from penstock.statistics.cluster_variance import ClusterVariance
    from penstock.statistics.evidence import Evidence
    from penstock.strategies import Model

# Matches that are few, to compare predictions of them in proportion.
_FEW = 5.0
# Of one match in a whole life: predictions are compared in proportion.
_FLAT = Outlook(AgeCurve([1.0]), 1.0, np.ones(1), np.ones(1))


def compare_predictions(
    evidence: Evidence,
    models: Sequence[Model],
    outlook: Outlook,
    memory: Memory,
    entries: Array,
    period: tuple[float, float],
    fade: float,
) -> bool:
    """Compare what models predicted for monitored rows; return whether another is followed.

    Parameters
    ----------
    evidence
        Takes the predictions in.
    models, outlook
        What predicts, and what was known of the stream.
    memory, entries
        Its monitored rows: those of one stream, one or more.
    period
        The time of which they predict: a part of the stream's life, from when until when.
    fade
        What was compared before counts this much.
    """
    # What was known of a row's key when it came. What was seen since then includes what is
    # to be predicted, and an arriving row has nothing of the kind.
    rows = entries["row"]
    known = memory.rows["likeliness"][rows]
    likely = np.where(known > 0, known, np.maximum(entries["likeliness"], 0.0))
    is_known = likely > 0
    if not is_known.any():
        return False
    turned, now = period
    s = int(memory.rows["stream"][rows[0]])
    lives, times = memory.lives, memory.rows["time"][rows]
    span = float(lives["span"][s])
    since = np.maximum(times, turned)
    passed = np.minimum((now - since) / span, float(lives["parts"][s]))
    gained = (entries["matches"] - entries["counted"]).astype(np.float64)
    weights = 1.0 / entries["chance"]
    weights /= weights.mean()
    ages, counted = (since - times) / span, entries["counted"].astype(np.float64)
    waiting = Rows(s, ages, likely, counted)
    predicted = [each.expected(outlook, waiting) * passed for each in models]
    gained, weights = gained[is_known], weights[is_known]
    return evidence.add(
        [_in_proportion(each[is_known], gained, weights) for each in predicted],
        gained,
        weights,
        fade,
    )


def compare_samples(choice: ClusterVariance, models: Sequence[Model], store: Store) -> None:
    """Compare samples of clusters by the variance of totals, estimated from the rows in memory.

    Their results so far are what is added up: as many as they are old.
    """
    memory, retention = store.memory, store.retention
    sizes: list[list[Floats]] = [[] for _ in models]
    totals, weights = [], []
    for s in range(memory.streams.size):
        rows = store.in_queue(s)
        chances, rated = retention.chances(memory, rows), retention.sizes(memory, rows)
        if not rows.size or chances is None or rated is None:
            continue
        totals.append(memory.rows["matches"][rows].astype(np.float64))
        weights.append(1.0 / chances)
        waiting = Rows(s, np.ones(rows.size), rated, totals[-1])
        for number, model in enumerate(models):
            sizes[number].append(np.maximum(model.expected(_FLAT, waiting), 1e-12))
    if totals:
        choice.compare(
            np.concatenate(totals),
            np.concatenate(weights),
            [np.concatenate(each) for each in sizes],
            float(sum(each.size for each in totals)),
        )


def _in_proportion(predicted: Floats, came: Floats, weights: Floats) -> Floats:
    """Return predictions that add up to about what came: the order of rows goes by proportions.

    With few matches less so. Of two or three rows it is mostly chance how many came, and how many
    a model expected of them at their age is then most of what there is to tell it by.
    """
    said, found = float(np.sum(weights * predicted)), float(np.sum(weights * came))
    return predicted * ((found + _FEW) / (said + _FEW))
