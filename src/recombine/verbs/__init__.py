"""One folder a verb. Not in the root: a package `recombine.audit` would take the place of the function."""
