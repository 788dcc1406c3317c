"""What every page shares: its number on top, its contents, its grades, and pictures and cells that can be saved."""

import html
import json
import re
from pathlib import Path

import pytest

import recombine
from recombine.base.grades import GRADES
from recombine.base.records import Provenance, Record
from recombine.output.headline import headline
from recombine.output.pages import draw
from tests.output.test_audit_page import opened, probed

VALUES = ("wool", "silk", "suede", "linen"), ("coat", "hat", "shoe", "sock")
ROWS = [(a, b) for i, a in enumerate(VALUES[0]) for j, b in enumerate(VALUES[1]) if (i + 2 * j) % 5]
TABLE = {
    "material": [a for a, _ in ROWS] * 3,
    "garment": [b for _, b in ROWS] * 3,
    "price": [10.0 * VALUES[0].index(a) + 3.0 * VALUES[1].index(b) for a, b in ROWS] * 3,
    "part": (["train"] * len(ROWS) + ["test"] * len(ROWS) + ["train"] * len(ROWS)),
}
QUESTION = {"factors": ["material", "garment"]}
NASTY = '</h2><section id="x" aria-labelledby="x-title"><h2 id="x-title">evil</h2><!--contents-->'
EXPECTED = {
    "score": "accuracy", "value": 0.81, "low": 0.74, "high": 0.87, "baseline": 0.52,
    "baseline_name": 'always answering "mid"', "lift": [0.2, 0.29, 0.36], "tested": 83, "of": 109,
    "basis": "combinations", "reason": None,
}  # fmt: skip


@pytest.fixture(scope="module")
def results() -> dict[str, recombine.Result]:
    prices = {"target": "price", "target_kind": "number"}
    answers = TABLE | {"said": [price + 1 for price in TABLE["price"]]}
    return {
        "audit": recombine.audit(TABLE, **QUESTION),
        "prediction": recombine.predict(TABLE, **QUESTION, **prices),
        "plan": recombine.plan(TABLE, **QUESTION, goal="leverage", budget=2),
        "evaluation": recombine.evaluate(answers, **QUESTION, **prices, prediction="said", split="part"),
        "lint": recombine.lint(TABLE, **QUESTION, split="part"),
    }


@pytest.fixture(scope="module")
def pages(results) -> dict[str, str]:
    return {name: draw(result.record()) for name, result in results.items()}


KINDS = ["audit", "prediction", "plan", "evaluation", "lint"]


@pytest.mark.parametrize("kind", KINDS)
def test_every_page_has_contents_that_lead_to_its_sections(pages, kind):
    page = pages[kind]
    linked = re.findall(r'<a href="#([a-z]+)">', page.split('class="contents"')[1].split("</nav>")[0])
    assert linked == re.findall(r'<section id="([a-z]+)"', page)
    assert len(linked) > 1


@pytest.mark.parametrize("kind", KINDS)
def test_every_page_explains_all_grades_and_shows_its_own(pages, results, kind):
    legend = pages[kind].split('<details id="grades" open>')[1].split("</details>")[0]
    assert [word.lower() for word in re.findall(r"<dt>(\w+)</dt>", legend)] == list(GRADES)
    untested = "<b>Not known</b>" in pages[kind]  # in words where a number stands beside it
    assert f'class="badge badge-{results[kind].grade}"' in pages[kind] or untested
    assert not untested or results[kind].grade == "untested"


def test_a_text_of_a_table_is_no_section():
    table = {"a": [NASTY, "y", NASTY], "b": ["u", "v", "w"]}
    page = draw(recombine.audit(table, factors=["a", "b"]).record())
    assert page.count('class="contents"') == 1
    assert "evil" not in page.split('class="contents"')[1].split("</nav>")[0]


def shown(kind, data):
    found = headline(kind, data)
    return [text.replace("\u00a0", " ") for text in (found.number, found.what, *found.notes, found.simple_rule) if text]


def test_a_tested_score_stands_on_top_with_interval_and_baseline():
    number, what, sure, simple = shown("prediction", {"expected": EXPECTED})
    assert (number, what) == ("81 %", "of held-out combinations like the unseen ones come out right")
    assert sure == "74 to 87 %, from 83 tested combinations, for 109 unseen ones"
    assert simple == 'always answering "mid" gets 52 %'
    number, what, *_ = shown("evaluation", {"expected": EXPECTED | {"score": "R²", "value": -0.4, "low": -2.0}})
    assert (number, what[-4:]) == ("-40 %", "(R²)")


def test_what_was_not_tested_says_so_in_large_type():
    said = shown("audit", {"expected": {"score": "accuracy", "value": None, "reason": "Only 3 could be held out."}})
    assert said == ["Untested", "Only 3 could be held out."]
    assert shown("prediction", {})[0] == "Untested"


def test_a_back_test_stands_on_top_where_nothing_else_was_said():
    methods = [("kernel", 0.8), ("additive", 0.7), ("mean", 0.5)]
    methods = [{"name": name, "score": score, "low": score - 0.06, "high": score + 0.06} for name, score in methods]
    found = {"methods": methods, "score": "accuracy", "better": "higher", "tested": 83}
    assert shown("prediction", {"backtest": found}) == [
        "80 %",
        "accuracy, of which higher is better",
        "74 to 86 %, from 83 held-out combinations",
        "the best simple rule (additive) has 70 %",
    ]


def test_each_kind_without_a_test_has_a_number_that_promises_nothing(results):
    made = {kind: shown(kind, result.record().data | {"expected": None}) for kind, result in results.items()}
    assert made["audit"][1].endswith(f"{len(ROWS)} of 16")
    assert made["plan"][:2] == ["2", "combinations to collect"]
    checks = results["lint"].record().data["checks"]
    assert made["lint"][0] == str(sum(one["verdict"] == "fail" for one in checks))
    assert "on all that was tested" in made["evaluation"][1] or "unseen" in made["evaluation"][1]
    sides = [{"name": "train", "rows": 9, "combinations": 3}, {"name": "test", "rows": 4, "combinations": 1}]
    assert shown("split", {"sides": sides}) == ["1", "combination held out for testing", "4 rows"]
    assert headline("split", {"sides": []}) is None


def test_the_number_is_on_the_page():
    counts = {"space": 4, "impossible": 0, "seen": 2, "determined": 2, "undetermined": 0, "novel": 0}
    data = {"verdict": "V.", "grade": "plausible", "rows": 2, "counts": counts, "expected": EXPECTED}
    page = html.unescape(draw(Record("audit", data, {}, Provenance(source="x.csv"))))
    assert '<p class="big">81\u00a0%</p>' in page
    assert 'come out right; always answering "mid" gets 52\u00a0%</p>' in page  # beside it, not behind a click


def test_what_follows_from_a_rule_that_did_not_hold_is_painted_so():
    counts = {"space": 4, "impossible": 0, "seen": 2, "determined": 2, "undetermined": 0, "novel": 0}
    data = {"verdict": "V.", "grade": "weak", "rows": 2, "counts": counts}
    held, missed = EXPECTED, EXPECTED | {"lift": [-0.2, -0.1, 0.1]}
    pages = [draw(Record("audit", data | {"expected": one}, {}, Provenance(source="x"))) for one in (held, missed)]
    told = [json.loads(re.search(r'id="payload">(.*?)</script>', page, re.DOTALL)[1])["doubtful"] for page in pages]
    assert told == [False, True]
    page = draw(Record("audit", data | {"expected": missed, "grade": "plausible"}, {}, Provenance(source="x")))
    assert '"doubtful":false' in page


SAVES = """<script>setTimeout(async () => {
  const out = { files: [] }, parts = {};
  const create = URL.createObjectURL;
  URL.createObjectURL = (blob) => { parts.last = blob; return create(blob); };
  HTMLAnchorElement.prototype.click = function () { out.files.push([this.download, parts.last.size]); };
  out.svg = [];
  for (const picture of document.querySelectorAll("[data-picture], figure")) {
    if (!picture.querySelector(".saves") && !picture.nextElementSibling?.matches(".saves")) continue;
    const text = svgOf(picture), read = new DOMParser().parseFromString(text, "image/svg+xml");
    const sound = !read.querySelector("parsererror"), width = Number(read.documentElement.getAttribute("width"));
    const bare = text.replace(/xmlns(:\\w+)?="[^"]*"/g, "");
    const texts = read.querySelectorAll("text").length;
    out.svg.push([fileName(picture), sound, texts, width, /https?:/.test(bare)]);
  }
  for (const button of document.querySelectorAll(".saves button")) button.click();
  setTimeout(async () => {
    const lines = [];
    if (typeof cellLines === "function" && byId("canvas")) for await (const line of cellLines()) lines.push(line);
    out.lines = lines;
    out.errors = document.documentElement.dataset.errors;
    document.documentElement.dataset.probe = JSON.stringify(out);
  }, 1200);
}, 800)</script></body>"""


@pytest.mark.browser
@pytest.mark.parametrize("kind", KINDS)
def test_pictures_and_cells_can_be_saved_from_the_page_itself(pages, kind, tmp_path: Path):
    found = probed(pages[kind], SAVES, tmp_path)
    assert found["errors"] == ""
    assert found["svg"], "no picture"
    for name, sound, texts, width, requests in found["svg"]:
        assert name
        assert sound, name
        assert texts or name.startswith(("islands", "the-space")), name
        assert width > 100
        assert not requests
    kinds = [file.rpartition(".")[2] for file, _ in found["files"]]
    assert kinds.count("svg") == kinds.count("png") == len(found["svg"])
    assert all(size > 200 for _, size in found["files"])
    mapped = kind in ("audit", "prediction", "evaluation")
    assert kinds.count("csv") == mapped
    if mapped:
        assert len(found["lines"]) == 1 + 16
        assert len({len(line) for line in found["lines"]}) == 1
    if kind == "audit":
        states = [line[4] for line in found["lines"][1:]]
        assert states.count("seen") == len(ROWS)


@pytest.mark.browser
def test_a_page_without_a_map_comes_alive_too(pages, tmp_path: Path):
    tag = opened(pages["lint"], tmp_path)
    assert 'data-ready="true"' in tag
    assert 'data-errors=""' in tag


GUESSES = """<script>setTimeout(async () => {
  const view = new GridView(byId("canvas"), await Cube.load()), out = { guesses: 0, bold: 0, others: 0 };
  view.slice(0, 1);
  const far = (a, b) => a.reduce((sum, part, place) => sum + Math.abs(part - b[place]), 0);
  for (view.mode of ["prediction", "uncertainty", "verdict"]) {
    for (let place = 0; place < 64; place++) {
      const index = view.map.index(place), paper = view.palette.paperRgb, colour = view.fill(index);
      if (view.cube.verdict[index] !== UNDETERMINED) { out.others += view.textureOf(place) === "hatch"; continue; }
      out.guesses += 1;
      out.bold += view.textureOf(place) !== "hatch" || (colour !== null && far(colour, paper) > 160);
    }
  }
  document.documentElement.dataset.probe = JSON.stringify(out);
}, 800)</script></body>"""


@pytest.mark.browser
def test_what_is_not_determined_is_painted_as_a_guess_in_every_colouring(tmp_path: Path):
    rows = [(a, b) for a in range(8) for b in range(8) if (a < 4) == (b < 4) and (a * 3 + b) % 4]
    table = {"a": [f"a{a}" for a, _ in rows], "b": [f"b{b}" for _, b in rows], "y": [10.0 * a + 3 * b for a, b in rows]}
    page = draw(recombine.predict(table, factors=["a", "b"], target="y", target_kind="number").record())
    assert "a guess: pale and hatched" in page
    found = probed(page, GUESSES, tmp_path)
    assert found == {"guesses": 3 * 32, "bold": 0, "others": 0}
