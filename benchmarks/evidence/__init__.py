"""Planted worlds for every verb that counts evidence, and what its intervals, grades and sentences come to in them.

A new family is a function in `audit_worlds` or `evaluate_worlds` and a line in the dictionary at the end of that file.
"""
