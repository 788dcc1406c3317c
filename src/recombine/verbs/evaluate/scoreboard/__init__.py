"""A model's answers, epoch by epoch, on combinations that it has seen and on those that it has not."""
