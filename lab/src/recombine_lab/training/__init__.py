"""Training: fit a model to a task, many seeds at once, and resume after anything."""
