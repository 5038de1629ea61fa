"""What the field `likeliness` of a row means: four things, of which a join has one.

A row in memory is one cache line of 64 bytes with no room for a further number, and no join needs
two of these at a time. So they share a field, and code names the one that it means, compiled code
as well. What only copies the field has its own name (decision 81).

================  ==================================================================================
name              in which joins
================  ==================================================================================
LIKELINESS        memory is limited or a sample is drawn, and the strategy needs frequencies
PREDICTED_FIT     only work is limited, and the strategy needs measured fits
INITIAL_PRIORITY  the order is a `ResidencePriority` with initial priorities; it needs no
                  frequencies
ROW_NUMBER        a window is one of rows; such a join has no budget
================  ==================================================================================
"""

from __future__ import annotations

from typing import Final

# How likely a row is to match, by its key, when it came; 1 on average, 0 if not observed.
LIKELINESS: Final = "likeliness"
# The share of the other stream's rows that was predicted to fit it (`engine.measured_fits`).
PREDICTED_FIT: Final = LIKELINESS
# The priority that it has until priorities are computed (`Strategy.begin_with`).
INITIAL_PRIORITY: Final = LIKELINESS
# How many rows of its stream came before it.
ROW_NUMBER: Final = LIKELINESS
