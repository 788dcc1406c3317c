"""Twenty generated screens in which twenty genes were never given alone: what an audit says of them is right.

Who was given with whom is drawn; whether a pair follows is worked out here by the rank of the rows themselves.
"""

from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import recombine

h5py = pytest.importorskip("h5py")

GENES, WITHOUT = 40, 20


def screen(path: Path, seed: int) -> list[tuple[str, ...]]:
    """Write a screen of 40 genes, 20 of them never alone, and say what was given in it."""
    rng = np.random.default_rng(seed)
    genes = [f"G{k:02}" for k in range(GENES)]
    alone = set(rng.permutation(genes)[WITHOUT:])
    pairs = [tuple(pair) for pair in combinations(genes, 2)]
    given: list[tuple[str, ...]] = [(), *((gene,) for gene in sorted(alone))]
    given += [pairs[k] for k in rng.choice(len(pairs), int(rng.integers(8, 30)), replace=False)]
    orders = [list(rng.permutation([*one, "ctrl"] if len(one) == 1 else [*one] or ["ctrl"])) for one in given]
    cells = [k for k in range(len(given)) for _ in range(int(rng.integers(1, 4)))]
    with h5py.File(path, "w") as file:
        obs = file.create_group("obs")
        obs.attrs.update({"encoding-type": "dataframe", "_index": "cell", "column-order": ["condition"]})
        column = obs.create_group("condition")
        column.attrs["encoding-type"] = "categorical"
        column["codes"], column["categories"] = np.array(cells, dtype=np.int16), ["+".join(one) for one in orders]
        obs["cell"] = [f"cell{k}" for k in range(len(cells))]
    return given


def follows(given: list[tuple[str, ...]], asked: list[tuple[str, ...]]) -> list[bool]:
    """Whether each set lies in the span of what was given, each with the level beside its genes."""
    genes = sorted({gene for one in (*given, *asked) for gene in one})

    def rows(sets: list[tuple[str, ...]]) -> Any:
        return np.array([[1.0, *(gene in one for gene in genes)] for one in sets])

    _, values, directions = np.linalg.svd(rows(given))
    span = directions[: int((values > 1e-9).sum())]
    return [bool(np.linalg.norm(row - span.T @ (span @ row)) < 1e-6) for row in rows(asked)]


@pytest.mark.parametrize("seed", range(20))
def test_an_audit_says_rightly_which_pairs_follow(tmp_path: Path, seed: int) -> None:
    path = tmp_path / "screen.h5ad"
    given = screen(path, seed)
    proposal = recombine.propose(str(path))
    assert proposal.sets == {"genes": "condition:+"}
    audit = recombine.audit(str(path), sets=proposal.sets)
    (found,) = audit.sets
    seen = {gene for one in given for gene in one}
    assert (found.elements, found.alone) == (len(seen), GENES - WITHOUT)
    asked = [one for size in (1, 2) for one in combinations(sorted(seen), size) if one not in set(given)]
    table = audit.explain([([*one],) for one in asked])
    assert [rung == "determined" for rung in table["rung"].to_pylist()] == follows(given, asked)
    assert audit.counts.determined == sum(follows(given, asked))
    audit.page(tmp_path / "screen.html")
