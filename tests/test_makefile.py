"""The Makefile's look at Java, before anything that takes long."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
MAKE = shutil.which("make")
WORDS = "install it (Debian, Ubuntu: apt install openjdk-17-jre-headless; macOS: brew install"

pytestmark = pytest.mark.skipif(MAKE is None, reason="there is no make")


# What `make test` tells a make below it.
OUTER = {"MAKEFLAGS", "MAKELEVEL", "MFLAGS"}


def make_java(home: Path) -> subprocess.CompletedProcess[str]:
    ours = {name: value for name, value in os.environ.items() if name not in OUTER}
    return subprocess.run(  # noqa: S603 -- ours
        [str(MAKE), "java"],
        cwd=ROOT,
        env=ours | {"JAVA_HOME": str(home)},
        capture_output=True,
        text=True,
        check=False,
    )


def fake_java(folder: Path, says: str) -> Path:
    java = folder / "bin" / "java"
    java.parent.mkdir()
    java.write_text(f"#!/bin/sh\necho '{says}' >&2\n")
    java.chmod(0o755)
    return folder


@pytest.mark.parametrize("version", ["17.0.15", "21", "25-ea"])
def test_a_java_that_spark_can_use_is_passed_over_in_silence(version: str, tmp_path: Path) -> None:
    done = make_java(fake_java(tmp_path, f'openjdk version "{version}" 2025-04-15'))
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.parametrize(("version", "short"), [("1.8.0_392", "8"), ("11.0.2", "11")])
def test_an_older_java_is_named(version: str, short: str, tmp_path: Path) -> None:
    done = make_java(fake_java(tmp_path, f'java version "{version}"'))
    assert done.returncode != 0
    java = tmp_path / "bin" / "java"
    assert done.stderr.startswith(f"Spark needs Java 17 or newer; {java} is version {short};\n")
    assert WORDS in done.stderr


def test_no_java_at_all_is_told(tmp_path: Path) -> None:
    done = make_java(tmp_path)
    assert done.returncode != 0
    assert "java was not found, or does not run;" in done.stderr
    assert WORDS in done.stderr


def test_the_words_are_those_of_the_session() -> None:
    from penstock.spark.session import _GET_JAVA  # noqa: PLC0415  # only this one needs Spark

    said = " ".join(make_java(Path("/nowhere")).stderr.split())
    assert _GET_JAVA in said
