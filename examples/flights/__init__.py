"""When do aircraft come back? A year of departures, joined with the next ones of the same plane."""
