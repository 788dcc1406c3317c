"""Sweeps: grids of runs over one machine or a Ray cluster."""
