"""Auctions and bids from two topics of Kafka, joined within a budget."""
