"""Algebra and statistics over arrays: groups, graphs, the additive design, intervals, resampling, tests."""
