"""Training: fit a model to a task, many seeds at once, and resume after anything.

To add an option: `recipe`; it becomes part of a run's key.
"""
