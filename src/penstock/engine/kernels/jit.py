"""How the kernels are compiled."""

from __future__ import annotations

from numba import njit

# Without Numba's reference counting: the kernels allocate nothing and keep nothing, yet with it
# every call of an inner step would count references to all the arrays that it is handed, atomically,
# which made the loop three times slower. Division follows NumPy (no check for zero on every one:
# the divisors are settings and never zero).
kernel = njit(cache=True, error_model="numpy", _nrt=False)
