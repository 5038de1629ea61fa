from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.engine.kernels.layout import COUNT, HEAD, NOTHING
from tests.engine.kernels.compiled import all_of
from tests.engine.kernels.memories import make_store
from tests.engine.support import choices, examples
from tests.oracles.naive_structures import NaiveIndex

if TYPE_CHECKING:
    from penstock.engine.kernels.layout import Memory
    from tests.engine.support import Pick

pytestmark = pytest.mark.nojit

fast = all_of("kernels.index")

# As the arrays have them: with the JIT off a plain -1 is not a word.
WORDS = [np.int64(w) for w in (0, 1, 2, -1, 2**62, -(2**63), 2**63 - 1, 1 << 21, 7)]
SUBS = [np.int64(sub) for sub in (-1, 0, 1)]


@given(pick=choices())
@examples(100)
def test_the_index_is_a_dict_of_chains(pick: Pick) -> None:
    store, naive = make_store(), NaiveIndex()
    rows: dict[int, tuple[tuple[np.int64, np.int64], int]] = {}
    for row in range(pick(1, 40)):
        if not pick(0, 3):
            store.reserve(pick(1, 40), None)  # now and then this rebuilds, or grows
        if not pick(0, 5):
            fast.rebuild(store.memory)
        key, stream = (WORDS[pick(0, len(WORDS) - 1)], SUBS[pick(0, 2)]), pick(0, 1)
        if rows and not pick(0, 2):
            gone = list(rows)[pick(0, len(rows) - 1)]
            fast.unlink(store.memory, gone, rows[gone][1])
            naive.unlink(*rows.pop(gone), gone)
        fast.link(store.memory, row, fast.find_or_create(store.memory, *key), stream)
        naive.link(key, stream, row)
        rows[row] = (key, stream)
        check(store.memory, naive)
    used = store.memory.slots[: int(store.memory.rule["fresh_slot"][0])]
    assert {w for w, _ in naive.live()} == set(store.live_words().tolist())
    assert int(used[:, COUNT].sum()) == len(rows)


def check(memory: Memory, naive: NaiveIndex) -> None:
    live = naive.live()
    for key in [(word, sub) for word in WORDS for sub in SUBS]:
        slot = fast.find(memory, *key)
        if key in live:
            assert slot != NOTHING
        if slot != NOTHING:
            expected = naive.chains.get(key, [[], []])
            assert [chain(memory, slot, stream) for stream in range(2)] == expected


def chain(memory: Memory, slot: int, stream: int) -> list[int]:
    rows, before = [], NOTHING
    row = int(memory.slots[slot, HEAD + stream])
    while row != NOTHING:
        assert memory.rows[row]["prev"] == before
        assert memory.rows[row]["slot"] == slot
        rows.append(row)
        before, row = row, int(memory.rows[row]["next"])
    return rows


def test_nothing_is_found_in_an_empty_index() -> None:
    assert [fast.find(make_store().memory, word, 0) for word in WORDS] == [NOTHING] * len(WORDS)


def test_a_slot_without_rows_waits_for_its_key_until_the_next_rebuild() -> None:
    memory = make_store().memory
    slot = fast.find_or_create(memory, 5, 0)
    fast.link(memory, 0, slot, 0)
    fast.unlink(memory, 0, 0)
    assert fast.find(memory, 5, 0) == slot
    fast.rebuild(memory)
    assert fast.find(memory, 5, 0) == NOTHING
    assert memory.rule["spare_slots"][0] == len(memory.slots)
    assert fast.find_or_create(memory, 6, 0) == slot  # freed, and the first to be given out again


@given(words=st.lists(st.integers(-(2**63), 2**63 - 1), min_size=2, unique=True))
def test_a_mixed_word_is_never_negative(words: list[int]) -> None:
    assert all(0 <= fast.mix(np.int64(word), sub) < 2**62 for word in words for sub in SUBS)


def test_keys_that_meet_in_the_table_are_told_apart() -> None:
    memory = make_store().memory
    size = memory.table.size
    # All at one place of the table: each must step over the ones before it.
    place = int(fast.mix(0, 0)) % size
    meeting = [w for w in range(40 * size) if int(fast.mix(w, 0)) % size == place][:10]
    assert len(meeting) == 10
    slots = [fast.find_or_create(memory, word, 0) for word in meeting]
    for row, slot in enumerate(slots[::2]):
        fast.link(memory, row, slot, 0)
    assert len(set(slots)) == len(slots)
    assert [fast.find(memory, word, 0) for word in meeting] == slots
    fast.rebuild(memory)
    assert [fast.find(memory, word, 0) for word in meeting[::2]] == slots[::2]
    assert [fast.find(memory, word, 0) for word in meeting[1::2]] == [NOTHING] * 5
