"""Islands where the table lies: connected parts by alternating large-star and small-star joins (Kiveris et al., 2014).

Each round is two joins of a table of links with its own groups, so any engine that groups and joins can do it, and
nothing but a number comes back until the parts are asked for. A link is a pair of nodes (u, v); after the last round
each node points to the smallest of its part.

`store_counts` streams the lines here and joins them in memory by value, which is faster wherever the *values* fit. This
is for where not even those should leave the engine.
"""

from collections.abc import Sequence
from typing import Any

import ibis

from recombine.base.errors import TableError

_MOST_ROUNDS = 60  # the number of rounds grows with the logarithm of the longest chain, or its square


def value_links(lines: Any, factors: Sequence[str]) -> Any:
    """Links between the first value of each line and its others; a node is a value with its factor's place."""
    nodes = [ibis.literal(f"{place}:") + lines[name].cast("string") for place, name in enumerate(factors)]
    return ibis.union(*(lines.select(u=nodes[0], v=node) for node in nodes[1:]), distinct=True)


def large_star(links: Any) -> Any:
    """Every larger neighbour of a node is linked to the node's smallest neighbour, or to itself if it is smaller."""
    both = ibis.union(links.select("u", "v"), links.select(u=links.v, v=links.u))
    least = both.group_by("u").aggregate(smallest=both.v.min())
    least = least.select(node=least.u, least=ibis.least(least.u, least.smallest))
    met = both.join(least, both.u == least.node)
    return met.filter(met.v > met.u).select(u=met.v, v=met.least).distinct()


def small_star(links: Any) -> Any:
    """A node and its smaller neighbours are linked to the smallest of these."""
    down = links.select(u=ibis.greatest(links.u, links.v), v=ibis.least(links.u, links.v))
    least = down.group_by("u").aggregate(least=down.v.min())
    least = least.select(node=least.u, least=least.least)
    met = down.join(least, down.u == least.node)
    moved = ibis.union(met.select(u=met.v, v=met.least), met.select(u=met.u, v=met.least), distinct=True)
    return moved.filter(moved.u != moved.v)


def _stored(expression: Any, backend: Any) -> Any:
    """The answer to a question, kept by the engine itself."""
    if backend.name != "duckdb":
        return expression.cache()
    name = ibis.util.gen_name("parts")  # Ibis 12 drops what it caches by words that DuckDB 2 refuses
    backend.con.execute(f'CREATE TEMP TABLE "{name}" AS {backend.compile(expression)}')
    return backend.table(name)


def parts_in_engine(links: Any, backend: Any) -> Any:
    """A table of (u, v): each node that is not the smallest of its part beside the one that is.

    >>> engine = ibis.duckdb.connect()
    >>> pairs = "('0:x', '1:p'), ('0:x', '1:q'), ('0:y', '1:r')"
    >>> _ = engine.con.execute(f"CREATE TABLE links AS FROM (VALUES {pairs}) t(u, v)")
    >>> sorted(engine.to_pyarrow(parts_in_engine(engine.table("links"), engine))["v"].to_pylist())
    ['0:x', '0:x', '0:y']
    """
    state = None
    for _ in range(_MOST_ROUNDS):
        links = _stored(small_star(large_star(links)), backend)
        told = links.aggregate(links=links.count(), parts=links.v.nunique(), nodes=links.u.nunique())
        now = backend.to_pyarrow(told).to_pylist()[0]
        if now == state and now["links"] == now["nodes"]:
            return links
        state = now
    raise TableError(
        f"the parts were not found in {_MOST_ROUNDS} rounds of joins",
        why="the values hang together in chains that are too long for joins",
        instead="count on disk: recombine.store_counts",
    )
