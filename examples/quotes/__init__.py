"""A burst at the stock exchange: trades joined with the quotes before them, in half the time."""
