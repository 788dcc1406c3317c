"""The page of an audit: complete, escaped, small, deterministic, and alive in a real browser."""

import base64
import html
import json
import re
import subprocess
import zlib
from itertools import combinations
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from recombine.base.errors import RecordError
from recombine.base.records import Provenance, Record
from recombine.output.audit_page import audit_page
from recombine.output.map_packing import STEPS, THIN, LeverageScale, MapCells, varints

UNDETERMINED, DETERMINED, SEEN, NOVEL, IMPOSSIBLE = range(5)
CREATED = "2025-03-04T05:06:07+00:00"
NASTY = [
    "<script>alert(1)</script>",
    '"</script>',
    "it's <b>\"&amp;",
    "=HYPERLINK(1)",
    "\u202eright\u2028left",
    "👟" * 3,
    "",
]


def grid(rows, columns, rng, *, all_seen=False, islands=1, novel=0, impossible=0.0, density=0.1):
    """The states, counts and leverages of one map, with islands as blocks and the last columns novel."""
    row_islands = np.sort(rng.integers(0, islands, rows))
    column_islands = np.sort(rng.integers(0, islands, columns))
    same = row_islands[:, None] == column_islands[None, :]
    weight = np.exp(-2.5 * np.arange(rows)[:, None] / rows - 2.5 * np.arange(columns)[None, :] / columns)
    seen = same & (rng.random((rows, columns)) < np.minimum(1, weight / weight.mean() * density))
    state = np.where(seen | all_seen, SEEN, np.where(same, DETERMINED, UNDETERMINED)).astype(np.uint8)
    state[rng.random((rows, columns)) < impossible] = IMPOSSIBLE
    if novel:
        state[:, columns - novel :] = NOVEL
    count = np.where(state == SEEN, rng.geometric(0.08, (rows, columns)), 0)
    leverage = np.where(state == DETERMINED, 0.3 + 1.5 / (0.3 + weight) * rng.lognormal(0, 0.25, state.shape), np.nan)
    return state, count, leverage, row_islands, column_islands


def make_record(factors, *, seed=0, command="recombine audit shoes.csv --factors material,type", **options):
    """An audit's record with made-up numbers: `factors` is {name: values}, one map for each pair of them."""
    rng = np.random.default_rng(seed)
    maps, tables = [], []
    for place, (first, second) in enumerate(combinations(factors, 2)):
        rows, columns = factors[first], factors[second]
        state, count, leverage, row_islands, column_islands = grid(len(rows), len(columns), rng, **options)
        at_row, at_column = np.indices(state.shape)
        maps.append(
            {
                "factors": [first, second],
                "row_values": list(rows),
                "column_values": list(columns),
                "rows_total": len(rows),
                "columns_total": len(columns),
                "row_islands": row_islands.tolist(),
                "column_islands": column_islands.tolist(),
                "row_counts": count.sum(1).tolist(),
                "column_counts": count.sum(0).tolist(),
            }
        )
        tables.append(
            pa.table(
                {
                    "map": pa.array(np.full(state.size, place), pa.int32()),
                    "row": pa.array(at_row.ravel(), pa.int32()),
                    "column": pa.array(at_column.ravel(), pa.int32()),
                    "state": pa.array(state.ravel(), pa.uint8()),
                    "count": pa.array(count.ravel(), pa.int64()),
                    "leverage": pa.array(leverage.ravel().astype(np.float32), pa.float32()),
                    "answer": pa.array(answers_of(state, count).ravel(), pa.float32()),
                }
            )
        )
    table = pa.concat_tables(tables) if tables else None
    data = describe(factors, maps, state if maps else np.zeros((0, 0)), leverage if maps else np.zeros(0), rng)
    provenance = Provenance(
        source="shoes.csv",
        settings={"factors": list(factors)},
        command=command,
        created=CREATED,
        version="0.1.0",
    )
    return Record("audit", data, {"maps": table} if maps else {}, provenance)


def answers_of(state, count):
    """A mean answer of each cell that rows hold."""
    return np.where(np.isin(state, (SEEN, THIN)), 1 / np.maximum(count, 1), np.nan).astype(np.float32)


def describe(factors, maps, state, leverage, rng):
    tally = np.bincount(state.astype(int).ravel(), minlength=5).tolist()
    names, known = list(factors), np.sort(leverage[np.isfinite(leverage)])[::-1]
    counts = {
        "space": int(state.size - tally[IMPOSSIBLE]),
        "impossible": tally[IMPOSSIBLE],
        "seen": tally[SEEN],
        "determined": tally[DETERMINED],
        "undetermined": tally[UNDETERMINED],
        "novel": tally[NOVEL],
    }
    pick = lambda: {name: factors[name][rng.integers(len(factors[name]))] for name in names}  # noqa: E731
    edges = np.geomspace(known[-1], known[0], 21).tolist() if known.size > 1 else []
    number = int(maps[0]["row_islands"][-1]) + 1 if maps else 1
    return {
        "verdict": f"{counts['seen']:,} of {counts['space']:,} combinations were seen. "
        f"The other {counts['determined']:,} can all be worked out from them, but 14 only weakly.",
        "grade": "weak" if known.size else "sound",
        "reasons": [
            "14 worked-out answers hang on one or two examples.",
            "Knowing material tells 38 % of type.",
        ],
        "rows": 12_345,
        "rows_left_out": 12,
        "counts": counts,
        "factors": [factor(name, values) for name, values in factors.items()],
        "coverage": [
            {"order": 1, "seen": 28, "possible": 28, "share": 1.0},
            {"order": 2, "seen": counts["seen"], "possible": max(1, counts["space"]), "share": 0.43},
        ],
        "islands": [
            {
                "sizes": {name: len(values) for name, values in factors.items()},
                "values": {name: list(values)[:20] for name, values in factors.items()},
                "combinations": 83 - place,
                "rows": 1234 // (place + 1),
            }
            for place in range(number)
        ],
        "leverage": {
            "of": known.size,
            "known": known.size,
            "sampled": False,
            "median": float(np.median(known)),
            "p90": float(np.quantile(known, 0.9)),
            "worst": float(known[0]),
            "weak": 14,
            "histogram": {"edges": edges, "counts": np.histogram(known, edges)[0].tolist()} if edges else None,
            "weakest": [{"combination": pick(), "leverage": float(one)} for one in known[:200]],
        }
        if known.size
        else None,
        "undetermined_examples": [{"combination": pick()} for _ in range(min(40, counts["undetermined"]))],
        "dependence": [
            {"factors": list(pair), "cramers_v": 0.41, "nmi": 0.2, "spread": [0.62, 0.7]}
            for pair in combinations(names, 2)
        ],
        "redundancy": {
            "target": "label",
            "kind": "label",
            "baseline": 0.3,
            "entropy_bits": 2.1,
            "parts": [
                {
                    "factors": [name],
                    "told": 0.38 / (place + 1),
                    "bits": 0.8,
                    "score": 0.55,
                    "score_left_out": 0.52,
                }
                for place, name in enumerate(names)
            ],
        },
        "maps": maps,
    }


def factor(name, values):
    return {
        "name": name,
        "values": len(values) + 2,
        "seen": len(values),
        "declared": True,
        "effective": 9.3,
        "missing_rows": 6,
        "rarest": [{"value": values[-1 - place], "count": place + 1} for place in range(min(3, len(values)))],
        "commonest": [{"value": values[place], "count": 400 - 90 * place} for place in range(min(3, len(values)))],
        "never_seen": [f"Silk {name}", f"Cork {name}"],
    }


MATERIALS = [
    "Leather",
    "Synthetic",
    "Suede",
    "Canvas",
    "Nubuck",
    "Patent Leather",
    "Rubber",
    "Full grain leather",
]
MATERIALS += ["Satin", "Wool", "Faux Fur", "Nylon", "Cotton", "Faux Leather", "Hair Calf", "Sheepskin"]
TYPES = [
    "Boots.Ankle",
    "Boots.Knee.High",
    "Boots.Mid-Calf",
    "Sandals",
    "Shoes.Flats",
    "Shoes.Heels",
    "Shoes.Loafers",
]
TYPES += [
    "Shoes.Oxfords",
    "Shoes.Sneakers.and.Athletic.Shoes",
    "Slippers",
    "Shoes.Boat.Shoes",
    "Shoes.Clogs.and.Mules",
]


def words(stem, number):
    return [f"{stem} {place:04d}" for place in range(number)]


def shoes():
    return make_record({"material": MATERIALS, "type": TYPES}, density=0.4)


def middle():
    return make_record({"state": words("state", 115), "object": words("object", 245)}, islands=3, novel=6, density=0.06)


def large():
    return make_record({"attribute": words("attribute", 413), "thing": words("thing", 674)}, density=0.03)


def binary():
    return make_record({f"switch {letter}": ["off", "on"] for letter in "abcdefgh"}, islands=2, density=0.5)


def complete():
    return make_record({"material": MATERIALS, "type": TYPES}, all_seen=True)


def nasty():
    rows = [*NASTY, "x" * 5000]
    return make_record({"<i>mat</i>": rows, '"type"': TYPES}, density=0.4, islands=2, novel=2, impossible=0.1)


CASES = {case.__name__: case for case in (shoes, middle, large, binary, complete, nasty)}


@pytest.fixture(scope="module")
def pages():
    return {name: audit_page(case()) for name, case in CASES.items()}


def payload_of(page):
    return json.loads(re.search(r'<script type="application/json" id="payload">(.*?)</script>', page, re.DOTALL)[1])


def unpacked(text, size, low, high, ends):
    """What the page's script does, in Python: states, leverages, counts and answers of one map."""
    raw = np.frombuffer(zlib.decompress(base64.b64decode(text)), np.uint8)
    state = raw[:size]
    determined = int((state == DETERMINED).sum())
    high_bytes, low_bytes = raw[size : size + determined], raw[size + determined : size + 2 * determined]
    codes = high_bytes.astype(int) * 256 + low_bytes
    leverage = low * (high / low) ** (codes / STEPS)
    counts, number, weight, at = [], 0, 1, size + 2 * determined
    held = int(np.isin(state, (SEEN, THIN)).sum())
    while len(counts) < held:
        number += (int(raw[at]) & 127) * weight
        weight *= 128
        if raw[at] < 128:
            counts.append(number)
            number, weight = 0, 1
        at += 1
    steps = raw[at : at + held].astype(int) * 256 + raw[at + held :]
    return state, leverage, counts, [] if ends is None else ends[0] + (ends[1] - ends[0]) * steps / STEPS


@pytest.mark.parametrize("name", CASES)
def test_nothing_outside_is_asked_for(pages, name):
    """A page that reaches out would tell somebody who reads it."""
    page = pages[name]
    own = re.sub(r'<script type="application/json".*?</script>', "", page, flags=re.DOTALL)
    assert not re.search(r"""(?:src|href|action)\s*=\s*["']?\s*(?:https?:)?//""", own, re.IGNORECASE)
    assert not re.search(r"""url\(\s*["']?(?!#)""", own)
    assert not re.search(
        r"\b(?:fetch|importScripts|XMLHttpRequest|WebSocket|EventSource|sendBeacon)\b|@import|\bimport\s*\(",
        own,
    )
    assert "http://" not in own
    assert "https://" not in own
    assert "default-src 'none'" in own


@pytest.mark.parametrize("name", CASES)
def test_the_same_record_gives_the_same_page(pages, name):
    assert audit_page(CASES[name]()) == pages[name]


@pytest.mark.parametrize("name", CASES)
def test_every_count_is_on_the_page(pages, name):
    data = CASES[name]().data
    for number in (*data["counts"].values(), data["rows"], data["rows_left_out"]):
        assert f"{number:,}" in pages[name]
    assert html.escape(data["verdict"], quote=False) in html.unescape(pages[name])


@pytest.mark.parametrize("name", CASES)
def test_the_packed_cells_are_the_cells_of_the_record(pages, name):
    record = CASES[name]()
    payload = payload_of(pages[name])
    table = record.tables["maps"]
    for place, drawn in enumerate(payload["maps"]):
        part = table.filter(pa.compute.equal(table["map"], place))
        ends = payload["answers"]
        state, leverage, counts, answers = unpacked(
            drawn["cells"], part.num_rows, payload["low"], payload["high"], ends
        )
        wanted = part["state"].to_numpy()
        assert np.array_equal(state, wanted)
        assert counts == part["count"].to_numpy()[wanted == SEEN].tolist()
        np.testing.assert_allclose(leverage, part["leverage"].to_numpy()[wanted == DETERMINED], rtol=2e-3)
        if ends is not None:
            np.testing.assert_allclose(answers, part["answer"].to_numpy()[wanted == SEEN], atol=1e-3)


def test_a_page_of_1_200_000_cells_is_below_6_megabytes():
    factors = {f"factor {letter}": words(letter * 20, 282) for letter in "abcdef"}
    assert len(audit_page(make_record(factors, islands=2)).encode()) < 6_000_000
    factors = {"a": words("a", 1095), "b": words("b", 1095)}
    assert len(audit_page(make_record(factors, all_seen=True)).encode()) < 6_000_000


def test_values_are_text_and_never_markup(pages):
    page = pages["nasty"]
    assert "<script>alert" not in page
    assert "<i>mat" not in page
    assert page.count("</script>") == 2
    assert "\u2028" not in re.search(r'id="payload">(.*?)</script>', page, re.DOTALL)[1]
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert "<script>alert(1)</script>" in payload_of(page)["values"]
    assert "(empty)" in payload_of(page)["values"]


def test_a_long_value_is_shortened_in_sight_and_whole_in_the_download(pages):
    page = pages["nasty"]
    payload = payload_of(page)
    assert max(len(text) for text in payload["values"]) == 300
    assert "x" * 5000 in {text for one in payload["lists"] for text in one["pool"]}
    own = re.sub(r'<script type="application/json".*?</script>', "", page, flags=re.DOTALL)
    assert max(len(run) for run in re.findall("x+", own)) < 300


def test_counts_too_large_for_a_browser_are_exact():
    record = shoes()
    counts = record.data["counts"] | {"space": 10**23 + 7}
    page = audit_page(Record("audit", {**record.data, "counts": counts}, record.tables, record.provenance))
    assert "100,000,000,000,000,000,000,007" in page


def test_what_was_not_measured_is_said():
    record = make_record({"only": ["a", "b"]})
    page = audit_page(Record("audit", {**record.data, "redundancy": None, "maps": []}, {}, record.provenance))
    assert "A map needs two factors" in page
    assert "No target was given" in page
    assert "no unseen combination is determined" in page


def test_a_map_that_was_cut_says_so():
    record = shoes()
    maps = [{**record.data["maps"][0], "rows_total": 2340}]
    page = audit_page(Record("audit", {**record.data, "maps": maps}, record.tables, record.provenance))
    assert "the first 16 of 2,340 values of material" in page


def test_null_measures_are_dashes():
    record = shoes()
    pair = {"factors": ["material", "type"], "cramers_v": None, "nmi": None, "spread": [None, None]}
    page = audit_page(Record("audit", {**record.data, "dependence": [pair]}, record.tables, record.provenance))
    assert "A factor with a single value" in page


def test_another_kind_of_record_is_refused():
    record = shoes()
    with pytest.raises(RecordError, match="has no audit page"):
        audit_page(Record("plan", record.data, record.tables, record.provenance))


def test_cells_that_do_not_fill_their_grid_are_refused():
    record = shoes()
    with pytest.raises(RecordError, match="does not fill"):
        audit_page(Record("audit", record.data, {"maps": record.tables["maps"].slice(1)}, record.provenance))


def test_the_command_to_make_it_again_is_there(pages):
    assert "recombine audit shoes.csv --factors material,type" in pages["shoes"]


@pytest.mark.parametrize("number", [0, 1, 127, 128, 16_383, 16_384, 2**40, 2**53])
def test_varints_hold_any_count(number):
    packed = varints(np.array([number])).tolist()
    assert sum((byte & 127) << (7 * place) for place, byte in enumerate(packed)) == number
    assert [byte >= 128 for byte in packed] == [True] * (len(packed) - 1) + [False]


def test_a_scale_keeps_its_ends_and_marks_what_is_unknown():
    assert LeverageScale(0.01, 1e6).codes(np.array([0.0, 0.01, 1e6, 1e9, np.inf])).tolist() == [
        0,
        0,
        STEPS,
        STEPS,
        STEPS + 1,
    ]


CHROMIUM = "chromium"  # tests marked `browser` have it
QUIET = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-sync"]
QUIET += ["--disable-component-update", "--no-first-run", "--virtual-time-budget=5000", "--dump-dom"]


def opened(page, folder, fragment=""):
    """The opening tag of the page as a browser has it after its script has run."""
    file = folder / "page.html"
    file.write_text(page, encoding="utf-8")
    command = [CHROMIUM, *QUIET, f"--user-data-dir={folder / 'profile'}", f"{file.as_uri()}{fragment}"]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    return re.search(r"<html[^>]*>", ran.stdout)[0]


FRAMES = "<script>window.requestAnimationFrame = (draw) => setTimeout(() => draw(performance.now()), 16)</script>"
"""Timers of a page that is only dumped run ahead of its frames, so that on a busy machine it would be read undrawn."""


def probed(page, probe, folder, fragment=""):
    """What a script of ours finds in the page; the page's policy, which would forbid it, is taken off."""
    bare = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", page)
    bare = re.sub(r"<head[^>]*>", lambda head: head[0] + FRAMES, bare, count=1)
    tag = opened(bare.replace("</body>", probe), folder, fragment)
    assert 'data-errors=""' in tag
    return json.loads(html.unescape(re.search(r'data-probe="([^"]*)"', tag)[1]))


@pytest.mark.browser
@pytest.mark.parametrize("name", CASES)
def test_the_page_comes_alive_in_a_browser(pages, name, tmp_path: Path):
    tag = opened(pages[name], tmp_path)
    assert 'data-ready="true"' in tag
    assert 'data-errors=""' in tag


@pytest.mark.browser
def test_the_policy_stops_a_script_that_is_not_the_page_s_own(pages, tmp_path: Path):
    foreign = "<script>document.documentElement.dataset.foreign = 'ran'</script></body>"
    tag = opened(pages["shoes"].replace("</body>", foreign), tmp_path)
    assert 'data-ready="true"' in tag
    assert "data-foreign" not in tag


PROBE = """<script>setTimeout(() => {
  const canvas = document.getElementById("canvas"), search = document.getElementById("search"), out = {};
  const key = (where, name) => where.dispatchEvent(new KeyboardEvent("keydown", { key: name }));
  search.value = "attribute 0200"; search.dispatchEvent(new Event("input")); key(search, "Enter");
  canvas.focus(); key(canvas, "ArrowRight"); key(canvas, "ArrowRight"); key(canvas, "Enter");
  out.pinned = document.getElementById("pinned").textContent;
  document.querySelector("[value=name]").click(); document.getElementById("zoom-in").click();
  document.querySelector(".sortable th.number button").click();
  out.lowest = Number(document.querySelector(".sortable td.number").dataset.number);
  out.csv = ["=1+1", "-5", "@x", "+2,3", "a,b", "a;b", "＝1", "＋1", "－1", "＠x", '"q"', "plain"].map(csvCell);
  setTimeout(() => {
    out.range = document.getElementById("range").textContent;
    document.documentElement.dataset.probe = JSON.stringify(out);
  }, 500);
}, 1000)</script></body>"""


@pytest.mark.browser
@pytest.mark.canary
def test_searching_pinning_sorting_and_downloading_work(pages, tmp_path: Path):
    found = probed(pages["large"], PROBE, tmp_path)
    assert re.match(r"Pinned: \w+=attribute 0200, \w+=thing 0001\. ", found["pinned"])
    assert re.search(r"rows \d+ to \d+ of 413", found["range"])
    weakest = large().data["leverage"]["weakest"]
    assert found["lowest"] == min(one["leverage"] for one in weakest)
    assert found["csv"] == [
        "'=1+1", "'-5", "'@x", '"\'+2,3"', '"a,b"', '"a;b"', "'＝1", "'＋1", "'－1", "'＠x", '"""q"""', "plain",
    ]  # fmt: skip


def test_a_map_of_elements_counts_each_pair_once():
    seen, follows = 2, 1
    grid = np.array([[seen, seen, follows], [seen, follows, follows], [follows, follows, follows]], dtype=np.uint8)
    cells = MapCells(grid.ravel(), np.zeros(9, dtype=np.int64), np.zeros(9), np.zeros(9), mirrored=True)
    assert (cells.tally()["seen"], cells.tally()["determined"]) == (2, 4)
