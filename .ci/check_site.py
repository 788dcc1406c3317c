"""Is a built site whole? Links within it lead somewhere, pictures say what they show, nothing comes from elsewhere.

mkdocs build --site-dir site && python3 .ci/check_site.py site
"""

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

ELSEWHERE = ("http://", "https://", "//")
FETCHED = {("img", "src"), ("script", "src"), ("source", "srcset"), ("iframe", "src")}


@dataclass
class Page(HTMLParser):
    """What a page links to, what in it can be linked to, what it fetches, and pictures without a word."""

    links: list[str] = field(default_factory=list)
    anchors: set[str] = field(default_factory=set)
    fetched: list[str] = field(default_factory=list)
    wordless: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """One element."""
        given = {name: value or "" for name, value in attrs}
        self.anchors |= {given[name] for name in ("id", "name") if name in given}
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        stylesheet = tag == "link" and given.get("rel") == "stylesheet"
        self.fetched += [
            value for name, value in given.items() if (tag, name) in FETCHED or (stylesheet and name == "href")
        ]
        if tag == "img" and not given.get("alt"):
            self.wordless.append(given.get("src", "")[:80])


def problems(site: Path) -> Iterator[str]:
    """Whatever is wrong with the pages below a folder."""
    pages = {path: read(path) for path in sorted(site.rglob("*.html"))}
    listed = re.findall(r"\]\(([^)]+)\)", (site / "llms.txt").read_text(encoding="utf-8"))
    yield from (f"llms.txt: no {name}" for name in listed if not (site / name).is_file())
    for path, page in pages.items():
        here = path.relative_to(site)
        if path.name == "404.html":  # which is shown at any address, so its links begin at the root
            continue
        yield from (f"{here}: fetches {one}" for one in page.fetched if one.startswith(ELSEWHERE))
        yield from (f"{here}: {one} is not there" for one in page.fetched if not leads(one, path, pages))
        yield from (f"{here}: a picture without alt: {one}" for one in page.wordless)
        yield from (f"{here}: dead link {one}" for one in page.links if not leads(one, path, pages))


def leads(link: str, page: Path, pages: dict[Path, Page]) -> bool:
    """Whether a link within the site leads to a file, and to a place in it."""
    parts = urlsplit(link)
    if parts.scheme or parts.netloc:  # elsewhere, or within the page itself (`data:`)
        return True
    target = (page.parent / unquote(parts.path)).resolve() if parts.path else page.resolve()
    target = target / "index.html" if target.is_dir() else target
    if not target.is_file():
        return False
    # Our own pages keep what is chosen in them in the fragment, `#cell=…`.
    anchor = unquote(parts.fragment)
    return not anchor or "=" in anchor or target not in pages or anchor in pages[target].anchors | {"top", "__top"}


def silent_search(site: Path) -> Iterator[str]:
    """Whether a Chromium, where there is one, finds nothing when it searches the site from a folder."""
    browser = shutil.which("chromium")
    if browser is not None:
        address = f"{(site / 'index.html').as_uri()}?q=audit"
        options = ["--headless", "--no-sandbox", "--virtual-time-budget=15000", "--dump-dom"]
        done = subprocess.run([browser, *options, address], capture_output=True, timeout=120, check=True)  # noqa: S603
        if b"md-search-result__item" not in done.stdout:
            yield "index.html: its search finds nothing when it is opened from a folder"


def read(path: Path) -> Page:
    """A page, taken apart."""
    page = Page()
    page.feed(path.read_text(encoding="utf-8"))
    return page


def main() -> int:
    """Complain, or tell the size."""
    site = Path(sys.argv[1]).resolve()
    found = [*problems(site), *silent_search(site)]
    size = sum(path.stat().st_size for path in site.rglob("*") if path.is_file())
    sys.stdout.write("\n".join([*found, f"{len(list(site.rglob('*.html')))} pages, {size / 1e6:.1f} MB"]) + "\n")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
