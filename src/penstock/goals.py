"""Goals: what a join that cannot keep everything is to lose least of."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeAlias

from penstock.budget import is_whole, plain
from penstock.errors import SpecificationError, did_you_mean, must
from penstock.importance import Importance, ImportanceLike, Repeating, importance_of
from penstock.importance.results import check_result

if TYPE_CHECKING:
    from penstock.durations import DurationLike

__all__ = ["Goal", "LearningGoal", "MaxImportance", "MaxSubset", "Sample"]

# Parts of a window: more would cost more to rank than a row costs to join.
_MOST_PARTS = 4096


class NamedStrategy(Protocol):
    """What a goal knows of a strategy object; `penstock.strategies.Strategy` has the rest."""

    name: ClassVar[str]


StrategyLike: TypeAlias = str | NamedStrategy
_RESOURCES = ("memory", "cpu")


@dataclass(frozen=True, kw_only=True)
class Goal:
    """What to lose least of when not everything can be kept; the base of all goals.

    Parameters
    ----------
    strategy
        The strategy that pursues the goal: its name, or an object such as
        ``penstock.strategies.Ijoin(maturity=0.1)``, also one of your own. None picks one. Where
        memory and CPU are both limited, one for each: ``{"memory": ..., "cpu": ...}``.
    """

    strategy: StrategyLike | Mapping[str, StrategyLike] | None = None

    # Names that `strategy` may have. `penstock.strategies.STRATEGIES` has the strategies; a test
    # compares both. None for a goal that Penstock does not know.
    strategy_names: ClassVar[tuple[str, ...] | None] = None
    # The same of those that keep to a limit of work (`WORK_STRATEGIES`).
    work_strategy_names: ClassVar[tuple[str, ...]] = ()

    def __post_init__(self) -> None:
        if type(self) is Goal:
            hint = "write MaxSubset(), MaxImportance(of=...) or Sample()"
            raise SpecificationError(must("goal", "a particular one", self, hint))
        owner = f"strategy of {type(self).__name__}"
        if isinstance(self.strategy, Mapping):
            for resource, each in self.strategy.items():
                if resource not in _RESOURCES:
                    hint = 'write strategy={"memory": ..., "cpu": ...}'
                    raise SpecificationError(must(owner, "for memory and cpu", resource, hint))
                names = self.strategy_names if resource == "memory" else self._all_names
                _check_strategy(f'{owner} for "{resource}"', each, names)
            object.__setattr__(self, "strategy", _Known(self.strategy))
        elif self.strategy is not None:
            _check_strategy(owner, self.strategy, self._all_names)

    @property
    def _all_names(self) -> tuple[str, ...] | None:
        """The names of strategies for memory and of those for CPU."""
        names = self.strategy_names
        return None if names is None else names + self.work_strategy_names


def _check_strategy(owner: str, said: object, names: Sequence[str] | None) -> None:
    if isinstance(said, type) and hasattr(said, "name"):
        hint = f"write {said.__name__}(), with its parameters"
        raise SpecificationError(must(owner, "a name or a strategy object", said.__name__, hint))
    if not (isinstance(said, str) and said) and not isinstance(getattr(said, "name", None), str):
        hint = "leave it out to have one picked"
        raise SpecificationError(must(owner, "a name or a strategy object", said, hint))
    if isinstance(said, str) and names is not None and said not in names:
        hint = did_you_mean(said, names, "leave it out to have one chosen")
        known = ", ".join(f'"{name}"' for name in names)
        raise SpecificationError(must(owner, f"one of {known}", said, hint))


@dataclass(frozen=True, kw_only=True, repr=False)
class LearningGoal(Goal):
    """A goal whose strategies learn of the streams; the base of the others.

    What is said of the streams, `curve`, `frequencies`, `parts` and `half_life`, is as in
    `MaxSubset`.
    """

    curve: Mapping[str, Sequence[float]] | None = None
    frequencies: Mapping[str, Mapping[Any, float]] | None = None
    parts: int = 32
    half_life: float = 2.0

    def __repr__(self) -> str:
        """Return what was said: the strategy, and what is not as usual."""
        unusual = [each.name for each in fields(self) if getattr(self, each.name) != each.default]
        names = ["strategy", *(name for name in unusual if name != "strategy")]
        said = ", ".join(f"{name}={getattr(self, name)!r}" for name in names)
        return f"{type(self).__name__}({said})"

    def __post_init__(self) -> None:
        """Check what was said, and keep it unchanged."""
        super().__post_init__()
        owner = type(self).__name__
        object.__setattr__(self, "parts", plain(self.parts))
        if not is_whole(self.parts, least=1) or self.parts > _MOST_PARTS:
            hint = "32 is a good number"
            requirement = f"a whole number from 1 to {_MOST_PARTS}"
            raise SpecificationError(must(f"parts of {owner}", requirement, self.parts, hint))
        if not _is_number(self.half_life) or not 0 < self.half_life < math.inf:
            hint = "2 means that what was seen 2 windows ago counts half"
            raise SpecificationError(
                must(f"half_life of {owner}", "a number of windows above 0", self.half_life, hint)
            )
        if self.curve is not None:
            object.__setattr__(self, "curve", _checked_curves(self.curve))
            object.__setattr__(self, "parts", max(map(len, self.curve.values())))
        if self.frequencies is not None:
            object.__setattr__(self, "frequencies", _checked_frequencies(self.frequencies))


@dataclass(frozen=True, kw_only=True, repr=False)
class MaxSubset(LearningGoal):
    """As many of the results as possible.

    Parameters
    ----------
    strategy
        Name of the strategy; None for the one that finds most or, where that cannot be tried,
        predicts best (`best`).
    curve
        Age curves that are known, by stream: the results of one row in each equal part of its
        window, the newest first. Streams that are left out have theirs learned.
    frequencies
        Frequencies of values that are known, by stream: the share of each value. Streams that
        are left out have theirs learned. A value of several columns is a tuple. Of numbers, any
        type will do that the column's type has: 1 for 1.0, and 0.1 for the nearest float.
    parts
        Into which a window is divided to learn its age curve, where none is given.
    half_life
        What was learned so long ago counts half, in windows.

    Examples
    --------
    >>> MaxSubset(strategy="fifo").strategy
    'fifo'
    >>> MaxSubset(strategy="age", curve={"orders": [5, 3, 1]}).parts
    3
    """

    strategy_names: ClassVar[tuple[str, ...] | None] = (
        *("fifo", "random", "until-expiry", "age", "prob", "expected", "best"),
        *("recent", "size"),  # what papers call fifo and prob
    )
    work_strategy_names: ClassVar[tuple[str, ...]] = (
        *("coin-flip", "insert-no-probe", "probe-no-insert", "max-subset", "by-partner"),
        *("grub", "by-cost", "random-drop", "best-lot"),
    )


@dataclass(frozen=True, kw_only=True, repr=False)
class MaxImportance(LearningGoal):
    """Results of the greatest total importance.

    Parameters
    ----------
    of
        What makes a row important: a numeric column, a number, a `Lookup`, a `Histogram`, or a
        function that takes a stream's table and gives a number of 0 or more for each row. Or a
        schedule of these, ``[(from_time, definition), ...]``; the first also holds before its
        time, which may be None. One for all streams, or one for each by its name.
    every
        The schedules in `of` repeat: their times are those in a period of this length, such as
        ``[("08:00", "views"), ("18:00", "votes")]`` with ``every="1 day"``. A time is one of the
        day, a duration from the beginning of the period, or a number. Periods begin at midnight of
        1970-01-01 (a Thursday) in UTC, or at 0. None, the default, does not repeat them.
    result
        What the importance of a result is made of that of its members: the "min" (as in the
        paper), the "product", the "sum" or the "max"; 1e100 if that is more.
    strategy
        Name of the strategy, or an object such as ``penstock.strategies.Ijoin(maturity=0.1)``;
        None picks `worth`.
    curve, frequencies, parts, half_life
        As in `MaxSubset`.

    References
    ----------
    `kulkarni08`, sections 3.1 and 3.3.

    Examples
    --------
    >>> MaxImportance(of="price")
    MaxImportance(strategy=None, of='price')
    >>> from penstock import Lookup
    >>> news = Lookup("category", {"politics": 90, "sports": 40}, default=10)
    >>> MaxImportance(of={"cnn": news, "bbc": 5}, result="sum").importance_of("bbc").said
    5
    """

    of: ImportanceLike | Mapping[str, ImportanceLike]
    result: str = "min"
    every: DurationLike | None = None

    strategy_names: ClassVar[tuple[str, ...] | None] = (
        *("fifo", "random", "prob", "greedy", "ijoin", "worth"),
        *("recent", "size"),  # what papers call fifo and prob
    )

    def __post_init__(self) -> None:
        """Check what was said, and keep it unchanged."""
        super().__post_init__()
        object.__setattr__(self, "of", _checked_importance(self.of, self.every))
        check_result(self.result, "result of MaxImportance")

    def importance_of(self, stream: str) -> Importance:
        """Return what makes a row of a stream important, and from when.

        Raises
        ------
        KeyError
            If importance is said by stream, and not of this one: no join is made of that.
        """
        said = self.of[stream] if isinstance(self.of, Mapping) else self.of
        return importance_of(_repeated(said, self.every), f'importance of stream "{stream}"')


@dataclass(frozen=True, kw_only=True, repr=False)
class Sample(LearningGoal):
    """A random sample of the results, weighted so that totals can be estimated.

    Every result carries a `weight`, how many results it stands for, and a `cluster`: results of
    the same cluster were kept or lost together. `penstock.estimate` computes with both.

    Parameters
    ----------
    strategy
        `eq-cluster`, `pps-cluster` or `uniform`; None for `uniform` if the numbers of matches are
        known and the stream whose columns matter is the one that waits, otherwise for that of
        the two others with which totals vary less.
    of
        Name of the stream whose columns will be added up or averaged, if it is known.
    matches
        Columns that say how many results a row will give while it waits, by stream, where that
        is known: an order says how many items it has. A number that is null, NaN, negative or
        infinite counts as 0. For `uniform`.
    fraction
        Of the results that are wanted, at most; None for as many as the budget allows.
    curve, frequencies, parts, half_life
        As in `MaxSubset`.

    Examples
    --------
    >>> Sample(strategy="uniform")
    Sample(strategy='uniform')
    >>> Sample(strategy="uniform", matches={"orders": "items"})
    Sample(strategy='uniform', matches={'orders': 'items'})
    """

    of: str | None = None
    matches: Mapping[str, str] | None = None
    fraction: float | None = None

    strategy_names: ClassVar[tuple[str, ...] | None] = (
        "uniform",
        "eq-cluster",
        "pps-cluster",
        "cluster",
    )

    def __post_init__(self) -> None:
        """Check what was said, and keep it unchanged."""
        super().__post_init__()
        of: object = self.of
        if of is not None and not (isinstance(of, str) and of):
            hint = "leave it out if it is not known"
            raise SpecificationError(must("of of Sample", "the name of a stream", of, hint))
        if self.fraction is not None and not (_is_number(self.fraction) and 0 < self.fraction <= 1):
            hint = "leave it out for as many as the budget allows"
            raise SpecificationError(
                must("fraction of Sample", "above 0 and at most 1", self.fraction, hint)
            )
        if self.matches is not None:
            object.__setattr__(self, "matches", _checked_matches(self.matches))


class _Known(dict[Any, Any]):
    """A mapping that is part of a specification: hashed by its content, and not to be changed."""

    def __hash__(self) -> int:  # type: ignore[override]
        # As a mapping's own equality, so whatever the order.
        return hash(frozenset(self.items()))


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _checked_curves(curves: object) -> Mapping[str, tuple[float, ...]]:
    hint = 'write curve={"stream": [results in the first part of its window, in the second, ...]}'
    if not isinstance(curves, Mapping) or not curves:
        raise SpecificationError(must("curve", "a curve for each stream by name", curves, hint))
    checked = _Known()
    for name, curve in curves.items():
        listed = curve.tolist() if hasattr(curve, "tolist") else curve
        numbers: tuple[Any, ...] = ()
        if isinstance(listed, Sequence):
            numbers = tuple(map(plain, listed))
        good = all(_is_number(number) and 0 <= number < math.inf for number in numbers)
        if not numbers or not good or len(numbers) > _MOST_PARTS:
            requirement = f"1 to {_MOST_PARTS} numbers of 0 or more"
            raise SpecificationError(must(f'curve of stream "{name}"', requirement, curve, hint))
        checked[name] = tuple(float(number) for number in numbers)
    return checked


def _checked_frequencies(frequencies: object) -> Mapping[str, Mapping[Any, float]]:
    hint = 'write frequencies={"stream": {value: share, ...}}'
    if not isinstance(frequencies, Mapping) or not frequencies:
        requirement = "shares of values for each stream by name"
        raise SpecificationError(must("frequencies", requirement, frequencies, hint))
    checked = _Known()
    for name, shares in frequencies.items():
        owner = f'frequencies of stream "{name}"'
        if not isinstance(shares, Mapping) or not shares:
            raise SpecificationError(must(owner, "a share for each value", shares, hint))
        for value, share in shares.items():
            if not _is_number(share) or not 0 <= share <= 1:
                raise SpecificationError(
                    must(f"{owner}, of {value!r},", "from 0 to 1", share, "divide by their sum")
                )
        checked[name] = _Known({value: float(share) for value, share in shares.items()})
    return checked


def _checked_matches(matches: object) -> Mapping[str, str]:
    hint = 'write matches={"stream": "column with the number of results of a row"}'
    if not isinstance(matches, Mapping) or not matches:
        raise SpecificationError(must("matches", "a column for each stream by name", matches, hint))
    for name, column in matches.items():
        if not isinstance(column, str) or not column:
            owner = f'matches of stream "{name}"'
            raise SpecificationError(must(owner, "the name of a column", column, hint))
    return _Known(matches)


def _checked_importance(of: object, every: DurationLike | None) -> Any:  # noqa: ANN401  # one, or one for each stream
    given = of.values() if isinstance(of, Mapping) else [of]
    if every is not None and not any(_is_schedule(each) for each in given):
        hint = 'give of=[("08:00", "views"), ("18:00", "votes")], or leave every out'
        requirement = "given with a schedule"
        raise SpecificationError(must("every of MaxImportance", requirement, every, hint))
    if not isinstance(of, Mapping):
        return _said(of, every, "importance")
    if not of:
        hint = 'write of={"stream": "column", ...}, or one definition for all streams'
        requirement = "a definition, or one for each stream by name"
        raise SpecificationError(must("of of MaxImportance", requirement, of, hint))
    return _Known(
        {name: _said(each, every, f'importance of stream "{name}"') for name, each in of.items()}
    )


def _said(of: object, every: DurationLike | None, owner: str) -> Any:  # noqa: ANN401
    """Return what was said of importance, checked and immutable."""
    said = importance_of(_repeated(of, every), owner).said
    return said.schedule if isinstance(said, Repeating) else said


def _repeated(said: object, every: DurationLike | None) -> object:
    """Return a schedule as one that repeats, if it does, and anything else as it is."""
    if every is None or not _is_schedule(said):
        return said
    return Repeating(said, every=every)  # type: ignore[arg-type]  # checks what it is given


def _is_schedule(said: object) -> bool:
    return isinstance(said, Sequence) and not isinstance(said, str)
