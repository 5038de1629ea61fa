"""Join orders for windows of which only parts are probed."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations, product
from typing import TYPE_CHECKING

import numpy as np
import pytest

from penstock.statistics.harvest_frontier import best_harvest
from penstock.statistics.harvest_orders import best_harvest_in_any_order, orders_for_parts
from penstock.studies.harvest_problems import KINDS, Kind, problem

if TYPE_CHECKING:
    from penstock.statistics.harvest_model import HarvestModel

THROTTLES = (0.02, 0.1, 0.3)


def _all_orders(streams: int) -> list[np.ndarray]:
    own = [permutations([j for j in range(streams) if j != i]) for i in range(streams)]
    return [np.array(orders, np.int64) for orders in product(*own)]


def _at_cost(model: HarvestModel, budget: float) -> float:
    return best_harvest(model, min(1.0, budget / model.full_cost), parts=True).output


class TestOrdersForParts:
    @pytest.mark.parametrize("kind", KINDS)
    @pytest.mark.parametrize("seed", range(5))
    def test_no_other_order_costs_less(self, kind: Kind, seed: int) -> None:
        model = problem(kind, seed, streams=4, count=5)
        steps = model.table.steps
        taken = np.random.default_rng(seed).integers(1, steps + 1)
        # Fractions go with the window, not with the hop.
        of_window = np.ones((4, 4))
        np.put_along_axis(of_window, model.orders, taken / steps, axis=1)

        def figures(orders: np.ndarray) -> tuple[float, float]:
            fractions = np.take_along_axis(of_window, orders, axis=1)
            harvest = replace(model, orders=orders).harvest(fractions)
            return harvest.cost, harvest.output

        cost, output = figures(orders_for_parts(model, taken / steps))
        # Directions share nothing: each one's orders are tried beside the others as they are.
        for i in range(4):
            for own in permutations(model.orders[i].tolist()):
                orders = orders_for_parts(model, taken / steps)
                orders[i] = own
                other = figures(orders)
                assert cost <= other[0] * (1 + 1e-9)
                assert output == pytest.approx(other[1])


class TestBestHarvestInAnyOrder:
    @pytest.mark.parametrize("kind", KINDS)
    @pytest.mark.parametrize("throttle", THROTTLES)
    def test_near_the_best_of_all_orders(self, kind: Kind, throttle: float) -> None:
        found = []
        for seed in range(8):
            model = problem(kind, seed)
            budget = throttle * model.full_cost
            best = max(_at_cost(replace(model, orders=each), budget) for each in _all_orders(3))
            harvest = best_harvest_in_any_order(model, throttle)
            assert harvest.cost <= budget * (1 + 1e-9)
            assert harvest.output >= _at_cost(model, budget) * (1 - 1e-9)
            found.append(harvest.output / best)
        assert np.mean(found) >= 0.95

    @pytest.mark.parametrize("kind", KINDS)
    def test_all_of_the_cost_gives_all_of_the_output(self, kind: Kind) -> None:
        model = problem(kind, 1)
        harvest = best_harvest_in_any_order(model, 1.0)
        assert harvest.output == pytest.approx(model.full_output)

    def test_where_nothing_costs_anything_all_is_probed(self) -> None:
        model = replace(problem("flat", 0), rates=np.zeros(3))
        assert best_harvest_in_any_order(model, 0.5).fractions.tolist() == [[1.0, 1.0]] * 3
