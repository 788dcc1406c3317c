"""What every kind of page owes its readers: words that explain it, keys that reach all, a phone's width, a copy."""

import html
import json
import re
import subprocess
from html.parser import HTMLParser
from pathlib import Path

import pytest

from recombine.base import plugins
from recombine.output.pages import _PAGES
from tests.output.kinds import KINDS, every_page
from tests.output.test_audit_page import CHROMIUM, QUIET

PHONE = 380
ROOT = Path(__file__).parents[2]
ASSETS = [
    ROOT / "src/recombine/output/assets",
    ROOT / "lab/src/recombine_lab/probes/assets",
    ROOT / "studies/src/recombine_studies/assets",
]


def test_there_is_a_page_of_every_kind():
    added = set(plugins.names("recombine.pages")) - {"run"}  # which is drawn as its evaluation
    own = set(_PAGES) - {"stored_audit"}  # which is drawn as an audit
    assert set(KINDS) == own | added == set(every_page())


# How to read it


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_says_how_to_read_it(kind: str):
    panel = every_page()[kind].split('<details id="reading">')[1].split("</details>")[0]
    sentences = re.findall(r"<li>(.*?)</li>", panel, re.DOTALL)
    assert 4 <= len(sentences) <= 8
    assert "<a " not in panel
    for sentence in sentences:
        assert re.search(r"[.:]$", re.sub(r"<[^>]+>", "", sentence).strip()), sentence
    assert re.search(r"not say|does not promise|tests no answers|speaks of", panel), "what it does not say"


def test_each_kind_has_one_file_of_words():
    assert {path.name.split(".")[0] for assets in ASSETS for path in (assets / "reading").iterdir()} == set(KINDS)


# Markup that a screen reader needs


class Read(HTMLParser):
    """Every element with its attributes and its text, the script and the style left out."""

    def __init__(self) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None], list[str]]] = []
        self.open: list[tuple[str, list[str]]] = []

    def handle_starttag(self, tag, attrs):
        words: list[str] = []
        self.elements.append((tag, dict(attrs), words))
        if tag not in ("meta", "link", "input", "br", "img", "hr"):
            self.open.append((tag, words))

    def handle_endtag(self, tag):
        while self.open and self.open.pop()[0] != tag:
            pass

    def handle_data(self, data):
        for _, words in self.open:
            words.append(data)


def elements(kind, *tags):
    read = Read()
    read.feed(re.sub(r"<(script|style)\b.*?</\1>", "", every_page()[kind], flags=re.DOTALL))
    return [(tag, given, "".join(words).strip()) for tag, given, words in read.elements if tag in tags or not tags]


@pytest.mark.parametrize("kind", KINDS)
def test_everything_has_a_name_and_every_heading_its_scope(kind: str):
    assert every_page()[kind].startswith('<!doctype html>\n<html lang="en">')
    for _, given, _ in elements(kind, "th"):
        assert given.get("scope") in ("col", "row")
    for _, given, _ in elements(kind, "svg", "canvas"):
        label = given.get("aria-label") or ""
        assert given.get("aria-hidden") == "true" or (given.get("role") and len(label) > 5), given
    for _, given, text in elements(kind, "button", "summary"):
        assert text or given.get("aria-label"), given
    labelled = {given.get("for") for _, given, _ in elements(kind, "label")}
    inside = re.findall(r"<label[^>]*>(?:(?!</label>).)*?<(?:input|select)", every_page()[kind], re.DOTALL)
    outside = [given for _, given, _ in elements(kind, "input", "select") if given.get("id") in labelled]
    assert len(inside) + len(outside) >= len(elements(kind, "input", "select"))
    names = [given["id"] for _, given, _ in elements(kind) if given.get("id")]
    assert len(names) == len(set(names))
    assert all(given.get("tabindex", "0") == "0" for _, given, _ in elements(kind)), "the order of tabs is the page's"


def test_nothing_moves_by_itself():
    sheets = "".join(path.read_text(encoding="utf-8") for path in ASSETS[0].glob("*.css"))
    moving = re.findall(r"(?:transition|animation)[\w-]*:\s*([^;]+);", sheets)
    assert set(moving) == {"none !important"}
    assert "prefers-reduced-motion: reduce" in sheets
    assert "smooth" not in sheets + "".join(path.read_text(encoding="utf-8") for path in ASSETS[0].glob("*.js"))


# In a browser: all kinds at once, each in a frame as wide as a phone

LOOK = """
const look = async (frame) => {
  const page = frame.contentWindow, doc = frame.contentDocument, out = { errors: doc.documentElement.dataset.errors };
  const ready = doc.documentElement.dataset.ready === "true";
  const shown = (one) => one.checkVisibility() && one.getClientRects().length;
  for (const one of doc.querySelectorAll("details")) one.open = true;
  out.ready = ready;
  out.width = doc.documentElement.scrollWidth;
  out.far = [...doc.querySelectorAll("body *")].filter((one) => shown(one) && one.getBoundingClientRect().right > 381
    && !one.closest(".scroll, svg, [hidden]")).map((one) => one.tagName + "." + one.className).slice(0, 5);
  out.unseen = []; out.unreached = [];
  for (const one of doc.querySelectorAll("a[href], button, select, input, summary, textarea, [tabindex]")) {
    if (!shown(one) || (one.type === "radio" && !one.checked)) continue;
    one.focus({ focusVisible: true });
    const style = page.getComputedStyle(one), name = `${one.tagName} ${one.id || one.textContent.trim()}`;
    if (doc.activeElement !== one) out.unreached.push(name);
    if (style.outlineStyle === "none" || parseFloat(style.outlineWidth) < 1.5) out.unseen.push(name);
  }
  out.headline = [...doc.querySelectorAll(".big, .badge")].map((one) => one.textContent.replace(/\\s+/g, " "));
  out.markdown = page.pageAsMarkdown();
  Object.defineProperty(page.navigator, "clipboard", { value: undefined });
  doc.getElementById("markdown").click();
  await new Promise((done) => setTimeout(done, 50));
  const area = doc.querySelector("#offered textarea");
  const all = area?.selectionEnd - area?.selectionStart === area?.value.length;
  out.offered = area?.value === out.markdown && all && doc.activeElement === area;
  area?.dispatchEvent(new page.KeyboardEvent("keydown", { key: "Escape" }));
  out.closed = !doc.getElementById("offered") && doc.activeElement.id === "markdown";
  return out;
};
addEventListener("load", () => setTimeout(async () => {
  const out = {};
  for (const frame of document.querySelectorAll("iframe")) out[frame.id] = await look(frame);
  document.documentElement.dataset.probe = JSON.stringify(out);
}, 1500));
"""


@pytest.fixture(scope="module")
def looked(tmp_path_factory):
    """What is found in a page of every kind, in one browser."""
    folder = tmp_path_factory.mktemp("kinds")
    for kind, page in every_page().items():
        (folder / f"{kind}.html").write_text(page, encoding="utf-8")
    frames = "".join(f'<iframe id="{kind}" src="{kind}.html" width="{PHONE}" height="800"></iframe>' for kind in KINDS)
    style = "<style>iframe { border: 0; display: block; }</style>"
    (folder / "all.html").write_text(f"<!doctype html>{style}{frames}<script>{LOOK}</script>", encoding="utf-8")
    command = [CHROMIUM, *QUIET, "--allow-file-access-from-files", f"--user-data-dir={folder / 'profile'}"]
    ran = subprocess.run(
        [*command, (folder / "all.html").as_uri()], capture_output=True, text=True, timeout=300, check=True
    )
    return json.loads(html.unescape(re.search(r'data-probe="([^"]*)"', ran.stdout)[1]))


@pytest.mark.browser
@pytest.mark.parametrize("kind", KINDS)
def test_a_page_is_as_wide_as_a_phone(looked, kind: str):
    """Wide tables scroll within their box, the page never does."""
    assert looked[kind]["errors"] == ""
    assert looked[kind]["ready"]
    assert looked[kind]["width"] <= PHONE
    assert looked[kind]["far"] == []


@pytest.mark.browser
@pytest.mark.parametrize("kind", KINDS)
def test_the_keys_reach_everything_and_it_can_be_seen_where_they_are(looked, kind: str):
    assert looked[kind]["unreached"] == []
    assert looked[kind]["unseen"] == []


@pytest.mark.browser
@pytest.mark.parametrize("kind", KINDS)
def test_a_page_is_copied_as_markdown(looked, kind: str):
    """Without a clipboard the text is offered, selected, and Escape goes back to the button."""
    text = looked[kind]["markdown"]
    assert text.startswith("### ")
    for part in looked[kind]["headline"]:
        assert part in text
    assert looked[kind]["offered"]
    assert looked[kind]["closed"]
    tabled = [line for line in text.splitlines() if line.startswith("|")]
    assert 2 <= len(tabled) <= 12
    assert len({len(re.findall(r"(?<!\\)\|", line)) for line in tabled}) == 1, tabled
