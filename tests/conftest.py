"""What holds for all tests: which of them every run has, Hypothesis, and a run with the JIT off."""

from __future__ import annotations

import os
from fnmatch import fnmatch
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

JIT_IS_OFF = os.environ.get("NUMBA_DISABLE_JIT", "0") not in {"", "0"}

# The same examples on every machine and in every run. No deadline: the first example may have to
# compile kernels. Fewer with the JIT off, where each takes ten times as long.
settings.register_profile(
    "penstock", deadline=None, derandomize=True, max_examples=25 if JIT_IS_OFF else 100
)
settings.load_profile("penstock")

# A query of Spark takes seconds, so `make test` has a handful of them: the operator against Spark's
# own join. `make slow` has all.
SPARK_IN_EVERY_RUN = (
    "tests/spark/test_against_spark.py::test_same_rows_as_sparks_join[[]0]",
    "tests/spark/test_frames.py::*",
)

# And without Spark `make test` leaves out what takes long and rarely breaks alone: statistics over
# many replays, whole studies, examples and benchmarks, further cases of a promise that has one.
# Of the documentation two examples, which compile what nothing else in `make test` needs.
LATER = (
    "src/penstock/statistics/harvest_frontier.py::*",
    "src/penstock/statistics/harvest_greedy.py::*",
    "src/penstock/studies/grub_join/simulate.py::*",
    "tests/capacity/test_cpu_prediction.py::*",
    "tests/capacity/test_explain_cpu.py::*",
    "tests/capacity/test_explain.py::test_tried_on_the_sample",
    "tests/capacity/test_measure.py::test_frequencies_are_those*",
    "tests/capacity/test_match_shares.py::*",
    "tests/capacity/test_prediction.py::test_prob_is_section_3_3*",
    "tests/conformance/test_conformance.py::test_a_strategy_of_the_table_may_be_an_object*",
    "tests/conformance/test_work.py::test_conforms[[]uniform*",
    "tests/conformance/test_work.py::test_enough_work*band*",
    "tests/conformance/test_work.py::test_enough_work*cluster*",
    "tests/conformance/test_work.py::test_enough_work*coin-flip*",
    "tests/conformance/test_work.py::test_enough_work*compare*",
    "tests/conformance/test_work.py::test_enough_work*insert-no-probe*",
    "tests/conformance/test_work.py::test_enough_work*max-subset*",
    "tests/conformance/test_work.py::test_enough_work*uniform*",
    "tests/conformance/test_work.py::test_without_a_name*band*",
    "tests/conformance/test_work.py::test_without_a_name*compare*",
    "tests/demo/test_scenario.py::*",
    "tests/engine/kernels/test_key_counts.py::*windows3*",
    "tests/engine/kernels/test_key_counts.py::*windows5*",
    "tests/engine/kernels/test_key_counts.py::test_where_there_is_room*",
    "tests/engine/test_actions.py::test_one_batch_equals_many*-12000]",
    "tests/engine/test_actions.py::test_results_that_shed*",
    "tests/engine/test_alignment.py::test_nor_do_restarts*",
    "tests/engine/test_alignment.py::test_much_that_has_waited*",
    "tests/engine/test_alignment.py::test_the_order_of_delivery*None*",
    "tests/engine/test_alignment.py::test_the_order_of_delivery*-3]",
    "tests/engine/test_alignment.py::test_the_order_of_delivery*MaxImportance*",
    "tests/engine/test_alignment.py::test_the_order_of_delivery*Sample*",
    "tests/engine/test_alignment.py::test_the_order_of_delivery*random*",
    "tests/engine/test_bad_importance.py::test_every_strategy_takes*",
    "tests/engine/test_bad_importance.py::test_the_largest_importance*",
    "tests/engine/test_burst.py::*",
    "tests/engine/test_directions.py::*",
    "tests/engine/test_estimates.py::test_importance_is_estimated_alike*",
    "tests/engine/test_estimates.py::test_monitored_rows_and_their_estimates*best*",
    "tests/engine/test_estimates.py::test_*is_unbiased_and_knows_its_variance*",
    "tests/engine/test_ijoin.py::test_the_same_rows_leave_as_by_the_book[[]adaptive*",
    "tests/engine/test_ijoin.py::test_the_same_rows_leave_as_by_the_book[[]k-successive*",
    "tests/engine/test_importance.py::test_a_restart_after_a_redefinition*worth]",
    "tests/engine/test_importance.py::test_fairness_costs_importance*",
    "tests/engine/test_importance.py::test_worth_finds_more*",
    "tests/engine/test_learning.py::test_the_age_curve_is_learned*None*",
    "tests/engine/test_learning.py::test_a_restart*",
    "tests/engine/test_learning.py::test_over_several_windows*",
    "tests/engine/test_long_silence.py::*",
    "tests/engine/test_memory_in_bytes.py::*-3]",
    "tests/engine/test_memory_in_bytes.py::test_a_restart*",
    "tests/engine/test_memory_in_bytes.py::test_the_budget_is_kept_and_used*fifo*",
    "tests/engine/test_memory_in_bytes.py::test_the_budget_is_kept_and_used*ijoin*",
    "tests/engine/test_memory_in_bytes.py::test_the_budget_is_kept_and_used*-up-*",
    "tests/engine/test_sampling.py::test_a_large_sample*",
    "tests/engine/test_similar.py::test_a_budget_in_bytes*",
    "tests/engine/test_operator.py::*similar-*",
    "tests/engine/test_operator.py::*similar angle*",
    "tests/engine/test_similar.py::test_a_restart*budget[12]]",
    "tests/engine/test_sub_windows.py::test_windows_out_of_reach*",
    "tests/engine/test_sub_windows.py::*similar*",
    "tests/engine/test_sampling.py::test_where_the_fraction_rises*",
    "tests/engine/retention/test_sample.py::test_a_row_that_is_out*",
    "tests/engine/retention/test_sample.py::test_a_raised_fraction*",
    "tests/engine/retention/test_sample.py::test_by_match*",
    "tests/engine/retention/test_sample.py::test_the_first_to_go*",
    "tests/planning/test_command.py::test_too_little*",
    "tests/planning/test_drop_boxes.py::test_boxes_need*",
    "tests/planning/test_drop_boxes.py::test_rows_and_time_at_once*",
    "tests/planning/test_search.py::test_also_for_six_streams",
    "tests/properties/test_greedy.py::*",
    "tests/properties/test_large.py::test_comparisons_over_hundreds*",
    "tests/properties/test_shedding.py::test_rows_in_any_order*",
    "tests/report/test_recall_plots.py::test_matplotlib_is_loaded*",
    "tests/spark/test_result_files.py::test_a_file_of_which_a_part*",
    "tests/spark/test_scratch.py::test_the_folder_of_a_killed_process*",
    "tests/statistics/test_cluster_sample.py::test_totals*",
    "tests/statistics/test_drop_boxes.py::test_boxes_are_those_of_scipy*",
    "tests/statistics/test_harvest.py::*",
    "tests/statistics/test_sampling_memory.py::*",
    "tests/statistics/test_work_output.py::test_no_other_chances*",
    "tests/statistics/test_work_uniform.py::test_a_join_row_by_row*",
    "tests/statistics/test_work_uniform.py::test_rows_that_are_followed*",
    "tests/strategies/test_best_lot.py::*",
    "tests/strategies/test_age.py::test_*whatever_the_curve*",
    "tests/strategies/test_age.py::test_without_minima*",
    "tests/strategies/test_coverage.py::*",
    "tests/strategies/test_quality.py::*",
    "tests/strategies/test_sampling.py::*",
    "tests/studies/test_ayad04.py::*",
    "tests/studies/test_ayad05.py::*",
    "tests/studies/test_drift.py::*",
    "tests/studies/test_gedik05.py::*",
    "tests/studies/test_grub_join.py::*",
    "tests/studies/test_kulkarni08.py::*",
    "tests/studies/test_sampling.py::*",
    "tests/studies/test_srivastava04.py::*",
    "tests/test_benchmarks.py::*",
    "tests/workload/test_goals.py::test_restored_it_goes_on_as_before*",
    "tests/test_cli.py::test_other_commands_load_no_spark*",
    "tests/test_cli.py::test_without_java*",
    "tests/test_cli.py::test_without_spark*",
    "tests/test_cpu_budget.py::test_a_burst*",
    "tests/test_cpu_budget.py::test_twice_the_work*coin-flip*",
    "tests/test_cpu_budget.py::test_twice_the_work*probe-no-insert*",
    "tests/test_cpu_budget.py::test_where_keys_tell_nothing*",
    "tests/test_cpu_budget.py::test_work_is_what_is_allowed[[]coin-flip*",
    "tests/test_cpu_budget.py::test_work_is_what_is_allowed[[]probe-no-insert*",
    "tests/test_cpu_sample.py::test_work_is_what_is_allowed*",
    "tests/test_examples.py::*",
    "tests/test_imports.py::test_a_replay_needs*",
    "tests/test_extending.py::test_each_conforms*",
    "tests/test_known_statistics.py::test_known_frequencies_say_the_same_of_every_type*Compare*",
    "tests/test_known_statistics.py::test_known_frequencies_say_the_same_of_every_type*decimal*",
    "tests/test_readme.py::test_the_table_of_the_demo*",
    "tests/test_strategies.py::test_more_room*",
    "tests/test_strategies.py::test_random_keeps_every_row*",
    "tests/workload/test_changes.py::*ijoin]",
    "tests/workload/test_changes.py::*fifo]",
    "tests/workload/test_cpu.py::*2000]",
)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave out most tests with Spark and begin with the rest; with the JIT off, let hashes wrap.

    Tests with Spark come first, so that one of two workers has them and the other all the rest, and
    no worker waits at the end for one that takes a minute.

    Hashes are meant to wrap around 64 bits. Compiled code does so silently; NumPy's scalars, which
    take its place when the JIT is off, do the same but warn.
    """
    for item in items:
        with_spark = item.get_closest_marker("spark") is not None
        if (with_spark and not _is_among(item, SPARK_IN_EVERY_RUN)) or _is_among(item, LATER):
            item.add_marker(pytest.mark.slow)
    items.sort(key=lambda item: item.get_closest_marker("spark") is None)
    items.sort(key=lambda item: "test_crash" not in item.nodeid)
    if JIT_IS_OFF:
        for item in items:
            item.add_marker(pytest.mark.filterwarnings("ignore:overflow encountered"))


def _is_among(item: pytest.Item, patterns: tuple[str, ...]) -> bool:
    return any(fnmatch(item.nodeid, pattern) for pattern in patterns)


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """One Spark session for all tests of a process."""
    from penstock.spark import session  # noqa: PLC0415  # most tests need no Spark

    own = {
        # Java's second compiler costs more than it saves in queries of a few rows.
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
        # A task is tried once more, not three times, so that queries that must fail do so sooner.
        "spark.master": "local[2,2]",
    }
    spark = session(cores=2, memory="1g", settings=own)
    yield spark
    spark.stop()
