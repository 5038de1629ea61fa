"""Memories on trial: the kernel and its naive twin find the same and hold the same."""

from __future__ import annotations

import numpy as np
import pytest

from penstock.engine.kernels import trial_memory
from penstock.engine.kernels.layout import NOTHING
from tests.oracles.naive_trial import Candidate, NaiveTrial

_PARTS = 4
_BELIEFS = (-1.0, np.inf, 4.0)


@pytest.mark.parametrize(("seed", "ghosts", "room"), [(0, 64, 8), (1, 16, 8), (2, 16, 3)])
def test_the_kernel_is_like_its_twin(seed: int, ghosts: int, room: int) -> None:
    """Whole numbers for times and powers of two for worth: scores tie, and are exact."""
    draw = np.random.default_rng(seed)
    size = 400
    times = np.sort(draw.integers(0, 200, size)).astype(float)
    streams = draw.integers(0, 2, size).astype(np.int32)
    draws = draw.random(size)
    words = draw.integers(0, 12, size) ** 2
    likely = np.exp2(draw.integers(-2, 3, size))
    matters = np.exp2(draw.integers(-1, 2, size))
    worth = 2.0 ** draw.integers(-2, 3, (len(_BELIEFS), 2, _PARTS + 2))
    due = np.cumsum(draw.integers(0, 3, (2, _PARTS + 2)), axis=1).astype(float)
    windows, spans = (24.0, 12.0), (6.0, 3.0)

    trials = trial_memory.make(len(_BELIEFS), ghosts, _PARTS)
    trials.trial["window"], trials.trial["span"] = windows, spans
    trials.room[:], trials.belief[:] = room, _BELIEFS
    trials.worth[:], trials.due[:] = worth, due
    naive = NaiveTrial(
        [Candidate(w.tolist(), b) for w, b in zip(worth, _BELIEFS, strict=True)],
        windows,
        spans,
        due.tolist(),
        room,
        ghosts,
    )
    for start in range(0, size, 50):
        own = slice(start, start + 50)
        trial_memory.take(
            trials,
            times[own],
            streams[own],
            draws[own],
            words[own],
            likely[own],
            matters[own],
        )
        for at in range(start, start + 50):
            naive.take(
                int(streams[at]),
                float(times[at]),
                int(words[at]),
                float(draws[at]),
                float(likely[at]),
                float(matters[at]),
            )
        assert trials.found == pytest.approx([each.found for each in naive.candidates])
        for number, candidate in enumerate(naive.candidates):
            held = trials.ghosts["number"][trials.listed[:, number] != NOTHING]
            listed = trials.lists[number, : trials.sizes[number]]
            assert sorted(trials.ghosts["number"][listed]) == sorted(held)
            assert sorted(held.tolist()) == sorted(g.number for g in candidate.held)
    assert trials.trial["rate"][0] == naive.rate
    assert trials.found.max() > 0


def test_others_are_held_again() -> None:
    trials = trial_memory.make(2, 8, _PARTS)
    trials.trial["window"], trials.trial["span"] = (10.0, 10.0), (2.5, 2.5)
    trials.room[:] = 2, 4
    ones, zeros = np.ones(6), np.zeros(6)
    words = np.arange(6)
    trial_memory.take(trials, np.arange(6.0), zeros.astype(np.int32), zeros, words, ones, ones)
    assert trials.sizes.tolist() == [2, 4]
    held = trials.listed != NOTHING
    held[:, 0] = held[:, 1]
    trial_memory.hold_again(trials, held)
    assert trials.sizes.tolist() == [4, 4]
    assert (trials.listed != NOTHING).tolist() == held.tolist()
    assert trials.matters[:, :, 0].tolist() == trials.matters[:, :, 1].tolist()
