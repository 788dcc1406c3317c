"""The parts of the task that is made of a user's own table."""
