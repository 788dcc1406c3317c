"""Any table through Ibis: its support (which combinations occur, how often), its space, its sides, its columns.

An engine: a database that Ibis knows needs nothing. A kind of file that DuckDB reads: its ending in `locations`, how it
is opened in `sources`. Any other kind: a `Reader` (`readers`), here or in a package of its own. Its line in
`tests/data/test_engines.py`, which every engine passes.

A rule by which columns are proposed: `proposal_rules`, a function of one column's profile, its line in the docstring's
table and in `docs/reading.md`; `tests/data/` holds it against what experts chose.
"""
