"""A join in words, saved with its state, and the check of what may have changed since."""

from __future__ import annotations

import hashlib
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any

from penstock.errors import StateError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pyarrow as pa

    from penstock.spec import Specification

# Parts of a join of which the saved state knows nothing.
_NOT_SAVED = {"align", "spool"}
# Parts that may be others after a restart; of the goal not its kind.
_MAY_CHANGE = ("goal", "budget")
# A text that is longer, such as a lookup table, is saved as its beginning and a hash.
_LONGEST = 1_000
_DIGEST = 16


def describe(spec: Specification, schemas: Mapping[str, pa.Schema]) -> dict[str, Any]:
    """Return each part of a join as a text for `changes_of`, and each stream's columns.

    When rows wait, how many, and for which streams, may always change.

    >>> import pyarrow as pa
    >>> import penstock as ps
    >>> each = ps.Stream(time="t", window=5)
    >>> join = ps.Join(streams={"a": each, "b": each}, on=ps.Equal("t"), budget=ps.Budget(rows=9))
    >>> described = describe(join, dict.fromkeys("ab", pa.schema([("t", pa.int64())])))
    >>> described["join"]["seed"], described["goal_kind"]
    ('0', 'MaxSubset')
    """
    streams = {name: replace(stream, idle=None) for name, stream in spec.streams.items()}
    said = {field.name: getattr(spec, field.name) for field in fields(spec)} | {"streams": streams}
    plain = {name: schemas[name].remove_metadata() for name in spec.names}
    return {
        "join": {n: _shortened(repr(each)) for n, each in said.items() if n not in _NOT_SAVED},
        "goal_kind": type(spec.goal).__name__,
        "times": {name: stream.time for name, stream in spec.streams.items()},
        "columns": {name: _shortened(str(schema)) for name, schema in plain.items()},
        "fields": {name: [_digest(str(f)) for f in schema] for name, schema in plain.items()},
        "required": {
            name: [f.name for f in schema if not f.nullable] for name, schema in plain.items()
        },
    }


def changes_of(before: Mapping[str, Any], now: Mapping[str, Any]) -> frozenset[str]:
    """Return which parts of a join are others than when its state was saved.

    They are among "goal", "budget" and "columns"; most often there is none.

    Parameters
    ----------
    before, now
        What `describe` has returned for the join that saved the state, and for this one.

    Raises
    ------
    StateError
        If something has changed that must not: the message has its name and both values.
    """
    changed = set()
    for name, text in before["join"].items():
        if text == now["join"].get(name):
            continue
        if name not in _MAY_CHANGE:
            raise StateError(
                f"{name} must be what the saved state was made with: {text}; got "
                f"{now['join'].get(name)}; give it back, or start without the saved state"
            )
        changed.add(name)
    if before.get("goal_kind") not in (None, now.get("goal_kind")):
        raise StateError(
            f"goal must be a {before['goal_kind']} as in the saved state: {before['join']['goal']};"
            f" got {now['join']['goal']}, whose results have other columns; give it back, or start "
            f"without the saved state"
        )
    for name, text in before["columns"].items():
        if text != now["columns"].get(name):
            _check_added(name, before, now)
            changed.add("columns")
    return frozenset(changed)


def _check_added(name: str, before: Mapping[str, Any], now: Mapping[str, Any]) -> None:
    """Refuse other columns of a stream, unless some that may be null were added."""
    added = _added(before.get("fields", {}).get(name), now["fields"].get(name))
    if added is None:
        raise StateError(
            f'columns of stream "{name}" must be what the saved state was made with:\n'
            f"{before['columns'][name]}\ngot:\n{now['columns'].get(name)}\n"
            f"give them back (columns may be added, but not left out, moved or made of another "
            f"type), or start without the saved state"
        )
    required = set(now["required"][name]) - set(before["required"][name])
    if required:
        raise StateError(
            f'columns added to stream "{name}" must be nullable, as earlier rows have none; got '
            f"{', '.join(sorted(required))}, not null; make them nullable, or start without the "
            f"saved state"
        )


def _added(before: Sequence[str] | None, now: Sequence[str] | None) -> int | None:
    """Return how many columns were added; None if others were left out, moved or changed.

    >>> _added(["a", "b"], ["a", "x", "b"]), _added(["a", "b"], ["b", "a", "x"])
    (1, None)
    """
    if before is None or now is None:
        return None
    coming = iter(now)
    return len(now) - len(before) if all(each in coming for each in before) else None


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:_DIGEST]


def _shortened(text: str) -> str:
    if len(text) <= _LONGEST:
        return text
    digest = hashlib.sha256(text.encode()).hexdigest()
    return f"{text[:_LONGEST]}... ({len(text):,} characters, SHA-256 {digest})"
