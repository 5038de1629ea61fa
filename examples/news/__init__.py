"""Which news matter? Two agencies joined by story, with the memory for a few of their items."""
