"""Strategies on trial: what each would find with the memory that there is, on a sample of rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from penstock.engine.intake import is_hashed
from penstock.engine.kernels import trial_memory
from penstock.engine.kernels.layout import EQUAL, NOTHING
from penstock.errors import SpecificationError, must
from penstock.statistics.contest import Contest
from penstock.statistics.fading import fade_together
from penstock.statistics.trial_division import TrialDivision
from penstock.strategies.base import TriedModel

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from penstock.engine.arrays import Array, Floats, Integers
    from penstock.engine.likeliness import Likeliness
    from penstock.engine.plan import Plan
    from penstock.engine.store import Store
    from penstock.statistics.outlook import Outlook
    from penstock.strategies import Strategy

# Ghosts in all. They are halved when there are more, and doubled below this part of them.
_GHOSTS, _FEW = 1024, 0.4
# The memory of a trial says something from so many ghosts on.
_LEAST_ROOM = 2.0
# A row's results matter at most so many times as much as usual.
_MOST = 2.0**20
# Arrays of the memories that are saved as they are.
_SAVED = ("worth", "due", "belief", "optimism", "room", "found")


def can_try(plan: Plan) -> bool:
    """Return whether strategies can be tried: two streams whose keys are equal."""
    return plan.rule.kind == EQUAL and len(plan.sides) == 2 and not plan.has_row_windows


def trial_of(plan: Plan, strategy: Strategy, store: Store) -> Trial | None:
    """Return a trial of the models that a strategy wants to be tried, if they can be.

    Raises
    ------
    SpecificationError
        If one of the models does not score rows.
    """
    models = [each for each in strategy.tried if isinstance(each, TriedModel)]
    if len(models) < len(strategy.tried):
        hint = "derive it from penstock.strategies.ScoringStrategy (docs/extending.md)"
        others = [each for each in strategy.tried if not isinstance(each, TriedModel)]
        raise SpecificationError(
            must(f'Needs.tried of "{strategy.name}"', "models that score rows", others[0], hint)
        )
    if not models or not can_try(plan):
        return None
    lives = store.memory.lives
    return Trial(plan, models, lives["span"].tolist(), lives["parts"].tolist())


class Trial:
    """Tries strategies on a sample of rows, and says which one to follow.

    Parameters
    ----------
    plan
        The join, of two streams by equality.
    models
        The strategies, by how they score rows. The first one is followed at first.
    spans, parts
        Of each stream: the length of a part of a life, and the parts.
    """

    def __init__(
        self,
        plan: Plan,
        models: Sequence[TriedModel],
        spans: Sequence[float],
        parts: Sequence[int],
    ) -> None:
        self._models = tuple(models)
        self._by_value = is_hashed(plan)
        self._parts = tuple(parts)
        self._division = TrialDivision(len(models))
        count = self._division.candidates
        self._trials = trial_memory.make(count, _GHOSTS, max(parts))
        settings = self._trials.trial[0]
        settings["window"] = [float(side.window) for side in plan.sides]
        settings["span"] = [float(span) for span in spans]
        self.contest = Contest(count)
        self._levels = np.ones((len(models), 2, max(parts) + 2))  # worth, before it is tilted
        self._raised = -np.inf  # when the rate of ghosts last rose
        # Matches of ghosts in each part of their lives, and the time that they spent in it.
        self.matched = np.zeros((2, max(parts)))
        self.exposed = np.zeros((2, max(parts)))

    @property
    def followed(self) -> int:
        """Index of the strategy that is followed."""
        return self.contest.followed

    @property
    def shares(self) -> Floats:
        """What the followed strategy holds of each stream, of all that it holds."""
        return self._division.shares

    @property
    def is_telling(self) -> bool:
        """Whether memories are large enough to say something."""
        trials = self._trials
        return float(trials.room[0] * trials.trial["rate"][0]) >= _LEAST_ROOM

    # --- Rows

    def take(
        self,
        arrivals: Array,
        start: int,
        stop: int,
        coming: Mapping[int, tuple[Array, Floats]],
        matters: Mapping[int, Floats],
    ) -> None:
        """Take a piece's rows through all memories on trial.

        Parameters
        ----------
        arrivals, start, stop
            The rows that came.
        coming
            Of each stream its rows with a key, and how likely they are to match.
        matters
            Of each stream what results of these rows matter; left out if all matter alike.
        """
        rows = arrivals[start:stop]
        key_words = np.zeros(rows.size, np.int64)
        likely, mattering = np.ones(rows.size), np.ones(rows.size)
        for s, (mine, expected) in coming.items():
            came = int(np.searchsorted(mine["at"], stop))
            places = mine["at"][:came] - start
            key_words[places] = mine["value" if self._by_value else "key_word"][:came]
            likely[places] = expected[:came]
            if s in matters:
                mattering[places] = matters[s][:came]
        trial_memory.take(
            self._trials,
            rows["time"].astype(np.float64),
            np.where(rows["blank"] == 0, rows["stream"], NOTHING).astype(np.int32),
            np.ascontiguousarray(rows["draw"]),
            key_words,
            likely,
            np.clip(mattering, 0.0, _MOST),
        )

    def review(self, likeliness: Likeliness, room: int, life: float) -> None:
        """Take in how likely keys are to match now, and how many rows may be held."""
        trials, settings = self._trials, self._trials.trial[0]
        trials.room[:] = max(room, 1)
        used = self._used_keys()
        key_words = np.ascontiguousarray(trials.keys["word"][used])
        for s in range(2):
            trials.keys["likely"][used, s] = likeliness.of(s, key_words, key_words)
        ghosts = _GHOSTS - int(settings["free"])
        is_long_ago = self._raised == -np.inf or settings["now"] - self._raised >= life
        if settings["rate"] < 1.0 and ghosts < _FEW * _GHOSTS and is_long_ago:
            settings["rate"] = min(1.0, 2 * settings["rate"])
            self._raised = float(settings["now"])

    def _used_keys(self) -> Integers:
        places = self._trials.places
        return places[places != NOTHING].astype(np.int64)

    def _alive(self) -> Integers:
        """List the ghosts in the order in which they came."""
        free = np.zeros(_GHOSTS, np.bool_)
        free[self._trials.free[: int(self._trials.trial["free"][0])]] = True
        alive = np.flatnonzero(~free)
        return alive[np.argsort(self._trials.ghosts["number"][alive])]

    # --- A part of a life goes by

    def turn(self, s: int, now: float, turned: float, fade: float) -> None:
        """Note what ghosts of a stream have matched since a part of its life last went by."""
        trials = self._trials
        alive = self._alive()
        ghosts = trials.ghosts[alive]
        mine = ghosts["stream"] == s
        alive, ghosts = alive[mine], ghosts[mine]
        parts = self._parts[s]
        matches = trials.keys["arrived"][ghosts["key"], 1 - s] - ghosts["before"]
        gained = matches - ghosts["counted"]
        trials.ghosts["counted"][alive] = matches
        span = float(trials.trial["span"][0, s])
        since = np.maximum(ghosts["time"], turned)
        begin, end = (since - ghosts["time"]) / span, (now - ghosts["time"]) / span
        lasted = np.maximum(end - begin, 1e-12)
        fade_together(self.matched[s], self.exposed[s], fade)
        first = np.clip(begin.astype(np.int64), 0, parts - 1)
        # Mostly a part of a life, which reaches into two of them.
        inside = np.clip((first + 1 - begin) / lasted, 0.0, 1.0)
        for part, share in ((first, inside), (np.minimum(first + 1, parts - 1), 1.0 - inside)):
            np.add.at(self.matched[s], part, share * gained)
            np.add.at(self.exposed[s], part, share * lasted)

    def score_by(self, outlooks: Sequence[Outlook], rates: Sequence[float]) -> None:
        """Let all candidates score by what is known of the streams now."""
        trials = self._trials
        for s, outlook in enumerate(outlooks):
            cumulative = outlook.curve.cumulative()
            parts = min(cumulative.size, trials.due.shape[1])
            trials.due[s] = cumulative[-1]
            trials.due[s, :parts] = cumulative[:parts]
            for number, model in enumerate(self._models):
                worth = model.by_age(outlook) * model.level(
                    outlook, float(trials.trial["span"][0, s]), rates[1 - s]
                )
                self._levels[number, s] = 0.0
                self._levels[number, s, : worth.size] = worth[: self._levels.shape[2]]
        self._apply_tilts()

    def _apply_tilts(self) -> None:
        trials, count = self._trials, len(self._models)
        trials.worth[:count] = self._levels
        trials.worth[:count, 0] *= self._division.factors()[:, None]
        trials.belief[:count] = [model.belief for model in self._models]
        trials.optimism[:count] = [model.optimism for model in self._models]
        for candidate, factor in self._division.further():
            trials.worth[candidate] = trials.worth[self.followed]
            trials.worth[candidate, 0] *= factor
            trials.belief[candidate] = trials.belief[self.followed]
            trials.optimism[candidate] = trials.optimism[self.followed]

    def settle(self, fade: float) -> bool:
        """Compare what was found; return whether another strategy is followed now."""
        trials, contest, division = self._trials, self.contest, self._division
        if not self.is_telling:
            trials.found[:] = 0.0
            return False
        contest.add(trials.found.copy(), fade)
        trials.found[:] = 0.0
        before, best = contest.followed, contest.best()
        if division.follow(before, best):
            self._copy(best, before)
        else:
            contest.followed = best
        if best != before:
            self._copy(contest.followed, division.more)
            self._copy(contest.followed, division.less)
            self._apply_tilts()
        division.average(trials.held[contest.followed].astype(np.float64))
        return contest.followed != before

    def _copy(self, source: int, target: int) -> None:
        held = self._trials.listed != NOTHING
        held[:, target] = held[:, source]
        trial_memory.hold_again(self._trials, held)
        self.contest.copy(source, target)

    def by_name(self) -> tuple[dict[str, int], dict[str, float]]:
        """Return whether each name is followed, and what the best of each name has found."""
        names = [model.name for model in self._models]
        follows = dict.fromkeys(names, 0)
        follows[names[self.followed]] = 1
        tried = dict.fromkeys(names, 0.0)
        for name, found in zip(names, self.contest.totals, strict=False):
            tried[name] = max(tried[name], float(found))
        tried[names[self.followed]] = float(self.contest.totals[self.followed])
        return follows, tried

    # --- State

    def save(self) -> dict[str, Array]:
        """Return ghosts and what they have shown, for `restore`."""
        trials, division = self._trials, self._division
        alive = self._alive()
        ghosts, used = trials.ghosts[alive], np.sort(self._used_keys())
        keys = trials.keys[used]
        order = np.argsort(keys["word"])
        place = np.zeros(_GHOSTS, np.int64)
        place[used[order]] = np.arange(used.size)
        saved: dict[str, Array] = {
            f"ghosts.{name}": ghosts[name] for name in ghosts.dtype.names or () if name != "key"
        }
        saved["ghosts.key"] = place[ghosts["key"]]
        saved["held"] = trials.listed[alive] != NOTHING
        saved |= {f"words.{name}": keys[name][order] for name in keys.dtype.names or ()}
        saved |= {name: getattr(trials, name) for name in _SAVED}
        settings = trials.trial[0]
        saved["settings"] = np.array(
            [settings["rate"], settings["now"], division.settled, self._raised, *division.shares]
        )
        saved["number"] = np.array([settings["number"]])
        saved |= {"tilts": division.tilts, "levels": self._levels}
        saved |= {"matched": self.matched, "exposed": self.exposed}
        return saved | {f"contest.{n}": array for n, array in self.contest.save().items()}

    def restore(self, saved: Mapping[str, Array]) -> None:
        """Go on where the saved one stopped."""
        trials, division = self._trials, self._division
        settings = trials.trial[0]
        windows, spans = settings["window"].copy(), settings["span"].copy()
        count = saved["ghosts.time"].size
        fresh = trial_memory.make(trials.sizes.size, _GHOSTS, trials.worth.shape[2] - 2)
        self._trials = trials = fresh
        settings = trials.trial[0]
        settings["window"], settings["span"] = windows, spans
        settings["rate"], settings["now"], division.settled, self._raised, *shares = saved[
            "settings"
        ].tolist()
        division.shares = np.array(shares)
        settings["number"] = saved["number"][0]
        for name in trials.ghosts.dtype.names or ():
            trials.ghosts[name][:count] = saved[f"ghosts.{name}"]
        used = saved["words.word"].size
        for name in trials.keys.dtype.names or ():
            trials.keys[name][:used] = saved[f"words.{name}"]
        settings["free"] -= count
        settings["free_keys"] -= used
        trial_memory.find_again(trials, count, used)
        held = np.zeros(trials.listed.shape, np.bool_)
        held[:count] = saved["held"]
        trial_memory.hold_again(trials, held)
        for name in _SAVED:
            getattr(trials, name)[...] = saved[name]
        division.tilts, self._levels = saved["tilts"].copy(), saved["levels"].copy()
        self.matched, self.exposed = saved["matched"].copy(), saved["exposed"].copy()
        prefix = "contest."
        self.contest.restore(
            {n.removeprefix(prefix): a for n, a in saved.items() if n.startswith(prefix)}
        )
