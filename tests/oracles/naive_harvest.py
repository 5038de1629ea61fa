"""Window harvesting as it is printed: the cost model of section 4.3 and Figure 5 of `gedik05`."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from penstock.statistics.harvest_model import HarvestModel

Floats = npt.NDArray[np.float64]


def cost_and_output(model: HarvestModel, fractions: Floats) -> tuple[float, float]:
    """C and O, with S, N and P for whole sub-windows, by their definitions."""
    m = model.streams
    cost = output = 0.0
    for i in range(m):
        reaching, own = 1.0, 0.0
        for j in range(m - 1):
            r = model.orders[i, j]
            held = model.rates[r] * model.windows[r]
            own += fractions[i, j] * held * reaching
            scores = model.scores[i, r, : model.counts[r]]
            taken = round(fractions[i, j] * model.counts[r])
            share = np.sort(scores)[::-1][:taken].sum() / scores.sum()
            reaching *= share * model.selectivity[i, r] * held
        cost += model.rates[i] * own
        output += model.rates[i] * reaching
    return float(cost), float(output)


def greedy_pick(  # noqa: C901 -- as printed
    model: HarvestModel, throttle: float, metric: str
) -> Floats:
    """Figure 5, line by line."""
    m = model.streams
    budget = throttle * cost_and_output(model, np.ones((m, m - 1)))[0] * (1 + 1e-9)
    step = 1.0 / model.counts[model.orders]
    initialized = [False] * m
    frozen = np.zeros((m, m - 1), bool)
    z = np.zeros((m, m - 1))
    cost_now = output_now = 0.0

    def evaluate(setting: Floats) -> float:
        cost, output = cost_and_output(model, setting)
        if cost > budget:
            return -1.0
        if metric == "best-output":
            return output if output > output_now else 0.0
        if metric == "best-output-per-cost":
            return output / cost if output > output_now else 0.0
        return (output - output_now) / (cost - cost_now)

    while True:
        best, u, v = 0.0, -1, -1
        for i in range(m):
            if initialized[i]:
                for j in range(m - 1):
                    if frozen[i, j] or z[i, j] > 1 - 1e-9:
                        continue
                    trial = z.copy()
                    trial[i, j] = min(1.0, z[i, j] + step[i, j])
                    score = evaluate(trial)
                    if score > best * (1 + 1e-12):
                        best, u, v = score, i, j
                    elif score < 0:
                        frozen[i, j] = True
            else:
                trial = z.copy()
                trial[i] = step[i]
                score = evaluate(trial)
                if score > best * (1 + 1e-12):
                    best, u = score, i
        if u < 0:
            return z
        if initialized[u]:
            z[u, v] = min(1.0, z[u, v] + step[u, v])
        else:
            initialized[u] = True
            z[u] = step[u]
        cost_now, output_now = cost_and_output(model, z)


def best_output(model: HarvestModel, throttle: float) -> float:
    """The optimum, by trying all settings."""
    m = model.streams
    budget = throttle * cost_and_output(model, np.ones((m, m - 1)))[0] * (1 + 1e-9)
    counts = model.counts[model.orders]
    choices = [range(n + 1) for n in counts.ravel()]
    best = 0.0
    for taken in product(*choices):
        cost, output = cost_and_output(model, np.array(taken).reshape(counts.shape) / counts)
        if cost <= budget:
            best = max(best, output)
    return best
