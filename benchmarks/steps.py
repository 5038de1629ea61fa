"""Where the time of a join goes, step by step."""

from __future__ import annotations

import cProfile
import pstats
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from penstock.bench.timing import CLOCK

if TYPE_CHECKING:
    from collections.abc import Callable

# The steps, and the functions of the engine (module, name) that do them, with all that they call.
# The engine calls few Python functions for each batch and none for each row, so that profiling
# it costs next to nothing.
_STEPS = {
    "intake: Arrow to arrivals in time order": (
        ("intake", "read_side"),
        ("store", "make_places"),
        ("intake", "merge"),
    ),
    "loop: probe, emit, insert, expire": (("loop", "join"),),
    "gather: results to Arrow": (("operator", "_results"),),
    "settle: what stays of a batch": (("payload", "settle"),),
}


@dataclass(frozen=True)
class Step:
    """One step's part of the time."""

    name: str
    nanoseconds: float  # for each arrival
    share: float


def steps_of(run: Callable[[], object], arrivals: int) -> tuple[Step, ...]:
    """Profile a replay and divide its time into steps.

    Raises
    ------
    KeyError
        If the engine has no function of a name any more.
    """
    run()  # warm-up
    profile = cProfile.Profile(CLOCK)
    profile.runcall(run)
    engine = {
        (Path(file).stem, function): everything
        for (file, _, function), (_, _, _, everything, _) in _entries(profile)
    }
    total = engine["replay", "replay"]
    times = {name: sum(engine[which] for which in functions) for name, functions in _STEPS.items()}
    times["everything else"] = total - sum(times.values())
    return tuple(Step(name, time / arrivals * 1e9, time / total) for name, time in times.items())


_Entry = tuple[tuple[str, int, str], tuple[int, int, float, float, object]]


def _entries(profile: cProfile.Profile) -> list[_Entry]:
    stats: dict[tuple[str, int, str], tuple[int, int, float, float, object]]
    stats = pstats.Stats(profile).stats  # type: ignore[attr-defined]  # not in the typeshed
    return list(stats.items())
