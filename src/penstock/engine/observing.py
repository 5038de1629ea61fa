"""What is observed of the streams while they run.

Statistics change only at fixed points: when a part of a stream's life has gone by, and after every
so many arrivals. Between two of them nothing that decides is changed, so any cut into batches
leads to the same decisions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from penstock.engine.arrays import below
from penstock.engine.kernels import layout
from penstock.engine.kernels.monitoring import expose_all
from penstock.engine.kernels.selection import select, selected_type
from penstock.engine.likeliness import Likeliness
from penstock.engine.lives import edges_of_parts, lengths_of
from penstock.engine.model_comparison import compare_predictions, compare_samples
from penstock.goals import LearningGoal
from penstock.statistics.age_curve import AgeCurve
from penstock.statistics.cluster_variance import ClusterVariance
from penstock.statistics.evidence import Evidence
from penstock.statistics.fading import fade_together
from penstock.statistics.outlook import Outlook, smoothed_curve
from penstock.statistics.rates import Rates

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from penstock.engine.arrays import Array, Floats, Integers
    from penstock.engine.keys import KeyCoder
    from penstock.engine.plan import Plan
    from penstock.engine.store import Store
    from penstock.engine.trials import Trial
    from penstock.strategies import Model, Needs

# A half-life is no shorter than this, in lives.
_SHORTEST = 0.5
# Memory is divided again this often in the longest life.
_DIVISIONS = 8


class Observer:
    """Observes what a strategy needs to know.

    Parameters
    ----------
    plan, store, coder
        The join, its memory, and its keys.
    needs
        Of the strategy.
    models
        Models of the streams whose predictions are compared.
    rows
        That may be held.
    trial
        Tries the models, where that is possible.
    """

    def __init__(
        self,
        plan: Plan,
        needs: Needs,
        models: Sequence[Model],
        store: Store,
        coder: KeyCoder,
        rows: int,
        trial: Trial | None = None,
    ) -> None:
        count = len(plan.sides)
        self._plan = plan
        self._store = store
        self._models = tuple(models)
        self._waits = [float(life) for life in lengths_of(plan)]
        self._selected = selected_type(plan.values.dtype)
        goal = plan.spec.goal
        known = goal if isinstance(goal, LearningGoal) else LearningGoal()
        self.half_life = known.half_life
        self._curves = [
            AgeCurve(known.curve[side.name]) if known.curve and side.name in known.curve else None
            for side in plan.sides
        ]
        self.likeliness = None
        if needs.frequencies:
            self.likeliness = Likeliness(plan, coder, known, rows)
        names = [model.name for model in self._models] or [""]
        # Samples of clusters, which need no monitored rows, are compared by what they are for.
        self.cluster_choice = (
            ClusterVariance(names) if self._models and not needs.monitoring else None
        )
        self.evidence = self.cluster_choice or Evidence(names)
        self.trial = trial
        self._trials_named = tuple(dict.fromkeys(model.name for model in needs.tried))
        self.now: float | None = None
        self._settled: float = 0.0  # the time at which trials were last compared
        self._began: float = 0.0
        self._faded: float = 0.0  # the time at which sums were last faded
        self.rates = Rates(count)  # of rows with a key
        self.turned = np.zeros(count)  # when a part of each stream's life last began
        self.coming: dict[int, tuple[Array, Floats]] = {}  # a stream's arrivals of this piece
        self._nows: Array = np.zeros(0)
        self._edges: Integers = np.zeros(0, np.int64)
        self.outlooks = [self._outlook(s) for s in range(count)]

    @property
    def lived(self) -> float:
        """For how long the join has run, in units of time."""
        return float((self.now or 0) - self._began)

    @property
    def followed(self) -> int:
        """Number of the model that is followed."""
        return self.evidence.followed if self.trial is None else self.trial.followed

    @property
    def is_decided(self) -> bool:
        """Whether that was chosen for what was observed."""
        return (self.evidence if self.trial is None else self.trial.contest).is_decided

    # --- The batch, in pieces between which something may change

    def begin_batch(self, arrivals: Array) -> bool:
        """Find where parts of lives end; return whether these are the first rows of all."""
        times = arrivals["time"]
        if not times.size:
            return False
        lives = self._store.memory.lives
        is_first = self.now is None
        if self.now is None:
            self.now = self._faded = self._began = self._settled = times[0].item()
            self.turned[:] = self.now
            lives["now"] = np.floor(times[0] / lives["span"])
        nows = np.maximum.accumulate(np.maximum(times, self.now))
        edges = [
            edges_of_parts(nows, lives["span"][s], int(lives["now"][s])) for s in range(lives.size)
        ]
        self._nows = nows
        self._edges = np.unique(np.concatenate(edges))
        return is_first

    def next_edge(self, at: int, stop: int) -> int:
        """Return where the piece that begins at an arrival ends, at the latest at `stop`."""
        place = int(np.searchsorted(self._edges, at, side="right"))
        return min(stop, int(self._edges[place])) if place < self._edges.size else stop

    def reach(self, at: int) -> list[tuple[int, int]]:
        """Go on to an arrival; return each stream of which a part has gone by, and the new part."""
        lives = self._store.memory.lives
        self.now = now = self._nows[at].item()
        parts = [int(np.floor(now / span)) for span in lives["span"]]
        return [(s, part) for s, part in enumerate(parts) if part > lives["now"][s]]

    def look_at(self, arrivals: Array, at: int, stop: int) -> None:
        """Set how likely the rows of a piece are to match."""
        if self.likeliness is None:
            return
        for s in range(self.turned.size):
            mine = self._mine(arrivals, s, at, stop)
            likely = np.zeros(0)
            if mine.size:
                likely = self.likeliness.of(s, mine["value"], mine["key_word"])
            self.coming[s] = mine, likely

    def end_piece(self, arrivals: Array, at: int, stop: int) -> None:
        """Count the rows that came."""
        self._go_on(at, stop)
        if self.likeliness is None:
            piece = arrivals[at:stop]
            came = np.bincount(piece["stream"][piece["blank"] == 0], minlength=self.turned.size)
            for s, count in enumerate(came.tolist()):
                self.rates.count(s, count)
        self._count(stop, 1)

    def end_sampled_piece(self, stop: int, sampled: int, every: int) -> None:
        """Count the rows of a sample that was looked at, each of which stands for some.

        All rows of the batch before a place have come.
        """
        self._go_on(0, stop)
        self._count(sampled, every)

    def _go_on(self, at: int, stop: int) -> None:
        if stop > at:
            self.now = max(self.now or 0, self._nows[stop - 1].item())

    def _count(self, stop: int, every: int) -> None:
        """Count the rows that were looked at and have come before a place."""
        if self.likeliness is None:
            return
        for s, (mine, likely) in self.coming.items():
            came = int(np.searchsorted(mine["at"], stop))
            self.rates.count(s, every * came)
            if came:
                values, key_words = mine["value"][:came], mine["key_word"][:came]
                self.likeliness.note(s, values, key_words, likely[:came])

    def _mine(self, arrivals: Array, s: int, at: int, stop: int) -> Array:
        """List the arrivals of a stream that have a key."""
        mine = np.empty(stop - at, self._selected)
        return mine[: select(arrivals, s, at, stop, mine)]

    def review(self) -> None:
        """Take in the rows that came; called after every so many arrivals."""
        if self.now is None:
            return
        passed = float(self.now - self._faded)
        self._faded = self.now
        longest = max(float(life) for life in self._lives())
        factor = self._fade(passed / longest, longest) if longest else 0.5
        self.rates.pass_time(passed, factor)
        if self.likeliness is not None:
            paces = [o.pace / self.span(s) for s, o in enumerate(self.outlooks)]
            self.likeliness.review(factor, self.rates.elapsed, paces)

    # --- A part of a life goes by

    def turn(self, s: int, part: int) -> bool:
        """Take in a part of a stream's life; return whether another model is followed now.

        The caller has yet to set the part in `Memory.lives`.
        """
        memory = self._store.memory
        now = self.now or 0
        steps = part - int(memory.lives["now"][s])
        expose_all(memory.of_any_kind, s, now)
        factor = self._fade(steps / int(memory.lives["parts"][s]), self._lives()[s])
        changed = self._compare(s, now, factor**0.5)  # which is right is remembered twice as long
        if self.trial is not None:
            self.trial.turn(s, float(now), float(self.turned[s]), factor)
        fade_together(memory.matched[s], memory.exposed[s], factor)
        self.turned[s] = now
        self.outlooks[s] = self._outlook(s)
        if self.trial is not None:
            rates = [self.rates.of(each) for each in range(self.turned.size)]
            self.trial.score_by(self.outlooks, rates)
        return changed

    def review_trial(self, room: int) -> None:
        """Let models on trial know what rows are like now, and how many may be held."""
        if self.trial is not None and self.likeliness is not None:
            self.trial.review(self.likeliness, room, max(self._lives()))

    def settle(self) -> bool:
        """Compare what models on trial have found; return whether another is followed now."""
        if self.trial is None:
            return False
        # Nanoseconds are more than a float can tell apart.
        passed, self._settled = float((self.now or 0) - self._settled), self.now or 0
        longest = max(self._lives())
        return self.trial.settle(self._fade(passed / longest, longest) if longest else 0.5)

    def _compare(self, s: int, now: float, fade: float) -> bool:
        """Compare what each model predicted for the monitored rows with what came."""
        memory = self._store.memory
        monitored = memory.monitored[: int(memory.rule["monitored"][0])]
        places = np.flatnonzero(memory.rows["stream"][monitored["row"]] == s)
        if not places.size:
            return False
        entries = monitored[places]
        changed, evidence, turned = False, self.evidence, float(self.turned[s])
        is_predicted = self.trial is None and self.outlooks[s].curve.total > 0
        if self._models and is_predicted and isinstance(evidence, Evidence):
            changed = compare_predictions(
                evidence, self._models, self.outlooks[s], memory, entries, (turned, now), fade
            )
        memory.monitored["counted"][places] = entries["matches"]
        if self.likeliness is not None:
            rows = entries["row"]
            key_words = memory.slots[memory.rows["slot"][rows], layout.KEY_WORD]
            likely = self.likeliness.of(s, memory.rows["value"][rows], key_words)
            memory.monitored["likeliness"][places] = likely
        return changed

    def compare_in_sample(self) -> None:
        """Compare samples of clusters, where rows are sampled."""
        if self.cluster_choice is not None:
            compare_samples(self.cluster_choice, self._models, self._store)

    def _outlook(self, s: int) -> Outlook:
        memory = self._store.memory
        parts = int(memory.lives["parts"][s])
        curve = self._curves[s]
        if curve is None:
            seen = memory if self.trial is None else self.trial
            curve = AgeCurve(smoothed_curve(seen.matched[s, :parts], seen.exposed[s, :parts]))
        monitored = memory.monitored[: int(memory.rule["monitored"][0])]
        monitored = monitored[memory.rows["stream"][monitored["row"]] == s]
        rate = self.rates.of(s) * float(self.span(s))
        return Outlook(curve, rate, monitored["likeliness"], 1.0 / monitored["chance"])

    def choice(self) -> dict[str, dict[str, int] | dict[str, float]]:
        """Return which model is followed, and what speaks for each; for the metrics."""
        follows, behind = self.evidence.by_name()
        if self._trials_named:
            follows = {name: follows.get(name, 0) for name in self._trials_named}
        tried = dict.fromkeys(self._trials_named, 0.0)
        if self.trial is not None:
            follows, tried = self.trial.by_name()
        return {"follows": follows, "behind": behind, "tried": tried}

    # --- Small things

    def _fade(self, passed: float, life: float) -> float:
        """Return by how much what was learned counts less after some time, in lives.

        Until a stream has run for twice the half-life it is half of what it has run: how a join
        begins, with empty windows, says little of how it goes on.
        """
        lived = self.lived / life if life else 0.0
        return 0.5 ** (passed / min(self.half_life, max(_SHORTEST, lived / 2)))

    def is_division_due(self, s: int, steps: int) -> bool:
        """Return whether to divide memory again, once a stream has gone on by some parts."""
        records, lives = self._store.memory.lives, self._lives()
        every = max(1, int(records["parts"][s]) // _DIVISIONS)
        due = int(records["now"][s]) % every == 0 or steps > every
        return s == lives.index(max(lives)) and due

    def span(self, s: int) -> int | float:
        """Return the length of a part of a stream's life."""
        span: int | float = self._store.memory.lives["span"][s].item()
        return span

    def _lives(self) -> list[float]:
        records = self._store.memory.lives
        return (records["span"] * records["parts"]).tolist()

    # --- State

    def save(self) -> dict[str, np.ndarray]:
        """Return what was learned, for `restore`."""
        kind = self._plan.time.dtype
        saved = {
            "clock": np.array([self.now or 0, self._faded, self._began, self._settled], kind),
            "started": np.array([self.now is not None]),
            "turned": self.turned,
        }
        # As of when a part last went by, while what they were made of has gone on.
        for s, outlook in enumerate(self.outlooks):
            saved[f"outlook.{s}.curve"] = outlook.curve.matches
            saved[f"outlook.{s}.rate"] = np.array([outlook.rate])
            saved[f"outlook.{s}.likeliness"] = outlook.likeliness
            saved[f"outlook.{s}.weights"] = outlook.weights
        saved |= self.rates.save() | self.evidence.save()
        if self.likeliness is not None:
            saved |= self.likeliness.save()
        if self.trial is not None:
            saved |= {f"trial.{name}": array for name, array in self.trial.save().items()}
        return saved

    def carry_over(
        self, saved: Mapping[str, np.ndarray], now: float, *, same_strategy: bool
    ) -> None:
        """Go on at a time with what was learned for another budget or strategy.

        What this one does not use is left, and what it has not begins now. Age curves are those of
        `Memory.matched` and `Memory.exposed`.
        """
        self.now = self._faded = self._began = self._settled = now
        if saved:
            self._faded, self._began = saved["clock"].tolist()[1:3]
            self.rates.restore(saved)
        if saved and same_strategy:
            self.evidence.restore(saved)
        if self.likeliness is not None:
            self.likeliness.carry_over(saved)
            for s in range(self.turned.size):
                self._note_likeliness(self.likeliness, s)
        self.turned[:] = now
        self.outlooks = [self._outlook(s) for s in range(self.turned.size)]

    def _note_likeliness(self, known: Likeliness, s: int) -> None:
        """Note how likely rows are to match that came when that was not observed."""
        memory = self._store.memory
        rows = self._store.in_queue(s)
        rows = rows[memory.rows["likeliness"][rows] == 0.0]
        if rows.size and self._store.retention.keeps_likeliness:
            key_words = memory.slots[memory.rows["slot"][rows], layout.KEY_WORD]
            memory.rows["likeliness"][rows] = known.of(s, memory.rows["value"][rows], key_words)

    def restore(self, saved: Mapping[str, np.ndarray]) -> None:
        """Go on where the saved one stopped."""
        now, self._faded, self._began, self._settled = saved["clock"].tolist()
        self.now = now if saved["started"][0] else None
        self.rates.restore(saved)
        self.turned = saved["turned"].copy()
        self.evidence.restore(saved)
        if self.likeliness is not None:
            self.likeliness.restore(saved)
        if self.trial is not None:
            self.trial.restore(below(saved, "trial."))
        for s in range(self.turned.size):
            self.outlooks[s] = Outlook(
                AgeCurve(saved[f"outlook.{s}.curve"]),
                float(saved[f"outlook.{s}.rate"][0]),
                saved[f"outlook.{s}.likeliness"],
                saved[f"outlook.{s}.weights"],
            )
