"""Cells from real tables: their factors, their supports and their counts; inputs are real, or made up from the words.

CelebA's inputs are the other attributes, all real. The pairs of MIT-States, C-GQA and UT-Zappos and the rows of
Waterbirds and SCAN come without pictures, so their inputs are letters, tokens or drawn places, with noise.
"""

import os
import zlib
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from recombine.base.seeds import derived
from validity_cells.data import Array, Data, Rows, data_of

ROWS, ASKED = 1500, 800
LETTERS = 32


def folder() -> Path:
    """Where the data sets lie."""
    return Path(os.environ.get("RECOMBINE_DATA", "data"))


@cache
def _read(name: str) -> Any:
    path = folder() / name
    return pd.read_parquet(path) if path.suffix == ".parquet" else pd.read_csv(path, keep_default_na=False)


def celeba(factors: tuple[str, ...], target: str, unseen: int) -> Data:
    """Attributes as factors, another one as target, all the others as inputs; `unseen` combinations are held out."""
    table = _read("factors/celeba.parquet")
    names = [name for name in table.columns if table[name].dtype == bool]
    rng = np.random.default_rng(derived(0, "celeba", repr((factors, target))))
    inputs = table[[name for name in names if name not in (*factors, target)]].to_numpy() * 2.0 - 1.0
    codes = table[list(factors)].to_numpy().astype(np.int64)
    rows = Rows(inputs, table[target].to_numpy().astype(np.int64), codes)
    return _held_out(rows, _drawn_combinations(codes, unseen, rng), rng)


def waterbirds(*, by: str, noise: float, unseen: int = 0) -> Data:
    """Which kind of bird: by species and scene with `unseen` held out, or `by="bird"` with the rare groups unseen."""
    table = _read("factors/waterbirds.parquet")
    rng = np.random.default_rng(derived(0, "waterbirds", by, str(noise)))
    if by == "species":
        table = table[table["species"].isin(table["species"].value_counts().index[:40])]
    species, scene = (pd.factorize(table[name], sort=True)[0] for name in ("species", "background_scene"))
    bird = pd.factorize(table["bird"], sort=True)[0]
    kinds, kept = rng.normal(size=(2, 8)), rng.normal(size=(species.max() + 1, 8))
    birds = (kinds[bird] + kept[species]) / 4
    inputs = np.concatenate([birds, rng.normal(size=(4, 8))[scene] / np.sqrt(8)], axis=1)
    inputs += noise * rng.normal(size=inputs.shape) / np.sqrt(8)
    codes = np.stack([species if by == "species" else bird, scene], axis=1)
    if by == "species":
        held = _drawn_combinations(codes, unseen, rng)
    else:
        train = (table["split"] == "train").to_numpy()
        home = pd.crosstab(bird[train], scene[train]).to_numpy()
        held = np.argwhere(home < home.sum(axis=0) / 2)
    return _held_out(Rows(inputs, bird, codes), held, rng)


def pairs(name: str, target: str, *, noise: float, most: int = 12, summed: bool = False) -> Data:
    """Attribute and object, as letters with noise; the published split says which pairs are seen."""
    rng = np.random.default_rng(derived(0, name, target, repr((noise, most, summed))))
    table = _pairs(name)
    objects = table["obj"].value_counts().index[:most]
    table = table[table["obj"].isin(objects)]
    attributes = table[table["seen"]]["attr"].value_counts().index[: 2 * most]
    table = table[table["attr"].isin(attributes)]
    table = table.loc[table.index.repeat(table["count"])]
    codes = np.stack([pd.factorize(table[column], sort=True)[0] for column in ("attr", "obj")], axis=1)
    of_attributes, of_objects = (letters(table[column]) for column in ("attr", "obj"))
    inputs = of_attributes + of_objects if summed else np.concatenate([of_attributes, of_objects], axis=1)
    inputs = inputs + noise * rng.normal(size=inputs.shape) / np.sqrt(LETTERS)
    asked = codes[:, 1] if target == "obj" else codes[:, 0]
    held = np.unique(codes[~table["seen"].to_numpy()], axis=0)
    return _held_out(Rows(inputs, asked, codes), held, rng)


def _pairs(name: str) -> Any:
    """attr, obj, whether the pair is seen, how many rows it has."""
    if name == "ut_zappos":
        listed = _read("factors/ut_zappos_pairs.csv").assign(seen=lambda table: table["split"] == "train")
        both = listed.groupby(["attr", "obj"], sort=False)["seen"].any().reset_index()
        return both.assign(count=30)
    images, group = {
        "mit_states": ("factors/mit_states_images.parquet", "natural_pair_group"),
        "cgqa": ("factors/cgqa_images.parquet", "std_pair_group"),
    }[name]
    table = _read(images)
    counted = table.groupby(["attr", "obj", group], observed=True).size().reset_index(name="count")
    return counted.assign(seen=counted[group] == "train")


def letters(words: Any) -> Array:
    """Each word as counts of its three-letter pieces, hashed, of length 1: (n, 32)."""
    kinds, place = np.unique(np.asarray(words, dtype=str), return_inverse=True)
    found = np.zeros((len(kinds), LETTERS))
    for row, word in enumerate(kinds):
        padded = f"<{word}>".lower()
        for start in range(len(padded) - 2):
            number = zlib.crc32(padded[start : start + 3].encode())
            found[row, number % LETTERS] += 1 if number & 1024 else -1
    return (found / np.maximum(np.linalg.norm(found, axis=1, keepdims=True), 1e-9))[place]


def scan(target: str, *, noise: float, unseen: float = 0.5, split: str | None = None) -> Data:
    """Commands as sums of token places, one sum for each half: the length of the actions, or the first of them.

    A share of the combinations is `unseen`, or those of the test side of a published `split`.
    """
    table = _read("scan/scan_factors.parquet")
    table = table[table["conj"].notna() & (table["conj"] != "")] if split is None else table[table[split].notna()]
    rng = np.random.default_rng(derived(0, "scan", target, repr((noise, unseen, split))))
    coded = {name: pd.factorize(table[name].fillna("-"), sort=True)[0] for name in COMMAND}
    inputs = _commands(coded, rng)
    inputs = inputs + noise * rng.normal(size=inputs.shape) / 4
    codes = np.stack([coded[name] for name in (HALVES if split is None else TEMPLATE)], axis=1)
    first = target != "length"
    answer = pd.factorize(table["actions"].str.split().str[0], sort=True)[0] if first else table["n_actions"] / 10.0
    if split is None:
        held = _drawn_combinations(codes, round(unseen * len(np.unique(codes, axis=0))), rng)
    else:
        train = (table[split] == "train").to_numpy()
        held = np.array(sorted({*map(tuple, codes[~train])} - {*map(tuple, codes[train])}))
    return _held_out(Rows(inputs, np.asarray(answer), codes), held, rng, label=first)


COMMAND = ("conj", "verb1", "mode1", "dir1", "rep1", "verb2", "mode2", "dir2", "rep2")
HALVES, TEMPLATE = ("conj", "verb1", "rep1", "verb2", "rep2"), ("mode1", "dir1", "mode2", "dir2", "rep1")
"""Which of them are factors: what the halves do and how often; or what a split of templates holds out."""


def _commands(coded: dict[str, Array], rng: np.random.Generator) -> Array:
    """Both halves, each the sum of its tokens' places, which are the same in both; and the conjunction."""
    places = {name: rng.normal(size=(coded[name].max() + 1, 16)) / 4 for name in COMMAND[:5]}
    halves = []
    for half in "12":
        own = [(places[f"{part}1"], coded[f"{part}{half}"]) for part in ("verb", "mode", "dir", "rep")]
        halves.append(np.sum([place[np.minimum(codes, len(place) - 1)] for place, codes in own], axis=0))
    return np.concatenate([*halves, places["conj"][coded["conj"]]], axis=1)


def _drawn_combinations(codes: Array, n: int, rng: np.random.Generator) -> Array:
    """n of the combinations that there are, drawn until every value is seen elsewhere."""
    there = np.unique(codes, axis=0)
    while True:
        held = rng.permutation(len(there))[:n]
        left = np.delete(there, held, axis=0)
        if all(len(np.unique(left[:, k])) == len(np.unique(there[:, k])) for k in range(codes.shape[1])):
            return there[held]


def _held_out(rows: Rows, held: Array, rng: np.random.Generator, *, label: bool = True) -> Data:
    """Rows on both sides of some combinations, drawn as often as the table has them; values never seen are left out."""
    sizes = tuple(rows.codes.max(axis=0) + 1)
    own, others = (np.ravel_multi_index(tuple(codes.T), sizes) for codes in (rows.codes, held))
    out = np.isin(own, others)
    known = np.all([np.isin(rows.codes[:, k], rows.codes[~out, k]) for k in range(len(sizes))], axis=0)
    seen, asked = rng.permutation(np.flatnonzero(~out)), rng.permutation(np.flatnonzero(out & known))
    shown, fresh = seen[: min(ROWS, 2 * len(seen) // 3)], seen[min(ROWS, 2 * len(seen) // 3) :][:ASKED]
    fresh_known = fresh[np.isin(own[fresh], own[shown])]
    asked_known = asked[
        np.all([np.isin(rows.codes[asked, k], rows.codes[shown, k]) for k in range(len(sizes))], axis=0)
    ]
    asked_known = asked_known[np.isin(rows.target[asked_known], rows.target[shown])] if label else asked_known
    return data_of(rows[shown], rows[fresh_known], rows[asked_known[:ASKED]], label=label)
