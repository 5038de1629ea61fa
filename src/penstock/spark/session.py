"""Spark sessions: a local one, ready to use, and checks of a session that the user has made."""

from __future__ import annotations

import atexit
import inspect
import os
import re
import shutil
import subprocess
import sys
import warnings
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyspark import SparkConf, SparkContext
from pyspark.java_gateway import launch_gateway
from pyspark.sql import SparkSession

from penstock.errors import SessionError, must
from penstock.spark.market import MarketSource
from penstock.spark.scratch import ScratchFolder

if TYPE_CHECKING:
    from collections.abc import Mapping

LOG = "spark.penstock.log"
"""Setting of a session started here: the file to which Spark writes its log."""

_PARTITIONS = "spark.sql.shuffle.partitions"
# A number that was set here for one join may be changed for the next; the user's own may not, even
# if it is the same number. Spark reads "02" as 2, and nobody else writes it so.
_OURS = "0"
_PROVIDER = "spark.sql.streaming.stateStore.providerClass"
_ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
_CHANGELOG = "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled"

# The settings that a streaming join needs.
_REQUIRED = {
    _PROVIDER: _ROCKSDB,  # transformWithState works with no other
    _CHANGELOG: "true",  # else every commit uploads the whole state
}

# More partitions than this for each core cost more than they can bring.
_MAX_PARTITIONS_PER_CORE = 4
# Java takes about a second to stop Spark and to remove its files.
_JAVA_ENDS_SECONDS = 30

_LEAST_JAVA = 17
_GET_JAVA = (
    "install it (Debian, Ubuntu: apt install openjdk-17-jre-headless; macOS: brew install "
    "openjdk@17; others: https://adoptium.net) and have java on the PATH, or set JAVA_HOME"
)


def session(
    *,
    cores: int | None = None,
    memory: str = "2g",
    log: str | os.PathLike[str] | None = None,
    settings: Mapping[str, str] | None = None,
) -> SparkSession:
    """Return a local Spark session that has all that Penstock needs, and prints nothing.

    If a session is already running in this process, or the program was started by spark-submit,
    then that session is returned, with Penstock's sources registered. Its settings are checked
    when a join starts.

    Parameters
    ----------
    cores
        Cores to use; None for all. Joins have as many shards unless a number is given.
    memory
        Memory of the Java process, in Spark's notation: "2g", "512m". Python needs its own.
    log
        File for Spark's log; None for one in a temporary folder, which goes when the program ends.
    settings
        Further settings of Spark, which override those made here.

    Raises
    ------
    SessionError
        If there is no Java that Spark can use.

    Examples
    --------
    >>> spark = session(cores=2)  # doctest: +SKIP
    >>> spark.readStream.format("penstock-market")  # doctest: +SKIP
    """
    running = SparkSession.getActiveSession()
    # spark-submit has already started Java, and knows where the tasks run.
    submitted = "PYSPARK_GATEWAY_PORT" in os.environ
    if running is None and SparkContext._active_spark_context is None and not submitted:  # noqa: SLF001
        running = _start(cores, memory, log, dict(settings or {}))
    spark = running or SparkSession.builder.config(map=dict(settings or {})).getOrCreate()
    spark.dataSource.register(MarketSource)
    return spark


def _start(
    cores: int | None, memory: str, log: str | os.PathLike[str] | None, settings: dict[str, str]
) -> SparkSession:
    check_java()
    scratch = ScratchFolder()
    merged = _settings(cores or os.cpu_count() or 1, memory, log, scratch.path) | settings
    conf = SparkConf().setAll(list(merged.items()))
    # Otherwise the workers may use another Python, which has neither Penstock nor pandas.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
    # Java and its Python workers write to the terminal directly; no setting prevents it.
    with Path(str(conf.get(LOG))).open("ab") as sink:
        gateway = launch_gateway(conf, {"stdout": sink, "stderr": sink})  # type: ignore[no-untyped-call]
    atexit.register(_end, gateway.proc, scratch)
    context = SparkContext(conf=conf, gateway=gateway)
    _expect_end_of_java(context)
    return SparkSession(context)


def _expect_end_of_java(context: SparkContext) -> None:
    """Let Java end before this program without an error being printed.

    PySpark waits for counters from Java in a thread, which takes the end of Java for an error.
    """
    server = context._accumulatorServer  # noqa: SLF001  # no other way
    report = server.handle_error

    def handle_error(request: Any, client_address: Any) -> None:  # noqa: ANN401  # as in the library
        if not isinstance(sys.exception(), EOFError | ConnectionError):
            report(request, client_address)

    server.handle_error = handle_error  # type: ignore[method-assign]


def _end(java: subprocess.Popen[bytes], scratch: ScratchFolder) -> None:
    """Let Java end, and remove the files of the session; called when the program ends."""
    if java.stdin is not None:
        java.stdin.close()  # Java ends when it sees this
    with suppress(subprocess.TimeoutExpired):
        java.wait(_JAVA_ENDS_SECONDS)
    scratch.remove()


def _settings(
    cores: int, memory: str, log: str | os.PathLike[str] | None, scratch: Path
) -> dict[str, str]:
    """Return the settings of a local session, whose files are in the folder `scratch`."""
    return _REQUIRED | {
        # A task may fail three times, as on a cluster. Under local[2] it may not fail at all.
        "spark.master": f"local[{cores},4]",
        "spark.app.name": "penstock",
        "spark.driver.memory": memory,
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.log.level": "ERROR",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.warehouse.dir": (scratch / "warehouse").as_uri(),
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        # What a Spark that is killed leaves behind is removed with the folder.
        "spark.local.dir": str(scratch),
        "spark.driver.defaultJavaOptions": f"-Djava.io.tmpdir={scratch}",
        LOG: str(log or scratch / "spark.log"),
    }


def check_java() -> None:
    """Raise an error unless there is a Java that Spark can use."""
    home = os.environ.get("JAVA_HOME")
    java = str(Path(home) / "bin" / "java") if home else shutil.which("java")
    if java is None:
        raise SessionError(f"Spark needs Java {_LEAST_JAVA} or newer; none was found; {_GET_JAVA}")
    try:
        output = subprocess.run(  # noqa: S603  # the user's own Java
            [java, "-version"], capture_output=True, text=True, check=True, timeout=60
        ).stderr
    except (OSError, subprocess.SubprocessError) as error:
        raise SessionError(
            f"Spark needs Java {_LEAST_JAVA} or newer; {java} does not run: {error}; {_GET_JAVA}"
        ) from error
    version = re.search(r'version "(?:1\.)?(\d+)', output)
    if version is not None and int(version[1]) < _LEAST_JAVA:
        raise SessionError(
            f"Spark needs Java {_LEAST_JAVA} or newer; {java} is version {version[1]}; {_GET_JAVA}"
        )


def prepare_session(spark: SparkSession, shards: int | None, *, stateful: bool) -> int:
    """Check a session's settings, make those that are missing, and return the number of shards.

    Raises
    ------
    SessionError
        If a setting has a value that a join cannot run with.
    """
    _check_classic(spark)
    _prepare_python(spark.sparkContext)
    current = spark.conf.getAll
    if not stateful:
        return shards or spark.sparkContext.defaultParallelism
    for name, value in _REQUIRED.items():
        if current.get(name, value).lower() != value.lower():
            raise SessionError(
                must(
                    f"setting {name}",
                    value,
                    current[name],
                    f'spark.conf.set("{name}", "{value}") before the query starts',
                )
            )
        spark.conf.set(name, value)
    partitions = current.get(_PARTITIONS)
    if partitions is None or partitions.startswith(_OURS):
        shards = shards or spark.sparkContext.defaultParallelism
        spark.conf.set(_PARTITIONS, f"{_OURS}{shards}")
    elif int(partitions) > _MAX_PARTITIONS_PER_CORE * max(
        shards or 1, spark.sparkContext.defaultParallelism
    ):
        _warn_of_partitions(int(partitions), shards, spark.sparkContext.defaultParallelism)
    return shards or int(str(partitions))


def _warn_of_partitions(partitions: int, shards: int | None, cores: int) -> None:
    """Warn that Spark would have far more tasks than cores in every micro-batch."""
    if shards is None:
        got = f"so the join has {partitions} shards, each with a part of the budget"
        hint = f'spark.conf.set("{_PARTITIONS}", "{cores}")'
    else:
        got = f"so {partitions - shards} of them are empty"
        hint = f'spark.conf.set("{_PARTITIONS}", "{shards}")'
    warnings.warn(
        f"setting {_PARTITIONS} of this session is {partitions}, {got}, and {cores} cores have "
        f"{partitions} tasks in every micro-batch, which takes long; write {hint} before the join "
        f"(in a session of its own, spark.newSession(), if other queries need the setting), or go "
        f"on with it if the query has a checkpoint: it keeps its number of partitions, which "
        f"`penstock state repartition` changes",
        UserWarning,
        stacklevel=_levels_to_the_caller(),
    )


def _levels_to_the_caller() -> int:
    """Return the ``stacklevel`` with which a warning names the user's own line.

    Joins, plans and workloads each have their own number of calls from there to here.
    """
    levels = 1
    frame = inspect.currentframe()
    frame = frame.f_back if frame else None
    while frame and str(frame.f_globals.get("__name__", "")).partition(".")[0] == "penstock":
        levels += 1
        frame = frame.f_back
    return levels


def may_use_files(spark: SparkSession) -> bool:
    """Return whether a join may leave results in files that are not encrypted."""
    encrypted = spark.sparkContext.getConf().get("spark.io.encryption.enabled", "false")
    return str(encrypted).lower() != "true"


def _check_classic(spark: object) -> None:
    if not isinstance(spark, SparkSession) or not hasattr(spark, "_jsparkSession"):
        raise SessionError(
            must(
                "session of the frames",
                "a classic one, whose driver is in this process",
                type(spark),
                "run the program with spark-submit, or use penstock.spark.session(); "
                "Spark Connect is not supported",
            )
        )


def _prepare_python(context: SparkContext) -> None:
    """Make local workers use this Python; on a cluster the user sets it."""
    if str(context.master).startswith("local") and "PYSPARK_PYTHON" not in os.environ:
        context.pythonExec = sys.executable
