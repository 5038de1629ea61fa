"""What is learnt of the streams while they run.

Statistics change only at fixed points: when a stream's grid turns (a part of a life has gone by)
and after every so many arrivals. Between two of them nothing that decides is changed, so any cut
into batches leads to the same decisions.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

import numpy as np

from penstock.engine.kernels import grid, layout
from penstock.engine.kernels.watch import expose_all
from penstock.engine.likeliness import Likeliness
from penstock.engine.store import GridShape
from penstock.goals import LearningGoal
from penstock.statistics.age_curve import AgeCurve
from penstock.statistics.evidence import Evidence
from penstock.statistics.outlook import Outlook, smoothed_curve
from penstock.statistics.rates import Rates
from penstock.strategies import Waiting

if TYPE_CHECKING:
    from collections.abc import Mapping

    from penstock.engine.arrays import Array, Floats, Integers
    from penstock.engine.keys import KeyCoder
    from penstock.engine.plan import Plan
    from penstock.engine.store import Store
    from penstock.strategies.base import Learning

# A half-life is no shorter than this, in lives.
_SHORTEST = 0.5
# Matches that are few, to compare predictions of them in proportion.
_FEW = 5.0
# What is made of memory is decided anew so often in the longest life.
_DIVISIONS = 8


def lives_of(plan: Plan) -> list[int | float]:
    """Give how long rows of each stream wait: their window, and for those that may come late."""
    return [
        side.window + max(o.lateness for i, o in enumerate(plan.sides) if i != s)
        for s, side in enumerate(plan.sides)
    ]


def grid_shape(plan: Plan, strategy: Learning | None) -> GridShape:
    """Say into what cells each stream's rows go."""
    spans, parts = [], []
    lives = lives_of(plan)
    for side, life in zip(plan.sides, lives, strict=True):
        wanted = 1 if strategy is None or not life else _parts(plan, strategy, side.name)
        floating = plan.time.dtype.kind == "f"
        wanted = wanted if floating else max(1, min(wanted, int(life)))
        span = life / wanted if floating else -(-int(life) // wanted)
        # Rows that need not wait have no ages to tell apart.
        spans.append(span or max(lives) or 1)
        parts.append(wanted)
    grades = 1 if strategy is None else strategy.grades
    return GridShape(tuple(spans), tuple(parts), grades)


def _parts(plan: Plan, strategy: Learning, name: str) -> int:
    goal = plan.spec.goal
    given = goal.curve if isinstance(goal, LearningGoal) else None
    return len(given[name]) if given and name in given else strategy.parts


def _in_proportion(predicted: Floats, came: Floats, weights: Floats) -> Floats:
    """Give predictions that add up to about what came: who leaves first is a matter of proportions.

    With few matches less so. Of two or three rows it is mostly chance how many came, and how many
    an expert expected of them at their age is then most of what there is to tell it by.
    """
    said, found = float(np.sum(weights * predicted)), float(np.sum(weights * came))
    return predicted * ((found + _FEW) / (said + _FEW))


class Learner(ABC):
    """Learns what a strategy needs to know; who derives from it sets what the kernels act on."""

    def __init__(
        self, plan: Plan, strategy: Learning, store: Store, coder: KeyCoder, rows: int
    ) -> None:
        count = len(plan.sides)
        self._plan = plan
        self._store = store
        self._experts = strategy.experts
        self._coming_type = grid.coming_type(plan.values.dtype)
        goal = plan.spec.goal
        known = goal if isinstance(goal, LearningGoal) else LearningGoal()
        self._half_life = known.half_life
        self._curves = [
            AgeCurve(known.curve[side.name]) if known.curve and side.name in known.curve else None
            for side in plan.sides
        ]
        self._limit = rows
        self._likeliness = None
        if strategy.needs_frequencies:
            self._likeliness = Likeliness(plan, coder, known, rows)
        self.evidence = Evidence([expert.name for expert in self._experts])
        self._now: float | None = None
        self._began: float = 0.0
        self._faded: float = 0.0  # the time at which sums were last faded
        self._rates = Rates(count)  # of tuples with a key
        self._turned = np.zeros(count)  # when each grid last turned
        self._coming: dict[int, tuple[Array, Floats]] = {}  # a stream's arrivals of this piece
        self._nows: Array = np.zeros(0)
        self._edges: Integers = np.zeros(0, np.int64)
        self._outlooks = [self._outlook(s) for s in range(count)]

    # --- The batch, in pieces between which something may change

    def begin_batch(self, arrivals: Array) -> None:
        """Find where the grids turn."""
        times = arrivals["time"]
        if not times.size:
            return
        grids = self._store.memory.grids
        if self._now is None:
            self._now = self._faded = self._began = times[0].item()
            self._turned[:] = self._now
            grids["now"] = np.floor(times[0] / grids["span"])
            self._begin()
        nows = np.maximum.accumulate(np.maximum(times, self._now))
        edges = []
        for s in range(grids.size):
            parts = np.floor(nows / grids["span"][s])
            edges.append(np.flatnonzero(np.diff(parts, prepend=grids["now"][s])))
        self._nows = nows
        self._edges = np.unique(np.concatenate(edges))

    def next_edge(self, at: int, stop: int) -> int:
        """Give where the piece that begins at an arrival ends, at the latest at `stop`."""
        place = int(np.searchsorted(self._edges, at, side="right"))
        return min(stop, int(self._edges[place])) if place < self._edges.size else stop

    def begin_piece(self, arrivals: Array, at: int, stop: int) -> None:
        """Turn the grids that are due, and grade the tuples that come."""
        grids = self._store.memory.grids
        now = self._nows[at].item()
        self._now = now
        for s in range(grids.size):
            part = int(np.floor(now / grids["span"][s]))
            if part > grids["now"][s]:
                self._turn(s, part, now)
        if self._likeliness is None:
            return
        for s in range(grids.size):
            mine = self._mine(arrivals, s, at, stop)
            likely = np.zeros(0)
            if mine.size:
                likely = self._likeliness.of(s, mine["value"], mine["key_word"])
                self._meet(s, arrivals, mine, likely)
            self._coming[s] = mine, likely

    def end_piece(self, arrivals: Array, at: int, stop: int) -> None:
        """Note who came."""
        if stop > at:
            self._now = max(self._now or 0, self._nows[stop - 1].item())
        for s in range(self._turned.size):
            if self._likeliness is None:
                self._rates.count(s, self._mine(arrivals, s, at, stop).size)
                continue
            mine, likely = self._coming[s]
            came = int(np.searchsorted(mine["at"], stop))
            self._rates.count(s, came)
            if came:
                self._likeliness.note(
                    s, mine["value"][:came], mine["key_word"][:came], likely[:came]
                )

    def _mine(self, arrivals: Array, s: int, at: int, stop: int) -> Array:
        """List the arrivals of a stream that have a key."""
        mine = np.empty(stop - at, self._coming_type)
        return mine[: grid.select(arrivals, s, at, stop, mine)]

    def review(self) -> None:
        """Take in who came; called after every so many arrivals."""
        if self._now is None:
            return
        passed = float(self._now - self._faded)
        self._faded = self._now
        longest = max(float(life) for life in self._lives())
        factor = self._fade(passed / longest, longest) if longest else 0.5
        self._rates.pass_time(passed, factor)
        if self._likeliness is not None:
            paces = [o.pace / self._span(s) for s, o in enumerate(self._outlooks)]
            self._likeliness.review(factor, self._rates.elapsed, paces)
        self._review()

    # --- What those who act do

    @abstractmethod
    def _begin(self) -> None:
        """Be ready for the first tuple."""

    @abstractmethod
    def _meet(self, s: int, arrivals: Array, mine: Array, likely: Floats) -> None:
        """Set what is made of a stream's tuples that are about to come."""

    @abstractmethod
    def _turn_over(self, s: int, steps: int, *, changed: bool) -> None:
        """Act on what is known of a stream once its grid has turned by some steps.

        `changed` if another expert is followed from now on.
        """

    @abstractmethod
    def _review(self) -> None:
        """Act on who came; after every so many arrivals."""

    # --- A grid turns

    def _turn(self, s: int, part: int, now: float) -> None:
        memory = self._store.memory
        steps = part - int(memory.grids["now"][s])
        expose_all(memory, s, now)
        factor = self._fade(steps / int(memory.grids["parts"][s]), self._lives()[s])
        changed = self._compare(s, now, factor**0.5)  # who is right is remembered twice as long
        memory.matched[s] *= factor
        memory.exposed[s] *= factor
        grid.turn(memory, s, part)
        self._turned[s] = now
        self._outlooks[s] = self._outlook(s)
        self._turn_over(s, steps, changed=changed)

    def _compare(self, s: int, now: float, fade: float) -> bool:
        """Compare what each expert predicted for the watched rows; say if another is followed."""
        memory = self._store.memory
        watched = memory.watched[: int(memory.rule["watched"][0])]
        rows = memory.rows[watched["row"]]
        mine = rows["stream"] == s
        watched_places = np.flatnonzero(mine)
        if not watched_places.size:
            return False
        entries, rows = watched[mine], rows[mine]
        span = float(self._span(s))
        since = np.maximum(rows["time"], self._turned[s])
        ages = (since - rows["time"]) / span
        passed = np.minimum((now - since) / span, float(memory.grids["parts"][s]))
        gained = (entries["matches"] - entries["counted"]).astype(np.float64)
        past = entries["counted"].astype(np.float64)
        outlook = self._outlooks[s]
        weights = 1.0 / entries["chance"]
        weights /= weights.mean()
        likely = self._said_of(rows, entries)
        tuples = Waiting(ages, likely, past)
        predicted = [each.expected(outlook, tuples) * passed for each in self._experts]
        changed = False
        told = likely > 0
        if outlook.curve.total > 0 and told.any():
            changed = self.evidence.add(
                [_in_proportion(each[told], gained[told], weights[told]) for each in predicted],
                gained[told],
                weights[told],
                fade,
            )
        memory.watched["counted"][watched_places] = entries["matches"]
        if self._likeliness is not None:
            words = memory.slots[rows["slot"], layout.KEY_WORD]
            memory.watched["likeliness"][watched_places] = self._likeliness.of(
                s, rows["value"], words
            )
        return changed

    def _said_of(self, rows: Array, entries: Array) -> Floats:
        """Give what was known of watched rows' keys when they came; 0 or less if nothing is.

        What was seen since then includes what is to be predicted, and a newcomer has nothing of
        the kind.
        """
        del entries
        said: Floats = rows["priority"]
        return said

    def _outlook(self, s: int) -> Outlook:
        memory = self._store.memory
        parts = int(memory.grids["parts"][s])
        curve = self._curves[s]
        if curve is None:
            curve = AgeCurve(smoothed_curve(memory.matched[s, :parts], memory.exposed[s, :parts]))
        watched = memory.watched[: int(memory.rule["watched"][0])]
        watched = watched[memory.rows["stream"][watched["row"]] == s]
        rate = self._rates.of(s) * float(self._span(s))
        return Outlook(curve, rate, watched["likeliness"], 1.0 / watched["chance"])

    # --- Small things

    def _fade(self, passed: float, life: float) -> float:
        """Give by how much what was learnt counts less after some time, in lives.

        Until a stream has run for twice the half-life it is half of what it has run: how a join
        begins, with empty windows, says little of how it goes on.
        """
        lived = float((self._now or 0) - self._began) / life if life else 0.0
        return 0.5 ** (passed / min(self._half_life, max(_SHORTEST, lived / 2)))

    def _is_time_to_divide(self, s: int, steps: int) -> bool:
        """Say whether to decide anew what is made of memory, once a grid has turned."""
        grids = self._store.memory.grids
        lives = self._lives()
        every = max(1, int(grids["parts"][s]) // _DIVISIONS)
        due = int(grids["now"][s]) % every == 0 or steps > every
        return s == lives.index(max(lives)) and due

    def _span(self, s: int) -> int | float:
        span: int | float = self._store.memory.grids["span"][s].item()
        return span

    def _lives(self) -> list[float]:
        grids = self._store.memory.grids
        return (grids["span"] * grids["parts"]).tolist()

    def allow(self, rows: int) -> None:
        """Be told how many rows may be held."""
        self._limit = rows

    # --- State

    def save(self) -> dict[str, np.ndarray]:
        """Give what was learnt, for `restore`."""
        kind = self._plan.time.dtype
        saved = {
            "clock": np.array([self._now or 0, self._faded, self._began], kind),
            "started": np.array([self._now is not None]),
            "limit": np.array([self._limit]),
            "turned": self._turned,
        }
        # As of the last turn, while what they were made of has gone on.
        for s, outlook in enumerate(self._outlooks):
            saved[f"outlook.{s}.curve"] = outlook.curve.matches
            saved[f"outlook.{s}.rate"] = np.array([outlook.rate])
            saved[f"outlook.{s}.likeliness"] = outlook.likeliness
            saved[f"outlook.{s}.weights"] = outlook.weights
        saved |= self._rates.save() | self.evidence.save()
        if self._likeliness is not None:
            saved |= self._likeliness.save()
        return saved

    def restore(self, saved: Mapping[str, np.ndarray]) -> None:
        """Go on where the saved one stopped."""
        now, self._faded, self._began = saved["clock"].tolist()
        self._now = now if saved["started"][0] else None
        self._limit = int(saved["limit"][0])
        self._rates.restore(saved)
        self._turned = saved["turned"].copy()
        self.evidence.restore(saved)
        if self._likeliness is not None:
            self._likeliness.restore(saved)
        for s in range(self._turned.size):
            self._outlooks[s] = Outlook(
                AgeCurve(saved[f"outlook.{s}.curve"]),
                float(saved[f"outlook.{s}.rate"][0]),
                saved[f"outlook.{s}.likeliness"],
                saved[f"outlook.{s}.weights"],
            )
