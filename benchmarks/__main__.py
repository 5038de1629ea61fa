"""Run benchmarks: ``python -m benchmarks [NAME ...] [--quick] [--json FILE] [--write PAGE]``."""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from benchmarks import (
    batches,
    choice,
    equality,
    formulas,
    grub,
    harvesting,
    importance,
    memory,
    memory_choice,
    shedding,
    similar,
    window,
    within,
    work,
    workload,
)
from benchmarks.report import Figures, as_markdown, as_text, machine
from penstock.errors import SpecificationError
from penstock.report.tables import read_page, write_sections

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from penstock.bench.timing import Say

# In the order in which they are run and shown.
BENCHMARKS: dict[str, Callable[..., Figures]] = {
    "equality": equality.run,
    "within": within.run,
    "similar": similar.run,
    "harvesting": harvesting.run,
    "grub": grub.run,
    "window": window.run,
    "batches": batches.run,
    "memory": memory.run,
    "shedding": shedding.run,
    "choice": choice.run,
    "memory-choice": memory_choice.run,
    "formulas": formulas.run,
    "formulas-fast": formulas.run_fast,
    "importance": importance.run,
    "work": work.run,
    "workload": workload.run,
}


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the named benchmarks, or all of them."""
    parser = _parser()
    options = parser.parse_args(arguments)
    for name in options.names:
        if name not in BENCHMARKS:
            parser.error(f'NAME must be one of {", ".join(BENCHMARKS)}; got "{name}"')
    if options.quick and options.write:
        parser.error("--write must go without --quick: figures of tiny sizes mean nothing")
    names = options.names or list(BENCHMARKS)
    if options.write:
        try:
            read_page(options.write, ["machine", *names])
        except SpecificationError as error:
            parser.error(str(error))
    pa.set_cpu_count(1)
    about = machine()
    print(about)
    figures: dict[str, Figures] = {}
    for name in names:
        figures[name] = BENCHMARKS[name](quick=options.quick, say=_say(name))
        print(f"\n{name}\n{'=' * len(name)}\n\n{as_text(figures[name])}", flush=True)
    if options.json:
        data: dict[str, Any] = {"machine": about}
        data |= {name: asdict(own) for name, own in figures.items()}  # type: ignore[call-overload]  # all are dataclasses
        options.json.write_text(json.dumps(data, indent=2) + "\n")
    if options.write:
        sections = {"machine": about} | {name: as_markdown(own) for name, own in figures.items()}
        write_sections(options.write, sections)


def _say(benchmark: str) -> Say:
    """Return a function that prints how far a benchmark is."""

    def say(text: str) -> None:
        print(f"{benchmark}: {text}", file=sys.stderr, flush=True)

    return say


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
