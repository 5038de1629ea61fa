"""What `penstock explain` says of a share of the processor: tables, sentences, and figures."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING

from penstock.capacity.recommendation import ALIKE, OWN_CHOICE
from penstock.wording import counted, percent

if TYPE_CHECKING:
    from collections.abc import Mapping

    from penstock.capacity.cpu_prediction import CpuCurve, CpuPrediction
    from penstock.capacity.prediction import Prediction

__all__ = ["CpuExplanation"]


@dataclass(frozen=True, eq=False)
class CpuExplanation:
    """The prediction for a share of the processor, as tables and text.

    Parameters
    ----------
    prediction
        The expected recall of each strategy.
    target_recall
        The recall for which the needed share is computed.
    tried
        The recall of strategies that were run over the sample; empty if none was run.
    """

    prediction: CpuPrediction
    target_recall: float
    tried: Mapping[str, float] = field(default_factory=dict)

    def shares_for(self) -> dict[str, float]:
        """Return the share that each strategy needs for the target recall."""
        return {
            name: self.prediction.share_for(self.target_recall, name)
            for name in self.prediction.recall
        }

    def strategies(self) -> tuple[list[str], list[list[str]]]:
        """Return the table of the strategies: headings and cells."""
        needed = self.shares_for()
        full = self.prediction.full_share
        headings = [
            "strategy",
            f"recall (%) with {self._budget()}",
            f"share of a core (%) for {100 * self.target_recall:.10g}% recall",
            "of the exact join's work (%)",
        ]
        return headings, [
            [
                name,
                f"{100 * recall:.1f}",
                _percentage(needed[name]),
                f"{100 * needed[name] / full:.0f}",
            ]
            for name, recall in self.prediction.recall.items()
        ]

    def trials(self) -> tuple[list[str], list[list[str]]]:
        """Return the table of the strategies that were tried: headings and cells."""
        return ["strategy", f"tried: recall (%) in the sample with {self._budget()}"], [
            [name, f"{100 * recall:.1f}"] for name, recall in self.tried.items()
        ]

    def costs(self) -> str:
        """Describe what the steps cost."""
        costs = self.prediction.costs
        unit = "units of time" if self.prediction.statistics.units_per_second is None else "seconds"
        steps = ", ".join(f"{each.name} {getattr(costs, each.name):g}" for each in fields(costs))
        return f"Costs, in {unit}: {steps}."

    def least(self) -> str:
        """Describe the least share with which nothing is lost."""
        full, shards = self.prediction.full_share, self.prediction.shards
        each = "" if shards == 1 else f" in each of {shards} shards"
        if full <= 1:
            return (
                f"The exact join takes {_core(full)}{each}: with that much nothing is lost on "
                f"average; bursts may take more."
            )
        words = f"The exact join takes {full:.3g} cores{each}, and a shard has at most one."
        enough = self.prediction.shards_for()
        if enough is None:
            hottest = percent(self.prediction.statistics.hottest)
            return (
                f"{words} More shards do not suffice: one value gives {hottest} of the results, "
                f"and all its rows are in one shard."
            )
        return (
            f"{words} With {counted(enough, 'shard')} nothing would be lost on average, if their "
            f"work is alike."
        )

    def warnings(self) -> list[str]:
        """Describe what makes the prediction too good."""
        shards, hottest = self.prediction.shards, self.prediction.statistics.hottest
        if hottest * shards <= 1 or self.prediction.full_share <= self.prediction.share:
            return []
        words = (
            f"One value gives {percent(hottest)} of the results, and all its rows are in one shard "
            f"of {shards}. That shard has more work than the others, so the real recall is lower "
            f"than predicted."
        )
        return [words]

    def choice(self) -> str:
        """Describe which strategy is used, and what to expect of it."""
        prediction = self.prediction
        if prediction.share >= prediction.full_share:
            return f"With {self._budget()} the join is exact on average, whatever the strategy."
        if prediction.share <= prediction.arrivals_share:
            return (
                f"With {self._budget()} hardly any result is found: arrivals alone take "
                f"{_core(prediction.arrivals_share)}, whatever becomes of the rows."
            )
        if self.tried:
            name = max(self.tried, key=self.tried.__getitem__)
            if self.tried.get(OWN_CHOICE, 0.0) >= self.tried[name] - ALIKE:
                name = OWN_CHOICE
            found = f"It found {self.tried[name]:.1%} of the sample's results."
            if name == OWN_CHOICE:
                return f"Choice: the join's own; leave the strategy out. {found}"
            return f"Choice: {name}. {found}"
        name = prediction.strategy
        return f"Choice: {name}. {_REASONS[name]}{self._compared()}."

    def both(self, prediction: Prediction) -> str:
        """Describe what to expect with a limit of memory too."""
        memory = max(prediction.recall.values())
        return (
            f"With both limits expect {prediction.lower_recall:.1%} or more: {memory:.1%} with the "
            f"limit of memory alone, times {self.prediction.expected:.1%} with that of the "
            f"processor alone."
        )

    def as_json(self, curve: CpuCurve) -> dict[str, object]:
        """Return all figures, for programs."""
        prediction = self.prediction
        costs = prediction.costs
        return {
            "share": prediction.share,
            "shards": prediction.shards,
            "costs": {each.name: getattr(costs, each.name) for each in fields(costs)},
            "compared_per_result": prediction.statistics.compared,
            "hottest_value": prediction.statistics.hottest,
            "recall": dict(prediction.recall),
            "share_for_wished_recall": self.shares_for(),
            "full_share": prediction.full_share,
            "arrivals_share": prediction.arrivals_share,
            "shards_for_all": prediction.shards_for(),
            "strategy": prediction.strategy,
            "why": self.choice(),
            "tried": dict(self.tried),
            "curve": {
                "shares": curve.shares.tolist(),
                "recall": {name: each.tolist() for name, each in curve.recall.items()},
            },
        }

    def _budget(self) -> str:
        shards = self.prediction.shards
        each = "" if shards == 1 else f" in each of {shards} shards"
        return f"{_core(self.prediction.share)}{each}"

    def _compared(self) -> str:
        """Compare the strategy with the best one that looks at no values."""
        other = self.prediction.recall["probe-no-insert"]
        if not other or self.prediction.expected / other < 1.05:
            return ""
        return f": {self.prediction.expected / other:.1f} times what probe-no-insert finds"


_REASONS = {
    "coin-flip": "Rows are dropped as they arrive; probe-no-insert finds more",
    "insert-no-probe": "All rows are inserted, and some do not probe; probe-no-insert finds more",
    "probe-no-insert": "All rows probe, and as many are inserted as there is time for",
    "max-subset": "Rows of the values take part that give most results for their cost",
    "grub": "Rows probe the parts of windows in which their partners are likely",
    "by-cost": "Rows probe parts of windows, or fewer are inserted, whichever leaves more",
    "random-drop": "Rows are dropped as they arrive; grub finds more where partners have a lag",
    "best-lot": "Rows are dropped as they arrive, or fewer are inserted, whichever leaves more",
    "by-partner": "All rows probe, and those are inserted whose values the other stream has often",
}


def _core(share: float) -> str:
    return f"{_percentage(share)}% of a core"


def _percentage(share: float) -> str:
    """Write a share as a percentage with three digits, without the sign.

    >>> _percentage(0.5), _percentage(0.000123), _percentage(12.345)
    ('50', '0.0123', '1,234')
    """
    return f"{100 * share:.3g}" if share < 9.995 else f"{100 * share:,.0f}"
