"""docs/reference/content.md names the content types that the code reads and writes."""

from pathlib import Path

import pytest

from torpor_container.content import DECODERS, TOOLKIT
from torpor_container.content.reading.json_rows import ENVELOPES, INSTRUCTIONS

PAGE = (Path(__file__).parents[3] / "docs" / "reference" / "content.md").read_text()


@pytest.mark.parametrize("kind", [*DECODERS, *TOOLKIT.encoders])
def test_the_page_has_a_row_for_each_content_type(kind: str) -> None:
    part = PAGE.partition("## Answers")[0 if kind in DECODERS else 2]
    assert f"| `{kind}`" in part


@pytest.mark.parametrize("key", ENVELOPES)
def test_the_page_shows_each_form_of_json(key: str) -> None:
    assert f'"{key}":' in PAGE


def test_the_page_names_each_instruction_that_is_refused() -> None:
    assert [key for key in INSTRUCTIONS if f"`{key}`" not in PAGE] == []
