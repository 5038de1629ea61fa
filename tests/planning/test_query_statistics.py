"""What is known of the streams of a query, and by which names."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.errors import SpecificationError
from penstock.planning import QueryStatistics


def known(selectivities: dict[str, Any]) -> QueryStatistics:
    return QueryStatistics(rates={"a": 1.0}, selectivities=selectivities)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("a.x = b.y", "A . X=b.y"),
        ("a.x <> b.y", "a.x != b.y"),
        ("a.x > 1", "a.x /* dollars */ > 1 -- or more"),
        ("a.s = 'it\\'s'", "a.s = 'it''s'"),
        ("a.s = 'Red'", 'a.s = "Red"'),
        ("a.x = b.y", "`a`.x = b.`y`"),
    ],
)
def test_spelling_does_not_matter(one: str, other: str) -> None:
    assert known({one: 0.5}).selectivity(other) == 0.5
    assert known({other: 0.5}).selectivity(one) == 0.5


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("a.s = 'Red'", "a.s = 'RED'"),
        ("a.s = 'a b'", "a.s = 'ab'"),
        ("a.s = '-- no comment'", "a.s = ''"),
        ("a.`x y` = 1", "a.`xy` = 1"),
    ],
)
def test_texts_in_quotes_do(one: str, other: str) -> None:
    statistics = known({one: 0.1, other: 0.9})
    assert (statistics.selectivity(one), statistics.selectivity(other)) == (0.1, 0.9)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rates": {"a": "5"}}, "rate of \"a\" must be above 0; got '5'"),
        ({"rates": {"a": None}}, 'rate of "a" must be above 0; got None'),
        ({"rates": {}, "cardinalities": {"t": "5"}}, "rows of \"t\" must be 0 or more; got '5'"),
        ({"rates": {}, "selectivities": {"c": [0.1, 0.2]}}, 'of "c" must be a number from 0 to 1'),
        ({"rates": {}, "selectivities": {"c": (0.1, 0.2, 0.3)}}, "or a tuple of two; got"),
        ({"rates": {}, "selectivities": {"c": ()}}, "or a tuple of two; got"),
        ({"rates": {}, "selectivities": {"c": True}}, "or a tuple of two; got True"),
        ({"rates": {}, "selectivities": {"c": 1.5}}, "it is a share"),
    ],
)
def test_what_is_no_number_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(SpecificationError, match=message):
        QueryStatistics(**options)
