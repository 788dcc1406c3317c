"""Colours that can be told apart, by the ratio of WCAG 2: 4.5 for letters, 3 for what is drawn; light and dark."""

import re
from itertools import product
from pathlib import Path

import pytest

ASSETS = Path(__file__).parents[2] / "src" / "recombine" / "output" / "assets"
DARK = re.compile(r"@media screen and \(prefers-color-scheme: dark\) \{\s*:root:not\(\.printing\) \{(.*?)\}", re.DOTALL)
COLOUR = re.compile(r"(--[\w-]+):\s*(#[0-9a-f]{6})\b")
LETTERS, DRAWN = 4.5, 3.0


def sheet() -> str:
    return "\n".join(path.read_text(encoding="utf-8") for path in sorted(ASSETS.glob("*.css")))


def palette(mode: str) -> dict[str, str]:
    """The colours of the style sheets by name; what the dark page does not say is as on the light one."""
    text = sheet()
    light = dict(COLOUR.findall(DARK.sub("", text)))
    return light if mode == "light" else light | dict(COLOUR.findall("".join(DARK.findall(text))))


def parts(colour: str) -> list[int]:
    return [int(colour[at : at + 2], 16) for at in (1, 3, 5)]


def mixed(first: str, second: str, share: float) -> str:
    both = zip(parts(first), parts(second), strict=True)
    return "#" + "".join(f"{round(a + (b - a) * share):02x}" for a, b in both)


def luminance(colour: str) -> float:
    shares = [part / 255 for part in parts(colour)]
    linear = [share / 12.92 if share <= 0.04045 else ((share + 0.055) / 1.055) ** 2.4 for share in shares]
    return sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def ratio(first: str, second: str) -> float:
    low, high = sorted((luminance(first), luminance(second)))
    return (high + 0.05) / (low + 0.05)


def test_the_ratio_is_that_of_the_standard():
    assert ratio("#000000", "#ffffff") == pytest.approx(21)
    assert ratio("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)


TEXTS = ("--ink", "--quiet", "--accent", "--good", "--doubt", "--bad")
MODES = ("light", "dark")


@pytest.mark.parametrize(("mode", "text", "below"), [*product(MODES, TEXTS, ("--paper", "--faint"))])
def test_letters_can_be_read(mode: str, text: str, below: str):
    found = palette(mode)
    assert ratio(found[text], found[below]) >= LETTERS


@pytest.mark.parametrize("mode", MODES)
def test_letters_on_cells_can_be_read(mode: str):
    """Ink on what is tinted, from the palest to the deepest: determined cells, matrices, the signs of verdicts."""
    found = palette(mode)
    filled = [mixed(found["--tint-low"], found["--tint-high"], step / 10) for step in range(11)]
    filled += [mixed(found["--faint"], found["--accent"], 0.5 * step / 10) for step in range(11)]
    filled += [found[f"--v-{name}"] for name in ("fine", "leak", "shortcut", "cant", "unsure", "none")]
    assert min(ratio(found["--ink"], colour) for colour in filled) >= LETTERS
    shares = re.findall(r"color-mix\(in srgb, var\(--accent\) calc\(var\(--share, 0\) \* (\d+)%\)", sheet())
    assert max(map(int, [share for share in shares if share != "55"])) == 50
    assert len([share for share in shares if share == "55"]) == 1, "squares without letters"


def test_black_or_white_can_be_read_on_any_colour():
    """What the script of the maps does: of the two the one that stands out more, whatever the colour is."""
    script = (ASSETS / "mapview.js").read_text(encoding="utf-8")
    assert '> 0.179 ? "#000000" : "#ffffff"' in script
    for red, green, blue in product(range(0, 256, 17), repeat=3):
        colour = f"#{red:02x}{green:02x}{blue:02x}"
        ink = "#000000" if luminance(colour) > 0.179 else "#ffffff"
        assert ratio(colour, ink) >= LETTERS


ON_PAPER = ("--hatch", "--dot", "--seen-low", "--mark", "--minus", "--plus", "--edge", "--amber")
LINES = ("--class-0", "--amber", "--class-2", "--class-3", "--class-4", "--class-5")


@pytest.mark.parametrize(("mode", "name"), [*product(MODES, sorted({*ON_PAPER, *LINES}))])
def test_what_is_drawn_on_paper_can_be_seen(mode: str, name: str):
    found = palette(mode)
    assert ratio(found[name], found["--paper"]) >= DRAWN


@pytest.mark.parametrize("mode", MODES)
def test_what_is_pale_by_its_meaning_is_marked_by_ink(mode: str):
    """A cross on what is impossible, an outline around pale dots: these carry the state, the fill does not."""
    found = palette(mode)
    for fill in ("--impossible", "--class-1", "--class-6", "--class-8"):
        assert max(ratio(found["--ink"], found[fill]), ratio(found["--paper"], found[fill])) >= DRAWN
    assert ratio(found["--ink"], found["--impossible"]) >= DRAWN
    assert ".cross { stroke: var(--ink)" in sheet()
    assert not re.search(r"\.mark-dot-\d \{[^}]*stroke: none", sheet())
