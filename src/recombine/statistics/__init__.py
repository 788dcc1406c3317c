"""Distributions, intervals, resampling by combination, rank correlation, multiplicity: arrays in, numbers out."""
