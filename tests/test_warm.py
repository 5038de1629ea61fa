"""Compiling ahead of time: what `penstock warm` compiles, and how cold kernels are known."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib import import_module
from itertools import product
from pkgutil import walk_packages
from typing import TYPE_CHECKING, Any, Self

import pyarrow as pa
import pytest
from typer.testing import CliRunner

import penstock as ps
from penstock import cli, engine, statistics, warm
from penstock.engine import kernel_cache
from penstock.testing import market
from tests.conftest import JIT_IS_OFF

if TYPE_CHECKING:
    from pathlib import Path

# Called by other kernels only, into which they are compiled.
INSIDE_OTHERS = {"combine_hash", "hash_bytes", "_find"}

needs_jit = pytest.mark.skipif(JIT_IS_OFF, reason="nothing is compiled")


def compiled() -> dict[str, set[Any]]:
    """The types for which each kernel that is kept on disk has been loaded in this process.

    Without those of GrubJoin's models, of which most serve studies alone.
    """
    found = {}
    for package in (engine, statistics):
        for module in walk_packages(package.__path__, f"{package.__name__}."):
            if module.name.rpartition(".")[2].startswith(("drop_boxes", "harvest_")):
                continue
            for value in vars(import_module(module.name)).values():
                stats = getattr(value, "stats", None)
                if getattr(stats, "cache_path", None):
                    found[value.py_func.__name__, value.__module__] = set(value.overloads)
    return {f"{module}.{name}": types for (name, module), types in found.items()}


@needs_jit
@pytest.mark.slow
def test_it_compiles_all_kernels_that_joins_use() -> None:
    for time, value in product(("whole", "fraction"), repeat=2):
        warm.compile_for(time, value)
    before = compiled()
    assert {name.rpartition(".")[2] for name, types in before.items() if not types} <= INSIDE_OTHERS

    site = market(auctions=300, seed=1)
    tables = {"auctions": site.auctions, "bids": site.bids}
    streams = {
        "auctions": ps.Stream(time="opened_at", window="7 days"),
        "bids": ps.Stream(time="at", window="1 day", lateness="1 hour"),
    }
    on = ps.Equal(auctions="id", bids="auction_id")
    goals: list[tuple[Any, ps.Budget | None]] = [
        (ps.MaxSubset(), None),
        *((ps.MaxSubset(strategy=name), ps.Budget(rows=90)) for name in ("fifo", "age", "prob")),
        (ps.MaxSubset(), ps.Budget(memory="30kB")),
        (ps.MaxImportance(of={"auctions": 1.0, "bids": "price"}), ps.Budget(rows=90)),
        (ps.Sample(strategy="pps-cluster"), ps.Budget(rows=90)),
    ]
    for goal, budget in goals:
        join = ps.Join(streams=streams, on=on, goal=goal, budget=budget)
        join.replay(tables, shards=3)
    each = ps.Stream(time="t", window=5.0)
    three = pa.table({"t": [0.5 * i for i in range(60)], "x": [i % 5 for i in range(60)]})
    for predicate in (
        ps.Within(1, a="x", b="x", c="x"),
        ps.Compare("<", a="x", b="x", c="x"),
        ps.Band(low=0, high=1.5, a="x", b="x", c="x"),
        ps.Equal("x"),
    ):
        join = ps.Join(streams=dict.fromkeys("abc", each), on=predicate, budget=ps.Budget(rows=30))
        join.replay(dict.fromkeys("abc", three))
    more = {name: types - before[name] for name, types in compiled().items()}
    assert [name for name, types in more.items() if types] == []


@needs_jit
def test_kernels_are_cold_until_the_loop_is_on_disk(tmp_path: Path) -> None:
    code = (
        "from penstock.engine.kernel_cache import cache_folder, is_cold; "
        "folder = cache_folder(); print(folder); print(is_cold()); "
        "import sys; version = f'{sys.version_info.major}{sys.version_info.minor}'; "
        "folder.mkdir(exist_ok=True, parents=True); "
        "(folder / f'loop.join-1.py{version}.nbi').touch(); print(is_cold())"
    )
    done = subprocess.run(  # noqa: S603 -- ours
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env=os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)},
    )
    folder, before, after = done.stdout.split()
    assert folder.startswith(str(tmp_path))
    assert (before, after) == ("True", "False")


def test_without_the_jit_nothing_is_cold(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel_cache, "join", lambda: None)
    assert kernel_cache.cache_folder() is None
    assert not kernel_cache.is_cold()


def test_the_command_compiles_all_types_and_says_where(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []

    def pretend(*, processes: int, report: object) -> None:
        asked.append(processes)

    monkeypatch.setattr(cli, "compile_kernels", pretend)
    monkeypatch.setattr(cli, "cache_folder", lambda: "the/folder")
    result = CliRunner().invoke(cli.app, ["warm", "--processes", "3"], catch_exceptions=False)
    assert asked == [3]
    assert result.stdout == "The kernels are compiled, in the/folder and beside it.\n"


def test_the_command_needs_the_jit(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(cli, "cache_folder", lambda: None)
    with pytest.raises(SystemExit) as exit_:
        cli.main(["warm"])
    assert exit_.value.code == 2
    assert capsys.readouterr().err == (
        "penstock: the JIT is off: NUMBA_DISABLE_JIT is set; unset it to compile\n"
    )


def test_progress_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    class AtOnce:
        """Runs what it is given in this process."""

        def __init__(self, workers: int) -> None:
            assert workers == 4

        def __enter__(self) -> Self:
            return self

        def __exit__(self, *_: object) -> None:
            return None

        def submit(self, _: object, *part: str) -> AtOnce:
            parts.append(part)
            return self

        def result(self) -> None:
            return None

    parts: list[tuple[str, ...]] = []
    words: list[str] = []
    monkeypatch.setattr(warm, "ProcessPoolExecutor", AtOnce)
    monkeypatch.setattr(warm, "as_completed", iter)
    warm.compile_kernels(processes=9, report=words.append)
    assert sorted(parts) == sorted(product(("whole", "fraction"), repeat=2))
    assert words == [f"{number} of 4 parts done" for number in range(5)]
