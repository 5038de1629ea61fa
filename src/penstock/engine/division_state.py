"""How a shard of a workload divides its budget, as it is saved."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from penstock.engine.sealing import seal_up, unseal
from penstock.errors import StateError

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["DIVISION", "DivisionState"]

DIVISION = "division"
"""Name under which it is saved."""


@dataclass(frozen=True)
class DivisionState:
    """What a restart needs besides the operators' states.

    Attributes
    ----------
    amounts
        Of each resource, what each join has.
    units
        Of each resource, in which it is counted: rows or bytes, for instance.
    interval
        Of the rule by which it was divided.
    mark
        Number of the interval at whose beginning it is divided next; None before the first row.
    divisions
        That have changed something.
    history
        Of each resource, at the last divisions: what was counted of each join until then.
    """

    amounts: Mapping[str, Mapping[str, int]]
    units: Mapping[str, str]
    interval: float
    mark: int | None
    divisions: int
    history: Mapping[str, list[dict[str, list[float]]]]

    def to_bytes(self) -> bytes:
        """Return it as a chunk of saved state."""
        return seal_up(json.dumps(asdict(self)).encode())

    @staticmethod
    def from_bytes(saved: bytes | None) -> DivisionState:
        """Return what `to_bytes` was called for.

        Raises
        ------
        StateError
            If it is missing, of another format, or damaged.
        """
        data = unseal(saved, DIVISION)
        try:
            return DivisionState(**json.loads(data))
        except (TypeError, ValueError) as error:
            raise StateError(
                f'chunk "{DIVISION}" of the saved state must be one of this version; it has other '
                f"parts; run the version of Penstock that wrote it, or start without it"
            ) from error

    def check_joins(self, joins: Mapping[str, object]) -> None:
        """Raise unless it was saved by these joins.

        Raises
        ------
        StateError
            If it was not.
        """
        for each in self.amounts.values():
            if set(each) != set(joins):
                raise StateError(
                    f"joins of the workload must be those of the saved state: "
                    f"{', '.join(each)}; got {', '.join(joins)}; give them back, or start "
                    f"without the saved state"
                )
