"""Run benchmarks: ``python -m benchmarks [NAME ...] [--quick] [--json FILE] [--write PAGE]``."""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from benchmarks import batches, equality, importance, memory, shedding, window, within
from benchmarks.report import Figures, as_markdown, as_text, machine, rewrite
from benchmarks.timing import progress

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

# In the order in which they are run and shown.
BENCHMARKS: dict[str, Callable[..., Figures]] = {
    "equality": equality.run,
    "within": within.run,
    "window": window.run,
    "batches": batches.run,
    "memory": memory.run,
    "shedding": shedding.run,
    "importance": importance.run,
}


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the benchmarks that are named, all if none is."""
    parser = _parser()
    options = parser.parse_args(arguments)
    for name in options.names:
        if name not in BENCHMARKS:
            parser.error(f'NAME must be one of {", ".join(BENCHMARKS)}; got "{name}"')
    if options.quick and options.write:
        parser.error("--write must go without --quick: figures of tiny sizes mean nothing")
    page = options.write.read_text() if options.write else None
    pa.set_cpu_count(1)
    about = machine()
    print(about)
    figures: dict[str, Figures] = {}
    for name in options.names or BENCHMARKS:
        figures[name] = BENCHMARKS[name](quick=options.quick, say=progress(name))
        print(f"\n{name}\n{'=' * len(name)}\n\n{as_text(figures[name])}", flush=True)
    if options.json:
        data: dict[str, Any] = {"machine": about}
        data |= {name: asdict(own) for name, own in figures.items()}  # type: ignore[call-overload]  # all are dataclasses
        options.json.write_text(json.dumps(data, indent=2) + "\n")
    if page is not None:
        sections = {"machine": about} | {name: as_markdown(own) for name, own in figures.items()}
        options.write.write_text(rewrite(page, sections))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks", description="Measure the speed and the memory of joins."
    )
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help=f"{', '.join(BENCHMARKS)}; all if left out"
    )
    parser.add_argument("--quick", action="store_true", help="tiny sizes: does it run?")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures to a file")
    parser.add_argument(
        "--write", type=Path, metavar="PAGE", help="replace the figures of a Markdown page"
    )
    return parser


if __name__ == "__main__":
    main()
