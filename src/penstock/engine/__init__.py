"""The engine: windows, kernels and the operator; no Spark, no policy."""
