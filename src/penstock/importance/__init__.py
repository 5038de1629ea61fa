"""How much a tuple matters, in the words of the user, and how much a result of several does.

=============  ====================================================================
module         has
=============  ====================================================================
`definitions`  what importance can be made of: `Lookup`, `Histogram`, functions
`scoring`      a definition over the rows of a table
`schedule`     `Importance`: the definition of a stream, which may change with time
`results`      the importance of a result, from that of its members
=============  ====================================================================
"""

from penstock.importance.definitions import Definition, DefinitionLike, Histogram, Lookup
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
    "importance_of",
    "result_importance",
]
