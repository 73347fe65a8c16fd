"""The README and the pages of docs/ say what the code does, and their links lead somewhere."""

import ast
import re
import shlex
import tomllib
from pathlib import Path
from typing import Any

from typer.main import get_group

from tests.markdown import DOCS, PAGES, README, ROOT, anchors, blocks, broken, commands, links
from tests.reference_tables import TABLE, TABLES, with_tables
from torpor.cli import app
from torpor_endpoint.compatibility import FACES
from torpor_endpoint.host.images import Images
from torpor_endpoint.host.kubernetes.kubernetes_file import KubernetesSettings

COMMANDS = get_group(app).commands
PARTS = [ROOT / "docs", *(ROOT / "docs" / part for part in ("how-to", "reference", "explanation"))]


def named(page: Path) -> str:
    return str(page.relative_to(ROOT))


def test_the_tables_are_those_of_the_code() -> None:
    texts = {named(page): page.read_text() for page in DOCS}
    assert [page for page, text in texts.items() if with_tables(text) != text] == [], "run: make reference"


def test_each_table_is_on_one_page() -> None:
    assert sorted(name for page in DOCS for name in TABLE.findall(page.read_text())) == sorted(TABLES)


def test_the_options_of_the_endpoint_are_those_that_up_takes() -> None:
    rows = set(re.findall(r"^\\| `(--[a-z0-9-]+)`", TABLES["options"](), re.MULTILINE))
    assert rows == {flag for one in COMMANDS["up"].params for flag in one.opts} - {"--help"}
    assert "0 takes a free one" in TABLES["options"]()


def test_a_difference_names_an_operation_of_its_service() -> None:
    strange = {face.service: face.differences.keys() - set(face.operations) for face in FACES}
    assert {service: names for service, names in strange.items() if names} == {}


def test_each_link_leads_to_a_file_and_a_heading() -> None:
    assert [(named(page), link) for page in PAGES for link in broken(page)] == []


def test_a_link_to_a_missing_file_or_heading_is_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# A `title`: of it\n[a](#a-title-of-it) [b](#other) [c](page.md#a-title-of-it) [d](gone.md)\n")
    assert anchors(page) == {"a-title-of-it"}
    assert broken(page) == ["#other", "gone.md"]


def test_the_readme_can_be_read_in_five_minutes() -> None:
    assert len(README.read_bytes()) < 12 * 1024


def test_the_index_of_a_part_leads_to_each_of_its_pages() -> None:
    listed = {part: {"README.md", *links(part / "README.md")} for part in PARTS}
    assert [named(page) for part in PARTS for page in sorted(part.glob("*.md")) if page.name not in listed[part]] == []


def test_the_readme_leads_to_each_part() -> None:
    indexes = [*(part / "README.md" for part in PARTS), ROOT / "docs/tutorial.md"]
    assert [str(index) for index in indexes if str(index.relative_to(ROOT)) not in links(README)] == []


def test_each_page_of_the_documentation_is_in_a_part() -> None:
    assert {page.parent for page in DOCS} == set(PARTS)


def test_the_readme_lists_each_command() -> None:
    table = README.read_text().partition("## On the command line")[2]
    assert set(re.findall(r"`torpor ([a-z-]+)[^`]*`", table)) == set(COMMANDS)


def command_of(words: list[str]) -> Any:
    """The command of a line, or that of a group."""
    command = COMMANDS[words[1]]
    return getattr(command, "commands", {}).get(words[2], command) if len(words) > 2 else command


def strange_options(line: str) -> set[str]:
    """The options of a shown line that its command of torpor does not have."""
    words = shlex.split(re.sub(r'.*\$\((.*)\)"?', r"\1", line))
    if not (words and words[0].endswith("torpor")):
        return set()
    known = {name for option in command_of(words).params for name in option.opts}
    ours = words[2 : words.index("--")] if "--" in words else words[2:]  # what follows is another's command
    return {word.partition("=")[0] for word in ours if word.startswith("--")} - known


def test_each_command_that_a_page_shows_has_these_options() -> None:
    assert [(named(page), line) for page in PAGES for line in commands(page) if strange_options(line)] == []
    assert strange_options("$(.venv/bin/torpor up --port=1 --no-such)") == {"--no-such"}


def test_each_make_target_that_a_page_names_exists() -> None:
    targets = set(re.findall(r"^([a-z0-9% -]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    known = {name for line in targets for name in line.split()}
    shown = [(page, re.findall(r"(?:`|^\$ )make ([a-z0-9-]+)", page.read_text(), re.MULTILINE)) for page in PAGES]
    strange = [(named(page), name) for page, names in shown for name in names if name not in known]
    assert [(page, name) for page, name in strange if re.sub(r"v\d$", "v%", name) not in known] == []


def test_the_page_of_extras_has_each_extra() -> None:
    page = (ROOT / "docs/reference/extras.md").read_text()
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert set(re.findall(r"^\| `([a-z]+)` \|", page, re.MULTILINE)) == set(extras)


def test_each_block_of_python_is_a_program() -> None:
    for page in PAGES:
        for block in blocks(page, "python"):
            ast.parse(block, named(page))


def test_each_block_of_toml_is_a_file_for_images_or_for_a_cluster(tmp_path: Path) -> None:
    for page in PAGES:
        path = tmp_path / f"{page.stem}.toml"
        for block in blocks(page, "toml"):
            path.write_text(block)
            if block.startswith("# kubernetes.toml"):
                KubernetesSettings.read(path)
            else:
                Images.read(path)
