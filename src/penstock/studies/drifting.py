"""Streams whose nature changes half-way: the age curve, or the keys that are hot."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.predicates import Equal
from penstock.spec import Stream
from penstock.studies.workload import Workload
from penstock.testing import age_model, frequency_model

__all__ = ["DriftingCurve", "DriftingKeys"]

# With the paper's arrivals, gaps of 1/2r to 2/r, a stream brings so much of its rate.
_REAL = 0.8


@dataclass(frozen=True)
class DriftingCurve:
    """Streams under the age model whose curve is another one from the middle on.

    The first stream is the same all the time; from the middle on the second one chooses its
    partners by the second curve.

    Parameters
    ----------
    before, after
        The curves.
    rate_1, rate_2
        r1 and r2; the streams really bring 0.8 of it.
    window
        W1.
    windows
        How long the streams are, in windows.
    seed
        Of the streams.
    """

    before: str = "DEC"
    after: str = "INC"
    rate_1: float = 20.0
    rate_2: float = 100.0
    window: float = 500.0
    windows: float = 20.0
    seed: int = 0

    @property
    def name(self) -> str:
        """What panels and tables call it."""
        return f"age curve: {self.before}, then {self.after}"

    def make(self) -> Workload:
        """Make the streams; the curve that goes with them is the one before the change."""
        duration = self.windows * self.window
        one, other = (
            age_model(
                curve=curve,
                rate_1=self.rate_1,
                rate_2=self.rate_2,
                window=self.window,
                duration=duration,
                results_per_row=self.rate_2 / self.rate_1,
                seed=self.seed,
            )
            for curve in (self.before, self.after)
        )
        # The same seed draws the same times of arrival, whatever the curve.
        half = duration / 2
        s2 = pa.concat_tables(
            [
                one.s2.filter(pc.less(one.s2["time"], half)),
                other.s2.filter(pc.greater_equal(other.s2["time"], half)),
            ]
        )
        return Workload(
            streams={
                "s1": Stream(time="time", window=self.window),
                "s2": Stream(time="time", window=0),
            },
            on=Equal("id"),
            tables={"s1": one.s1, "s2": s2},
            curve=one.curve,
            rate=_REAL * self.rate_1,
            window=self.window,
            measured_from=2 * self.window,
        )


@dataclass(frozen=True)
class DriftingKeys:
    """Streams under the frequency model whose hot keys are others from the middle on.

    Keys follow Zipf's law in both streams, the same in both. From the middle on each stands for
    the one half of the domain further.

    Parameters
    ----------
    keys
        Different ones.
    zipf
        Z, how hot the hot ones are.
    rate_1, rate_2, window, windows, seed
        As in `DriftingCurve`.
    """

    keys: int = 1_000
    zipf: float = 1.0
    rate_1: float = 10.0
    rate_2: float = 2.5
    window: float = 500.0
    windows: float = 20.0
    seed: int = 0

    @property
    def name(self) -> str:
        """What panels and tables call it."""
        return f"keys: Zipf {self.zipf:g}, then others are hot"

    def make(self) -> Workload:
        """Make the streams; under this model results are spread evenly over a tuple's life."""
        duration = self.windows * self.window
        made = frequency_model(
            zipf=self.zipf,
            correlation="DC",
            domain=self.keys,
            rate_1=self.rate_1,
            rate_2=self.rate_2,
            duration=duration,
            seed=self.seed,
        )
        alike = float((made.frequencies_1 * made.frequencies_2).sum())
        results = _REAL * self.rate_2 * self.window * alike
        return Workload(
            streams={
                "s1": Stream(time="time", window=self.window),
                "s2": Stream(time="time", window=0),
            },
            on=Equal("key"),
            tables={
                name: self._moved(table, duration / 2)
                for name, table in (("s1", made.s1), ("s2", made.s2))
            },
            curve=np.full(20, results / 20),
            rate=_REAL * self.rate_1,
            window=self.window,
            measured_from=2 * self.window,
        )

    def _moved(self, table: pa.Table, since: float) -> pa.Table:
        keys, times = (table[name].to_numpy() for name in ("key", "time"))
        moved = np.where(times < since, keys, (keys + self.keys // 2) % self.keys)
        return table.set_column(table.schema.get_field_index("key"), "key", pa.array(moved))
