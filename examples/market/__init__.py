"""New sellers: bids on auctions of people who joined lately. Three streams, in SQL."""
