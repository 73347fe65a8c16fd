"""Reads the Markdown pages of the repository: headings, links, and the commands that they show."""

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
README = ROOT / "README.md"
DOCS = sorted((ROOT / "docs").rglob("*.md"))
PAGES = [README, ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", *DOCS, *sorted(ROOT.glob("[bn]*/README.md"))]

FENCE = re.compile(r"^```(\w*)\n(.*?)^```", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#{1,6} (.+)$", re.MULTILINE)


def blocks(page: Path, language: str) -> list[str]:
    """The text of each code block of this language."""
    return [text for found, text in FENCE.findall(page.read_text()) if found == language]


def commands(page: Path) -> Iterator[str]:
    """Each line that a console block shows after a prompt, without its comment."""
    for block in blocks(page, "console"):
        yield from (line[2:].split("  #")[0].strip() for line in block.splitlines() if line.startswith("$ "))


def links(page: Path) -> list[str]:
    """The target of each link to another place of the repository: not of those to the web."""
    prose = FENCE.sub("", page.read_text())
    return [target for target in LINK.findall(prose) if not re.match(r"\w+:", target)]


def anchors(page: Path) -> set[str]:
    """The anchor of each heading, as GitHub makes it: lower case, hyphens for spaces, a number where one repeats."""
    seen: Counter[str] = Counter()
    found = set()
    for heading in HEADING.findall(FENCE.sub("", page.read_text())):
        text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
        slug = re.sub(r"[^\w\- ]", "", text.lower()).strip().replace(" ", "-")
        found.add(f"{slug}-{seen[slug]}" if seen[slug] else slug)
        seen[slug] += 1
    return found


def broken(page: Path) -> list[str]:
    """The links that lead nowhere: to a file that is not there, or to a heading that its page does not have."""
    return [link for link in links(page) if not _leads_somewhere(page, link)]


def _leads_somewhere(page: Path, link: str) -> bool:
    path, _, anchor = link.partition("#")
    target = page.parent / path if path else page
    return target.exists() and (not anchor or (target.suffix == ".md" and anchor in anchors(target)))
