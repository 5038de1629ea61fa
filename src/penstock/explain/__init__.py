"""`penstock explain`: what a budget would give on a sample of the user's own data."""
