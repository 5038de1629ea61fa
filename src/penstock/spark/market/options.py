"""The options of the market source, read from text and checked."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias, cast

from penstock.durations import to_units
from penstock.errors import SpecificationError, did_you_mean, must

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["FORMAT", "TIME_COLUMNS", "MarketParameters", "SourceOptions", "read_options"]

FORMAT = "penstock-market"

StreamName: TypeAlias = Literal["auctions", "bids"]
Texts: TypeAlias = dict[str, str | None]

# The options as they are spelled, with their defaults; None for those that have none.
_DEFAULTS: Texts = {
    "stream": None,
    "auctions": "1000",
    "bidsPerAuction": "20",
    "zipf": "0.5",
    "life": "7 days",
    "over": "30 days",
    "seed": "0",
    "end": "last-auction",
    "rowsPerSecond": None,
    "rowsPerBatch": "100000",
    "partitions": "1",
}
TIME_COLUMNS: Mapping[StreamName, str] = {"auctions": "opened_at", "bids": "at"}


@dataclass(frozen=True, slots=True)
class MarketParameters:
    """What the market is generated from: the same for both of its streams."""

    auctions: int
    bids_per_auction: float
    zipf: float
    life: str
    over: str
    seed: int
    end: str


@dataclass(frozen=True, slots=True)
class SourceOptions:
    """All options, checked."""

    stream: StreamName
    market: MarketParameters
    rows_per_second: float | None
    rows_per_batch: int
    partitions: int


def read_options(options: Mapping[str, str]) -> SourceOptions:
    """Check all options; Spark gives their names in lower case and their values as text."""
    spelled = {name.lower(): name for name in _DEFAULTS}
    for name in options:
        if name.lower() not in spelled:
            hint = did_you_mean(name, _DEFAULTS, "leave it out")
            known = f"among {', '.join(_DEFAULTS)}"
            raise SpecificationError(must(f"options of {FORMAT}", known, name, hint))
    text = _DEFAULTS | {spelled[name.lower()]: value for name, value in options.items()}
    pace = "rowsPerSecond"
    return SourceOptions(
        stream=cast("StreamName", _one_of("stream", text, tuple(TIME_COLUMNS))),
        market=MarketParameters(
            auctions=_whole("auctions", text, least=1),
            bids_per_auction=_number("bidsPerAuction", text, zero=True),
            zipf=_number("zipf", text, zero=True),
            life=_duration("life", text),
            over=_duration("over", text),
            seed=_whole("seed", text, least=0),
            end=_one_of("end", text, ("last-auction", "last-bid")),
        ),
        rows_per_second=None if text[pace] is None else _number(pace, text, zero=False),
        rows_per_batch=_whole("rowsPerBatch", text, least=1),
        partitions=_whole("partitions", text, least=1),
    )


def _one_of(name: str, text: Texts, choices: tuple[str, ...]) -> str:
    value = (text[name] or "").lower()
    if value not in choices:
        hint = did_you_mean(value, choices, "choose one of these")
        known = " or ".join(f'"{choice}"' for choice in choices)
        raise SpecificationError(must(f"option {name}", known, text[name], hint))
    return value


def _whole(name: str, text: Texts, *, least: int) -> int:
    number = _parsed(int, text[name])
    if not number >= least:
        raise _error(name, text, f"a whole number, at least {least}")
    return int(number)


def _number(name: str, text: Texts, *, zero: bool) -> float:
    number = _parsed(float, text[name])
    if not 0 <= number < math.inf or (number == 0 and not zero):
        raise _error(name, text, f"a finite number, {'at least' if zero else 'above'} 0")
    return number


def _duration(name: str, text: Texts) -> str:
    value = text[name] or ""
    if to_units(value, 10**6, f"option {name}", "times of a market are timestamps") < 1:
        raise _error(name, text, "a duration of at least a microsecond")
    return value


def _parsed(kind: type[int | float], value: str | None) -> float:
    """Return a text as a number, or NaN if it is not one: every comparison with NaN is false."""
    try:
        return kind(value or "")
    except ValueError:
        return math.nan


def _error(name: str, text: Texts, requirement: str) -> SpecificationError:
    default = _DEFAULTS[name]
    hint = f'write .option("{name}", "{default}")' if default else "leave it out to have no pace"
    return SpecificationError(must(f"option {name}", requirement, text[name], hint))
