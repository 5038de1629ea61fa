"""The paper's synthetic streams under the age model."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.predicates import Equal
from penstock.studies.workload import ARRIVALS_PER_RATE, Workload, first_stream_windowed
from penstock.testing import age_model

__all__ = ["AgeScenario"]


@dataclass(frozen=True)
class AgeScenario:
    """Streams under the age model; see `penstock.testing.age_model`.

    Parameters
    ----------
    curve
        ``"INC"``, ``"DEC"`` or ``"BELL"``.
    rate_1, rate_2
        r1 and r2; with the paper's arrivals the streams really bring 0.8 of it.
    window
        W1.
    windows
        Length of the streams, in windows; recall is measured from the third on.
    seed
        Of the streams.
    """

    curve: str
    rate_1: float = 1.0
    rate_2: float = 5.0
    window: float = 500.0
    windows: float = 22.0
    seed: int = 0

    @property
    def name(self) -> str:
        """Its name in panels and tables."""
        return f"{self.curve}, {ARRIVALS_PER_RATE * self.rate_1 * self.window:,.0f} rows"

    def make(self) -> Workload:
        """Make the two streams, with their true age curve."""
        made = age_model(
            curve=self.curve,
            rate_1=self.rate_1,
            rate_2=self.rate_2,
            window=self.window,
            duration=self.windows * self.window,
            results_per_row=self.rate_2 / self.rate_1,
            seed=self.seed,
        )
        return Workload(
            streams=first_stream_windowed(self.window),
            on=Equal("id"),
            tables={"s1": made.s1, "s2": made.s2},
            curve=made.curve,
            rate=ARRIVALS_PER_RATE * self.rate_1,
            window=self.window,
            measured_from=2 * self.window,
        )
