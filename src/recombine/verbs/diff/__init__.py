"""Two saved results of the same verb: what changed, and whether it is more than chance.

To add a kind of result that can be compared, or something that may change in one: a file that returns `Findings`, its
line in `diff`; planted changes in `tests/diff/`, all found and none invented.
"""
