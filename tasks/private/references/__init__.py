"""Reference tables of promises about a population: read in private, told of by keyed digests."""
