"""Rehearsal: seen combinations held out as the unseen ones are, and any learner tried on them."""
