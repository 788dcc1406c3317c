"""Anybody's predictions: how they hold on combinations that were not seen, and why they fail there.

To add a score: `scoring`. A rule to be compared with: `baselines`. A number after every epoch: `scoreboard/yardstick`,
by the evaluation's own formula; `tests/scoreboard/test_equals_evaluate.py` holds the two together.
"""
