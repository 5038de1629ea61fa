from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.engine.kernels.key_hash import (
    Interned,
    append_bytes,
    append_words,
    combine_hash,
    combine_hash_each,
    copy_entries,
    hash_each,
    hash_lists,
    intern,
)
from tests.engine.support import examples
from tests.oracles import naive_key_hash as naive

if TYPE_CHECKING:
    from penstock.engine.arrays import Bytes, Integers

pytestmark = pytest.mark.nojit

WORDS = st.integers(-(2**63), 2**63 - 1)

# Saved states and shards of earlier versions depend on these.
GOLDEN_HASHES = {
    b"": 0,
    b"a": -327054986932344948,
    b"penstock": 8345686823688256834,
    b"penstock!": -8811803514268327138,
    bytes(range(40)): -7253007200906827610,
    b"\xff" * 16: 8648027137465090077,
}
GOLDEN_COMBINED = {
    (0, 0): 0,
    (1, 0): 6238072747940578789,
    (0, 1): -2152535657050944081,
    (-1, 2**63 - 1): 3055647633038352039,
    (-(2**63), -5): 2296971489427862140,
}


def delimited(strings: list[bytes], *, before: int = 0) -> tuple[Bytes, Integers]:
    """Return the strings one after another and their offsets, read-only as in Arrow."""
    data = np.frombuffer(bytes(before) + b"".join(strings), np.uint8)
    offsets = before + np.cumsum([0, *map(len, strings)], dtype=np.int64)
    offsets.flags.writeable = False
    return data, offsets


def hashes_of(strings: list[bytes]) -> list[int]:
    out = np.empty(len(strings), np.int64)
    hash_each(*delimited(strings, before=3), out)
    return [int(each) for each in out]


def test_hashes_are_those_of_earlier_versions() -> None:
    assert dict(zip(GOLDEN_HASHES, hashes_of(list(GOLDEN_HASHES)), strict=True)) == GOLDEN_HASHES


def test_combined_hashes_are_those_of_earlier_versions() -> None:
    combined = {
        key: int(combine_hash(np.int64(key[0]), np.int64(key[1]))) for key in GOLDEN_COMBINED
    }
    assert combined == GOLDEN_COMBINED


@given(strings=st.lists(st.binary(max_size=30), max_size=8))
@examples(100)
def test_hashes_are_those_of_the_naive_twin(strings: list[bytes]) -> None:
    assert hashes_of(strings) == [naive.hash_bytes(each) for each in strings]


@given(words=st.lists(st.tuples(WORDS, WORDS), max_size=8))
@examples(100)
def test_combined_hashes_are_those_of_the_naive_twin(words: list[tuple[int, int]]) -> None:
    hashes = np.array([salt for _, salt in words], np.int64)
    combine_hash_each(hashes, np.array([word for word, _ in words], np.int64))
    assert hashes.tolist() == [naive.combine_hash(word, salt) for word, salt in words]


@given(lists=st.lists(st.lists(WORDS, max_size=4), max_size=6))
@examples(50)
def test_the_hash_of_a_list_starts_with_its_length(lists: list[list[int]]) -> None:
    children = np.array([word for each in lists for word in each], np.int64)
    out = np.empty(len(lists), np.int64)
    hash_lists(children, np.cumsum([0, *map(len, lists)], dtype=np.int64), out)
    expected = []
    for each in lists:
        h = len(each)
        for word in each:
            h = naive.combine_hash(word, h)
        expected.append(h)
    assert out.tolist() == expected


@given(rows=st.lists(st.tuples(WORDS, st.binary(max_size=9)), max_size=6))
@examples(50)
def test_keys_of_several_columns_are_written_one_after_another(
    rows: list[tuple[int, bytes]],
) -> None:
    written = [word.to_bytes(8, "little", signed=True) + text for word, text in rows]
    out = np.zeros(sum(map(len, written)), np.uint8)
    at = np.cumsum([0, *map(len, written)], dtype=np.int64)[:-1].copy()
    append_words(out, at, np.array([word for word, _ in rows], np.int64))
    append_bytes(out, at, *delimited([text for _, text in rows], before=2))
    assert out.tobytes() == b"".join(written)
    assert at.tolist() == np.cumsum([len(each) for each in written]).tolist()


def empty(entries: int = 64, size: int = 4096) -> Interned:
    """Make an intern table for this many strings, as small as possible."""
    a, b, c, d = (np.zeros(entries, np.int64) for _ in range(4))
    table = np.zeros(1 << entries.bit_length(), np.int64)
    return Interned(table, a, b, c, d, np.zeros(size, np.uint8), np.zeros(3, np.int64))


def numbers_of(interned: Interned, strings: list[bytes]) -> list[int]:
    out, hashes = np.empty(len(strings), np.int64), np.empty(len(strings), np.int64)
    intern(interned, *delimited(strings), np.ones(len(strings), np.bool_), out, hashes)
    assert hashes.tolist() == hashes_of(strings)
    return [int(each) for each in out]


@given(strings=st.lists(st.sampled_from([b"", b"a", b"b", b"ab", b"a" * 8, b"a" * 9]), max_size=30))
@examples(50)
def test_numbers_are_equal_only_for_equal_strings(strings: list[bytes]) -> None:
    numbers = numbers_of(empty(), strings)
    known: dict[bytes, int] = {}
    for each in strings:
        known.setdefault(each, len(known))
    assert numbers == [known[each] for each in strings]


@pytest.mark.parametrize("copied", [False, True])
def test_strings_with_the_same_hash_have_different_numbers(copied: bool) -> None:
    one, other = naive.colliding(b"auction1", b"auction2", b"site 007")
    assert one != other
    assert len(set(hashes_of([one, other]))) == 1
    interned = empty()
    first, second = numbers_of(interned, [one, other])
    assert first != second
    if copied:
        bigger = empty(128)
        copy_entries(interned, bigger, np.ones(64, np.bool_))
        interned = bigger
    assert numbers_of(interned, [other, one, other]) == [second, first, second]


def test_many_strings_with_the_same_hash_are_told_apart() -> None:
    halves = [bytes([n]) * 8 for n in range(20)]
    strings = [naive.colliding(halves[0], half, b"the tail")[1] for half in halves]
    assert len(set(hashes_of(strings))) == 1
    assert numbers_of(empty(), strings + strings) == [*range(20), *range(20)]


def test_a_string_without_a_key_gets_no_entry() -> None:
    interned = empty()
    out, hashes = np.full(3, -7, np.int64), np.full(3, -7, np.int64)
    intern(interned, *delimited([b"a", b"b", b"a"]), np.array([True, False, True]), out, hashes)
    assert out.tolist() == [0, 0, 0]
    assert hashes[1] == 0
    assert interned.counts.tolist() == [1, 1, 1]  # entries, bytes, the next number


def test_entries_that_are_kept_keep_their_numbers_and_new_ones_get_others() -> None:
    interned = empty()
    numbers_of(interned, [b"a", b"bb", b"ccc", b"d"])
    smaller = empty(16)
    copy_entries(interned, smaller, np.array([False, True, False, True] + [False] * 60))
    assert smaller.counts.tolist() == [2, 3, 4]
    assert numbers_of(smaller, [b"bb", b"a", b"d", b"ccc"]) == [1, 4, 3, 5]
