"""How many bids does a seller's auction get? From a tenth of the memory, with error bars."""
