"""Studies: figures of the papers run again, and some of our own.

Each is a grid of points that are measured independently, in this process or spread over Spark.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock.errors import SpecificationError, did_you_mean, must
from penstock.report.tables import Table
from penstock.studies import (
    ayad04_choice,
    ayad04_example1,
    ayad04_fig7,
    ayad05_offline,
    ayad05_random,
    ayad05_semantic,
    ayad05_uniform,
    coverage,
    drift,
    fairness,
    gedik05_fig2,
    gedik05_fig7,
    gedik05_fig8,
    gedik05_fig9,
    gedik05_fig10,
    gedik05_fig11,
    gedik05_fig12,
    gedik05_fig13,
    gedik05_fig14,
    gedik05_fig15,
    kulkarni08_fig2,
    kulkarni08_fig3,
    kulkarni08_fig4,
    kulkarni08_fig5,
    kulkarni08_redefined,
    kulkarni08_table6,
    kulkarni08_values,
    srivastava04_fig5,
    srivastava04_fig6,
    srivastava04_fig7,
    srivastava04_fig8,
    srivastava04_fig9,
    srivastava04_fig10,
    srivastava04_fig11,
    srivastava04_fraction,
    srivastava04_hard,
    srivastava04_more_joins,
    srivastava04_s2,
    srivastava04_w1,
)
from penstock.studies.study import Study

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["STUDIES", "Study", "Table", "study_of"]

STUDIES: Mapping[str, Study[Any, Any]] = {
    "srivastava04-fig5": srivastava04_fig5.STUDY,  # the age curve of a trace of two sites
    "srivastava04-fig6": srivastava04_fig6.STUDY,  # recall against memory on it
    "srivastava04-w1": srivastava04_w1.STUDY,  # and against a window that is too long
    "srivastava04-fig7": srivastava04_fig7.STUDY,  # recall against memory for three age curves
    "srivastava04-fig8": srivastava04_fig8.STUDY,  # error of a sample's average against memory
    "srivastava04-s2": srivastava04_s2.STUDY,  # the same for an attribute of the other stream
    "srivastava04-fig9": srivastava04_fig9.STUDY,  # and against how much the attribute varies
    "srivastava04-fig10": srivastava04_fig10.STUDY,  # two joins in one budget, by skew
    "srivastava04-fig11": srivastava04_fig11.STUDY,  # by age curve
    "srivastava04-more-joins": srivastava04_more_joins.STUDY,  # and with more joins
    "srivastava04-fraction": srivastava04_fraction.STUDY,  # how much memory can sample
    "srivastava04-hard": srivastava04_hard.STUDY,  # what every online strategy loses
    "kulkarni08-fig2": kulkarni08_fig2.STUDY,  # importance against memory
    "kulkarni08-fig3": kulkarni08_fig3.STUDY,  # against the window
    "kulkarni08-fig4": kulkarni08_fig4.STUDY,  # against the number of values, all equally important
    "kulkarni08-values": kulkarni08_values.STUDY,  # against more numbers of values
    "kulkarni08-fig5": kulkarni08_fig5.STUDY,  # against the unproductivity threshold
    "kulkarni08-table6": kulkarni08_table6.STUDY,  # what it saves to recompute priorities rarely
    "kulkarni08-redefined": kulkarni08_redefined.STUDY,  # importance that is redefined
    "ayad05-offline": ayad05_offline.STUDY,  # results against CPU, known in advance and online
    "ayad05-random": ayad05_random.STUDY,  # output against CPU, work being shed by lot
    "ayad05-semantic": ayad05_semantic.STUDY,  # by value, and what statistics may cost
    "ayad05-uniform": ayad05_uniform.STUDY,  # error of aggregates over a sample against CPU
    "ayad04-example1": ayad04_example1.STUDY,  # what three plans of one query need
    "ayad04-fig7": ayad04_fig7.STUDY,  # what is left of each with drop boxes
    "ayad04-choice": ayad04_choice.STUDY,  # which plan to take then
    "gedik05-fig2": gedik05_fig2.STUDY,  # the throttle follows the rates
    "gedik05-fig7": gedik05_fig7.STUDY,  # greedy harvest fractions against the optimum
    "gedik05-fig8": gedik05_fig8.STUDY,  # time to set them, by sub-windows
    "gedik05-fig9": gedik05_fig9.STUDY,  # by throttle fraction
    "gedik05-fig10": gedik05_fig10.STUDY,  # from three sides
    "gedik05-fig11": gedik05_fig11.STUDY,  # results of GrubJoin against rates
    "gedik05-fig12": gedik05_fig12.STUDY,  # against how much time says of values
    "gedik05-fig13": gedik05_fig13.STUDY,  # against the number of streams
    "gedik05-fig14": gedik05_fig14.STUDY,  # against the adaptation interval
    "gedik05-fig15": gedik05_fig15.STUDY,  # rows dropped against buffers
    "coverage": coverage.STUDY,  # how far intervals of a sample can be trusted
    "drift": drift.STUDY,  # recall over time when the streams change
    "fairness": fairness.STUDY,  # importance against fairness between rows
}


def study_of(name: str) -> Study[Any, Any]:
    """Return the study of that id.

    Raises
    ------
    SpecificationError
        If there is none.

    Examples
    --------
    >>> study_of("drift").title
    'recall over time when the age curve, or the hot keys, change half-way'
    """
    if name in STUDIES:
        return STUDIES[name]
    hint = did_you_mean(name, STUDIES, "see them by: penstock study list")
    known = ", ".join(f'"{each}"' for each in STUDIES)
    raise SpecificationError(must("study", f"one of {known}", name, hint))
