"""Numbers of the kinds of retention, as the compiled loop knows them."""

from __future__ import annotations

from typing import Final

KEEP_ALL: Final = 0  # the exact join
QUEUE: Final = 1
HEAP: Final = 2
GRID: Final = 3
SAMPLE: Final = 4
IJOIN: Final = 5
