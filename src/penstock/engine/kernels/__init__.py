"""Compiled loops over plain arrays: no Arrow, no policy, no Spark.

Every function here is a pure function of its arrays and has a naive twin in
``tests/oracles``. They run with the JIT off as well (``NUMBA_DISABLE_JIT=1``), only slower.
"""
