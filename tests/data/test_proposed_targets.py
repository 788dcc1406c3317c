"""Forty tables as people have them: which column is asked about is told by its name, its values or its place."""

from typing import Any

import numpy as np
import pytest

import recombine

WORDS = {
    "yes or no": ["yes", "no"],
    "0 or 1": [0, 1],
    "pass or fail": ["pass", "fail"],
    "few": ["north", "south", "east", "west"],
    "levels": ["low", "middle", "high"],
}
TABLES: dict[str, tuple[list[str], str, str]] = {
    "passengers": (["class", "sex", "embarked"], "survived", "0 or 1"),
    "subscribers": (["gender", "contract", "payment_method"], "churn", "yes or no"),
    "loans": (["purpose", "housing", "job"], "default", "yes or no"),
    "census": (["workclass", "education", "occupation", "sex"], "income", "levels"),
    "heart": (["sex", "pain", "thal"], "heart_disease", "0 or 1"),
    "payments": (["merchant", "country", "channel"], "is_fraud", "0 or 1"),
    "advertisements": (["device", "campaign", "region"], "clicked", "0 or 1"),
    "visits": (["source", "landing_page", "device"], "converted", "yes or no"),
    "variants": (["variant", "country", "platform"], "revenue", "number"),
    "robots": (["object", "skill", "table"], "success", "0 or 1"),
    "scenes": (["task", "scene", "gripper"], "success_rate", "number"),
    "drugs": (["drug_a", "drug_b", "cell_line"], "viability", "number"),
    "pairs of drugs": (["drug_row", "drug_col", "cell_line"], "synergy_score", "number"),
    "genes": (["gene_a", "gene_b", "guide"], "expression", "number"),
    "builds": (["os", "python", "browser"], "passed", "yes or no"),
    "runs": (["suite", "runner", "shard"], "status", "pass or fail"),
    "language models": (["language", "skill", "model"], "correct", "0 or 1"),
    "topics": (["topic", "difficulty", "model"], "score", "number"),
    "tools": (["tool", "domain", "prompt_style"], "exact_match", "0 or 1"),
    "wines": (["grape", "region", "vintage"], "quality", "levels"),
    "films": (["genre", "country", "language"], "rating", "number"),
    "houses": (["neighbourhood", "type", "condition"], "price", "number"),
    "mushrooms": (["cap_shape", "odor", "habitat"], "edible", "yes or no"),
    "penguins": (["island", "sex", "year"], "species", "few"),
    "instalments": (["purpose", "home_ownership", "term"], "loan_status", "levels"),
    "tickets": (["product", "channel", "region"], "priority", "levels"),
    "customers": (["age_group", "region", "plan"], "tier", "levels"),
    "machines": (["machine", "shift", "material"], "defect", "yes or no"),
    "reactions": (["catalyst", "solvent", "base"], "yield", "number"),
    "fields": (["variety", "fertiliser", "site"], "yield_kg", "number"),
    "birds": (["place", "camera", "weather"], "label", "few"),
    "scans": (["background", "scanner", "ward"], "y", "0 or 1"),
    "comments": (["group", "topic", "site"], "toxic", "0 or 1"),
    "parcels": (["category", "size", "brand"], "returned", "yes or no"),
    "applicants": (["gender", "degree", "school"], "hired", "yes or no"),
    "wards": (["ward", "diagnosis", "sex"], "readmitted", "yes or no"),
    "students": (["school", "sex", "course"], "final_grade", "levels"),
    "endpoints": (["endpoint", "region", "instance"], "latency_ms", "number"),
    "interviews": (["format", "panel", "round"], "outcome", "levels"),
    "surveys": (["wave", "region", "question"], "would_recommend", "yes or no"),
}

NOT_TOLD = {"passengers", "penguins", "instalments"}
"""A factor that is called a class; outcomes that are named after what they are."""


def table_of(name: str, rows: int = 240) -> dict[str, list[Any]]:
    """Rows with a number of their own, some factors, and the column that is asked about."""
    factors, target, kind = TABLES[name]
    rng = np.random.default_rng(sum(map(ord, name)))
    columns: dict[str, list[Any]] = {"id": [f"r{row:04d}" for row in range(rows)]}
    columns |= {one: [f"{one}{code}" for code in rng.integers(0, 3 + k, rows)] for k, one in enumerate(factors)}
    columns[target] = (
        rng.normal(size=rows).round(3).tolist() if kind == "number" else rng.choice(WORDS[kind], rows).tolist()
    )
    return columns


@pytest.mark.slow
def test_the_right_target_is_proposed_for_most() -> None:
    found = {name: recombine.propose(table_of(name)).target for name in TABLES}
    wrong = {name: said for name, said in found.items() if said != TABLES[name][1]}
    assert len(TABLES) == 40
    assert set(wrong) <= NOT_TOLD, wrong


@pytest.mark.parametrize("name", sorted(TABLES.keys() - NOT_TOLD))
def test_what_is_chosen_is_a_factor(name: str) -> None:
    found = recombine.propose(table_of(name))
    assert set(TABLES[name][0]) <= set(found.factors)


def test_a_plain_name_goes_before_an_outcome() -> None:
    table = table_of("birds") | {"score": np.random.default_rng(0).normal(size=240).tolist()}
    assert recombine.propose(table).target == "label"


def test_a_yes_or_no_between_factors_is_one_of_them() -> None:
    table = table_of("houses")
    del table["price"]
    table = {"garden": table_of("machines")["defect"]} | table
    found = recombine.propose(table)
    assert found.target is None
    assert "garden" in found.factors
