"""A join in words, saved with its state, and the check that it is still the same join."""

from __future__ import annotations

import hashlib
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any

from penstock.errors import StateError

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pyarrow as pa

    from penstock.spec import Specification

# Parts of a join that may be others after a restart.
_MAY_CHANGE = {"align", "spool"}
# A text that is longer, such as a lookup table, is saved as its beginning and a hash.
_LONGEST = 1_000


def describe(spec: Specification, schemas: Mapping[str, pa.Schema]) -> dict[str, Any]:
    """Return each part of a join that must stay the same, as a text for `check_same`.

    And each stream's columns. When rows wait, how many, and for which streams, may change.

    >>> import pyarrow as pa
    >>> import penstock as ps
    >>> each = ps.Stream(time="t", window=5)
    >>> join = ps.Join(streams={"a": each, "b": each}, on=ps.Equal("t"), budget=ps.Budget(rows=9))
    >>> describe(join, dict.fromkeys("ab", pa.schema([("t", pa.int64())])))["join"]["seed"]
    '0'
    """
    streams = {name: replace(stream, idle=None) for name, stream in spec.streams.items()}
    said = {field.name: getattr(spec, field.name) for field in fields(spec)} | {"streams": streams}
    return {
        "join": {n: _shortened(repr(each)) for n, each in said.items() if n not in _MAY_CHANGE},
        "columns": {name: _shortened(str(schemas[name].remove_metadata())) for name in spec.names},
    }


def check_same(before: Mapping[str, Any], now: Mapping[str, Any]) -> None:
    """Refuse the state of another join, and say what is different.

    Parameters
    ----------
    before, now
        What `describe` has returned for the join that saved the state, and for this one.

    Raises
    ------
    StateError
        If they are not the same.
    """
    for name, text in before["join"].items():
        if text != now["join"].get(name):
            raise StateError(
                f"{name} must be what the saved state was made with: {text}; got "
                f"{now['join'].get(name)}; give it back, or start without the saved state"
            )
    for name, text in before["columns"].items():
        if text != now["columns"].get(name):
            raise StateError(
                f'columns of stream "{name}" must be what the saved state was made with:\n{text}\n'
                f"got:\n{now['columns'].get(name)}\n"
                f"give them back, or start without the saved state"
            )


def _shortened(text: str) -> str:
    if len(text) <= _LONGEST:
        return text
    digest = hashlib.sha256(text.encode()).hexdigest()
    return f"{text[:_LONGEST]}... ({len(text):,} characters, SHA-256 {digest})"
