"""A decision and the rows' own draws become action bits: which steps each arrival leaves out."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from penstock.engine.kernels.key_hash import combine_hash_each
from penstock.engine.kernels.layout import (
    IN_PARTS,
    NOT_ADMITTED,
    NOT_INSERTED,
    NOT_PROBED,
    UNSEEN,
)

if TYPE_CHECKING:
    from penstock.engine.arrays import Array, Floats, Integers
    from penstock.strategies import Decision

# Any numbers: so that the draws of the steps have nothing to do with each other, nor with those
# that decide which rows are monitored.
_SALTS = {
    "admit": np.int64(0x1F83D9ABFB41BD6B),
    "probe": np.int64(0x5BE0CD19137E2179),
    "insert": np.int64(0x3C6EF372FE94F82B),
    "whole": np.int64(0x1A6EF372FE94F829),
}
_LARGE, _UNIT = 2.0**53, 2.0**-53


def set_actions(arrivals: Array, decision: Decision, grades: Integers | None) -> Floats:
    """Set the steps that arrivals leave out.

    Parameters
    ----------
    arrivals
        Records of `layout.arrival_type`, which have their draws.
    decision
        What was decided.
    grades
        Of the arrivals' keys; None where frequencies are not observed.

    Returns
    -------
    array
        For each arrival the chance that it probes, that it is inserted, and that it is admitted,
        which is part of both.

    Notes
    -----
    A row's draws follow from its identity, so the same rows take the same steps whatever batches
    they come in, and after a restart. Of a step with a chance of 0, or of parts of windows that
    no row probes, nothing can be known of what was lost: such arrivals are marked as unseen.
    """
    streams = arrivals["stream"].astype(np.int64)
    admit, probe, insert = (
        each.of(streams, grades) for each in (decision.admit, decision.probe, decision.insert)
    )
    draws = arrivals["draw"]
    actions = np.zeros(arrivals.size, np.int16)
    actions[_drawn(draws, "admit") >= admit] |= NOT_ADMITTED
    actions[_drawn(draws, "probe") >= probe] |= NOT_PROBED
    actions[_drawn(draws, "insert") >= insert] |= NOT_INSERTED
    in_parts, whole = decision.probe.sub_windows is not None, decision.probe.whole
    if in_parts:
        actions[_drawn(draws, "whole") >= whole] |= IN_PARTS
    actions[(admit * probe * insert == 0.0) | (in_parts and whole == 0.0)] |= UNSEEN
    arrivals["actions"] = np.where(arrivals["blank"] == 0, actions, 0)
    # A chance of 0 is never divided by: an arrival that does not probe finds nothing.
    return np.stack([admit * probe, admit * insert, admit], axis=1)


def _drawn(draws: Floats, step: str) -> Floats:
    """Return a number in [0, 1) for each row, for one step."""
    hashes = (draws * _LARGE).astype(np.int64)
    combine_hash_each(hashes, np.full(draws.size, _SALTS[step]))
    return (hashes.view(np.uint64) >> np.uint64(11)).astype(np.float64) * _UNIT
