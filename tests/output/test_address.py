"""What is shown stands in the address and comes back from it; what an address should not hold does nothing."""

import json
import re
from pathlib import Path

import pytest

from recombine.output.ci_formats import plain
from recombine.output.pages import draw
from tests.output.kinds import every_page
from tests.output.links import LINKED, NOT_LINKED
from tests.output.test_audit_page import CASES, NASTY, probed
from tests.output.test_prediction_page import CASES as PREDICTIONS

TOLD = """
  const told = () => ({
    hash: location.hash, pinned: byId("pinned")?.textContent, panel: byId("panel-title")?.textContent,
    chosen: [...document.querySelectorAll("input[type=radio]")].filter((one) => one.checked).map((one) => one.value),
    range: byId("range")?.textContent, found: byId("search")?.value, pair: byId("pair")?.selectedIndex,
    sorted: [...document.querySelectorAll("th")].map((head) => head.getAttribute("aria-sort")),
    first: document.querySelector(".sortable tbody tr")?.textContent, history: history.length,
    link: byId("copy-link") && !byId("copy-link").hidden,
  });
"""
WAITED = "setTimeout(() => { document.documentElement.dataset.probe = JSON.stringify(out); }, 900);"


def script(*steps, wait=1200):
    """A probe that takes steps in the page and tells what is shown before and after them."""
    done = " ".join(steps)
    later = "setTimeout(() => { out.after = told(); }, 700);"
    body = f"{TOLD} const out = {{ before: told() }}; {done} {later} {WAITED}"
    return f"<script>setTimeout(async () => {{ {body} }}, {wait})</script></body>"


SEARCH = """
  const search = byId("search"), canvas = byId("canvas");
  const key = (where, name) => where.dispatchEvent(new KeyboardEvent("keydown", { key: name }));
  search.value = "attribute 0200"; search.dispatchEvent(new Event("input")); key(search, "Enter");
  canvas.focus(); key(canvas, "ArrowRight"); key(canvas, "ArrowRight"); key(canvas, "Enter");
"""
CHOICES = """
  document.querySelector("[name=order][value=name]").click(); byId("zoom-in").click();
  document.querySelector(".sortable th.number button").click();
"""


@pytest.mark.browser
def test_a_link_shows_what_its_sender_saw(tmp_path: Path):
    page = draw(CASES["large"]())
    sent = probed(page, script(SEARCH, CHOICES), tmp_path)
    before, after = sent["before"], sent["after"]
    assert before["hash"] == ""
    assert not before["link"]
    assert after["link"]
    assert re.fullmatch(
        r"#order=name&cell=attribute:attribute\+0200,thing:thing\+0001&find=attribute:attribute\+0200"
        r"&zoom=\d+-\d+,\d+-\d+&sort=weakest:leverage:ascending",
        after["hash"],
    )
    assert after["history"] == before["history"], "going back must leave the page"

    shown = probed(page, script(), tmp_path, after["hash"])
    assert shown["before"] == shown["after"] | {"history": shown["before"]["history"]}
    for name in ("hash", "pinned", "chosen", "range", "found", "sorted", "first"):
        assert shown["after"][name] == after[name], name


@pytest.mark.browser
def test_a_pair_of_many_is_named(tmp_path: Path):
    page = draw(CASES["binary"]())
    turn = 'byId("pair").selectedIndex = 9; byId("pair").dispatchEvent(new Event("change", { bubbles: true }));'
    drawn = "byId('canvas').getAttribute('aria-label').includes('switch e')"
    turned = f"while (!{drawn}) await new Promise((done) => setTimeout(done, 50));"
    pin = "byId('canvas').focus(); key('ArrowRight'); key(' ');"
    keys = 'const key = (name) => byId("canvas").dispatchEvent(new KeyboardEvent("keydown", { key: name }));'
    after = probed(page, script(keys, turn, turned, pin), tmp_path)["after"]
    assert re.fullmatch(r"#pair=switch\+(\w)~switch\+(\w)&cell=switch\+\1:(on|off),switch\+\2:(on|off)", after["hash"])
    shown = probed(page, script(), tmp_path, after["hash"])["after"]
    assert (shown["pair"], shown["pinned"]) == (9, after["pinned"])


@pytest.mark.browser
def test_a_prediction_is_named_by_all_its_factors(tmp_path: Path):
    page = draw(PREDICTIONS["three_factors"]())
    steps = 'document.querySelector("[name=mode][value=verdict]").click();'
    steps += 'document.querySelector("[name=bars][value=size]").click();'
    steps += 'document.querySelectorAll("tr[data-cell] button")[2].click();'
    after = probed(page, script(steps), tmp_path)["after"]
    assert re.fullmatch(r"#mode=verdict&bars=size&cell=material:[^&:]+,garment:[^&:]+,size:\d", after["hash"])
    shown = probed(page, script(), tmp_path, after["hash"])["after"]
    assert shown["panel"] == after["panel"]
    assert shown["chosen"] == after["chosen"]


@pytest.mark.browser
def test_a_list_of_a_page_without_a_map_is_sorted_again(tmp_path: Path):
    page = every_page()["plan"]
    sort = 'document.querySelectorAll(".sortable th button")[1].click();'
    after = probed(page, script(sort, sort), tmp_path)["after"]
    assert after["hash"] == "#sort=plan:material:descending"
    shown = probed(page, script(), tmp_path, after["hash"])["after"]
    assert (shown["first"], shown["sorted"]) == (after["first"], after["sorted"])


CONTENTS = (
    "document.querySelector('.contents a[href=\"#lists\"]').click(); await new Promise((r) => setTimeout(r, 50));"
)


@pytest.mark.browser
def test_a_link_of_the_contents_keeps_what_is_shown(tmp_path: Path):
    page = draw(CASES["shoes"]())
    order = "#order=name&cell=material:Wool,type:Sandals"
    found = probed(page, script(CONTENTS), tmp_path, order)
    assert found["before"]["pinned"].startswith("Pinned: material=Wool, type=Sandals.")
    assert found["after"]["hash"] == order.replace("#", "#lists&")
    assert found["after"]["pinned"] == found["before"]["pinned"]


NONSENSE = [
    "#cell=material:Gold,type:Sandals&order=backwards&zoom=9-1,0-99999999&sort=weakest:nothing:up,x&pair=a~b",
    "#cell=%E0%A4%A&find=%&zoom=1-2&pair=@99999999999&sort=@0:@0:sideways",
    "#cell=@-1:@0,@1:@x&find=@0:@1:@2&order=constructor&__proto__=x&constructor=y",
    "#<img src=x onerror=document.documentElement.dataset.errors='hit'>",
    "#cell=material:%3Cimg%20src=x%20onerror=alert(1)%3E,type:Sandals",
    "#" + "cell=" * 3000,
]


@pytest.mark.browser
def test_nonsense_in_an_address_is_passed_over(tmp_path: Path):
    """The first as the page is opened, the others while it is open: nothing moves, and nothing becomes markup."""
    page = draw(CASES["shoes"]())
    steps = f"""
      out.each = [];
      for (const fragment of {json.dumps(NONSENSE[1:])}) {{
        location.hash = fragment;
        await new Promise((done) => setTimeout(done, 400));
        out.each.push({{ ...told(), images: document.images.length }});
      }}
    """
    found = probed(page, script(steps), tmp_path, NONSENSE[0])
    assert len(found["each"]) == len(NONSENSE) - 1
    for one in (found["before"], *found["each"]):
        assert (one["pinned"], one["chosen"], one["range"], one["found"]) == ("", ["rows", "island"], "", "")
        assert set(one["sorted"]) <= {"none", None}
        assert not one.get("images")


@pytest.mark.browser
def test_every_value_can_be_named_in_an_address(tmp_path: Path):
    """Markup, signs that separate, no letters at all, five thousand of them: each comes back as the value it was."""
    page = draw(CASES["nasty"]())
    steps = """
      const axes = [{ factor: "a:b,c", names: [...payload.values, "a", "a", "@1", "x,y:z&w=+ %", "\\ud800"] }];
      out.names = axes[0].names;
      out.texts = axes[0].names.map((_, place) => valuesText(axes, [place]));
      out.places = out.texts.map((text) => valuesRead(axes, text)[0]);
    """
    found = probed(page, script(steps), tmp_path)
    assert any(NASTY[0] in name for name in found["names"])
    assert found["places"] == list(range(len(found["names"])))
    assert not [text for text in found["texts"] if re.search(r"[<>\"\s&=#]", text)]
    assert max(map(len, found["texts"])) < 600


COPIED = """
  out.texts = [];
  Object.defineProperty(navigator, "clipboard", { value: { writeText: async (text) => { out.texts.push(text); } } });
"""


@pytest.mark.browser
def test_a_link_is_copied_with_the_cell_in_it(tmp_path: Path):
    page = draw(CASES["shoes"]())
    steps = COPIED + 'byId("copy-link").click(); await null;'
    fragment = "#cell=material:Wool,type:Sandals"
    found = probed(page, script(steps), tmp_path, fragment)
    assert [text.rpartition("/")[2] for text in found["texts"]] == [f"page.html{fragment}"]


@pytest.mark.browser
def test_what_came_from_a_table_is_no_markup_in_markdown(tmp_path: Path):
    page = draw(CASES["nasty"]())
    steps = """
      out.plain = ["a|b", "two\\nlines", "<b>", "![x](y)", "*_x_*", "snake_case", "a`b", "\\\\"].map(plainly);
      out.text = pageAsMarkdown();
    """
    found = probed(page, script(steps), tmp_path)
    assert found["plain"] == [
        "a\\|b", "two lines", "\\<b\\>", "!\\[x\\](y)", "\\*\\_x\\_\\*", "snake_case", "a\\`b", "\\\\",
    ]  # fmt: skip
    assert "<script>" not in found["text"]
    assert "x" * 400 not in found["text"]


@pytest.mark.browser
def test_a_copied_page_makes_no_link_and_no_mention(tmp_path: Path):
    texts = json.dumps([*LINKED, *NOT_LINKED])
    found = probed(draw(CASES["shoes"]()), script(f"out.plain = {texts}.map(plainly);"), tmp_path)
    assert [text.replace("\\", "") for text in found["plain"]] == [
        plain(text).replace("\\", "") for text in (*LINKED, *NOT_LINKED)
    ]
