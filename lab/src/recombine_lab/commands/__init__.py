"""The commands that the lab adds to `recombine`: sweep, runs, probe."""
