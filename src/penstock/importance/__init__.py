"""The importance of a row, as the user defines it, and that of a result.

=============  ====================================================================
module         has
=============  ====================================================================
`definitions`  the kinds of definitions: `Lookup`, `Histogram`, functions
`scoring`      the importance of a table's rows by a definition
`schedule`     `Importance`: the definition of a stream, which may change with time
`repeating`    a schedule that repeats, every day for instance
`turns`        which definition of a schedule holds at a time
`results`      the importance of a result, from that of its members
=============  ====================================================================
"""

from penstock.importance.definitions import Definition, DefinitionLike, Histogram, Lookup
from penstock.importance.repeating import Repeating
from penstock.importance.results import RESULTS, result_importance
from penstock.importance.schedule import Importance, ImportanceLike, importance_of

__all__ = [
    "RESULTS",
    "Definition",
    "DefinitionLike",
    "Histogram",
    "Importance",
    "ImportanceLike",
    "Lookup",
    "Repeating",
    "importance_of",
    "result_importance",
]
