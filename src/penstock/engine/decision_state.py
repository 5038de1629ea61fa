"""Decisions as arrays, so that a restart goes on with what was decided last."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any

import numpy as np

from penstock import strategies
from penstock.strategies import Admit, Decision, Emit, Insert, Order, Probe, Retain

if TYPE_CHECKING:
    from collections.abc import Mapping

    from penstock.engine.arrays import Array

_NONE = np.zeros((0, 0, 0, 0))  # no decision has such an array


def to_arrays(decision: Decision) -> dict[str, Array]:
    """Return a decision as named arrays."""
    order = decision.retain.order
    arrays: dict[str, Array] = {
        "admit": np.asarray(decision.admit.chances, np.float64),
        "probe": np.asarray(decision.probe.chances, np.float64),
        "sub_windows": _array(decision.probe.sub_windows),
        "whole": np.asarray(decision.probe.whole, np.float64),
        "only_drawn": np.array(decision.emit.only_drawn),
        "insert": np.asarray(decision.insert.chances, np.float64),
        "worth": _array(decision.insert.worth),
        "shares": _array(decision.retain.shares),
        "order": np.array(type(order).__name__),
    }
    for each in fields(order):
        value = getattr(order, each.name)
        if isinstance(value, tuple):
            arrays[f"order.{each.name}.count"] = np.array(len(value))
            arrays |= {f"order.{each.name}.{at}": np.asarray(v) for at, v in enumerate(value)}
        else:
            arrays[f"order.{each.name}"] = _array(value)
    return arrays


def from_arrays(arrays: Mapping[str, Array]) -> Decision:
    """Return the decision that was turned into arrays."""
    kind: type[Order] = getattr(strategies, str(arrays["order"]))
    parameters: dict[str, Any] = {}
    for each in fields(kind):
        count = arrays.get(f"order.{each.name}.count")
        if count is None:
            parameters[each.name] = _value(arrays[f"order.{each.name}"])
        else:
            parameters[each.name] = tuple(
                arrays[f"order.{each.name}.{at}"] for at in range(int(count))
            )
    shares = _value(arrays["shares"])
    return Decision(
        Admit(_value(arrays["admit"])),
        Probe(
            _value(arrays["probe"]), _value(arrays["sub_windows"]), float(arrays["whole"].item())
        ),
        Emit(bool(arrays["only_drawn"])),
        Insert(_value(arrays["insert"]), _value(arrays["worth"])),
        Retain(kind(**parameters), None if shares is None else tuple(shares.tolist())),
    )


def _array(value: object) -> Array:
    return _NONE if value is None else np.asarray(value)


def _value(array: Array) -> Any:  # noqa: ANN401  # a number, a text, an array, or None
    if array.ndim == _NONE.ndim:
        return None
    return array.item() if array.ndim == 0 else array
