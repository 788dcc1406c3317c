"""Tasks, networks and pretraining that only studies use; by name the lab finds them as entry points.

To add one: a file, its line in `studies/pyproject.toml`, and `NUMERICS`, the version of its numbers, raised by hand
when they change; `tests/lab/training/golden.py` holds it to golden numbers.
"""
