"""Rules of what cannot occur: against predicates evaluated one combination at a time; models of test matrices."""

import itertools
import operator
from fnmatch import fnmatchcase

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import recombine
from recombine.base.errors import RecombineError, SettingError, SourceError, SpaceError
from recombine.data import space as spaces
from recombine.data.constraints import check_satisfiable, forbidden
from recombine.data.pict import parse_pict, read_pict
from recombine.data.space import Space
from recombine.data.support import Support
from recombine.verbs.plan import collectable

VALUES = {"os": ["iOS", "Linux", "Windows"], "size": [1, 2, 3, 10], "my theme": ["dark", "light"], "most": [2, 3]}
SIGNS = {"=": operator.eq, "<>": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}


def written(name):
    return f"[{name}]" if " " in name else name


def quoted(value):
    return f'"{value}"' if isinstance(value, str) else str(value)


@st.composite
def leaves(draw):
    """A comparison: its text, and what it says of one combination."""
    name = draw(st.sampled_from(list(VALUES)))
    kind = draw(st.sampled_from(["sign", "in", "like", "factors"]))
    if kind == "factors":
        sign = draw(st.sampled_from(list(SIGNS)))
        return f"size {sign} most", lambda row: SIGNS[sign](row["size"], row["most"])
    if kind == "in":
        some = draw(st.lists(st.sampled_from(VALUES[name]), min_size=1, max_size=3))
        return f"{written(name)} IN {{{', '.join(map(quoted, some))}}}", lambda row: row[name] in some
    if kind == "like":
        pattern = draw(st.sampled_from(["*i*", "?", "l*", "1*"]))
        return f'{written(name)} LIKE "{pattern}"', lambda row: fnmatchcase(str(row[name]).lower(), pattern)
    value = draw(st.sampled_from(VALUES[name]))
    sign = draw(st.sampled_from(list(SIGNS) if not isinstance(value, str) else ["=", "<>"]))
    return f"{written(name)} {sign} {quoted(value)}", lambda row: SIGNS[sign](row[name], value)


def joined(parts):
    (one, first), (other, second), word = parts
    if word == "AND":
        return f"({one} AND {other})", lambda row: first(row) and second(row)
    return f"({one} OR {other})", lambda row: first(row) or second(row)


def denied(part):
    one, holds = part
    return f"NOT ({one})", lambda row: not holds(row)


PREDICATES = st.recursive(
    leaves(),
    lambda inner: st.one_of(
        st.tuples(inner, inner, st.sampled_from(["AND", "OR"])).map(joined),
        inner.map(denied),
    ),
    max_leaves=5,
)


@st.composite
def rules(draw):
    """A rule: its text, and whether a combination keeps it."""
    (cond, asked), (then, holds) = draw(PREDICATES), draw(PREDICATES)
    form = draw(st.sampled_from(["bare", "then", "else"]))
    if form == "bare":
        return cond, asked
    if form == "then":
        return f"IF {cond} THEN {then}", lambda row: not asked(row) or holds(row)
    other, fails = draw(PREDICATES)
    return f"IF {cond} THEN {then} ELSE {other};", lambda row: holds(row) if asked(row) else fails(row)


def every():
    return [dict(zip(VALUES, row, strict=True)) for row in itertools.product(*VALUES.values())]


@given(rules())
@settings(max_examples=200, deadline=None)
def test_a_rule_forbids_the_combinations_that_break_it(drawn):
    rule, kept = drawn
    conjunctions = forbidden(rule, VALUES)
    for row in every():
        told = any(all(row[name] == value for name, value in one.items()) for one in conjunctions)
        assert told == (not kept(row)), (rule, row)


@given(st.lists(rules(), min_size=1, max_size=4))
@settings(max_examples=60, deadline=None)
def test_rules_are_refused_if_and_only_if_no_combination_keeps_them_all(drawn):
    if any(all(kept(row) for _, kept in drawn) for row in every()):
        space = Space.of(VALUES, impossible=[rule for rule, _ in drawn])
        assert space.size == sum(all(kept(row) for _, kept in drawn) for row in every())
        return
    with pytest.raises(SpaceError, match="no combination fulfils"):
        check_satisfiable([rule for rule, _ in drawn], VALUES)


def test_of_many_rules_only_those_that_contradict_each_other_are_named():
    with pytest.raises(SpaceError) as told:
        check_satisfiable(['os <> "iOS"', "size > 3", "most = 2", "size < most"], VALUES)
    assert "'size > 3'" in str(told.value)
    assert "iOS" not in str(told.value)


@pytest.mark.parametrize(
    ("rule", "word"),
    [
        ('IF os = "iSO" THEN size = 1', "did you mean 'iOS'"),
        ('IF oss = "iOS" THEN size = 1', "did you mean 'os'"),
        ("IF os = iOS THEN size = 1", "a value stands in double quotes"),
        ('IF os = "iOS"', "THEN is expected"),
        ('os = "iOS" size = 1', "unclear at 'size'"),
        ("os < 3", "a number and a word have no order"),
        ("os & size", "unclear at"),
        ("", None),
        ("IF", "unclear at 'the end'"),
    ],
)
def test_a_rule_that_is_not_understood_says_where(rule, word):
    if word is None:
        assert forbidden(rule, VALUES) == []
        return
    with pytest.raises((SettingError, SpaceError)) as told:
        forbidden(rule, VALUES)
    assert word in str(told.value)


MODEL = """
# what our drivers are tested with
os:      iOS, Linux, Windows 11 | Win11
browser: Safari, Firefox (10), Edge
size:    1, 2, ~-1
other:   <size>, 7

IF [os] = "iOS" THEN [browser] = "Safari";
IF [browser] = "Safari"
  THEN [os] = "iOS";
"""


def test_a_model_is_read_with_its_rules(tmp_path):
    (tmp_path / "model.pict").write_text(MODEL)
    model = read_pict(tmp_path / "model.pict")
    assert model.domain["os"] == ("iOS", "Linux", "Windows 11")
    assert model.domain["other"] == ("1", "2", "~-1", "7")
    assert model.weighted
    assert len(model.rules) == 2
    space = Space.of(model.domain, impossible=model.impossible)
    # iOS has Safari alone, the other two have two browsers each; -1 stands in one of the two places at most
    assert space.size == (1 + 2 * 2) * (3 * 4 - 1)


def test_a_plan_covers_every_pair_of_a_model_that_can_occur(tmp_path):
    (tmp_path / "model.pict").write_text(MODEL)
    plan = recombine.plan(str(tmp_path / "model.pict"), goal="pairs")
    rows = [line.combination for line in plan.lines]
    assert all((row["os"] == "iOS") == (row["browser"] == "Safari") for row in rows)
    space = plan.support.space
    for a, b in itertools.combinations(range(4), 2):
        pairs = {(space.factors[a].labels[i], space.factors[b].labels[j]) for i, j in space.restricted((a, b)).every()}
        assert {(row[space.names[a]], row[space.names[b]]) for row in rows} == pairs


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("a: 1, 2\n{ a } @ 2", "sub-models"),
        ("a: 1, 2", "has 1 parameters"),
        ("a 1, 2\nb: 1", "neither a parameter nor a rule"),
        ("a: 1, 2\na: 3", "there already"),
        ("a: 1,, 2\nb: 1", "a value is empty"),
        ("a: 1, 2\nb: <c>", "names no parameter"),
    ],
)
def test_a_model_that_is_not_understood_says_where(text, word):
    with pytest.raises(SourceError, match=word):
        parse_pict(text)


def test_a_model_takes_no_settings_of_a_table_and_no_goal_that_needs_one(tmp_path):
    (tmp_path / "model.pict").write_text(MODEL)
    with pytest.raises(SettingError, match="nothing was tried yet"):
        recombine.plan(str(tmp_path / "model.pict"))
    with pytest.raises(SettingError, match="a model and factors"):
        recombine.plan(str(tmp_path / "model.pict"), factors=["os"], goal="pairs")
    with pytest.raises(RecombineError, match="is a model"):
        recombine.audit(str(tmp_path / "model.pict"), factors=["os", "browser"])


def test_every_verb_takes_a_rule():
    table = {"os": ["iOS", "Linux", "Linux"], "browser": ["Safari", "Firefox", "Edge"]}
    audit = recombine.audit(table, factors=["os", "browser"], impossible=['IF os = "iOS" THEN browser = "Safari"'])
    assert audit.support.space.size == 4


def test_matrix_forms(tmp_path):
    (tmp_path / "model.pict").write_text(MODEL)
    plan = recombine.plan(str(tmp_path / "model.pict"), goal="pairs")
    lines = plan.matrix("tsv").splitlines()
    assert lines[0].split("\t") == ["os", "browser", "size", "other"]
    assert len(lines) == 1 + plan.table.num_rows


@pytest.mark.parametrize("seed", range(6))
def test_a_plan_that_searches_rules_covers_what_one_that_writes_them_out_covers(seed, monkeypatch):
    rng = np.random.default_rng(seed)
    sizes = rng.integers(2, 4, size=5)
    values = {f"f{k}": list(range(size)) for k, size in enumerate(sizes)}
    lines = [
        {f"f{k}": int(rng.integers(sizes[k])) for k in rng.choice(5, int(rng.integers(2, 4)), replace=False)}
        for _ in range(9)
    ]
    space = Space.of(values, impossible=lines)
    support = Support(space, space.every()[:2], np.ones(2))
    written = recombine.plan(support, goal="pairs")
    monkeypatch.setattr(collectable, "_MOST_CELLS", -1)
    monkeypatch.setattr(spaces, "_MOST_IMPOSSIBLE", -1)
    again = Space(space.factors, space.impossible)  # nothing cached
    searched = recombine.plan(Support(again, support.codes, support.counts), goal="pairs")
    assert again.size == space.size
    assert searched.measure == written.measure
    assert searched.curve[-1].value == written.curve[-1].value
    assert not space.is_impossible(space.encode([line.combination for line in searched.lines])).any()
