"""Compiles the kernels before the tests, as ``penstock warm`` does.

    python -m tests.compile_kernels

Otherwise two test processes, and the workers of their Spark sessions, would each compile the same.
"""

from __future__ import annotations

from penstock.warm import compile_kernels

if __name__ == "__main__":
    compile_kernels()
