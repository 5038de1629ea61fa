"""The options of `penstock explain`, parsed into the values of a join."""

from __future__ import annotations

import re
from dataclasses import fields
from typing import TYPE_CHECKING

from penstock.costs import Costs
from penstock.errors import SpecificationError, did_you_mean, must
from penstock.predicates import Band, Compare, Equal, Predicate, Within

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

__all__ = [
    "parse_costs",
    "parse_duration",
    "parse_files",
    "parse_predicate",
    "parse_share",
    "per_stream",
]


def parse_files(given: Sequence[str], option: str, example: str) -> dict[str, str]:
    """Parse ``NAME=FILE``, given twice or more often.

    >>> parse_files(["bids=bids.csv", "asks=a=b.csv"], "--stream", "bids=bids.csv")
    {'bids': 'bids.csv', 'asks': 'a=b.csv'}
    """
    found: dict[str, str] = {}
    for each in given:
        name, equals, value = each.partition("=")
        if not (name and equals and value):
            raise SpecificationError(
                must(option, "NAME=FILE", each, f"for example {option} {example}")
            )
        if name in found:
            hint = "give each stream a name of its own"
            raise SpecificationError(must(option, "one for each stream", each, hint))
        found[name] = value
    if len(found) < 2:
        hint = f"write {option} {example} for each stream"
        raise SpecificationError(must(option, "given for two streams or more", given, hint))
    return found


def per_stream(given: Sequence[str], option: str, names: Sequence[str]) -> dict[str, str]:
    """Parse ``NAME=VALUE`` for each stream, or one ``VALUE`` for the streams that are not named.

    Examples
    --------
    >>> per_stream(["at", "asks=opened_at"], "--time", ["asks", "bids"])
    {'asks': 'opened_at', 'bids': 'at'}
    """
    found: dict[str, str] = {}
    for_all: str | None = None
    for each in given:
        name, equals, value = each.partition("=")
        if not equals:
            if for_all is not None:
                hint = f"write {option} NAME={each} for one stream"
                requirement = "given once without a name"
                raise SpecificationError(must(option, requirement, each, hint))
            for_all = each
            continue
        if name not in names:
            hint = did_you_mean(name, names, "name a stream that --stream names")
            requirement = f"for one of the streams {_listed(names)}"
            raise SpecificationError(must(option, requirement, each, hint))
        if name in found:
            hint = "leave one of them out"
            raise SpecificationError(must(option, f'given once for "{name}"', each, hint))
        found[name] = value
    for name in names:
        value = found.get(name, for_all) or ""
        if not value:
            got = list(given) if given else "nothing"
            hint = f"write {option} {name}=..."
            raise SpecificationError(must(option, f'given for stream "{name}"', got, hint))
        found[name] = value
    return {name: found[name] for name in names}


def parse_duration(text: str) -> str | int | float:
    """Return a plain number as a number; any other text, such as "7 days", as it is.

    >>> parse_duration("10"), parse_duration("2.5"), parse_duration("7 days")
    (10, 2.5, '7 days')
    """
    number = _number(text)
    return text if number is None else number


def parse_predicate(
    columns: Mapping[str, str],
    *,
    within: str | None = None,
    band: str | None = None,
    compare: str | None = None,
) -> Predicate:
    """Return the predicate that the options describe; an equality by default.

    Examples
    --------
    >>> parse_predicate({"asks": "id,site", "bids": "ask,site"})
    Equal(asks=('id', 'site'), bids=('ask', 'site'))
    >>> parse_predicate({"asks": "price", "bids": "price"}, band="-1:2.5")
    Band(low=-1, high=2.5, asks='price', bids='price')
    """
    chosen = {"--within": within, "--band": band, "--compare": compare}
    said = {option: text for option, text in chosen.items() if text is not None}
    if len(said) > 1:
        hint = "leave the others out"
        raise SpecificationError(must("predicate", f"one of {', '.join(chosen)}", said, hint))
    if within is not None:
        distance = _number(within)
        if distance is None:
            hint = "for example --within 0.5"
            raise SpecificationError(must("--within", "a number", within, hint))
        return Within(distance, **columns)
    if band is not None:
        low, _, high = band.partition(":")
        bounds = (_number(low), _number(high))
        if bounds[0] is None or bounds[1] is None:
            hint = "for example --band=-1:2.5"
            raise SpecificationError(must("--band", "LOW:HIGH, two numbers", band, hint))
        taken = {"low", "high"} & set(columns)
        if taken:
            requirement = "neither low nor high, the names of the bounds"
            hint = "give the stream another name"
            raise SpecificationError(
                must("name of a stream in --band", requirement, taken.pop(), hint)
            )
        return Band(low=bounds[0], high=bounds[1], **columns)
    if compare is not None:
        return Compare(compare, **columns)
    lists: dict[str, Sequence[str]] = {name: each.split(",") for name, each in columns.items()}
    return Equal(**{name: each[0] if len(each) == 1 else each for name, each in lists.items()})


def parse_share(text: str, option: str, example: str) -> float:
    """Parse a share above 0 and at most 1: ``"90%"`` or ``"0.9"``.

    >>> parse_share("90%", "--recall", "90%"), parse_share("0.5", "--recall", "90%")
    (0.9, 0.5)
    """
    parts = re.fullmatch(r"\s*([0-9]{1,30}(?:\.[0-9]{1,30})?)\s*(%?)\s*", text)
    value = float(parts[1]) / (100 if parts[2] else 1) if parts else 0.0
    if not 0 < value <= 1:
        requirement = "a share above 0 and at most 1, or a percentage"
        raise SpecificationError(must(option, requirement, text, f"for example {option} {example}"))
    return value


def parse_costs(text: str) -> Costs:
    """Parse ``STEP=TIME`` of one step or more, with commas in between.

    >>> parse_costs("insert=5e-7,result=3e-6")
    Costs(arrival=0.0, insert=5e-07, compare=0.0, result=3e-06)
    """
    example = "for example --costs insert=5e-7,result=3e-6"
    steps = [each.name for each in fields(Costs)]
    found: dict[str, float] = {}
    for part in text.split(","):
        name, _, number = (word.strip() for word in part.partition("="))
        if name not in steps:
            hint = did_you_mean(name, steps, example)
            requirement = f"STEP=TIME, with steps {', '.join(steps)}"
            raise SpecificationError(must("--costs", requirement, part, hint))
        if name in found:
            raise SpecificationError(
                must("--costs", f"given once for {name}", text, "leave one of them out")
            )
        if not re.fullmatch(r"[0-9]{1,18}(\.[0-9]{1,30})?([eE][-+]?[0-9]{1,2})?", number):
            raise SpecificationError(
                must(f"{name} of --costs", "a time of 0 or more", number, example)
            )
        found[name] = float(number)
    return Costs(**found)


def _number(text: str) -> int | float | None:
    if not re.fullmatch(r"\s*-?[0-9]{1,18}(\.[0-9]{1,30})?\s*", text):
        return None
    return float(text) if "." in text else int(text)


def _listed(names: Iterable[str]) -> str:
    return ", ".join(f'"{name}"' for name in names)
