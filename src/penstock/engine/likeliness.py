"""What the frequencies of values say of a row: how likely it is to match, 1 on average."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from penstock.columns import plain
from penstock.engine.arrays import below
from penstock.engine.intake import is_hashed, read_keys
from penstock.engine.kernels import layout
from penstock.engine.kernels.key_hash import combine_hash_each
from penstock.errors import SpecificationError, must
from penstock.statistics.fading import fade_together
from penstock.statistics.frequencies import Frequencies
from penstock.statistics.key_prior import KeyPrior
from penstock.statistics.steady_frequencies import SteadyFrequencies
from penstock.statistics.value_sample import ValueSample

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from penstock.engine.arrays import Array, Floats, Integers
    from penstock.engine.keys import KeyCoder
    from penstock.engine.plan import Plan
    from penstock.goals import LearningGoal

# Sums of likeliness are kept as whole numbers of this: whole numbers add up to the same in any
# order, and decisions must not depend on how batches were cut.
_GRAIN = 2.0**-16
_LARGE = 2.0**40
# Values whose frequencies are remembered, for each row of the budget and in all: what is learned
# must not take more than what is kept.
_VALUES_PER_ROW, _FEWEST_VALUES, _MOST_VALUES = 8, 4096, 1 << 16
# What is average is taken over the last few reviews: as a stream is observed for longer, a value
# that is still unseen says more, and all that is relative to the average must keep up.
_RECENT = 0.8
_UNIT = 2.0**-53
# How much values differ is found again after so many reviews, from so many of them.
_COMPARE_EVERY, _COMPARED = 4, 1024
_MOST_DOUBT = 1000.0
# After a long silence: a pace is no lower, so that products of what a result counts are not 0, and
# what was before it counts for nothing.
_LEAST_PACE, _LEAST_FACTOR = 1e-40, 1e-300


class Likeliness:
    """Counts the values of all streams, and says how likely a value is to be matched.

    For a row of one stream it is the product, over the other streams, of how often its value
    comes there (for predicates other than equality: of the share of values that it matches), and
    1 on average over the stream's rows. A value is believed to be rare, or frequent, only as far
    as it has been observed: some results' worth of doubt is added to what was counted. That is one
    if values differ much, and more if they differ hardly more than chance has it.
    """

    def __init__(self, plan: Plan, coder: KeyCoder, goal: LearningGoal, rows: int) -> None:
        count = len(plan.sides)
        self._plan = plan
        self._equal = plan.rule.kind == layout.EQUAL
        limit = min(max(_VALUES_PER_ROW * rows, _FEWEST_VALUES), _MOST_VALUES)
        if plan.spec.budget is not None and not plan.spec.budget.limits_memory:
            limit = _MOST_VALUES
        self._counts = [Frequencies(limit) for _ in range(count)]
        # Decisions about work are made for the rates of keys, so these have to be known well.
        steady = plan.work is not None and self._equal and count == 2
        self._steady = [SteadyFrequencies(limit) for _ in range(count)] if steady else []
        self._priors = [KeyPrior() for _ in range(count)]  # of a row's key in the other stream
        self._samples = [ValueSample() for _ in range(count)]
        self._known = [_known(plan, coder, goal, s) for s in range(count)]
        self._usual = [
            float(np.prod([_usual(own, o) for o in self._known if o is not None and o is not own]))
            for own in self._known
        ]
        self._waiting: list[list[Array]] = [[] for _ in range(count)]
        self._sums = np.zeros((count, 2))  # of raw likeliness, and of rows
        self._new = np.zeros((count, 2), np.int64)  # the same since the last review, in grains
        self._elapsed = 0.0
        self._paces = [0.0] * count
        self._age = 0.0  # in half-lives
        self._doubts = np.ones(count)  # results that are added to what was counted
        self._squares = 0.0  # of what each moment counts, where `_elapsed` is their sum
        self._reviews = 0

    def of(self, s: int, values: Array, words: Integers) -> Floats:
        """Return the likeliness of rows of a stream."""
        likely: Floats = self._raw(s, values, words) / self._mean(s)
        return likely

    def values(self, s: int, size: int) -> tuple[Integers, Floats] | None:
        """Return about so many values of a stream, as keys, and how many rows each stands for.

        None if values are not counted, or none has come.
        """
        if not self._equal:
            return None
        known = self._known[s]
        keys, rows = self._counts[s].sample(size) if known is None else known
        return (keys, rows) if rows.sum() > 0 else None

    def per_time(self, s: int, values: Array, words: Integers, rates: Sequence[float]) -> Floats:
        """Return how many matches per unit of time rows of a stream can expect.

        Of a join of two streams, which have the given rates.
        """
        other = 1 - s
        if self._steady and self._known[other] is None:
            keys = values if self._by_value else words
            own = self._steady[s].of(keys)
            return self._steady[other].share_of(keys, own, self._priors[s]) * rates[other]
        if self._equal and self._known[other] is None:
            # As counted, without the doubt that `of` has: it would make frequent values less so.
            keys = values if self._by_value else words
            return self._counts[other].of(keys) / max(self._elapsed, 1e-300)
        return self._raw(s, values, words) * rates[other]

    def note(self, s: int, values: Array, words: Integers, likely: Floats) -> None:
        """Remember rows that came, and what was said of them, for the next review."""
        grains = np.minimum(likely * (self._mean(s) / self._unseen(s) / _GRAIN), _LARGE)
        self._new[s, 0] += int(grains.astype(np.int64).sum())
        self._new[s, 1] += likely.size
        self._waiting[s].append((values if self._by_value else words).copy())

    def _mean(self, s: int) -> float:
        """Return the mean of raw likeliness over the stream's rows."""
        total, rows = self._sums[s]
        return max(total / rows if rows else self._unseen(s), 1e-300)

    def _unseen(self, s: int) -> float:
        """Return the raw likeliness of a value that was not seen in any other stream.

        Where frequencies are known, of a usual one.
        """
        unknown = sum(known is None for o, known in enumerate(self._known) if o != s)
        return float(self._usual[s] * (self._doubts[s] * self._scale(s)) ** unknown)

    @property
    def _by_value(self) -> bool:
        """Whether values say what matches: also hashes of keys that are not their own words."""
        return not self._equal or is_hashed(self._plan)

    def review(self, factor: float, elapsed: float, paces: Sequence[float]) -> None:
        """Count the rows that came; let what came before count less by a factor."""
        for s in range(len(paces)):
            fade_together(self._sums[s, :1], self._sums[s, 1:], min(factor, _RECENT))
            if not self._elapsed and self._equal:
                continue  # nothing was known yet: what was said of them says nothing
            self._sums[s, 0] += int(self._new[s, 0]) * _GRAIN * self._unseen(s)
            self._sums[s, 1] += int(self._new[s, 1])
        self._new[:] = 0
        self._squares = self._squares * factor**2 + max(elapsed - self._elapsed * factor, 0.0)
        self._elapsed, self._paces = elapsed, list(paces)
        self._age -= float(np.log2(max(factor, _LEAST_FACTOR)))
        for s, waiting in enumerate(self._waiting):
            came = np.concatenate(waiting) if waiting else np.zeros(0, np.int64)
            waiting.clear()
            if self._equal:
                if self._steady:
                    self._steady[s].add(came.astype(np.int64), self._counts[s], factor)
                self._counts[s].fade(max(factor, 1e-12))
                self._counts[s].add(came.astype(np.int64))
                self._counts[s].forget()
            elif came.size:
                self._samples[s].add(came.astype(np.float64), _spread(came, self._age), self._age)
        if self._equal and self._reviews % _COMPARE_EVERY == 0:
            self._doubts = np.array([self._doubt(s) for s in range(len(paces))])
            if self._steady:
                self._priors = [self._prior(s) for s in range(len(paces))]
        self._reviews += 1

    def _doubt(self, s: int) -> float:
        """Return how many results' worth of doubt there is about a value's frequency elsewhere.

        Rates of values are taken to be Gamma(a, b), so that counts have mean m and variance
        m + m**2 / a, the first term being chance, which is less where old rows count less. The
        rate of a value that was counted n times is then (n + a) / (time + b).
        """
        values = self.values(s, _COMPARED)
        others = [o for o in range(len(self._paces)) if o != s and self._known[o] is None]
        if values is None or not others or not self._elapsed:
            return 1.0
        keys, rows = values
        shapes = []
        for other in others:
            counts = self._counts[other].of(keys)
            mean = float(np.average(counts, weights=rows))
            variance = float(np.average((counts - mean) ** 2, weights=rows))
            excess = variance - mean * self._squares / self._elapsed
            shapes.append(mean**2 / max(excess, mean**2 / _MOST_DOUBT, 1e-300))
        # In sixteenths: sums of counts may differ in their last digits after a restart.
        return round(16 * min(max([*shapes, 1.0]), _MOST_DOUBT)) / 16

    def _prior(self, s: int) -> KeyPrior:
        """Return how much keys of a stream's rows differ in what they have in the other."""
        keys, rows = self._steady[s].sample(_COMPARED)
        return self._steady[1 - s].prior_of(keys, self._steady[s].of(keys), rows)

    def _raw(self, s: int, values: Array, words: Integers) -> Floats:
        raw = np.ones(values.size)
        for other in range(len(self._plan.sides)):
            if other == s:
                continue
            known = self._known[other]
            keys = values if self._by_value else words
            if self._equal and known is not None:
                place = np.minimum(np.searchsorted(known[0], keys), known[0].size - 1)
                raw *= np.where(known[0][place] == keys, known[1][place], 0.0) + 1e-12
            elif self._equal:
                raw *= (self._counts[other].of(keys) + self._doubts[s]) * self._scale(s)
            else:
                low, high = self._reach(s, other, values.astype(np.float64))
                share = self._samples[other].share_between(low, high)
                raw *= np.maximum(share, 1e-4)
        return raw

    def _scale(self, s: int) -> float:
        """Return what a result counts: one by the time that was observed, and that of the doubt."""
        if not self._equal or any(known is not None for known in self._known):
            return 1.0
        pace = self._paces[s]
        doubt = 1.0 / max(pace, _LEAST_PACE) if pace > 0 else max(self._elapsed, 1.0)
        return 1.0 / (self._elapsed + self._doubts[s] * doubt)

    def _reach(self, s: int, other: int, values: Floats) -> tuple[Floats, Floats]:
        """Return the least and greatest value of another stream that each value matches."""
        rule, chain = self._plan.rule, self._plan.chain
        if rule.kind == layout.WITHIN:
            return values - float(rule.high), values + float(rule.high)
        steps = chain[other] - chain[s]
        if rule.kind == layout.BAND:
            low, high = float(rule.low) * steps, float(rule.high) * steps
            return values + min(low, high), values + max(low, high)
        everything = np.full(values.size, np.inf)
        if rule.kind == layout.SIMILAR or rule.operator == layout.UNEQUAL:
            return -everything, everything
        upwards = rule.operator in (layout.LESS, layout.LESS_OR_EQUAL)
        if upwards == (steps > 0):
            return values, everything
        return -everything, values

    def save(self) -> dict[str, np.ndarray]:
        """Return the state, for `restore`."""
        saved = {
            "likeliness": np.array([self._elapsed, self._age, *self._paces]),
            "likeliness.sums": self._sums,
            "likeliness.new": self._new,
            "likeliness.doubts": np.array([*self._doubts, self._squares, self._reviews]),
        }
        for s in range(len(self._waiting)):
            waiting = self._waiting[s]
            saved[f"waiting.{s}"] = np.concatenate(waiting) if waiting else np.zeros(0)
            kept = self._counts[s].save() if self._equal else self._samples[s].save()
            saved |= {f"values.{s}.{name}": array for name, array in kept.items()}
            if self._steady:
                steady = self._steady[s].save()
                steady["prior"] = self._priors[s].save()
                saved |= {f"steady.{s}.{name}": array for name, array in steady.items()}
        return saved

    def restore(self, saved: Mapping[str, np.ndarray]) -> None:
        """Go on where the saved one stopped."""
        self._elapsed, self._age, *self._paces = saved["likeliness"].tolist()
        self._sums = saved["likeliness.sums"].copy()
        self._new = saved["likeliness.new"].copy()
        *doubts, self._squares, reviews = saved["likeliness.doubts"].tolist()
        self._doubts, self._reviews = np.array(doubts), int(reviews)
        for s in range(len(self._waiting)):
            waiting = saved[f"waiting.{s}"]
            self._waiting[s] = [waiting] if waiting.size else []
            (self._counts if self._equal else self._samples)[s].restore(
                below(saved, f"values.{s}.")
            )
            if self._steady:
                steady = below(saved, f"steady.{s}.")
                self._priors[s] = KeyPrior.restored(steady["prior"])
                self._steady[s].restore(steady)

    def carry_over(self, saved: Mapping[str, np.ndarray]) -> None:
        """Go on with what was counted for another budget or strategy, as far as it was."""
        if "likeliness" not in saved:
            return
        if self._steady and "steady.0.prior" not in saved:
            begun, self._steady = self._steady, []
            self.restore(saved)
            self._steady = begun
        else:
            self.restore(saved)
        for counts in self._counts:
            counts.forget()  # a smaller budget has fewer


def _spread(values: Array, age: float) -> Floats:
    """Return a random number in [0, 1) for each value: of the time, itself and its place in order.

    By the time too: the same places of every review would be the same few quantiles.
    """
    order = np.argsort(values, kind="stable")
    hashes = np.full(values.size, age).view(np.int64)
    combine_hash_each(hashes, np.ascontiguousarray(values[order]).view(np.int64))
    combine_hash_each(hashes, np.arange(values.size))
    drawn = np.empty(values.size)
    drawn[order] = (hashes.view(np.uint64) >> np.uint64(11)).astype(np.float64) * _UNIT
    return drawn


def _known(
    plan: Plan, coder: KeyCoder, goal: LearningGoal, s: int
) -> tuple[Integers, Floats] | None:
    """Return the frequencies that the user knows: words of values, in order, and their shares."""
    side = plan.sides[s]
    given = (goal.frequencies or {}).get(side.name)
    if given is None:
        return None
    types = [side.schema.field(name).type for name in side.columns]
    rows = [value if isinstance(value, tuple) else (value,) for value in given]
    try:
        columns = [
            pa.chunked_array([_exactly(column, type_)])
            for column, type_ in zip(zip(*rows, strict=True), types, strict=True)
        ]
    except (pa.ArrowException, OverflowError, TypeError, ValueError) as error:
        raise SpecificationError(
            must(
                f'frequencies of stream "{side.name}"',
                f"of values like those of {', '.join(side.columns)} ({', '.join(map(str, types))})",
                next(iter(given)),
                "give a share for each value of the predicate's columns",
            )
        ) from error
    if plan.keys:
        words, good = coder.hashes(columns), columns[0].is_valid().to_numpy()
        for column in columns[1:]:
            good = good & column.is_valid().to_numpy()
    else:
        table = pa.table(dict(zip(side.columns, columns, strict=True)))
        words, _, good = read_keys(plan, side, table, coder)
    # A null matches nothing, however frequent it is. Numbers can be equal once they are rounded.
    shares = np.where(good, list(given.values()), 0.0)
    known, place = np.unique(np.where(good, words, 0), return_inverse=True)
    added: Floats = np.zeros(known.size)
    np.add.at(added, place, shares)
    return known, added


def _usual(own: tuple[Integers, Floats] | None, other: tuple[Integers, Floats]) -> float:
    """Return the mean share, in another stream, of a stream's rows; as there if it is not known."""
    keys, shares = other if own is None else own
    place = np.minimum(np.searchsorted(other[0], keys), other[0].size - 1)
    met = np.where(other[0][place] == keys, other[1][place], 0.0)
    return max(float(np.sum(met * shares) / max(shares.sum(), 1e-12)), 1e-12)


def _exactly(values: Sequence[Any], type_: pa.DataType) -> pa.Array:
    """Return values as a column of a type; Arrow would cut 1.5 to 1 for whole numbers."""
    kind = plain(type_)
    if pa.types.is_float16(kind):  # Arrow takes no plain numbers for it
        values = [None if each is None else np.float16(each) for each in values]
    column = pa.array(values, kind)
    # A tenth is a tenth in every type, though 0.1 is another number in each.
    rounding = 1e-3 if pa.types.is_floating(kind) else 0.0
    for found, value in zip(column.to_pylist(), values, strict=True):
        # False for NaN, which is a value of no row that can match.
        if not (found == value or (rounding and abs(found - value) <= rounding * abs(value))):
            raise ValueError(values)
    return column
