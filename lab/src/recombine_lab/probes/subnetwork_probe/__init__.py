"""Subnetworks: whether parts of a network can be taken out one by one, held against controls."""
