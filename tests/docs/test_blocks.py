"""Every code block of the documentation is run, parsed, or says why not."""

import json
import os
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import boto3
import pytest
import yaml

from tests.docs.helpers.reading import AFTER, ANY_MARK, KINDS, PARSED, RUN, SHOWN, Block, blocks, comments, matches
from tests.docs.helpers.running import Reader
from tests.endpoint.helpers.live_endpoint import REGION, LiveEndpoint
from tests.markdown import PAGES, ROOT
from tests.sdk.helpers.forked_endpoints import forked_endpoints
from torpor.hosting.endpoint_modules import ANALYZER

LOADS: dict[str, Callable[[str], Any]] = {
    "toml": tomllib.loads,
    "json": json.loads,
    "yaml": lambda text: [*yaml.safe_load_all(text)],
}
NAMES = {page: str(page.relative_to(ROOT)) for page in PAGES}
RUNNABLE = [page for page in PAGES if any(block.runs for block in blocks(page.read_text()))]


LONG = {
    "docs/explanation/simulation.md",
    "docs/how-to/async-inference.md",
    "docs/how-to/batch-transform.md",
    "docs/how-to/bring-a-container.md",
    "docs/how-to/capture-requests.md",
    "docs/how-to/choose-by-need.md",
    "docs/how-to/find-drift.md",
    "docs/how-to/from-mlserver-or-triton.md",
    "docs/how-to/inference-components.md",
    "docs/how-to/notebooks.md",
    "docs/how-to/open-inference.md",
    "docs/how-to/openai.md",
    "docs/how-to/origin.md",
    "docs/how-to/pipeline.md",
    "docs/how-to/pipelines.md",
    "docs/how-to/processing-jobs.md",
    "docs/how-to/real-s3.md",
    "docs/how-to/roll-out-a-new-version.md",
    "docs/how-to/shadow-variants.md",
    "docs/how-to/size-a-fleet.md",
    "docs/how-to/streaming.md",
    "docs/how-to/tf-serving.md",
    "docs/how-to/tune-hyperparameters.md",
    "docs/how-to/tune.md",
    "docs/how-to/versions.md",
    "docs/how-to/watch-an-endpoint.md",
    "docs/reference/content.md",
    "docs/reference/python.md",
    "docs/tutorial.md",
}
"""Each takes half a second of processor time, or more."""
runs = [
    pytest.param(page, id=NAMES.get(page), marks=pytest.mark.thorough if NAMES.get(page) in LONG else ())
    for page in RUNNABLE
]


@pytest.mark.parametrize("page", runs)
def test_what_a_page_says_happens(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    endpoint = LiveEndpoint(tmp_path / "data", "--travelling-clock", "--analyzer", ANALYZER)
    with forked_endpoints(), endpoint as live:
        at = {"ENDPOINT_URL": live.url, "ACCESS_KEY_ID": "x", "SECRET_ACCESS_KEY": "y", "DEFAULT_REGION": REGION}
        for name in [name for name in os.environ if name.startswith("AWS_")]:
            monkeypatch.delenv(name)
        for name, value in at.items():
            monkeypatch.setenv(f"AWS_{name}", value)
        folder = tmp_path / "checkout"
        folder.mkdir()
        monkeypatch.chdir(folder)
        monkeypatch.setattr(boto3, "DEFAULT_SESSION", None)
        reader = Reader(folder)
        reader.prepare()
        assert reader.read(page)


def faults(page: Path) -> Iterator[str]:
    """What is wrong with the code blocks of a page and with the comments above them."""
    text = page.read_text()
    found = blocks(text)
    if text.count("```") != 2 * len(found):
        yield "a code block begins and ends at the beginning of a line"
    for block in found:
        if block.language not in {*RUN, *PARSED, *SHOWN}:
            yield f"line {block.line}: a block of {block.language!r}"
        if block.mark and not KINDS.fullmatch(block.mark):
            yield f"line {block.line}: {block.mark}"
        if block.language in PARSED:
            try:
                LOADS[block.language](block.text)
            except (ValueError, yaml.YAMLError) as error:
                yield f"line {block.line}: {error}"
    if len(ANY_MARK.findall(text)) != len(AFTER.findall(text)) + sum(bool(block.mark) for block in found):
        yield "a comment of this kind stands above no block"
    yield from (f"what a reader needs is not hidden: {one}" for one in comments(text) if "\n" in one)
    before = text.partition("\n```")[0]
    yield from (f"it links {one} before its first block" for one in AFTER.findall(text) if f"]({one})" not in before)


def test_each_block_says_what_it_is() -> None:
    assert [(NAMES[page], fault) for page in PAGES for fault in faults(page)] == []


BAD = """<!-- run: after other.md -->
<!-- a comment
of two lines -->
<!-- run: perhaps -->
```toml
= 1
```
```cobol
```
   ```text
"""


def test_a_block_that_does_not_say_what_it_is_is_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(BAD)
    assert len(list(faults(page))) == 6


def test_most_blocks_are_run() -> None:
    """More than half: pages about other machines, clusters and certificates show commands that no test can run."""
    found = [block for page in PAGES for block in blocks(page.read_text())]
    able = [block for block in found if block.language in RUN and not block.file]
    run = [block for block in able if block.runs]
    refused = len(able) - len(run)
    print(f"{len(run)} of {len(able)} blocks of Python and of commands are run; {refused} say why not.")
    assert len(run) > 0.5 * len(able), f"{refused} of {len(able)} blocks are not run"


def test_a_mark_belongs_to_the_block_below_it() -> None:
    text = "<!-- run: no, it needs Docker -->\n```console\n$ docker ps\n```\n\n```python\npass\n```\n"
    container, python = blocks(text)
    assert container == Block("console", "$ docker ps\n", "no, it needs Docker", 2)
    assert not container.runs
    assert python.runs
    assert blocks("```text\nx\n```\n")[0].runs is False


@pytest.mark.parametrize(
    ("shown", "printed", "vary", "same"),
    [
        ("a 1\n", "a 1  \n", False, True),
        ("a 1\n", "a 2\n", False, False),
        ("a 1\n", "a     2.5\n", True, True),
        ("a 1\n", "b 2.5\n", True, False),
        ("09:42:13.039  fetched\n", "2026-11-29 23:59:58.939  fetched\n", True, True),
        ("09:42:13.039  fetched\n", "2026-11-29  fetched\n", True, False),
        ("i-…: ready\n", "i-76ab: ready\n", False, True),
        ("first\n…\nlast\n", "first\n1\n2\nlast\n", False, True),
        ("first\n…\nlast\n", "first\n1\n2\n", False, False),
    ],
)
def test_an_output_is_compared(shown: str, printed: str, vary: bool, same: bool) -> None:
    assert matches(shown, printed, vary) is same
