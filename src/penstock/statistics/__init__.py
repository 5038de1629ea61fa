"""What is learnt of the streams while they run: one estimator per file."""
