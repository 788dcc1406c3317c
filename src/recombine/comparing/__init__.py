"""Two saved results of the same verb: what changed, and whether it is more than chance."""
