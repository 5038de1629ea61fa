"""What an m-way join costs and puts out if rows probe only parts of the windows."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit

from penstock.errors import SpecificationError, must
from penstock.statistics.join_orders import join_orders
from penstock.statistics.lag_scores import ranks_of
from penstock.statistics.sub_windows import SubWindows

__all__ = ["Harvest", "HarvestModel", "HarvestTable", "scans_of"]

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]


@njit(cache=True, error_model="numpy")
def scans_of(share: float, scanned: float) -> float:
    """Return scans for each partial result, if a share of the partial results is left.

    If all are there, `scanned`. An arriving row with k = 1 / `scanned` of them, each of which is
    left by lot, has none left in (1 - share)**k of all cases, and then there is no scan.

    >>> scans_of(1.0, 0.25), scans_of(0.5, 0.5), scans_of(0.5, 1.0)
    (0.25, 0.75, 1.0)
    """
    if scanned >= 1.0 or share <= 0.0:
        return 1.0
    if share >= 1.0:  # but for rounding it is 1 at most
        return scanned
    scans: float = scanned * (1.0 - (1.0 - share) ** (1.0 / scanned)) / share
    return scans


class HarvestTable(NamedTuple):
    """A model as arrays by direction i and hop j, for compiled code.

    Attributes
    ----------
    rates
        lambda_i.
    sizes
        S_{i,j}, rows in the window that is probed at the hop.
    matches
        sigma_{i,r} S_{i,j}: how many of them match, if all are compared.
    steps
        n of that window, its sub-windows.
    yields
        P_{i,j} if the v highest-ranking sub-windows are probed, by v from 0.
    scanned
        Scans of the window for each partial result that reaches it, if whole windows are probed.
    checks
        Comparisons of each partial result with candidates, if all of these are found; and whatever
        else costs in proportion to what is found.
    """

    rates: Floats
    sizes: Floats
    matches: Floats
    steps: Integers
    yields: Floats
    scanned: Floats
    checks: Floats

    @property
    def is_linear(self) -> bool:
        """Whether what a hop costs is in proportion to the partial results that reach it."""
        return bool(np.all(self.scanned >= 1.0))


@dataclass(frozen=True, eq=False)
class HarvestModel:
    """Streams, what their rows match, and in which order windows are probed.

    Attributes
    ----------
    rates
        lambda_i, rows of each stream per unit of time.
    windows
        w_i, in units of time.
    selectivity
        sigma_{i,l}: the share of the rows in the window of stream l that match a row of stream i.
        By direction: a row that comes before its partners matches none.
    orders
        R_i, the windows that a row of stream i probes, one after the other; streams from 0.
    counts
        n_i, sub-windows of each window.
    scores
        By arriving stream, probed stream and sub-window, newest first: how likely a result has its
        row there. 0 beyond the last sub-window. Where all are 0, all sub-windows are alike.
    scanned
        By arriving and probed stream: scans of the window for each partial result that reaches it,
        if whole windows are probed. Below 1 if an arriving row is compared with a window once,
        however many partial results it has. None: 1, as in the paper.
    checked
        By arriving and probed stream: comparisons of candidates with what was found before, for
        each partial result and row in the window. None: none, as in the paper.
    result
        What a result costs, in comparisons; 0 in the paper.
    skips
        Whether rows in parts that are not probed are not compared. An index of keys finds all rows
        of a key, of any age. Then the comparisons of a hop do not depend on the parts that are
        probed there, but on those before, and those of the first hop are no part of the cost
        (`unavoidable`).

    Examples
    --------
    Two streams; rows of stream 0 find most partners in the older half of stream 1's window.

    >>> model = HarvestModel.of(
    ...     rates=[10.0, 10.0],
    ...     windows=[4.0, 4.0],
    ...     length=2.0,
    ...     selectivity=[[0.0, 0.1], [0.1, 0.0]],
    ...     scores=[[[0.0, 0.0], [0.2, 0.6]], [[0.5, 0.5], [0.0, 0.0]]],
    ... )
    >>> model.full_cost, model.full_output
    (800.0, 80.0)
    >>> half = model.harvest(np.array([[0.5], [0.0]]))
    >>> half.cost, round(half.output, 9)
    (200.0, 30.0)
    >>> half.chosen(0, 0)
    ((1, 1.0),)

    References
    ----------
    Gedik, Wu, Yu and Liu, GrubJoin (2005), section 4.3: C and O with S_{i,j}, N_{i,j} and P_{i,j}.
    Comparisons are all that costs. Departs from the paper in that P_{i,j} is also defined for a
    part of a sub-window: its rows are taken to be spread evenly. What follows `scores` is ours.
    """

    rates: Floats
    windows: Floats
    selectivity: Floats
    orders: Integers
    counts: Integers
    scores: Floats
    scanned: Floats | None = None
    checked: Floats | None = None
    result: float = 0.0
    skips: bool = True

    def __post_init__(self) -> None:
        """Check that all arrays are of the same streams."""
        m = self.rates.size
        if m < 2:
            raise SpecificationError(
                must("rates", "those of two streams or more", m, "add a stream")
            )
        shapes = {
            "windows": (m,),
            "selectivity": (m, m),
            "orders": (m, m - 1),
            "counts": (m,),
            "scores": (m, m, int(np.max(self.counts))),
            "scanned": (m, m),
            "checked": (m, m),
        }
        for name, shape in shapes.items():
            array = getattr(self, name)
            given = shape if array is None else array.shape
            if given != shape:
                raise SpecificationError(
                    must(f"shape of {name}", f"{shape} for {m} streams", given, "see HarvestModel")
                )

    @classmethod
    def of(
        cls,
        *,
        rates: npt.ArrayLike,
        windows: npt.ArrayLike,
        length: float,
        selectivity: npt.ArrayLike,
        scores: npt.ArrayLike,
        orders: npt.ArrayLike | None = None,
    ) -> HarvestModel:
        """Make a model with sub-windows of one length.

        Parameters
        ----------
        rates, windows, selectivity, scores
            As above.
        length
            b, of a sub-window, in units of time.
        orders
            R_i; None for low selectivity first (`join_orders`).
        """
        lengths = np.asarray(windows, np.float64)
        shares = np.asarray(selectivity, np.float64)
        return cls(
            rates=np.asarray(rates, np.float64),
            windows=lengths,
            selectivity=shares,
            orders=join_orders(shares) if orders is None else np.asarray(orders, np.int64),
            counts=np.array([SubWindows(float(w), length).count for w in lengths], np.int64),
            scores=np.asarray(scores, np.float64),
        )

    @property
    def streams(self) -> int:
        """The number of streams, m."""
        return self.rates.size

    @cached_property
    def ranks(self) -> Integers:
        """s_{i,j}^v: the sub-windows by direction, hop and rank, from 0; -1 beyond the last."""
        m = self.streams
        ranks = np.full((m, m - 1, self.scores.shape[2]), -1, np.int64)
        for i, j in np.ndindex(m, m - 1):
            other = self.orders[i, j]
            n = self.counts[other]
            ranks[i, j, :n] = ranks_of(self.scores[i, other, :n])
        return ranks

    @cached_property
    def table(self) -> HarvestTable:
        """The model as arrays by direction and hop."""
        m = self.streams
        held = self.rates * self.windows
        sizes = held[self.orders]
        selectivity = np.take_along_axis(self.selectivity, self.orders, axis=1)
        steps = self.counts[self.orders]
        yields = np.ones((m, m - 1, self.scores.shape[2] + 1))
        for i, j in np.ndindex(m, m - 1):
            n = int(steps[i, j])
            scores = self.scores[i, self.orders[i, j], :n]
            total = scores.sum()
            shares = scores[self.ranks[i, j, :n]] / total if total > 0.0 else np.full(n, 1.0 / n)
            yields[i, j, 0] = 0.0
            yields[i, j, 1:n] = np.cumsum(shares)[:-1]
        scanned, checks = np.ones(sizes.shape), np.zeros(sizes.shape)
        if self.scanned is not None:
            scanned = np.take_along_axis(self.scanned, self.orders, axis=1)
            scanned[:, 0] = 1.0  # an arriving row is the only partial result of the first hop
        if self.checked is not None:
            checks = np.take_along_axis(self.checked, self.orders, axis=1) * sizes
        matches = selectivity * sizes
        if not self.skips:  # whatever is found is compared with all rows of the next hop
            checks[:, :-1] += matches[:, :-1] * sizes[:, 1:]
            sizes = np.zeros(sizes.shape)
        checks[:, -1] += self.result * matches[:, -1]
        return HarvestTable(
            np.ascontiguousarray(self.rates, np.float64),
            sizes.astype(np.float64),
            matches,
            steps.astype(np.int64),
            yields,
            scanned,
            checks,
        )

    @property
    def unavoidable(self) -> float:
        """Comparisons in a unit of time that are made whichever parts are probed."""
        if self.skips:
            return 0.0
        held = (self.rates * self.windows)[self.orders]
        return float(self.rates @ held[:, 0])

    @cached_property
    def full_cost(self) -> float:
        """C(1), comparisons of the exact join in a unit of time."""
        return self.harvest(np.ones((self.streams, self.streams - 1))).cost

    @cached_property
    def full_output(self) -> float:
        """O(1), results of the exact join in a unit of time."""
        return self.harvest(np.ones((self.streams, self.streams - 1))).output

    def yield_of(self, fractions: Floats) -> Floats:
        """Return P_{i,j}: the share of the matches that is found in a fraction of each window."""
        steps, yields = self.table.steps, self.table.yields
        reached = fractions * steps
        whole = np.minimum(np.floor(reached + 1e-9).astype(np.int64), steps)
        low = np.take_along_axis(yields, whole[..., None], axis=2)[..., 0]
        above = np.minimum(whole + 1, steps)
        high = np.take_along_axis(yields, above[..., None], axis=2)[..., 0]
        found: Floats = low + np.clip(reached - whole, 0.0, 1.0) * (high - low)
        return found

    def harvest(self, fractions: Floats) -> Harvest:
        """Return what harvest fractions cost and put out.

        Parameters
        ----------
        fractions
            z_{i,j} by direction and hop, from 0 to 1.
        """
        table = self.table
        found = self.yield_of(fractions)
        first = np.ones((self.streams, 1))
        # N_{i,j}, with N_{i,m} as the last: partial results that reach each hop; and their share of
        # those that would if whole windows were probed.
        reaching = np.cumprod(np.column_stack([first, found * table.matches]), axis=1)
        shares = np.cumprod(np.column_stack([first, found]), axis=1)[:, :-1]
        scans = np.ones(shares.shape)
        for place in zip(*np.nonzero(table.scanned < 1.0), strict=True):
            scans[place] = scans_of(shares[place], table.scanned[place])
        each = scans * table.sizes * fractions + table.checks * found
        cost = table.rates @ (each * reaching[:, :-1]).sum(axis=1)
        return Harvest(self, fractions, float(cost), float(table.rates @ reaching[:, -1]))


@dataclass(frozen=True, eq=False)
class Harvest:
    """Which part of each window rows are to probe, and what that costs and puts out.

    Attributes
    ----------
    model
        By which it was found.
    fractions
        z_{i,j} by direction and hop, from 0 to 1.
    cost, output
        Comparisons and results in a unit of time, C and O.
    """

    model: HarvestModel
    fractions: Floats
    cost: float
    output: float

    def chosen(self, direction: int, hop: int) -> tuple[tuple[int, float], ...]:
        """Return the sub-windows that are probed, by rank, and which part of each; from 0."""
        steps = int(self.model.table.steps[direction, hop])
        left = self.fractions[direction, hop] * steps
        chosen = []
        for place in self.model.ranks[direction, hop, :steps].tolist():
            if left < 1e-9:
                break
            part = min(1.0, left)
            # A fraction such as 0.6 of 5 sub-windows is whole but for rounding.
            chosen.append((place, float(part) if part < 1.0 - 1e-9 else 1.0))
            left -= part
        return tuple(chosen)
