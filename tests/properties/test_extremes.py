"""Values at both ends of a 64-bit integer join by exact arithmetic, or raise an error."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

import penstock as ps
from penstock.testing import canonical_rows, expected_rows
from tests.engine import support

if TYPE_CHECKING:
    from penstock.predicates import Predicate

NAMES = ("left", "right", "third")
LEAST, MOST = -(2**63), 2**63 - 1
ENDS = (LEAST, LEAST + 1, LEAST + 3, -(2**62), -1, 0, 1, 2**62, MOST - 3, MOST - 1, MOST)
REACHES = (0, 1, 3, 2**32, 2**61, 2**62 - 1, 2**62, 2**63, 2**64, 2**70)


@st.composite
def predicates(draw: st.DrawFn, streams: int) -> Predicate:
    columns: dict[str, Any] = dict.fromkeys(NAMES[:streams], "v")
    reach = draw(st.sampled_from(REACHES))
    other = draw(st.sampled_from(REACHES)) * draw(st.sampled_from((-1, 1)))
    made: list[Predicate] = [
        ps.Equal("v"),
        ps.Within(reach, **columns),
        ps.Band(low=min(other, reach), high=max(other, reach), **columns),
        ps.Band(low=-reach, high=-min(reach, abs(other)), **columns),
        ps.Compare(draw(st.sampled_from(("<", "<=", "=", "!=", ">", ">="))), **columns),
    ]
    return draw(st.sampled_from(made))


@support.examples(100)
@given(data=st.data(), streams=st.sampled_from((2, 2, 3)), shards=st.integers(1, 3))
def test_the_ends_of_whole_numbers_join_exactly(
    data: st.DataObject, streams: int, shards: int
) -> None:
    on: Predicate = data.draw(predicates(streams))
    join = ps.Join(streams={name: ps.Stream(time="t", window=9) for name in NAMES[:streams]}, on=on)
    values = st.lists(st.sampled_from(ENDS), min_size=2, max_size=6)
    tables = {
        name: pa.table({"t": [place] * len(column), "v": column})
        for place, name in enumerate(join.names)
        for column in (data.draw(values),)
    }
    try:
        replay = join.replay(tables, shards=shards)
    except ps.SchemaError as error:
        # Only a distance that 64 bits cannot hold may be refused.
        assert any(str(reach) in str(error) for reach in REACHES if reach >= 2**62)  # noqa: PT017
    else:
        assert canonical_rows(replay.result) == expected_rows(join, tables)
