"""The specification of a join, checked when it is made.

A `Specification` consists of `Stream`s, a predicate, a `Goal` (what to lose least of) and a
`Budget` (how much memory to use). All are frozen, hashable and can be pickled. The ``repr`` of
each is the Python expression that makes it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from penstock.budget import Budget, bytes_of, is_whole, plain
from penstock.durations import DurationLike, check_duration, is_clock
from penstock.errors import SpecificationError, must
from penstock.goals import Goal, LearningGoal, MaxImportance, MaxSubset, Sample
from penstock.predicates import Equal, Predicate
from penstock.windows import Rows

__all__ = ["ResultStream", "Specification", "Stream", "durations_of"]

# Columns that a result can have besides one for each stream.
OUTPUT_COLUMNS = ("time", "weight", "cluster", "importance")


@dataclass(frozen=True, kw_only=True)
class Stream:
    """A stream of the join: its time column, its window and its disorder.

    Parameters
    ----------
    time
        Column that holds the time: a timestamp, a date (midnight, without a zone), or a number
        such as a sequence.
    window
        How long a row can join with newer rows: ``"10 minutes"``, a `timedelta`, or a number
        if time is numeric. With zero it joins only with rows of the same time, and older ones.
        Or ``Rows(1000)``: until 1,000 newer rows of the stream have come (`Rows`). A `Join` needs
        one; it can be left out only in a query whose text has it (``bids [RANGE 1 HOUR]``).
    lateness
        How far a row may be behind the newest row of its stream.
    max_ahead
        How far a row may be ahead of its stream. A row further ahead is set aside, so that one
        wrong clock cannot expire a window. None sets no limit.
    idle
        After this much time of the other streams without a row, this stream counts as idle. The
        others then stop waiting for it, and their rows can expire. Its time is then that of the
        furthest stream less this; rows that come later and are older are late. None, the default,
        waits as long as it takes.

    Examples
    --------
    >>> Stream(time="opened_at", window="7 days")
    Stream(time='opened_at', window='7 days', lateness=0, max_ahead=None, idle=None)
    """

    time: str
    window: DurationLike | Rows | None = None
    lateness: DurationLike = 0
    max_ahead: DurationLike | None = None
    idle: DurationLike | None = None

    def __post_init__(self) -> None:
        if not _is_name(self.time):
            hint = 'write time="..." with the column that holds the time'
            raise SpecificationError(
                must("time of Stream", "the name of a column", self.time, hint)
            )
        owner = f'Stream(time="{self.time}")'
        said = re.fullmatch(r"\s*([0-9]+)\s*rows?\s*", str(self.window), re.IGNORECASE)
        if said is not None:
            hint = f"write window=Rows({said[1]})"
            requirement = "a duration, or Rows(...)"
            raise SpecificationError(must(f"window of {owner}", requirement, self.window, hint))
        for name, value in durations_of(self):
            check_duration(value, f"{name} of {owner}")
            if isinstance(value, float):
                # numpy.float64 is a float too, but its repr does not read back.
                object.__setattr__(self, name, float(value))
        named = [(f"{name} of {owner}", value) for name, value in durations_of(self)]
        _check_one_kind(named, "durations of a stream")


@dataclass(frozen=True, kw_only=True)
class ResultStream(Stream):
    """A stream of the results of another join, which says with them how far it has come.

    Its rows may come in any order. They are never late, and rows of other streams wait for as long
    as the join below may still give results that they join.
    """


@dataclass(frozen=True, kw_only=True)
class Specification:
    """A join, fully specified and checked; the base of the public `Join`.

    Parameters
    ----------
    streams
        The streams by name, two or more. The mapping is copied. Its order is that of the
        output's columns, so two specifications with different orders are not equal.
    on
        The condition on which rows join.
    goal
        What to lose least of.
    budget
        How much memory to use; None joins exactly.
    seed
        Seed of every random draw; from 0 to 2**63 - 1.
    align
        How far a row may be ahead of the slowest stream and still take part at once. Rows further
        ahead wait, outside of memory, and take part in time order when the others get there. None,
        the default, is 0 with a budget, so that the same rows give the same results in whatever
        order the streams deliver them; and "off" without one. With a window of rows it must be
        None: a row waits until no older row can come.
    spool
        Bytes of rows that may wait, packed, over all shards: a number, or ``"10GB"``. More of them
        are an error.

    Attributes
    ----------
    names : tuple of str
        Names of the streams, in order.

    Examples
    --------
    >>> from penstock.predicates import Equal
    >>> day = Stream(time="at", window="1 day")
    >>> Specification(streams={"asks": day, "bids": day}, on=Equal("item")).names
    ('asks', 'bids')
    """

    streams: Mapping[str, Stream]
    on: Predicate
    goal: Goal = MaxSubset()  # noqa: RUF009  # frozen, so it can be shared
    budget: Budget | None = None
    seed: int = 0
    align: DurationLike | None = None
    spool: str | int = "10GB"
    names: tuple[str, ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        given: object = self.streams
        if not isinstance(given, Mapping) or len(given) < 2:
            hint = 'write streams={"name": Stream(...), "other": Stream(...)}'
            requirement = "a mapping of at least two names to streams"
            raise SpecificationError(must("streams", requirement, given, hint))
        streams = _Streams(tuple(given.items()))
        object.__setattr__(self, "streams", streams)
        object.__setattr__(self, "names", tuple(streams))
        _check_names(streams)
        _check_streams(streams)
        self._check_on()
        self._check_goal()
        self._check_budget()
        self._check_align()
        object.__setattr__(self, "seed", plain(self.seed))
        if not is_whole(self.seed, least=0):
            requirement = "a whole number from 0 to 2**63 - 1"
            raise SpecificationError(must("seed", requirement, self.seed, "write seed=0, say"))

    @property
    def has_row_windows(self) -> bool:
        """Whether the window of a stream is one of rows."""
        return any(isinstance(stream.window, Rows) for stream in self.streams.values())

    def time_windows(self, what: str) -> dict[str, DurationLike]:
        """Return the windows by stream, for something that needs to know how long they are.

        Raises
        ------
        SpecificationError
            If one is a window of rows; `what` is named as what cannot be had then.
        """
        windows: dict[str, DurationLike] = {}
        for name, stream in self.streams.items():
            if isinstance(stream.window, Rows):
                hint = "give the time that so many rows take"
                requirement = f"a duration for {what}"
                label = f'window of stream "{name}"'
                raise SpecificationError(must(label, requirement, stream.window, hint))
            windows[name] = stream.window or 0  # a join has one
        return windows

    def _check_align(self) -> None:
        durations = [
            (f'{setting} of stream "{name}"', value)
            for name, stream in self.streams.items()
            for setting, value in durations_of(stream)
        ]
        if self.align is not None and self.has_row_windows:
            hint = "leave it out: a window of rows is known only once all older rows have come"
            requirement = "left out where a window is one of rows"
            raise SpecificationError(must("align", requirement, self.align, hint))
        if self.align is not None and self.align != "off":
            check_duration(self.align, "align")
            _check_one_kind([("align", self.align), *durations], "durations of a join")
        object.__setattr__(self, "spool", plain(self.spool))
        if not is_whole(bytes_of(self.spool), least=1):
            hint = 'write "10GB", "500MB" or a whole number of bytes'
            requirement = "an amount of disk, from 1 to 2**63 - 1 bytes"
            raise SpecificationError(must("spool", requirement, self.spool, hint))

    def _check_on(self) -> None:
        if not isinstance(self.on, Predicate):
            hint = 'write on=Equal("..."), or use Within, Band, Compare or Similar'
            if isinstance(self.on, str):
                hint = f'write on=Equal("{self.on}")'
            elif isinstance(self.on, type) and issubclass(self.on, Predicate):
                hint = f"call it with its columns: on={self.on.__name__}(...)"
            raise SpecificationError(must("on", "a predicate", self.on, hint))
        self.on.check(self.names)

    def _check_goal(self) -> None:
        if not isinstance(self.goal, Goal):
            hint = "write MaxSubset(), MaxImportance(of=...) or Sample()"
            if isinstance(self.goal, str):
                hint = f'write goal=MaxSubset(strategy="{self.goal}")'
            elif isinstance(self.goal, type) and issubclass(self.goal, Goal):
                settings = "of=..." if self.goal is MaxImportance else ""
                hint = f"call it: goal={self.goal.__name__}({settings})"
            raise SpecificationError(must("goal", "a goal", self.goal, hint))
        if isinstance(self.goal, LearningGoal):
            self._check_known("curve", self.goal.curve)
            self._check_known("frequencies", self.goal.frequencies)
            equality = isinstance(self.on, Equal) or getattr(self.on, "operator", "") == "="
            if self.goal.frequencies is not None and not equality:
                raise SpecificationError(
                    must(
                        f"frequencies of {type(self.goal).__name__}",
                        "given with an equality",
                        self.on,
                        "leave them out: how often values match is learned",
                    )
                )

        if isinstance(self.goal, Sample):
            self._check_sample(self.goal)
        if isinstance(self.goal, MaxImportance):
            self._check_importance(self.goal.of)

    def _check_importance(self, of: object) -> None:
        if not isinstance(of, Mapping):
            return
        for name in of:
            if name not in self.names:
                streams = ", ".join(f'"{each}"' for each in self.names)
                hint = 'rename it; for the importance of a value write Lookup("column", {...})'
                raise SpecificationError(
                    must("of of MaxImportance", f"for streams among {streams}", name, hint)
                )
        missing = ", ".join(f'"{name}"' for name in self.names if name not in of)
        if missing:
            hint = f"add {missing}; 1 makes all rows of a stream equally important"
            raise SpecificationError(
                must("of of MaxImportance", "for all streams of the join", list(of), hint)
            )

    def _check_sample(self, goal: Sample) -> None:
        self._check_known("matches", goal.matches)
        if goal.of is not None:
            self._check_known("of", {goal.of: None})
        if len(self.names) != 2:
            hint = "join two of them, and sample that"
            raise SpecificationError(
                must("streams of a join with goal=Sample()", "two", len(self.names), hint)
            )
        if self.budget is None:
            hint = "give Budget(rows=...) or Budget(cpu=...): the sample is as large as it allows"
            raise SpecificationError(must("budget", "given with goal=Sample()", None, hint))

    def _check_known(self, what: str, known: Mapping[str, object] | None) -> None:
        for name in known or ():
            if name not in self.names:
                streams = ", ".join(f'"{each}"' for each in self.names)
                owner = f"{what} of {type(self.goal).__name__}"
                raise SpecificationError(
                    must(owner, f"for streams among {streams}", name, "rename it")
                )

    def _check_budget(self) -> None:
        budget = self.budget
        if budget is None:
            return
        if not isinstance(budget, Budget):
            hint = 'write budget=Budget(rows=...) or Budget(memory="...")'
            if is_whole(budget, least=1):
                hint = f"write budget=Budget(rows={budget})"
            raise SpecificationError(must("budget", "a Budget or None", budget, hint))
        if self.has_row_windows:
            hint = "leave it out: the join is exact, and its windows of rows bound its memory"
            requirement = "None where a window is one of rows"
            raise SpecificationError(must("budget", requirement, budget, hint))
        if budget.cpu is not None:
            self._check_work()
        if budget.rows is not None and budget.rows < len(self.names):
            requirement = f"at least {len(self.names)}, one for each stream"
            raise SpecificationError(
                must("rows of the budget", requirement, budget.rows, "give it more rows")
            )

    def _check_work(self) -> None:
        if not isinstance(self.goal, MaxSubset | Sample):
            hint = "leave cpu out, and limit rows or memory"
            requirement = "MaxSubset() or Sample() so far"
            raise SpecificationError(
                must("goal of a join with Budget(cpu=...)", requirement, self.goal, hint)
            )


@dataclass(frozen=True, eq=False, repr=False)
class _Streams(Mapping[str, Stream]):
    """An immutable mapping of a few items that can be hashed and pickled."""

    pairs: tuple[tuple[str, Stream], ...]

    def __getitem__(self, name: str) -> Stream:
        return dict(self.pairs)[name]

    def __iter__(self) -> Iterator[str]:
        return (name for name, _ in self.pairs)

    def __len__(self) -> int:
        return len(self.pairs)

    def __hash__(self) -> int:
        # Independent of the order, as Mapping's own equality is.
        return hash(frozenset(self.pairs))

    def __repr__(self) -> str:
        return repr(dict(self.pairs))


def _check_names(names: Iterable[str]) -> None:
    seen: dict[str, str] = {}
    for name in names:
        if not _is_name(name):
            hint = 'write streams={"name": Stream(...), ...}'
            raise SpecificationError(
                must("name of a stream", "a string that is not empty", name, hint)
            )
        # Spark ignores case in names of columns.
        lower = name.casefold()
        if lower in OUTPUT_COLUMNS:
            requirement = f"none of {', '.join(OUTPUT_COLUMNS)}, columns of the result"
            raise SpecificationError(
                must("name of a stream", requirement, name, "choose another name")
            )
        if lower in seen:
            hint = "rename one: Spark ignores case, so they are the same name"
            requirement = "different from each other in more than case"
            raise SpecificationError(
                must("names of streams", requirement, (seen[lower], name), hint)
            )
        seen[lower] = name


def _check_streams(streams: Mapping[str, Stream]) -> None:
    for name, stream in streams.items():
        if not isinstance(stream, Stream):
            hint = f'write "{name}": Stream(time="...", window="...")'
            raise SpecificationError(must(f'stream "{name}"', "a Stream", stream, hint))
        if stream.window is None:
            hint = f'write "{name}": Stream(time="{stream.time}", window="10 minutes"), say'
            requirement = "given: for how long its rows can join"
            raise SpecificationError(must(f'window of stream "{name}"', requirement, None, hint))
    named = [
        (f'{setting} of stream "{name}"', value)
        for name, stream in streams.items()
        for setting, value in durations_of(stream)
    ]
    _check_one_kind(named, "durations of a join")


def durations_of(stream: Stream) -> list[tuple[str, DurationLike]]:
    """Return the durations that a stream is given, each with its name."""
    durations: list[tuple[str, DurationLike]] = [("lateness", stream.lateness)]
    if stream.window is not None and not isinstance(stream.window, Rows):
        durations.insert(0, ("window", stream.window))
    if stream.max_ahead is not None:
        durations.append(("max_ahead", stream.max_ahead))
    if stream.idle is not None:
        durations.append(("idle", stream.idle))
    return durations


def _check_one_kind(durations: Iterable[tuple[str, DurationLike]], name: str) -> None:
    kinds: dict[bool, tuple[str, DurationLike]] = {}
    for setting, value in durations:
        if value != 0:  # a plain 0 is valid with both kinds
            kinds.setdefault(is_clock(value), (setting, value))
    if len(kinds) > 1:
        requirement = 'all clock durations, such as "10 minutes", or all plain numbers'
        hint = "streams are joined on one kind of time, so use one kind for all"
        raise SpecificationError(must(name, requirement, dict(kinds.values()), hint))


def _is_name(value: object) -> bool:
    return isinstance(value, str) and value != ""
