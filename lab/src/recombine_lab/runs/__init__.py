"""Runs: what was trained, how it went, and the store that never loses one. Nothing here needs torch."""
