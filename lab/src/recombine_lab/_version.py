"""The version, that of `recombine`: both are released together."""

__version__ = "0.2.0"
