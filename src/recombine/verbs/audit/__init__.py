"""What the data alone say: coverage, determinacy, leverage, dependence and redundancy.

To add a measurement: a function and a frozen dataclass, a field of `Audit`, a brute-force twin in `tests/twins.py`,
three known answers. A rule to be compared with: `additivity`. A sentence: `verdict`, by `architecture/sentences.md`.
"""
