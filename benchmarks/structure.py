"""What the sources measure, package by package: files, lines, functions, words about them, names, cycles.

    python benchmarks/structure.py [FOLDER]      FOLDER is a checkout; this repository unless given

Code lines are those without docstrings, comments and blank lines. A class name with several meanings is one that is
given to more than one class. An import cycle is a set of modules that reach each other; lazy ones count imports inside
functions too.
"""

import ast
import io
import statistics
import sys
import tokenize
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

Trees = Mapping[str, ast.Module]


def main() -> None:
    checkout = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parents[1]
    packages = {path.parent.name: path.parent for path in sorted(checkout.glob("**/src/recombine*/__init__.py"))}
    columns = {name: measures(sources(path)) for name, path in packages.items()}
    if len(packages) > 1:
        columns["all"] = measures({name: text for path in packages.values() for name, text in sources(path).items()})
    print(f"{'':38}" + "".join(f"{name:>20}" for name in columns))
    for measure in next(iter(columns.values())):
        print(f"{measure:38}" + "".join(f"{column[measure]:>20}" for column in columns.values()))


def sources(package: Path) -> dict[str, str]:
    """The text of each module, by its dotted name."""
    return {
        ".".join(path.relative_to(package.parent).with_suffix("").parts).removesuffix(".__init__"): path.read_text()
        for path in sorted(package.rglob("*.py"))
    }


def measures(texts: Mapping[str, str]) -> dict[str, str]:
    """Everything that is measured, as it is printed."""
    trees = {name: ast.parse(text) for name, text in texts.items()}
    lengths = [len(text.splitlines()) for text in texts.values()]
    functions = [node for tree in trees.values() for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    sizes = [(node.end_lineno or node.lineno) - node.lineno + 1 for node in functions]
    classes = [node for tree in trees.values() for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]
    counts = [_code_and_words(texts[name], trees[name]) for name in texts]
    code, words = (sum(part) for part in zip(*counts, strict=True))
    repeated = [name for name, times in Counter(node.name.lstrip("_") for node in classes).items() if times > 1]
    return {
        "files": f"{len(texts):,}",
        "lines": f"{sum(lengths):,}",
        "code lines": f"{code:,}",
        "docstrings and comments, of the code": f"{words / code:.2f}",
        "file, median / longest": f"{statistics.median(lengths):.0f} / {max(lengths)}",
        "function, median / p90 / longest": (
            f"{statistics.median(sizes):.0f} / {np.percentile(sizes, 90):.0f} / {max(sizes)}"
        ),
        "private functions called once": f"{_called_once(trees):,}",
        "dataclasses": f"{sum('dataclass' in ast.unparse(one) for node in classes for one in node.decorator_list):,}",
        "class names with several meanings": f"{len(repeated)}",
        "import cycles": f"{len(_cycles(trees, lazy=False))}",
        "import cycles, lazy ones too": f"{len(_cycles(trees, lazy=True))}",
    }


def _code_and_words(text: str, tree: ast.Module) -> tuple[int, int]:
    """Lines that hold code, and lines that hold a docstring or a comment; a comment behind code makes it both."""
    kinds = {tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER, tokenize.COMMENT}
    code, comments = set(), set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            comments.add(token.start[0])
        elif token.type not in kinds:
            code |= set(range(token.start[0], token.end[0] + 1))
    strings = {
        line
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
        for line in range(node.lineno, (node.end_lineno or node.lineno) + 1)
    }
    return len(code - strings), len(strings | comments)


def _called_once(trees: Trees) -> int:
    """Private functions of modules to which one name in their module leads."""
    found = 0
    for tree in trees.values():
        used = Counter(node.id for node in ast.walk(tree) if isinstance(node, ast.Name))
        private = [node.name for node in tree.body if isinstance(node, ast.FunctionDef) and node.name.startswith("_")]
        found += sum(used[name] == 1 for name in private)
    return found


def _cycles(trees: Trees, *, lazy: bool) -> list[int]:
    """The sizes of sets of modules that import each other."""
    names = {name: place for place, name in enumerate(trees)}
    edges = [
        (place, names[found])
        for place, tree in enumerate(trees.values())
        for found in _imported(tree, lazy=lazy, known=names)
        if names[found] != place
    ]
    if not edges:
        return []
    rows, columns = np.array(edges).T
    graph = coo_array((np.ones(len(edges)), (rows, columns)), shape=(len(trees), len(trees)))
    _, labels = connected_components(graph, directed=True, connection="strong")
    return [int(size) for size in np.bincount(labels) if size > 1]


def _imported(tree: ast.Module, *, lazy: bool, known: Mapping[str, int]) -> Iterator[str]:
    for node in _statements(tree, lazy=lazy):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in known)
        elif isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                name = f"{node.module}.{alias.name}"
                yield from [name] if name in known else [node.module] if node.module in known else []


def _statements(tree: ast.AST, *, lazy: bool) -> Iterator[ast.AST]:
    """Every statement; without those inside functions unless lazy, and never those for type checkers alone."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
            continue
        if not lazy and isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        yield node
        yield from _statements(node, lazy=lazy)


if __name__ == "__main__":
    main()
