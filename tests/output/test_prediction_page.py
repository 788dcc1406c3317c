"""The page of a prediction: complete, escaped, small, deterministic, and alive in a real browser."""

import base64
import html
import re
import zlib
from itertools import chain, combinations
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from recombine.base.errors import RecordError
from recombine.base.records import Provenance, Record
from recombine.output.combination_cube import MANY_PARTS, STEPS, codes, pack_floats
from recombine.output.pictures import Axes, around, powers, round_numbers
from recombine.output.prediction_page import prediction_page
from recombine.output.prediction_pictures import track_sentence
from tests.output.test_audit_page import (
    CREATED,
    MATERIALS,
    NASTY,
    TYPES,
    opened,
    payload_of,
    probed,
    words,
)

SEEN, FINE, LEAK, SHORTCUT, CANT, UNDETERMINED, UNSURE, NOVEL, IMPOSSIBLE, UNLISTED = range(10)
VERDICTS = [
    "seen",
    "fine",
    "leak",
    "shortcut",
    "can't",
    "not determined",
    "unsure",
    "novel",
    "impossible",
    "not listed",
]
CLASSES = ["light", "warm", "dry", "smart", "cheap"]


def every_set(factors):
    """Every set of factors without the empty one, in mask order."""
    return [[k for k in range(factors) if mask >> k & 1] for mask in range(1, 2**factors)]


def made_up_parts(shape, scores, seen, rng, *, high=0.3):
    """A part for each conjunction and score, smaller the larger the conjunction; NaN where it was never seen."""
    parts = []
    for one in every_set(len(shape)):
        others = tuple(k for k in range(len(shape)) if k not in one)
        known = seen.any(axis=others)
        for _ in range(scores):
            part = rng.normal(0, high ** (len(one) - 1), known.shape).astype(np.float32)
            parts.append(np.where(known, part, np.float32("nan")))
    return parts


def summed(shape, parts, scores, constant):
    """What the parts of every combination add up to, a score at a time."""
    totals = [np.full(shape, one, dtype=np.float64) for one in constant]
    for place, one in enumerate(every_set(len(shape))):
        for score in range(scores):
            part = np.nan_to_num(parts[place * scores + score])
            kept = tuple(slice(None) if k in one else None for k in range(len(shape)))
            totals[score] = totals[score] + part[kept]
    return np.stack(totals)


def make_prediction(
    factors, *, classes=(), seed=0, density=0.35, truth=True, backtest=True, constant=0.0, offer_worst=True, novel=0
):
    """A prediction's record with made-up numbers whose parts do add up: `factors` is {name: values}."""
    rng = np.random.default_rng(seed)
    shape = tuple(len(values) for values in factors.values())
    scores = 1 if len(classes) <= 2 else len(classes)
    seen = rng.random(shape) < density
    start = [constant + 0.05 * score for score in range(scores)]
    parts = made_up_parts(shape, scores, seen, rng)
    total = summed(shape, parts, scores, start)
    label = np.full(shape, -1) if not classes else (total[0] >= 0).astype(int) if scores == 1 else total.argmax(0)
    prediction = total.max(0) if scores > 1 else total[0]
    verdict = rng.choice(np.arange(1, 7), size=shape, p=[0.6, 0.15, 0.08, 0.04, 0.05, 0.08])
    verdict[seen] = SEEN
    verdict[~seen & (rng.random(shape) < 0.01)] = IMPOSSIBLE
    if novel:
        verdict[..., -novel:] = NOVEL
    predicted = verdict < NOVEL
    sd = np.where(seen, 0.05, rng.gamma(4, 0.12, shape))
    if classes:
        flipped = (label + rng.integers(1, max(2, len(classes)), shape)) % len(classes)
        right = np.where(verdict == SHORTCUT, flipped, label)
    else:
        right = prediction + np.where(verdict == LEAK, 0.9, 0.2) * rng.normal(0, 1, shape)
    known = predicted & (rng.random(shape) < 0.7) & bool(truth)
    blank = lambda numbers: np.where(predicted, numbers, np.nan).ravel().astype(np.float32)  # noqa: E731
    cells = pa.table(
        {
            "verdict": pa.array(verdict.ravel().astype(np.uint8)),
            "prediction": pa.array(blank(prediction)),
            "label": pa.array(label.ravel().astype(np.int16)),
            "sd": pa.array(blank(sd)),
            "truth": pa.array(np.where(known, right, np.nan).ravel().astype(np.float32)),
            "count": pa.array(np.where(seen, rng.geometric(0.1, shape), 0).ravel().astype(np.float64)),
            "unleaked": pa.array(blank(prediction * 1.4)),
        }
    )
    sizes = [part.size for part in parts]
    table = pa.table(
        {
            "set": pa.array(np.repeat(np.repeat(np.arange(len(parts) // scores), scores), sizes).astype(np.int32)),
            "score": pa.array(np.repeat(np.tile(np.arange(scores), len(parts) // scores), sizes).astype(np.int16)),
            "value": pa.array(np.concatenate([part.ravel() for part in parts])),
        }
    )
    drawn = Drawn(factors, shape, verdict, prediction, label, right, known)
    data = describe(drawn, classes, start, rng, truth=truth, backtest=backtest, offer_worst=offer_worst)
    provenance = Provenance(
        source="data/clothes.csv",
        settings={"factors": list(factors), "target": "price"},
        command="recombine predict clothes.csv --factors material,garment --target price",
        created=CREATED,
        version="0.1.0",
    )
    return Record("prediction", data, {"cells": cells, "parts": table}, provenance)


class Drawn:
    """What the made-up numbers of a record are, before they are laid out."""

    def __init__(self, factors, shape, verdict, prediction, label, right, known):
        self.factors, self.shape, self.verdict = factors, shape, verdict
        self.prediction, self.label, self.right, self.known = prediction, label, right, known

    def combination(self, at):
        return {name: values[code] for (name, values), code in zip(self.factors.items(), at, strict=True)}


def worst_of(drawn, classes):
    troubled = np.argwhere((drawn.verdict >= LEAK) & (drawn.verdict <= UNSURE))
    listed = []
    for at in map(tuple, troubled[:200].tolist()):
        said = classes[drawn.label[at]] if classes else float(drawn.prediction[at])
        right = (classes[int(drawn.right[at])] if classes else float(drawn.right[at])) if drawn.known[at] else None
        name = VERDICTS[drawn.verdict[at]]
        why = f"It is a {name} at {', '.join(str(one) for one in drawn.combination(at).values())}."
        listed.append(
            {"combination": drawn.combination(at), "verdict": name, "prediction": said, "truth": right, "why": why}
        )
    return listed


def describe(drawn, classes, start, rng, *, truth, backtest, offer_worst):
    tally = np.bincount(drawn.verdict.ravel(), minlength=10)
    names, unseen = list(drawn.factors), drawn.verdict != SEEN
    weights = [{"factors": [], "weight": None}]
    weights += [{"factors": [names[k] for k in one], "weight": 0.4 ** len(one)} for one in every_set(len(names))]
    picked = np.flatnonzero((drawn.known if truth else unseen & (drawn.verdict < NOVEL)).ravel())[:1000]
    said, code = drawn.prediction.ravel()[picked], drawn.verdict.ravel()[picked]
    against = np.where(drawn.right.ravel()[picked] > 0, 1.0, -1.0) if classes else drawn.right.ravel()[picked]
    return {
        "verdict": "Of 121 unseen combinations, a kernel-like learner would get 73 right; "
        "18 leak and 9 follow a shortcut.",
        "grade": "weak",
        "reasons": ["18 predictions shrink by more than half.", "material alone predicts the answer in 61 % of rows."],
        "target": {
            "name": "label" if classes else "price",
            "kind": "label" if classes else "number",
            "classes": list(classes),
        },
        "factors": [
            {"name": name, "values": len(values), "seen": len(values), "declared": False}
            for name, values in drawn.factors.items()
        ],
        "salience": {"name": "relu:3", "noise": 0.1, "weights": weights},
        "loss": "squared",
        "ridge": 0.0,
        "scale": 1.7,
        "rows": 12_345,
        "combinations": int(tally[SEEN]),
        "space": int(drawn.verdict.size),
        "listed": int(drawn.verdict.size),
        "sampled": False,
        "counts": {name: int(tally[place]) for place, name in enumerate(VERDICTS[:8])},
        "truth": {
            "source": "truth.csv",
            "known": int(drawn.known.sum()),
            "error": {"name": "accuracy", "value": 0.83}
            if classes
            else {"name": "root mean squared error", "value": 0.61},
        }
        if truth
        else None,
        "slope": {
            "against": "truth" if truth else "an answer without a leak",
            "value": 0.74,
            "offset": -0.1,
            "points": [[float(x), float(y), int(c)] for x, y, c in zip(against, said, code, strict=True)],
            "curve": [[p, p * 0.42 / (1 + (p - 2) * 0.42)] for p in (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48)],
            "needed": [
                {
                    "factor": name,
                    "now": 3.0 + 2 * place,
                    "slope_now": (3 + 2 * place) * 0.42 / (1 + (1 + 2 * place) * 0.42),
                    "for": [[0.8, 4], [0.9, 6], [0.95, None if place else 14]],
                }
                for place, name in enumerate(names)
            ],
        },
        "backtest": track_record(classes, rng) if backtest else None,
        "worst": worst_of(drawn, classes) if offer_worst else [],
        "grid": {
            "factors": [
                {
                    "name": name,
                    "values": [str(one) for one in values],
                    "total": len(values),
                    "codes": list(range(len(values))),
                }
                for name, values in drawn.factors.items()
            ],
            "sets": every_set(len(names)),
            "constant": start,
            "classes": ["price"] if not classes else [classes[1]] if len(classes) == 2 else list(classes),
        },
    }


def track_record(classes, rng):
    name, better = ("accuracy", "higher") if classes else ("root mean squared error", "lower")
    scores = [0.81, 0.74, 0.66, 0.4] if classes else [0.41, 0.52, 0.77, 1.05]
    sign = 1 if classes else -1
    methods = [
        {
            "name": method,
            "score": score,
            "low": score - 0.09,
            "high": score + 0.08,
            "difference": None if not place else [sign * gap - 0.06, sign * gap, sign * gap + 0.06],
        }
        for place, (method, score, gap) in enumerate(
            zip(
                ["kernel", "additive", "nearest seen", "majority" if classes else "mean"],
                scores,
                [0, 0.04, 0.2, 0.4],
                strict=True,
            )
        )
    ]
    truth = rng.normal(0, 1, 60)
    said = truth * 0.8 + rng.normal(0, 0.3, 60)
    return {
        "share": 0.2,
        "repeats": 5,
        "tested": 60,
        "score": name,
        "better": better,
        "methods": methods,
        "coverage": {"nominal": 0.95, "found": 0.93, "low": 0.88, "high": 0.97},
        "calibration": [{"nominal": n, "found": f} for n, f in ((0.5, 0.46), (0.8, 0.74), (0.9, 0.88), (0.95, 0.93))],
        "rungs": [
            {"rung": rung, "tested": tested, **{one["name"]: one["score"] + 0.01 * tested for one in methods}}
            for rung, tested in (("determined", 52), ("undetermined", 8))
        ],
        "points": []
        if classes
        else [[float(t), float(s), float(s - 0.6), float(s + 0.6)] for t, s in zip(truth, said, strict=True)],
    }


def clothes():
    return make_prediction({"material": MATERIALS, "garment": TYPES}, constant=20.0)


def unknown():
    return make_prediction({"material": MATERIALS, "garment": TYPES}, truth=False, backtest=False)


def two_classes():
    return make_prediction({"material": MATERIALS, "garment": TYPES}, classes=CLASSES[:2], novel=1)


def five_classes():
    return make_prediction(
        {"material": MATERIALS[:9], "garment": TYPES, "season": ["winter", "summer", "rain"]}, classes=CLASSES
    )


def three_factors():
    return make_prediction(
        {"material": MATERIALS[:8], "garment": TYPES[:6], "size": [1, 2, 3, 4]}, density=0.2, backtest=False
    )


def five_factors():
    return make_prediction(
        {f"switch {letter}": ["off", "on", "auto"] for letter in "abcde"}, density=0.1, classes=CLASSES[:2]
    )


def large():
    factors = {"attribute": words("attribute", 413), "thing": words("thing", 674)}
    return make_prediction(factors, density=0.03, constant=3.0)


def nasty():
    rows = [*NASTY, "x" * 5000]
    return make_prediction({"<i>mat</i>": rows, '"type"': TYPES}, classes=["<b>yes</b>", "</script>"])


def nothing_wrong():
    return make_prediction({"material": MATERIALS, "garment": TYPES}, offer_worst=False)


CASES = {
    case.__name__: case
    for case in (clothes, unknown, two_classes, five_classes, three_factors, five_factors, large, nasty, nothing_wrong)
}


@pytest.fixture(scope="module")
def records():
    return {name: case() for name, case in CASES.items()}


@pytest.fixture(scope="module")
def pages(records):
    return {name: prediction_page(record) for name, record in records.items()}


def changed(record, **data):
    return Record(record.kind, {**record.data, **data}, record.tables, record.provenance)


def inflated(text):
    return np.frombuffer(zlib.decompress(base64.b64decode(text)), np.uint8)


def unpacked_parts(text, size):
    """What the page's script does, in Python."""
    planes = inflated(text).reshape(-1, size).astype(np.uint32)
    return sum(plane << (24 - 8 * place) for place, plane in enumerate(planes)).astype(np.uint32).view(np.float32)


@pytest.mark.parametrize("name", CASES)
def test_nothing_outside_is_asked_for(pages, name):
    own = re.sub(r'<script type="application/json".*?</script>', "", pages[name], flags=re.DOTALL)
    assert not re.search(r"""(?:src|href|action)\s*=\s*["']?\s*(?:https?:)?//""", own, re.IGNORECASE)
    assert not re.search(r"""url\(\s*["']?(?!#)""", own)
    assert not re.search(r"\b(?:fetch|XMLHttpRequest|WebSocket|EventSource|sendBeacon)\b|@import|\bimport\s*\(", own)
    assert "http://" not in own
    assert "https://" not in own
    assert "default-src 'none'" in own


@pytest.mark.parametrize("name", CASES)
def test_the_same_record_gives_the_same_page(pages, name):
    assert prediction_page(CASES[name]()) == pages[name]


@pytest.mark.parametrize("name", CASES)
def test_what_the_record_says_is_on_the_page(pages, records, name):
    data, page = records[name].data, html.unescape(pages[name])
    for number in (*data["counts"].values(), data["rows"], data["combinations"], data["space"]):
        assert f"{number:,}" in page
    for sentence in (data["verdict"], *data["reasons"], *(one["why"] for one in data["worst"][:5])):
        assert sentence[:300] in page
    assert "This speaks of kernel-like learners: networks that learn features can do better." in page
    assert "recombine predict clothes.csv --factors material,garment --target price" in page


@pytest.mark.parametrize("name", CASES)
def test_the_packed_cells_are_the_cells_of_the_record(pages, records, name):
    payload, cells = payload_of(pages[name]), records[name].tables["cells"]
    raw, size = inflated(payload["cells"]), cells.num_rows
    assert np.array_equal(raw[:size], cells["verdict"].to_numpy())
    for place, (field, (low, high)) in enumerate(payload["ranges"].items()):
        at = size * (1 + 2 * place)
        steps = raw[at : at + size].astype(int) * 256 + raw[at + size : at + 2 * size]
        found = np.where(steps > STEPS, np.nan, low + steps * (high - low) / STEPS)
        wanted = cells[field].to_numpy().astype(np.float64)
        if field == "unleaked":
            wanted = np.where(raw[:size] == LEAK, wanted, np.nan)
        np.testing.assert_allclose(found, wanted, atol=(high - low) / STEPS * (9 if field == "sd" else 1))


@pytest.mark.parametrize("name", CASES)
def test_the_packed_parts_are_the_parts_of_the_record(pages, records, name):
    wanted = records[name].tables["parts"]["value"].to_numpy()
    found = unpacked_parts(payload_of(pages[name])["parts"], wanted.size)
    np.testing.assert_allclose(found, wanted, rtol=2e-5 if wanted.size > MANY_PARTS else 0)


@pytest.mark.slow
def test_a_page_of_278_000_cells_is_below_3_megabytes(pages):
    assert len(pages["large"].encode()) < 3_000_000
    factors = {"attribute": words("attribute", 413), "thing": words("thing", 674)}
    assert len(prediction_page(make_prediction(factors, density=0.5)).encode()) < 3_200_000


def test_values_are_text_and_never_markup(pages):
    page = pages["nasty"]
    for markup in ("<script>alert", "<i>mat", "<b>yes"):
        assert markup not in page
    assert page.count("</script>") == 2
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert payload_of(page)["classes"] == ["<b>yes</b>", "</script>"]
    own = re.sub(r'<script type="application/json".*?</script>', "", page, flags=re.DOTALL)
    assert max(len(run) for run in re.findall("x+", own)) <= 300


def test_without_a_back_test_the_page_says_how_to_get_one(pages):
    assert "--target price --backtest" in pages["unknown"]
    assert "has not been tested" in pages["unknown"]
    assert "--backtest" not in pages["clothes"]


def test_without_a_truth_there_is_no_error_to_colour(pages):
    assert 'value="error"' in pages["clothes"]
    assert 'value="error"' not in pages["unknown"]
    assert "No truth is known" in pages["unknown"]


def test_the_track_record_does_not_boast():
    assert "It beats nearest seen (−0.2, interval −0.26 to −0.14)" in track_sentence(
        track_record((), np.random.default_rng(0))
    )
    told = track_sentence(track_record(CLASSES, np.random.default_rng(0)))
    assert "cannot be told apart from additive (+4 points, interval −2 to +10)" in told
    lost = track_record((), np.random.default_rng(0))
    lost["methods"][1]["difference"] = [0.1, 0.2, 0.3]
    assert "is beaten by additive (+0.2, interval +0.1 to +0.3)" in track_sentence(lost)


def test_the_caution_stands_on_the_page_once():
    said = "It would fail. This speaks of kernel-like learners; a network that learns features may do better or worse."
    page = prediction_page(changed(clothes(), verdict=said))
    assert page.count("speaks of kernel-like learners") == 1


def test_a_grid_that_was_cut_or_sampled_says_so():
    record = clothes()
    grid = record.data["grid"]
    factors = [{**grid["factors"][0], "total": 2340}, grid["factors"][1]]
    page = prediction_page(changed(record, grid={**grid, "factors": factors}, space=10**23 + 7, sampled=True))
    assert "the 16 commonest of 2,340 values of material" in page
    assert "192 of 100,000,000,000,000,000,000,007 combinations were predicted: a sample" in page


def test_a_worst_combination_outside_the_cube_is_listed_but_not_pinned():
    record = clothes()
    strange = {**record.data["worst"][0], "combination": {"material": "Tweed", "garment": "Sandals"}}
    payload = payload_of(prediction_page(changed(record, worst=[strange, *record.data["worst"][:1]])))
    first = record.data["worst"][0]["combination"]
    assert payload["start"] == MATERIALS.index(first["material"]) * 12 + TYPES.index(first["garment"])
    assert payload["lists"][0]["rows"][0] != payload["lists"][0]["rows"][1]


def test_one_factor_has_no_grid():
    record = clothes()
    grid = {**record.data["grid"], "factors": record.data["grid"]["factors"][:1]}
    assert "A grid needs two factors" in prediction_page(
        changed(record, grid=grid, slope=None, salience=None, truth=None)
    )


def test_another_kind_of_record_is_refused():
    record = clothes()
    with pytest.raises(RecordError, match="has no prediction page"):
        prediction_page(Record("audit", record.data, record.tables, record.provenance))


@pytest.mark.parametrize(
    ("tables", "why"),
    [
        (lambda t: {}, "holds no table"),
        (lambda t: {**t, "cells": t["cells"].slice(1)}, "does not fill"),
        (lambda t: {**t, "parts": t["parts"].slice(1)}, "one part for each"),
        (
            lambda t: {**t, "cells": t["cells"].set_column(0, "verdict", pa.array([77] * 192, pa.uint8()))},
            "does not know",
        ),
    ],
)
def test_tables_that_do_not_fit_are_refused(tables, why):
    record = clothes()
    with pytest.raises(RecordError, match=why):
        prediction_page(Record("prediction", record.data, tables(record.tables), record.provenance))


def test_weighted_rows_keep_their_fraction():
    record = clothes()
    count = record.tables["cells"]["count"].to_numpy() * 0.5
    cells = record.tables["cells"].set_column(5, "count", pa.array(count))
    payload = payload_of(
        prediction_page(Record("prediction", record.data, {**record.tables, "cells": cells}, record.provenance))
    )
    assert payload["unit"] == 1000


def test_numbers_that_are_all_alike_or_missing_are_packed():
    assert codes(np.array([2.0, 2.0, np.nan]), 2.0, 2.0).tolist() == [0, 0, 65_535]
    numbers = np.array([0.0, -1.5, 3.14159274, np.inf, np.nan, 1e-30], dtype=np.float32)
    found = unpacked_parts(pack_floats(numbers), numbers.size)
    assert np.isnan(found[3:5]).all()
    np.testing.assert_allclose(found[[0, 1, 2, 5]], numbers[[0, 1, 2, 5]], rtol=1e-5)


def test_axes_hold_what_they_are_given():
    assert around([]) == (-0.06, 1.06)
    assert around([3.0])[0] < 3.0 < around([3.0])[1]
    assert powers(0.5, 12_000) == [1.0, 10.0, 100.0, 1000.0, 10_000.0]
    assert round_numbers(-1.04, 1.04) == [-1.0, -0.5, 0.0, 0.5, 1.0]
    assert Axes((0.0, 1.0), (5.0, 6.0)).line(1.0, 0.0, "diagonal") is None


@pytest.mark.browser
@pytest.mark.parametrize("name", CASES)
def test_the_page_comes_alive_in_a_browser(pages, name, tmp_path: Path):
    tag = opened(pages[name], tmp_path)
    assert 'data-ready="true"' in tag
    assert 'data-errors=""' in tag


PROBE = """<script>setTimeout(() => {
  const byId = (id) => document.getElementById(id), all = (what) => [...document.querySelectorAll(what)];
  const canvas = byId("canvas"), box = canvas.getBoundingClientRect(), out = { modes: {} };
  const bars = () => all("#contributions .c-row:not(.sum)[data-value]").map((row) => Number(row.dataset.value));
  const told = () => ({
    cell: Number(byId("panel").dataset.cell), bars: bars(), sum: Number(byId("contributions").dataset.sum),
    words: byId("panel-words").textContent, title: byId("panel-title").textContent,
    unseen: all("#contributions .unseen").length, truth: all("#contributions .truth").length,
  });
  const key = (name) => canvas.dispatchEvent(new KeyboardEvent("keydown", { key: name }));
  const press = (type, x, y) => canvas.dispatchEvent(new PointerEvent(type, { pointerId: 1, clientX: x, clientY: y }));
  const choose = (select, place) => { select.selectedIndex = place; select.dispatchEvent(new Event("change")); };
  const digest = (text) => [...text].reduce((sum, sign) => (sum * 31 + sign.charCodeAt(0)) % 4294967291, 7);
  canvas.setPointerCapture = () => {};
  MapView.prototype.redraw = function () { this.draw(); };
  out.start = told();
  let x = box.right;
  const y = box.bottom - 12;
  do { x -= 9; press("pointermove", x, y); } while (byId("tip").hidden && x > box.left);
  out.tip = byId("tip").textContent;
  press("pointerdown", x, y);
  press("pointerup", x, y);
  out.clicked = told();
  canvas.focus();
  ["ArrowLeft", "ArrowUp", "Enter"].forEach(key);
  out.typed = told();
  const other = document.querySelector("[data-slice]:not([hidden]) select"), pair = byId("pair"), score = byId("score");
  if (other) { choose(other, other.options.length - 1); out.slice = told(); }
  if (pair) { choose(pair, pair.options.length - 1); out.pair = told(); }
  if (score.options.length > 1) { choose(score, (score.selectedIndex + 1) % score.options.length); out.score = told(); }
  document.querySelector("[name=bars][value=size]").click();
  out.sizes = bars().slice(1).map(Math.abs);
  document.querySelector("tr[data-cell]:last-child").click();
  out.listed = told();
  for (const input of all("[name=mode]")) {
    input.click();
    const legends = all(".legends [data-mode]").filter((one) => !one.hidden).map((one) => one.dataset.mode);
    out.modes[input.value] = { picture: digest(canvas.toDataURL()), legends };
  }
  all("[name=order]").forEach((one) => one.click());
  byId("mark-seen").click();
  document.documentElement.dataset.probe = JSON.stringify(out);
}, 800)</script></body>"""


@pytest.mark.browser
@pytest.mark.parametrize("name", ["clothes", "two_classes", "five_classes", "three_factors", "five_factors", "large"])
def test_a_click_takes_a_prediction_apart(pages, records, name, tmp_path: Path):
    found, record = probed(pages[name], PROBE, tmp_path), records[name]
    cells, payload = record.tables["cells"], payload_of(pages[name])
    prediction = cells["prediction"].to_numpy()
    assert found["start"]["cell"] == payload["start"]
    assert record.data["worst"][0]["why"] in found["start"]["words"]
    told = [found[one] for one in ("start", "clicked", "typed", "slice", "pair", "listed") if one in found]
    assert len({one["cell"] for one in told}) >= 3
    for one in told:
        assert sum(one["bars"]) == pytest.approx(one["sum"], abs=1e-6)
        if not np.isnan(prediction[one["cell"]]):
            assert one["sum"] == pytest.approx(prediction[one["cell"]], abs=2e-4)
    if name != "five_factors":  # which gathers its smallest bars into one at the end
        assert found["sizes"] == sorted(found["sizes"], reverse=True)
    for first, second in combinations(found["modes"], 2):
        assert found["modes"][first]["picture"] != found["modes"][second]["picture"]
    assert list(chain.from_iterable(one["legends"] for one in found["modes"].values())) == list(found["modes"])
    assert "Verdict" in found["tip"] or "Seen" in found["tip"]
