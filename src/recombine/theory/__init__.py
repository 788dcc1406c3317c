"""What a learner that weighs conjunctions of factors would answer on combinations that it has not seen, and why."""
