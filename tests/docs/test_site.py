"""The site of docs/ builds without a warning, loads nothing from elsewhere, and shows what the repository shows."""

import os
import re
import subprocess
import sys
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag

import pytest
from markdown_it import MarkdownIt

from tests.helpers.browser import browser_tab, needs_browser
from tests.markdown import DOCS, ROOT

LOADING = {
    "script": "src",
    "img": "src",
    "iframe": "src",
    "source": "src",
    "video": "src",
    "embed": "src",
    "object": "data",
}
COUNTED = ("li", "tr", "td", "pre", "h1", "h2", "h3", "img", "strong")
BY_THE_SITE_ALONE = {"python-api.md"}
"""Pages of which the site shows more, from docstrings."""


class Tags(HTMLParser):
    """The tags of a page: all of them, and those within its article."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.all: list[tuple[str, dict[str, str]]] = []
        self.article: Counter[str] = Counter()
        self._depth = 0
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._depth += tag == "article"
        self.all.append((tag, {name: value or "" for name, value in attrs}))
        self.article[tag] += self._depth > 0

    def handle_endtag(self, tag: str) -> None:
        self._depth -= tag == "article"

    def loaded(self) -> list[str]:
        """What a browser fetches to show the page."""
        links = [
            kept["href"]
            for tag, kept in self.all
            if tag == "link" and kept.get("rel") not in ("canonical", "next", "prev")
        ]
        return links + [kept[LOADING[tag]] for tag, kept in self.all if tag in LOADING and LOADING[tag] in kept]

    def ids(self) -> set[str]:
        return {kept[name] for _, kept in self.all for name in ("id", "name") if name in kept}


# To build the site takes as long as hundreds of other tests. `make docs` fails too at a page that is not found.
pytestmark = pytest.mark.thorough


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[Path, Tags]:
    return {path: Tags(path.read_text()) for path in sorted(site.rglob("*.html"))}


def built(site: Path, page: Path) -> Path:
    """The file of the site for a page of docs/."""
    path = site / page.relative_to(ROOT / "docs")
    return path.with_name("index.html") if page.name == "README.md" else path.with_suffix(".html")


def test_no_page_loads_anything_from_elsewhere(site: Path, pages: dict[Path, Tags]) -> None:
    foreign = {target for tags in pages.values() for target in tags.loaded() if re.match(r"(\w+:)?//", target)}
    assert foreign == set()
    for sheet in site.rglob("*.css"):
        assert re.findall(r"(?:url\(|@import)\s*[\"']?(?:https?:)?//[^)\"']*", sheet.read_text()) == []


def test_each_link_leads_to_a_file_and_an_anchor_of_the_site(site: Path, pages: dict[Path, Tags]) -> None:
    gone = []
    for path, tags in pages.items():
        if path.name == "404.html":
            continue
        for target in [kept["href"] for tag, kept in tags.all if tag == "a" and "href" in kept]:
            if re.match(r"\w+:", target):
                continue
            to, anchor = urldefrag(target)
            file = (path.parent / unquote(to)).resolve() if to else path
            file = file / "index.html" if file.is_dir() else file
            if not file.is_file() or (anchor and file in pages and unquote(anchor) not in pages[file].ids()):
                gone.append(f"{path.relative_to(site)}: {target}")
    assert gone == []


def test_the_site_and_the_repository_show_the_same(site: Path, pages: dict[Path, Tags]) -> None:
    """MkDocs reads Markdown by other rules than the repository's pages do: of lists, above all."""
    markdown, differ = MarkdownIt("commonmark").enable("table"), {}
    for page in DOCS:
        ours = Tags(f"<article>{markdown.render(page.read_text())}</article>").article
        theirs = pages[built(site, page)].article
        if page.name not in BY_THE_SITE_ALONE and any(ours[tag] != theirs[tag] for tag in COUNTED):
            differ[str(page.relative_to(ROOT))] = {tag: (ours[tag], theirs[tag]) for tag in COUNTED}
    assert differ == {}, "the site needs an empty line before a list, and four spaces before a list within one"


@needs_browser
def test_the_search_works_from_the_disk(site: Path) -> None:
    with browser_tab() as page:
        page.goto((site / "index.html").as_uri())
        page.click("input.md-search__input")
        page.get_by_text("Type to start searching").wait_for(state="attached")  # it has read the index
        page.keyboard.type("shadow variant")
        found = page.locator("a.md-search-result__link").first
        assert "shadow-variants.html" in (found.get_attribute("href") or "")


@needs_browser
def test_the_copy_button_takes_commands_without_prompts_and_outputs(site: Path) -> None:
    with browser_tab(permissions=("clipboard-read", "clipboard-write")) as page:
        page.goto((site / "tutorial.html").as_uri())
        block = page.locator("div.highlight", has_text="torpor why Houston_TX.tar.gz")
        block.hover()
        block.locator("[data-clipboard-target]").click()
        page.wait_for_selector(".md-dialog--active")
        assert page.evaluate("navigator.clipboard.readText()").strip() == "torpor why Houston_TX.tar.gz"


def test_the_python_api_is_documented_from_docstrings(site: Path, pages: dict[Path, Tags]) -> None:
    assert {"torpor.local", "torpor.Local.invoke", "torpor.Caller"} <= pages[site / "reference/python-api.html"].ids()
