"""Samples of a join by their definition: lists and loops, one row after another.

Written from what `retention.sample` promises. Every row has drawn a ratio, or one for its next
match. It is in the sample while that is below the fraction. When memory is full the fraction falls
to the greatest ratio that there is. For `eq-cluster`, and for `uniform` where all numbers of
matches are given. Nothing is learned: the fraction rises only if a test raises it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from penstock.engine.retention.sample import NO_MATCH
from penstock.goals import Sample
from tests.oracles.naive_operator import Identity, NaiveOperator, Row

if TYPE_CHECKING:
    import pyarrow as pa

_WORD = 2**64 - 1
NEVER = NO_MATCH


@dataclass(frozen=True)
class Chosen:
    """A result of the sample: the rows that it is made of, and how it was chosen."""

    members: tuple[Identity, ...]
    weight: float
    cluster: int


@dataclass
class Odds:
    """How a row comes to be in the sample."""

    ratio: float  # of the row, or of its next match that is chosen
    least: float  # the least fraction since it was drawn
    key: int = 0  # from which the next random number follows
    next: int = 0  # the number of the match that is chosen
    limit: int = 0  # matches that it is taken to have
    seen: int = 0  # matches so far


@dataclass
class NaiveSampler(NaiveOperator):
    """What `Operator` should do, for one shard of a sample."""

    fraction: float = 0.0
    forced: int = 0
    chosen: list[Chosen] = field(default_factory=list)  # of the batch
    odds: dict[int, Odds] = field(default_factory=dict)  # by arrival number
    matches: dict[tuple[int, Identity], float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        super().__post_init__()
        goal = self.plan.spec.goal
        assert isinstance(goal, Sample)
        self.by_match = goal.strategy == "uniform"
        self.fraction = goal.fraction or (1.0 if self.by_match else math.inf)

    def raise_to(self, fraction: float) -> None:
        """Let the fraction rise, for rows and matches that are drawn from now on."""
        for odds in self.odds.values():
            odds.least = min(odds.least, self.fraction)
        self.fraction = fraction

    def take_in(self, s: int, table: pa.Table) -> list[Row]:
        rows = super().take_in(s, table)
        name = self.plan.sides[s].matches
        if name is not None:
            said = table.column(name).to_pylist()
            for row in rows:
                self.matches[s, row.identity] = max(said[row.identity[1]] or 0, 0)
        return rows

    # --- Results

    def probe(self, row: Row) -> list[tuple[Identity, ...]]:
        """Return the results that are in the sample; note the odds of each."""
        found = []
        for other in list(self.held[1 - row.stream]):
            pair = (row, other) if row.stream == 0 else (other, row)
            if self.joins(pair):
                if other.chance is not None:
                    self.estimate += 1 / other.chance
                found += self.sift(pair, other)
        return found

    def sift(self, pair: tuple[Row, Row], waited: Row) -> list[tuple[Identity, ...]]:
        odds = self.odds[waited.arrival_number]
        fraction = min(odds.least, self.fraction)
        cluster = waited.arrival_number
        if self.by_match:
            odds.seen += 1
            if odds.seen != odds.next:
                return []
            is_in = odds.ratio < fraction
            self.skip_on(waited)
            if not is_in:
                return []
            cluster = self.emitted + len(self.chosen)
        weight = 1 / min(fraction, 1.0)
        if not self.by_match:
            self.estimate += weight
        members = (pair[0].identity, pair[1].identity)
        self.chosen.append(Chosen(members, weight, cluster))
        return [members]

    # --- Which rows are in the sample

    def review(self) -> None:
        """No row is monitored where rows are drawn with all their matches."""
        if self.by_match:
            super().review()

    def make_room(self, arrival: Row, *, monitored: bool) -> bool:
        """Draw for an arrival, and let the fraction fall until there is room for it."""
        odds = self.draw_odds(arrival)
        if self.is_out(odds) and not monitored:
            return False
        if self.cost(arrival) > self.limit:
            return False
        while self.taken() + self.cost(arrival) > self.limit:
            victim = self.greatest()
            if victim is None:
                return False
            if odds.ratio > self.odds[victim.arrival_number].ratio and not monitored:
                self.fall(odds.ratio)
                self.draw_next(odds)
            else:
                self.lower_to(victim)
            if self.is_out(odds) and not monitored:
                return False
        if self.is_out(odds):
            odds.ratio, odds.next = math.inf, NEVER
        odds.least = self.fraction
        self.odds[arrival.arrival_number] = odds
        arrival.chance = self.threshold if monitored else None
        return True

    def draw_odds(self, row: Row) -> Odds:
        if not self.by_match:
            return Odds(row.lot, self.fraction, next=0 if row.lot < self.fraction else NEVER)
        limit = int(min(self.matches[row.stream, row.identity], NEVER - 1))
        odds = Odds(0.0, self.fraction, key=int(row.lot * 2**53), limit=limit)
        self.draw_next(odds)
        return odds

    def draw_next(self, odds: Odds) -> None:
        """Skip to the next match that is chosen."""
        if not self.by_match:
            odds.next = NEVER
            return
        steps, odds.ratio, odds.key = skip(odds.key, self.fraction)
        odds.next = min(odds.next + steps, NEVER)

    def is_out(self, odds: Odds) -> bool:
        return odds.next > odds.limit and not (self.by_match and self.fraction >= 1)

    def greatest(self) -> Row | None:
        """Return the row with the greatest ratio that may leave."""
        free = [row for s in range(len(self.held)) for row in self.free(s)]
        return max(
            free,
            key=lambda row: (self.odds[row.arrival_number].ratio, -row.stream, -row.arrival_number),
            default=None,
        )

    def fall(self, ratio: float) -> None:
        if ratio < self.fraction:
            self.forced += 1
            self.fraction = ratio

    def lower_to(self, victim: Row) -> None:
        self.fall(self.odds[victim.arrival_number].ratio)
        if self.by_match and self.odds[victim.arrival_number].next != NEVER:
            self.skip_on(victim)
        else:
            self.evict(victim)

    def skip_on(self, row: Row) -> None:
        """Go on to the next match that is chosen; a row that has none to expect leaves."""
        odds = self.odds[row.arrival_number]
        self.draw_next(odds)
        odds.least = self.fraction
        if self.is_out(odds):
            odds.ratio, odds.next = math.inf, NEVER
            if row.chance is None:
                self.evict(row)


def skip(key: int, fraction: float) -> tuple[int, float, int]:
    """Draw X ~ G(p) by inversion, the ratio of the match that it leads to, and the next key."""
    key = combine_hash(key, 1)
    first = (key >> 11) * 2.0**-53
    key = combine_hash(key, 2)
    second = (key >> 11) * 2.0**-53
    if fraction >= 1:
        return 1, second, key
    steps = 1 + math.floor(math.log1p(-first) / math.log1p(-fraction))
    return min(steps, NEVER), second * fraction, key


def combine_hash(word: int, salt: int) -> int:
    """Mix a word into a hash, as unsigned numbers: SplitMix64's finaliser."""
    h = word ^ (salt * 0x9E3779B97F4A7C15 & _WORD)
    h = (h ^ (h >> 30)) * 0xBF58476D1CE4E5B9 & _WORD
    h = (h ^ (h >> 27)) * 0x94D049BB133111EB & _WORD
    return h ^ (h >> 31)
