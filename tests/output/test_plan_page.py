"""The page of a plan: complete, escaped, small, deterministic, and alive in a real browser."""

import html
import re
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import recombine
from recombine.base.errors import RecordError
from recombine.base.records import Provenance, Record
from recombine.output import plan_pictures
from recombine.output.pages import draw, plan_page
from tests.output.test_audit_page import CREATED, MATERIALS, NASTY, TYPES, opened, payload_of, probed

COMMAND = "recombine plan shoes.csv --factors material,type --goal pairs"


def made_up_line(place, combination, cost):
    after = 10.0 + place
    return {
        "combination": combination,
        "cost": cost,
        "spent": cost * place,
        "gain": 1.0,
        "after": after,
        "benefit": float(place),
        "buys": f"{place} new pairs with {next(iter(combination.values()))}"[:300],
    }


def replayed(measure="share of pairs"):
    collected = list(range(0, 40, 4))
    planned = [min(1.0, 0.1 + 0.04 * one) for one in collected]
    random = [0.1 + 0.02 * one for one in collected]
    return {
        "measure": measure,
        "better": "higher",
        "start": 8,
        "pool": 75,
        "draws": 20,
        "collected": collected,
        "planned": planned,
        "random": random,
        "low": [one - 0.05 for one in random],
        "high": [one + 0.05 for one in random],
        "area": 0.1,
        "area_low": 0.05,
        "area_high": 0.2,
        "said": "The plan's order was better than chance on this table's own past.",
    }


def make_plan(factors, count, *, cost=1.0, values=None, command=COMMAND, **more):
    """A plan's record with made-up numbers: `count` lines over the given values."""
    names, sizes = list(factors), [len(values) for values in factors.values()]
    codes = np.stack(np.unravel_index(np.arange(count) % int(np.prod(sizes)), sizes), axis=1)
    lines = [
        made_up_line(place, {name: factors[name][code] for name, code in zip(names, row, strict=True)}, cost)
        for place, row in enumerate(codes.tolist(), start=1)
    ]
    curve = [{"lines": 0, "spent": 0.0, "value": 10.0}]
    curve += [{"lines": place, "spent": one["spent"], "value": one["after"]} for place, one in enumerate(lines, 1)]
    step = max(1, len(curve) // 200)
    kept = [*curve[:-1:step], curve[-1]] if count else curve
    numbers = {name: [one[name] for one in lines] for name in ("cost", "spent", "gain", "after", "benefit", "buys")}
    columns = {name: [str(one["combination"][name]) for one in lines] for name in names}
    data = {
        "verdict": f"{count:,} more combinations would cover {count:,} pairs.",
        "grade": "weak" if count else "sound",
        "reasons": ["Every possible combination was a candidate.", replayed()["said"]],
        "goal": "pairs",
        "budget": None,
        "reached": False,
        "shares": {"pairs": 0.5},
        "settings": {"seed": 0, "costs": int(cost != 1)},
        "measure": {"name": "pairs covered", "today": 10.0, "better": "higher", "full": 2.0 * count + 10},
        "curve": kept,
        "needed": {"combinations": count, "cost": None, "exact": False, "said": "Fewer may do."},
        "blocked": None,
        "replay": None,
        "lines": lines[:200],
        "line_count": count,
        "spent": cost * count,
        "combinations": 10,
        "space": 1_000,
        "factors": [{"name": name, "values": size, "seen": size} for name, size in zip(names, sizes, strict=True)],
        "rows": 12_345,
        "rows_left_out": 7,
    }
    provenance = Provenance(
        source="data/shoes.csv", settings={"seed": 0}, command=command, created=CREATED, version="0"
    )
    return Record("plan", data | more, {"lines": pa.table(columns | numbers)}, provenance)


def shoes():
    return make_plan({"material": MATERIALS, "type": TYPES}, 30, replay=replayed())


def costly():
    return make_plan({"material": MATERIALS, "type": TYPES}, 9, cost=2.5, budget=25.0)


def complete():
    return make_plan({"material": MATERIALS, "type": TYPES}, 0)


def without_bound():
    curve = [{"lines": 0, "spent": 0.0, "value": None}, {"lines": 4, "spent": 4.0, "value": 15.0}]
    curve += [{"lines": 5 + place, "spent": 5.0 + place, "value": 4.0 / (1 + place)} for place in range(6)]
    measure = {"name": "worst leverage", "today": None, "better": "lower", "full": 1.0}
    return make_plan({"material": MATERIALS, "type": TYPES}, 10, curve=curve, measure=measure, goal="leverage")


def blocked():
    found = {
        "count": 40,
        "what": "combinations",
        "values": {"material": ["Silk", *MATERIALS]},
        "examples": [{"material": "Silk", "type": one} for one in TYPES],
        "said": "40 combinations stay undetermined because of 'Silk': no combination of it can be collected.",
    }
    return make_plan({"material": MATERIALS, "type": TYPES}, 3, blocked=found, grade="failing", goal="determined")


def nasty():
    rows = [*NASTY, "x" * 500]
    found = {
        "count": 2,
        "values": {"<i>mat</i>": rows},
        "examples": [{"<i>mat</i>": one} for one in rows],
        "said": None,
    }
    return make_plan({"<i>mat</i>": rows, '"type"': TYPES}, 40, blocked=found, verdict="<b>3</b> more & 'done'")


def vast():
    return make_plan({"attribute": [f"attribute {n:05d}" for n in range(300)], "thing": TYPES}, 30_000)


CASES = {case.__name__: case for case in (shoes, costly, complete, without_bound, blocked, nasty, vast)}


@pytest.fixture(scope="module")
def pages():
    return {name: plan_page(case()) for name, case in CASES.items()}


def changed(record, **data):
    return Record(record.kind, {**record.data, **data}, record.tables, record.provenance)


@pytest.mark.parametrize("name", CASES)
def test_nothing_outside_is_asked_for(pages, name):
    own = re.sub(r'<script type="application/json".*?</script>', "", pages[name], flags=re.DOTALL)
    assert not re.search(r"""(?:src|href|action)\s*=\s*["']?\s*(?:https?:)?//""", own, re.IGNORECASE)
    assert not re.search(r"""url\(\s*["']?(?!#)""", own)
    assert "default-src 'none'" in own


@pytest.mark.parametrize("name", CASES)
def test_the_same_record_gives_the_same_page(pages, name):
    assert plan_page(CASES[name]()) == pages[name]


@pytest.mark.parametrize("name", CASES)
def test_what_the_record_says_is_on_the_page(pages, name):
    data, page = CASES[name]().data, html.unescape(pages[name])
    for said in (data["verdict"], data["needed"]["said"], data["reasons"][0], "12,345 rows", COMMAND):
        assert said in page
    assert f"{data['combinations']:,} of {data['space']:,} combinations seen" in page


@pytest.mark.parametrize("name", CASES)
def test_a_page_stays_below_2_megabytes(pages, name):
    assert len(pages[name].encode()) < 2_000_000


def test_long_texts_do_not_swell_the_page():
    factors = {"type": TYPES, "text": [f"{n} " + "y" * 40_000 for n in range(200)]}
    record = make_plan(factors, 400)
    page = plan_page(record)
    assert len(page.encode()) < 2_000_000
    assert re.search(r"The download holds the first \d+\. The saved plan holds them all", page)
    bare = plan_page(Record(record.kind, record.data, {}, record.provenance))
    assert len(bare.encode()) < 2_000_000
    assert "Its texts are very long: the download holds the first" in bare


def test_many_factors_do_not_swell_the_page():
    factors = {f"factor {place}": ["z" * 400, "w" * 400] for place in range(40)}
    assert len(plan_page(make_plan(factors, 300)).encode()) < 2_000_000


def test_values_are_text_and_never_markup(pages):
    page = pages["nasty"]
    for markup in ("<script>alert", "<i>mat", "<b>3"):
        assert markup not in page
    assert page.count("</script>") == 2
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    own = re.sub(r'<script type="application/json".*?</script>', "", page, flags=re.DOTALL)
    assert max(len(run) for run in re.findall("x+", own)) <= 300


def test_the_download_holds_every_column_and_more_lines_than_are_shown(pages):
    (shown,) = payload_of(pages["shoes"])["lists"]
    columns = ["#", "material", "type", "cost", "spent", "gain", "after", "benefit", "buys"]
    assert shown["columns"] == columns
    assert [shown["pool"][place] for place in shown["rows"][2]][:3] == ["3", MATERIALS[0], TYPES[2]]
    (vast_list,) = payload_of(pages["vast"])["lists"]
    assert len(vast_list["rows"]) == 5_000
    assert "200 of 30,000 combinations" in pages["vast"]
    assert "The download holds the first 5,000. The saved plan holds them all." in pages["vast"]


def test_a_record_without_its_table_can_be_drawn():
    record = shoes()
    bare = Record(record.kind, record.data, {}, record.provenance)
    assert len(payload_of(plan_page(bare))["lists"][0]["rows"]) == 30


def test_costs_are_shown_where_there_are_any(pages):
    assert "cost spent" in pages["costly"]
    assert "cost spent" not in pages["shoes"]
    assert "(cost 22.5)" in pages["costly"]
    assert "within a budget of <b>25</b>" in pages["costly"]


def test_a_complete_plan_draws_no_curve(pages):
    assert '<svg class="plot"' not in pages["complete"]
    assert "There is nothing to collect for this goal" in pages["complete"]


def test_the_curve_holds_today_every_step_and_the_goal():
    data = shoes().data
    drawn = plan_pictures.curve(data)
    kinds = [mark.kind for mark in drawn.marks]
    assert kinds == ["step"] * 30 + ["now"]
    assert [path.kind for path in drawn.paths] == ["goal", "curve"]
    assert drawn.marks[0].title == "after 1 combination: pairs covered 11"
    ups = [mark.y for mark in drawn.marks[:-1]]
    assert ups == sorted(ups, reverse=True)  # higher is farther from the bottom
    assert "30 combinations would take the pairs covered from 10 to 40 of 70." in drawn.sentence
    assert "At least half of that is bought by the first 15." in drawn.sentence


def test_many_steps_can_be_pointed_at_without_hiding_the_line():
    drawn = plan_pictures.curve(vast().data)
    assert {mark.kind for mark in drawn.marks} == {"dense", "now"}
    assert "points of the curve are drawn" in drawn.sentence
    assert "half" not in drawn.sentence  # which line buys half of it is not on the curve


def test_no_bound_is_not_drawn_as_a_number():
    drawn = plan_pictures.curve(without_bound().data)
    assert drawn.marks[-1].kind == "beyond"
    assert drawn.labels[-1].text == "today: without bound"
    assert len(drawn.marks) == 8
    assert "from no bound to 0.667" in drawn.sentence


def test_an_axis_that_does_not_begin_at_zero_says_so():
    record = shoes()
    curve = [{"lines": n, "spent": float(n), "value": 0.09 - 0.001 * n} for n in range(31)]
    measure = {"name": "mean variance", "today": 0.09, "better": "lower", "full": None}
    drawn = plan_pictures.curve(changed(record, curve=curve, measure=measure).data)
    assert "does not begin at 0" in drawn.sentence
    assert [path.kind for path in drawn.paths] == ["curve"]
    assert "does not begin at 0" not in plan_pictures.curve(vast().data).sentence


def test_the_replay_has_a_band_and_its_sentence_stands_once(pages):
    page = html.unescape(pages["shoes"])
    assert page.count("<figcaption>" + replayed()["said"]) == 1
    assert f"<li>{replayed()['said']}" not in page
    drawn = plan_pictures.replay(replayed())
    assert len(drawn.bands[0].points.split()) == 2 * len(replayed()["collected"])
    assert "8 of the seen combinations and chose from the other 75; 20 random orders" in page
    assert (
        plan_pictures.replay(
            {**replayed(), "collected": [], **{key: [] for key in ("planned", "random", "low", "high")}}
        )
        is None
    )


def test_what_is_blocked_is_said_with_what_it_hangs_on(pages):
    page = html.unescape(pages["blocked"])
    assert "no combination of it can be collected" in page
    assert "and 30 more" in page  # of 40, ten examples are shown
    assert "5 more" in page  # of 17 values, twelve are named
    assert 'id="blocked"' not in pages["shoes"]


def test_another_kind_of_record_is_refused():
    record = shoes()
    with pytest.raises(RecordError, match="a record of kind 'audit' has no plan page"):
        plan_page(Record("audit", record.data, record.tables, record.provenance))


def test_a_real_plan_can_be_drawn():
    table = {"material": ["wool", "wool", "silk"], "garment": ["coat", "hat", "scarf"]}
    found = recombine.plan(recombine.read(table, factors=["material", "garment"]))
    page = html.unescape(draw(found.record()))
    assert found.verdict in page
    assert all(line["buys"] in page for line in found.record().data["lines"])


@pytest.mark.browser
@pytest.mark.parametrize("name", ["shoes", "complete", "without_bound", "nasty", "vast"])
def test_the_page_comes_alive_in_a_browser(pages, name, tmp_path: Path):
    tag = opened(pages[name], tmp_path)
    assert 'data-ready="true"' in tag
    assert 'data-errors=""' in tag


PROBE = """<script>setTimeout(() => {
  const out = {}, first = () => document.querySelector(".sortable tbody tr").cells[0].textContent;
  const heads = document.querySelectorAll(".sortable th button");
  heads[0].click(); heads[0].click();
  out.last = first();
  heads[0].click();
  out.first = first();
  out.csv = csvText(payload.lists[0]).split("\\r\\n").slice(0, 2);
  out.wide = document.documentElement.scrollWidth <= innerWidth;
  document.documentElement.dataset.probe = JSON.stringify(out);
}, 500)</script></body>"""


@pytest.mark.browser
def test_sorting_and_downloading_work(pages, tmp_path: Path):
    found = probed(pages["costly"], PROBE, tmp_path)
    assert (found["first"], found["last"]) == ("1", "9")
    assert found["csv"][0] == "\ufeff#,material,type,cost,spent,gain,after,benefit,buys"
    assert found["csv"][1].startswith("1,Leather,Boots.Ankle,2.5,2.5,1.0,11.0,1.0,")
    assert found["wide"]
