"""The version, that of `recombine`: both are released together."""

__version__ = "0.1.0"
