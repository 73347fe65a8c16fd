"""Builds a site from the same Markdown files that the repository shows. MkDocs calls the functions `on_…`.

- The navigation is made from the links of docs/README.md and of each part's README.md, in their order and below their
  headings.
- A link that leaves docs/ leads to a copy of its file in the site, below `repository/`. A folder has no copy: its
  link becomes plain text, as that of a hidden file does.
- `<!-- api: torpor.local -->` becomes the documentation of that name, from its docstring.
"""

import posixpath
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[2]
HOME = "README.md"
COPIES = "repository/"
CHANGING = "Changing Torpor"
LINK = re.compile(r"\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^)\s#]+)(#[^)\s]*)?\)")
PAGES = "## The pages\n"
GROUP = re.compile(r"^## (.*)$", re.MULTILINE)
FENCE = re.compile(r"^```.*?^```", re.DOTALL | re.MULTILINE)
API = re.compile(r"^<!-- api: ([\w.]+) -->$", re.MULTILINE)
COMMENT = re.compile(r"^<!-- .*?-->\n", re.DOTALL | re.MULTILINE)


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    config.nav = navigation()
    return config


def navigation() -> list[Any]:
    """A tab for each page or part that the table of docs/README.md links, and one for the pages below the table."""
    _, _, pages = (ROOT / "docs" / HOME).read_text().partition(PAGES)
    before, _, after = pages.rpartition("|\n")
    return [
        {"Start": HOME},
        *({label: _part(uri) if uri.count("/") == 1 else uri} for label, uri in _linked(HOME, before)),
        {CHANGING: [{label: uri} for label, uri in _linked(HOME, after)]},
    ]


def _part(uri: str) -> list[Any]:
    """The pages that an index links; those below a heading are a group of that name."""
    first, *groups = GROUP.split(in_repository(uri).read_text())
    listed = [{heading: _pages(uri, text)} for heading, text in zip(groups[::2], groups[1::2], strict=True)]
    return [uri, *_pages(uri, first), *listed]


def _pages(uri: str, text: str) -> list[Any]:
    return [{label: linked} for label, linked in _linked(uri, text)]


def _linked(uri: str, text: str) -> list[tuple[str, str]]:
    return [(label.replace("`", ""), target(uri, path)) for label, path, _ in LINK.findall(text)]


def in_repository(uri: str) -> Path:
    """The file of a page, or of a copy, of the site."""
    return ROOT / uri.removeprefix(COPIES) if uri.startswith(COPIES) else ROOT / "docs" / uri


def target(uri: str, path: str) -> str:
    """The place in the site of what the page `uri` links by this path."""
    folder = posixpath.dirname(in_repository(uri).relative_to(ROOT).as_posix())
    found = posixpath.normpath(posixpath.join(folder, path))
    return found.removeprefix("docs/") if found.startswith("docs/") else COPIES + found


def has_copy(uri: str) -> bool:
    """MkDocs leaves out what is hidden."""
    return in_repository(uri).is_file() and "/." not in uri


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Adds a copy of each file outside of docs/ that a page links, and of those that these link."""
    waiting = [file.src_uri for file in files.documentation_pages()]
    while waiting:
        uri = waiting.pop()
        for path in paths(in_repository(uri).read_text()):
            found = target(uri, path)
            if found.startswith(COPIES) and found not in files.src_uris and has_copy(found):
                files.append(File.generated(config, found, abs_src_path=str(in_repository(found))))
                waiting += [found] if found.endswith(".md") else []
    return files


def paths(text: str) -> list[str]:
    """The paths that the links of a page lead to, without those on the web."""
    return [path for _, path, _ in LINK.findall(FENCE.sub("", text)) if ":" not in path]


def on_page_markdown(text: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    uri = page.file.src_uri

    def relinked(found: re.Match[str]) -> str:
        label, path, anchor = found[1], found[2], found[3] or ""
        if ":" in path:
            return found[0]
        place = target(uri, path)
        if place.startswith(COPIES) and not has_copy(place):
            return label
        return f"[{label}]({posixpath.relpath(place, posixpath.dirname(uri) or '.')}{anchor})"

    return outside_of_blocks(text, lambda prose: LINK.sub(relinked, COMMENT.sub("\n", API.sub(r"::: \1", prose))))


def outside_of_blocks(text: str, change: Callable[[str], str]) -> str:
    """The text with everything but its code blocks changed."""
    blocks = FENCE.findall(text)
    prose = [change(part) for part in FENCE.split(text)]
    return "".join(part + block for part, block in zip(prose, [*blocks, ""], strict=True))
