"""All that `penstock explain` answers: about the sample, about memory, and about the processor."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from penstock.capacity.cpu_explanation import CpuExplanation
from penstock.capacity.explanation import Explanation
from penstock.capacity.prediction import predict
from penstock.capacity.recall_lines import recall_lines
from penstock.capacity.recommendation import try_strategies, try_work_strategies
from penstock.report.recall_plots import CPU, MEMORY, BudgetQuestion, save_budget_plot

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path
    from typing import Self

    import pyarrow as pa

    from penstock.capacity.recommendation import Step
    from penstock.capacity.stream_statistics import Statistics
    from penstock.report.terminal import Terminal
    from penstock.spec import Specification

__all__ = ["Answers"]


@dataclass(frozen=True, eq=False)
class Answers:
    """The answers about a join and its budget.

    Attributes
    ----------
    sample
        About the sample, and about the limit of memory if there is one.
    cpu
        About the share of the processor; None if it is not limited.
    """

    sample: Explanation
    cpu: CpuExplanation | None

    @classmethod
    def of(
        cls,
        join: Specification,
        statistics: Statistics,
        target_recall: float,
        shards: int,
        remarks: Sequence[str] = (),
    ) -> Self:
        """Predict what the join would find with its budget."""
        prediction = predict(join, statistics, shards)
        cpu = None if prediction.cpu is None else CpuExplanation(prediction.cpu, target_recall)
        return cls(Explanation(join, prediction, target_recall, remarks=remarks), cpu)

    @property
    def limits_memory(self) -> bool:
        """Whether memory is limited."""
        return self.sample.prediction.rows is not None

    @property
    def drawn(self) -> str:
        """What recall is drawn against."""
        return "memory" if self.limits_memory else "the share of a core"

    def warnings(self) -> list[str]:
        """Describe what is wrong with the sample, or makes a prediction too good."""
        return self.sample.warnings() + ([] if self.cpu is None else self.cpu.warnings())

    def tried_on(self, tables: dict[str, pa.Table], step: Step) -> Self:
        """Run the strategies over the sample, with each limit by itself."""
        join, results = self.sample.join, self.sample.prediction.statistics.results
        budget = join.budget
        answers = self
        if self.limits_memory and budget is not None:
            memory_only = replace(join, budget=replace(budget, cpu=None, costs=None))
            tried = try_strategies(memory_only, tables, results, step)
            answers = replace(answers, sample=replace(self.sample, tried=tried))
        if self.cpu is not None and budget is not None:
            cpu_only = replace(join, budget=replace(budget, rows=None, memory=None))
            names = self.cpu.prediction.names
            tried = try_work_strategies(names, cpu_only, tables, results, step)
            answers = replace(answers, cpu=replace(self.cpu, tried=tried))
        return answers

    def as_json(self) -> dict[str, object]:
        """Return all figures, for programs."""
        figures = self.sample.as_json() | {"warnings": self.warnings()}
        if self.limits_memory:
            figures |= self.sample.memory_json(self.sample.prediction.curve())
        if self.cpu is not None:
            figures["cpu"] = self.cpu.as_json(self.cpu.prediction.curve())
        if self.cpu is not None and self.limits_memory:
            figures["lower_recall"] = self.sample.prediction.lower_recall
        return figures

    def draw(self, picture: Path) -> None:
        """Draw recall against memory, or against the share of a core if only that is limited."""
        prediction, target = self.sample.prediction, self.sample.target_recall
        if self.limits_memory or self.cpu is None:
            curve = prediction.curve()
            best, axis, amounts, curves = prediction.best, MEMORY, curve.rows, curve.recall
            needed = float(prediction.rows_for(target, best))
            question = BudgetQuestion(self.sample.rows, target, needed)
        else:
            cpu = self.cpu.prediction
            shares = cpu.curve()
            best, axis, amounts, curves = cpu.strategy, CPU, shares.shares, shares.recall
            question = BudgetQuestion(cpu.share, target, cpu.share_for(target))
        resource = "memory" if axis is MEMORY else "the processor"
        save_budget_plot(
            picture,
            axis=axis,
            amounts=amounts,
            recall=recall_lines(best, prediction.recall, curves),
            title=f"How much of the join does {resource} buy?",
            subtitle=self.sample.sample(),
            question=question,
        )

    def show(self, terminal: Terminal) -> None:
        """Print all of it."""
        sample = self.sample
        terminal.say(sample.sample())
        terminal.say()
        terminal.table(*sample.streams())
        terminal.say()
        if self.limits_memory:
            terminal.table(*sample.strategies())
            terminal.say()
            if sample.tried:
                terminal.table(*sample.trials())
                terminal.say()
            terminal.say(sample.choice())
        if self.cpu is not None:
            self._show_cpu(terminal, self.cpu)
        for hint in sample.hints():
            terminal.say(f"Hint: {hint}")
        for warning in self.warnings():
            terminal.say(f"Beware: {warning}")

    def _show_cpu(self, terminal: Terminal, cpu: CpuExplanation) -> None:
        if self.limits_memory:
            terminal.say()
        terminal.table(*cpu.strategies())
        terminal.say()
        if cpu.tried:
            terminal.table(*cpu.trials())
            terminal.say()
        terminal.say(cpu.least())
        terminal.say(cpu.choice())
        if self.limits_memory:
            terminal.say(cpu.both(self.sample.prediction))
        terminal.say(cpu.costs())
