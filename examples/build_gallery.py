"""Make the gallery of the site: live pages into docs/gallery/, a small picture of each, and docs/gallery.md.

    python examples/build_gallery.py [--only NAME …] [--out FOLDER instead of docs]

Needs the data sets (RECOMBINE_DATA, or a folder `shared/data` beside the repository), `recombine[probes]` and chromium.
"""

import argparse
import re
import shutil
import sys
import tempfile
from collections.abc import Callable, Sequence
from contextlib import chdir
from dataclasses import dataclass
from pathlib import Path

from PIL import Image

import recombine
import recombine_lab
from build_pages import attractive, leaning_on_the_background, shoes_to_collect
from photograph_pages import photographed
from recombine.data.text_sources import TextSource
from recombine_lab import Recipe, Run, fit
from recombine_lab.models import MLP
from recombine_lab.tasks import Addition
from tables import TABLES, Table, data_folder

DOCS = Path(__file__).resolve().parents[1] / "docs"
WIDTH, HEIGHT, SHOWN = 1200, 1440, 600
"""Of the window that a page is photographed in, and the width of the picture."""


@dataclass(frozen=True)
class Exhibit:
    """A page of the gallery: its file's name, what it is called, what to look at, and how it is made."""

    name: str
    title: str
    look: str
    make: Callable[[Path], recombine.Result]


LOOK = {
    "ut_zappos": "83 of 192 pairs were collected, and the rest would follow; the map shows how weakly.",
    "mit_states": "A table with 4 % of its space seen. Zoom in: most attributes go with few objects.",
    "cgqa": "A quarter of a million pairs on one page. Search for a value, then pin a cell.",
    "celeba": "Eight factors: choose the pair above the map.",
    "waterbirds": "Species tells everything, and still the background is what models look at.",
    "clevr_cogent": "A benchmark made for unseen combinations: two blocks that never meet.",
    "scan_jump": "A language as a table: which phrases does *jump* never stand in?",
}


def audited(table: Table) -> Callable[[Path], recombine.Result]:
    """How the audit of a real table is made."""
    return lambda folder: recombine.audit(recombine.read(folder / table.file, **table.question))


def trained(_: Path) -> Run:
    """A network that adds two numbers it has seen only beside -4 and 4."""
    recipe = Recipe(steps=2000, optimiser="sgd", lr=0.02, batch=None, samples="every", threads=1)
    (run,) = fit(Addition(anchors=(-4, 4)), "own", MLP(hidden=(100,), scale=0.5), recipe, progress=None)
    return run


def measured(folder: Path) -> recombine.Result:
    """How it did."""
    return trained(folder).evaluate()


def looked_into(folder: Path) -> recombine.Result:
    """How the same network holds the two numbers, layer by layer."""
    return recombine_lab.probes.geometry(trained(folder))


def effects_of_genes() -> recombine.Result:
    """A whole profile of expression is the target, and what differs from the control is scored too."""
    return recombine.audit("screen.h5ad", sets={"genes": "condition:+"}, target="X", control="ctrl")


def episodes_to_record() -> recombine.Result:
    """What to record in one more hour."""
    episodes = TextSource("episodes", ["Pick the {object} from the {surface}"])
    return recombine.plan(
        recombine.read(episodes, factors=["object", "surface", "light"]),
        goal="leverage",
        costs="minutes.csv",
        change_over={"surface": 10, "light": 1, "object": 0.5},
        budget=60,
    )


def tools_that_break() -> recombine.Result:
    """Which tools fail together, beyond their parts."""
    return recombine.evaluate(
        "logs", sets={"tools": "tools"}, factors=["model", "language", "length"], score="match", causes=False
    )


def phrases_that_are_missing() -> recombine.Result:
    """Which attributes were never said of which objects."""
    captions = TextSource("captions.parquet", concepts="words.txt")
    return recombine.audit(captions, factors=["attribute", "object"], target="right", target_kind="number")


def faces_that_are_missed() -> recombine.Result:
    """Who is worse off."""
    return recombine.evaluate(
        "faces.csv", factors=["sex", "age", "tone"], target="match", prediction="said", causes=False
    )


AUDITS = tuple(Exhibit(table.name, table.title, LOOK[table.name], audited(table)) for table in TABLES)
OTHERS = (
    Exhibit(
        "celeba_prediction", "Predict: who is called attractive?", "Click a cell: the learner's reasoning.", attractive
    ),
    Exhibit("ut_zappos_plan", "Plan: twelve more pairs of shoes", "What each line buys.", shoes_to_collect),
    Exhibit(
        "waterbirds_evaluation",
        "Evaluate: a model that leans on the background",
        "Seen beside unseen, and why the errors happen. The answers are made up, the table is real.",
        leaning_on_the_background,
    ),
    Exhibit(
        "run",
        "A run of the lab",
        "A network that was trained here: what it does with sums that it was never shown.",
        measured,
    ),
    Exhibit(
        "probe", "A probe: geometry", "Each number beside controls in which there is nothing to find.", looked_into
    ),
)


def of_guide(name: str, ask: Callable[[], recombine.Result], *, blocks: int = 1) -> Callable[[Path], recombine.Result]:
    """How a page is made from the data that a guide's first blocks generate, of which the truth is known."""
    guide = (DOCS / "guides" / f"{name}.md").read_text(encoding="utf-8")
    generate = re.findall(r"^```py\n(.*?)^```", guide, re.MULTILINE | re.DOTALL)[:blocks]

    def make(_: Path) -> recombine.Result:
        with tempfile.TemporaryDirectory() as folder, chdir(folder):
            for block in generate:
                exec(block, {})
            return ask()

    return make


FIELDS = (
    Exhibit(
        "genes",
        "Genes: which pairs follow",
        "Twenty of sixty genes were never given alone; the pairs of eight of them do not follow.",
        of_guide("genes", effects_of_genes),
    ),
    Exhibit(
        "drugs",
        "Drugs: which wells to run",
        "Two wells after which all other pairs of twenty drugs follow, if effects add up.",
        of_guide("drugs", lambda: recombine.plan("wells.csv", sets={"drugs": ["drug_a", "drug_b"]}, factors=["line"])),
    ),
    Exhibit(
        "robots",
        "Robots: one more hour",
        "Two sessions that share neither an object nor a surface, and what to record to join them.",
        of_guide("robots", episodes_to_record),
    ),
    Exhibit(
        "evaluations",
        "Language models: tools, languages, lengths",
        "A browser together with code breaks, beyond what each costs; 16 cells were never tested.",
        of_guide("evaluations", tools_that_break),
    ),
    Exhibit(
        "test_matrices",
        "A test matrix: every pair, under rules",
        "Tests of a PICT model: each pair of settings that can occur is in one of them.",
        of_guide("test_matrices", lambda: recombine.plan("model.pict", goal="pairs")),
    ),
    Exhibit(
        "captions",
        "Captions: what was never said",
        "Two sources share neither an attribute nor an object, a wooden dog is missing, and a striped glass breaks.",
        of_guide("captions", phrases_that_are_missing, blocks=2),
    ),
    Exhibit(
        "fairness",
        "Groups of people: worse than their parts",
        "Whose matches are missed more often than sex and tone explain, and whom nobody tested.",
        of_guide("fairness", faces_that_are_missed),
    ),
)
STUDY = "studies/across/page.html"
ABOVE = """\
Pages as recombine writes them: live, each one file that opens offline. Point at a cell, pin it, sort, search, zoom,
save a picture. *How to read this page* stands on each of them, and [The pages](page.md) tells more."""
TARGETS = """\
CelebA and Waterbirds have a column to predict, and their pages begin with what was tested. The others are lists of
combinations, and their pages say that nothing was tested."""
GENERATED = """\
The [guides](index.md#guides) generate these tables, and say what was planted in them."""
SOURCES = """\
The tables are public: UT-Zappos (Yu and Grauman 2014), MIT-States (Isola et al. 2015), C-GQA (Naeem et al. 2021),
CelebA (Liu et al. 2015), Waterbirds (Sagawa et al. 2020), CLEVR-CoGenT (Johnson et al. 2017) and SCAN (Lake and
Baroni 2018). A page holds counts of combinations, and no row of any of them. All were made by
`examples/build_gallery.py`."""


def main() -> int:
    """Make all of it, or some pages."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=[one.name for one in (*AUDITS, *FIELDS, *OTHERS)])
    parser.add_argument("--out", type=Path, default=DOCS)
    given = parser.parse_args()
    asked, gallery = given.only, given.out / "gallery"
    folder = data_folder()
    if folder is None:
        print("skipped: the data sets are not here; set RECOMBINE_DATA to their folder")
        return 0
    gallery.mkdir(parents=True, exist_ok=True)
    for one in (*AUDITS, *FIELDS, *OTHERS):
        if asked is None or one.name in asked:
            page = one.make(folder).page(gallery / f"{one.name}.html", force=True)
            photograph(page, gallery / f"{one.name}.webp")
            print(f"{page.name}, {page.stat().st_size / 1e3:.0f} KB")
    if asked is None:
        photograph(DOCS / STUDY, gallery / "study.webp")
    (given.out / "gallery.md").write_text(listed(), encoding="utf-8")
    return 0


def photograph(page: Path, picture: Path) -> None:
    """The first screen of a page, small."""
    chromium = shutil.which("chromium")
    if chromium is None:
        sys.exit("chromium is not here to photograph the pages with")
    with tempfile.TemporaryDirectory() as folder:
        shot = Path(folder) / "shot.png"
        photographed(page, shot, browser=chromium, size=(WIDTH, HEIGHT))
        with Image.open(shot) as taken:
            taken.convert("RGB").resize((SHOWN, SHOWN * HEIGHT // WIDTH)).save(picture, quality=80, method=6)


def listed() -> str:
    """The page of the site that shows them all."""
    study = ("study", STUDY, "A study: across the papers", "Which cheap number, known before training, came true?")
    audits, fields, others = (
        [(one.name, f"gallery/{one.name}.html", one.title, one.look) for one in s] for s in (AUDITS, FIELDS, OTHERS)
    )
    parts = (
        *("# Gallery", ABOVE),
        *("## Seven real tables, audited", TARGETS, cards(audits)),
        *("## Seven fields, each from data of which the truth is known", GENERATED, cards(fields)),
        *("## The other verbs, a run, a probe, a study", cards([*others, study])),
        SOURCES,
    )
    return "\n\n".join(parts) + "\n"


def cards(shown: Sequence[tuple[str, str, str, str]]) -> str:
    """Cards, each a link with a picture, a title and what to look at."""
    lines = [
        f'<a href="{page}"><img src="gallery/{name}.webp" width="{SHOWN}" height="{SHOWN * HEIGHT // WIDTH}" '
        f'loading="lazy" alt="First screen of the page: {title}"><b>{title}</b><span>{look.replace("*", "")}</span></a>'
        for name, page, title, look in shown
    ]
    return "\n".join(['<div class="cards">', *lines, "</div>"])


if __name__ == "__main__":
    sys.exit(main())
