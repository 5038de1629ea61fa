"""The metrics of a join in plain words: what it found and lost, why, and what to change."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.wording import about, counted, megabytes, percent

if TYPE_CHECKING:
    from penstock.metrics.join_metrics import Metrics
    from penstock.statistics.recall import Estimate

__all__ = ["summarize"]

_MOST_LINES = 10

# Why rows were lost: each count of `StreamMetrics`, in words.
_LOST = {
    "evicted": "evicted to make room",
    "dropped": "dropped because memory was full",
    "not_admitted": "not admitted by the strategy",
    "not_probed": "not compared with all rows in memory",
    "not_inserted": "not inserted by the strategy",
}

# The same where a sample keeps to a limit of work.
_NOT_SAMPLED = {
    "evicted": "that left the sample",
    "dropped": "not drawn for the sample",
}

# Why rows took no part: each count in words, and what to do about it.
_UNUSED = {
    "late": ("late", "raise the lateness of {streams}, or repair the source"),
    "bad_times": ("without a usable time", "filter or repair the times of {streams}"),
    "far_ahead": (
        "too far ahead",
        "look for a wrong clock in {streams}; raise max_ahead if there was a long silence",
    ),
    "null_keys": ("without a key", "filter the rows of {streams} that have no key"),
}

# Below this recall more memory is suggested, above this width of its interval more monitored rows.
_LITTLE_LOST = 0.99
_WIDE = 0.2


def summarize(metrics: Metrics) -> str:
    """Write metrics as at most ten lines of text; see `Metrics.summary`."""
    if not metrics.arrived:
        return "No rows have come yet."
    lines = [
        ("Results", _results(metrics)),
        ("Importance", _importance(metrics)),
        ("Last batch", _last_batch(metrics)),
        ("Rows in", f"{metrics.arrived:,}: {_by_stream(metrics, 'arrived')}"),
        ("Held", _held(metrics)),
        ("Work", _work(metrics)),
        ("Lost rows", _lost_rows(metrics)),
        ("Not used", _unused_rows(metrics)),
        ("Waiting", _waiting(metrics)),
        ("Strategy", _strategy(metrics)),
    ]
    lines = [(label, text) for label, text in lines if text]
    advice = _advice(metrics) or ["nothing"]
    labels = ["To change", *[""] * (len(advice) - 1)]
    lines += list(zip(labels, advice, strict=True))[: _MOST_LINES - len(lines)]
    return "\n".join(f"{label:<10} {text}" for label, text in lines)


def _results(metrics: Metrics) -> str:
    given = f"{metrics.emitted:,} given"
    if not metrics.lost and not metrics.unseen:
        of = " among the rows that were used" if _unused_rows(metrics) else ""
        return f"{given}, none lost{of}: the join is exact so far"
    recall, size = metrics.recall, metrics.true_size
    if recall is None or size is None:
        return f"{given}; how many were lost is not known: {_why_unknown(metrics)}"
    if metrics.fraction is not None:
        return f"{given}, a random sample of about {about(size.value)}: {_share(recall)}"
    lost = round(size.value - metrics.emitted)
    words = f"about {about(lost)} lost" if lost else "none lost by the estimate"
    return f"{given}, {words}: recall {_share(recall)}"


def _why_unknown(metrics: Metrics) -> str:
    """Return why there is no recall."""
    if metrics.unseen:
        rows = counted(metrics.unseen, "arrival")
        return f"{rows} had no chance to be compared with all rows in memory"
    if metrics.timed_shards and metrics.budget_rows is None:
        return "no result was found yet"
    if len(metrics.streams) > 2:
        return "with a limit of memory it is estimated for two streams, or for equal keys, only"
    return "no monitored row has had a result"


def _importance(metrics: Metrics) -> str:
    recall = metrics.importance_recall
    if not metrics.importance or recall is None:
        return ""
    lost = "none lost"
    if recall.value < 1:
        lost = f"about {about(metrics.importance * (1 / recall.value - 1))} lost"
    return f"{about(metrics.importance)} given, {lost}: recall {_share(recall)}"


def _last_batch(metrics: Metrics) -> str:
    recall = metrics.batch_recall
    is_all = metrics.batch_emitted == metrics.emitted
    if recall is None or not metrics.lost or is_all or metrics.fraction is not None:
        return ""
    return f"{counted(metrics.batch_emitted, 'result')} given: recall {_share(recall)}"


def _held(metrics: Metrics) -> str:
    most = f"at most {counted(metrics.held_most, 'row')} ({megabytes(metrics.bytes_most)})"
    now = f"{sum(stream.held for stream in metrics.streams.values()):,} now"
    if metrics.strategy is None:
        return f"{most}, without a budget; {now}"
    if metrics.budget_rows is None:
        return f"{most}; {now}"
    return f"{most} of {metrics.budget_rows:,} that the budget allows; {now}"


def _work(metrics: Metrics) -> str:
    """Return how much of the work that was allowed was done, and how much was wanted."""
    if not metrics.timed_shards or not metrics.work_allowed:
        return ""
    said = f"{percent(metrics.work / metrics.work_allowed)} of what the CPU budget allows"
    throttle = metrics.throttle
    if throttle is not None and throttle < 1:
        said += f", {percent(throttle)} of what the exact join would take"
    return said


def _lost_rows(metrics: Metrics) -> str:
    is_cpu_sample = metrics.fraction is not None and metrics.timed_shards
    causes = [
        f"{_count(metrics, name):,} {words} ({_by_stream(metrics, name)})"
        for name, words in (_LOST | _NOT_SAMPLED if is_cpu_sample else _LOST).items()
        if _count(metrics, name)
    ]
    return ", ".join(causes)


def _unused_rows(metrics: Metrics) -> str:
    causes = [
        f"{_count(metrics, name):,} {words} ({_by_stream(metrics, name)})"
        for name, (words, _) in _UNUSED.items()
        if _count(metrics, name)
    ]
    return ", ".join(causes)


def _waiting(metrics: Metrics) -> str:
    """Return what waits for the slowest stream, and for which."""
    rows = _count(metrics, "waiting")
    if not rows:
        return ""
    size = sum(stream.waiting_bytes for stream in metrics.streams.values())
    behind = {name: each.behind for name, each in metrics.streams.items() if each.behind}
    slowest = f" for {max(behind, key=lambda name: behind[name])}" if behind else ""
    return f"{counted(rows, 'row')} ({megabytes(size)}; {_by_stream(metrics, 'waiting')}){slowest}"


def _strategy(metrics: Metrics) -> str:
    if metrics.strategy is None:
        return ""
    return f"{metrics.strategy}; {metrics.choice}" if metrics.choice else metrics.strategy


def _advice(metrics: Metrics) -> list[str]:
    """Return what to change, the most important first."""
    said = [
        *_advice_on_memory(metrics),
        *_advice_on_work(metrics),
        *_advice_on_recall(metrics),
    ]
    for name, (_, words) in _UNUSED.items():
        if _count(metrics, name):
            streams = [stream for stream, each in metrics.streams.items() if getattr(each, name)]
            said.append(words.format(streams=" and ".join(streams)))
    if _count(metrics, "bad_importance"):
        rows = _by_stream(metrics, "bad_importance")
        said.append(f"repair the importance of {rows} rows: they count as 0")
    return said


def _advice_on_memory(metrics: Metrics) -> list[str]:
    is_full = _count(metrics, "evicted") + _count(metrics, "dropped") > 0
    recall = metrics.recall
    if not is_full or (recall is not None and recall.value >= _LITTLE_LOST):
        return []
    if metrics.timed_shards and metrics.fraction is not None and not metrics.forced:
        return ["a larger share of the CPU, or more shards on more cores, make the sample larger"]
    if metrics.budget_rows is not None and metrics.held_most < metrics.budget_rows:
        return ["memory was full in some shards and not in others: use fewer shards"]
    if metrics.fraction is not None:
        return ["more memory makes the sample larger"]
    return ["more memory or shorter windows; `penstock explain` tells how much a recall takes"]


def _advice_on_work(metrics: Metrics) -> list[str]:
    is_shed = any(_count(metrics, name) for name in ("not_admitted", "not_probed", "not_inserted"))
    recall = metrics.recall
    if not metrics.timed_shards or not is_shed:
        return []
    if recall is not None and recall.value >= _LITTLE_LOST:
        return []
    return ["a larger share of the CPU, more shards on more cores, or shorter windows"]


def _advice_on_recall(metrics: Metrics) -> list[str]:
    recall = metrics.recall
    if metrics.unseen:
        return ["give every step a chance above 0 in the strategy, and recall can be estimated"]
    if recall is None and len(metrics.streams) > 2 and metrics.budget_rows is not None:
        return ["to know the recall, replay a part of the streams with and without the budget"]
    if recall is None or recall.high - recall.low > _WIDE:
        if metrics.timed_shards and metrics.budget_rows is None:
            return ["wait: the estimate of recall gets better with every row"]
        return ["a larger Budget(monitor=...), or fewer shards, for a better estimate of recall"]
    return []


def _count(metrics: Metrics, name: str) -> int:
    return sum(getattr(stream, name) for stream in metrics.streams.values())


def _by_stream(metrics: Metrics, name: str) -> str:
    """Write a count of each stream that is not zero."""
    counts = {stream: getattr(each, name) for stream, each in metrics.streams.items()}
    return ", ".join(f"{stream} {count:,}" for stream, count in counts.items() if count)


def _share(recall: Estimate) -> str:
    """Write a share and its interval."""
    if recall.low == recall.high:
        return percent(recall.value)
    low, high = percent(recall.low), percent(recall.high)
    return f"{percent(recall.value)} (95% interval {low} to {high})"
