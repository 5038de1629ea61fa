from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from penstock.errors import SpecificationError
from penstock.testing import key_streams


def test_keys_have_their_weights() -> None:
    streams = key_streams(duration=20_000.0, seed=3)
    for table, weights in ((streams.s1, streams.weights_1), (streams.s2, streams.weights_2)):
        counts = np.bincount(table["key"].to_numpy(), minlength=51)
        assert weights.sum() == pytest.approx(1.0)
        # 20,000 and 40,000 rows: five standard errors.
        expected = weights * table.num_rows
        assert (np.abs(counts - expected) <= 5 * np.sqrt(expected) + 1).all()
    assert streams.weights_1[0] == streams.weights_2[0] == 0.25
    assert not np.array_equal(streams.weights_1, streams.weights_2)


def test_times_are_in_order_and_rates_as_said() -> None:
    streams = key_streams(rates=(3.0, 0.5), duration=4_000.0, seed=1)
    for table, rate in ((streams.s1, 3.0), (streams.s2, 0.5)):
        times = table["time"].to_numpy()
        assert (np.diff(times) >= 0).all()
        assert times.size == pytest.approx(rate * 4_000, abs=5 * np.sqrt(rate * 4_000))


def test_bursts_are_of_both_streams_and_of_a_tenth_of_the_time() -> None:
    streams = key_streams(pattern="bursts", keys=400, top=0.05, spell=100.0, seed=1)
    counts = []
    for table in (streams.s1, streams.s2):
        spells = (table["time"].to_numpy() / 100.0).astype(int)
        counts.append(np.bincount(spells[table["key"].to_numpy() == 0], minlength=50))
    busy = counts[0] > 5
    assert 1 <= busy.sum() <= 15
    assert counts[1][busy].mean() > 10 * counts[1][~busy].mean()


def test_another_key_dominates_in_each_spell() -> None:
    streams = key_streams(pattern="dominant", top=0.5, spell=500.0, duration=5_000.0, seed=1)
    tops = set()
    for spell in range(10):
        own = (streams.s1["time"].to_numpy() // 500.0).astype(int) == spell
        counts = np.bincount(streams.s1["key"].to_numpy()[own], minlength=51)
        tops.add(int(counts.argmax()))
        assert counts.max() / counts.sum() == pytest.approx(0.5, abs=0.08)
    assert len(tops) > 5


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"keys": 1}, "keys must be a whole number, at least 2"),
        ({"top": 1.5}, "top must be from 0 to 1; got 1.5"),
        ({"mixed": -0.1}, "mixed must be from 0 to 1"),
        ({"pattern": "rare"}, "pattern must be one of"),
        ({"rates": (1.0, 0.0)}, "rates must be a finite number above 0"),
        ({"spell": 0.0}, "spell must be a finite number above 0"),
    ],
)
def test_bad_arguments(arguments: dict[str, Any], words: str) -> None:
    with pytest.raises(SpecificationError, match=words):
        key_streams(**arguments)
