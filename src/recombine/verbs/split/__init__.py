"""Splits that hold out combinations, and checks of splits that somebody already has.

To add a splitter: its settings and `assign`, and `promise` where it promises more than its guarantee; its line in
`tests/split/test_splitters.py`, so that the checker sees it on 200 tables. An invariant: `invariants`, and a broken
splitter in `tests/split/test_checker.py` that it must catch. A check of a lint: a function in `lint/` that returns a
`LintCheck`, its place in `lint/lint`.
"""
