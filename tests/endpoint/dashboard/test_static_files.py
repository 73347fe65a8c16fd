"""The page's files: small, complete, free of inline code and of other addresses, and readable in both themes."""

import re
from pathlib import Path

import pytest

import torpor_endpoint.dashboard
from torpor_endpoint.dashboard.app import FILES

BYTES_MAX = 300 * 1024
PREFIX = "/_torpor/dashboard/static/"
OURS = [path for path in sorted(FILES.rglob("*.*")) if "vendor" not in path.parts]
AA_TEXT, AA_GRAPHICS = 4.5, 3.0
"""WCAG 2.2, 1.4.3 and 1.4.11."""

TEXTS = [
    *[(text, ground) for text in ("text", "quiet") for ground in ("ground", "surface", "raised", "selected")],
    *[(text, ground) for text in ("accent", "good", "warn", "bad", "sleep") for ground in ("ground", "surface")],
    *[(text, "selected") for text in ("good", "warn", "bad", "sleep")],
    ("on-accent", "accent"),
]
MARKS = [(mark, "surface") for mark in ("load", "eviction", "wake", "sleep-mark", "fault", "busy", "accent")]


def test_the_whole_page_is_small() -> None:
    assert sum(path.stat().st_size for path in FILES.rglob("*") if path.is_file()) < BYTES_MAX


def test_the_files_lie_in_the_package() -> None:
    assert Path(torpor_endpoint.dashboard.__file__).parent in FILES.parents
    assert (FILES / "vendor" / "uPlot.LICENSE").is_file()


def test_every_file_that_a_file_names_is_there() -> None:
    page = (FILES / "index.html").read_text()
    named = [FILES / name for name in re.findall(rf'(?:src|href)="{PREFIX}([^"]+)"', page)]
    for script in FILES.glob("js/*.js"):
        named += [script.parent / name for name in re.findall(r'from "(\./[^"]+)"', script.read_text())]
    assert [path for path in named if not path.is_file()] == []
    reached = {path.resolve() for path in named} | {FILES / "index.html", FILES / "vendor" / "uPlot.LICENSE"}
    assert set(FILES.rglob("*.*")) - reached == set()


def test_no_file_names_another_address() -> None:
    found = [(path.name, re.findall(r"(?:https?:)?//[a-z][\w.-]+\.[a-z]{2,}", path.read_text())) for path in OURS]
    assert [(name, one) for name, addresses in found for one in addresses if one != "http://www.w3.org"] == []


def test_the_page_has_no_inline_code_and_no_inline_style() -> None:
    page = (FILES / "index.html").read_text()
    assert re.findall(r"<script(?![^>]*\ssrc=)[^>]*>|<style|\sstyle=|\son\w+=", page) == []


def test_no_script_makes_markup_of_text() -> None:
    sinks = r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|DOMParser"
    found = {path.name: re.findall(sinks, path.read_text()) for path in OURS if path.suffix == ".js"}
    assert {name: sinks for name, sinks in found.items() if sinks} == {}


def test_each_field_of_the_page_has_a_name() -> None:
    """A label around it, or one that names it."""
    page = (FILES / "index.html").read_text()
    bare = re.sub(r"<label.*?</label>", "", page, flags=re.DOTALL)
    assert re.findall(r"<(?:input|select|textarea)\b", bare) == []


# -- contrast ----------------------------------------------------------------------------------------------------------
def themes() -> dict[str, dict[str, str]]:
    """The colours of each theme, by token. The dark one inherits what it does not change."""
    light, dark = re.findall(r":root[^{]*\{(.*?)\}", (FILES / "css" / "tokens.css").read_text(), re.DOTALL)
    known = {name: dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6});", text)) for name, text in (("l", light), ("d", dark))}
    return {"light": known["l"], "dark": {**known["l"], **known["d"]}}


def luminance(colour: str) -> float:
    shares = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [share / 12.92 if share <= 0.04045 else ((share + 0.055) / 1.055) ** 2.4 for share in shares]
    return sum(weight * share for weight, share in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def contrast(one: str, other: str) -> float:
    lighter, darker = sorted((luminance(one), luminance(other)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_every_text_has_enough_contrast(theme: str) -> None:
    colours = themes()[theme]
    found = {(text, ground): contrast(colours[text], colours[ground]) for text, ground in TEXTS}
    assert {pair: round(ratio, 2) for pair, ratio in found.items() if ratio < AA_TEXT} == {}


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_every_mark_has_enough_contrast(theme: str) -> None:
    colours = themes()[theme]
    found = {(mark, ground): contrast(colours[mark], colours[ground]) for mark, ground in MARKS}
    assert {pair: round(ratio, 2) for pair, ratio in found.items() if ratio < AA_GRAPHICS} == {}


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_label_on_a_tile_has_enough_contrast(theme: str) -> None:
    """`ages.js` puts dark text on a tile whose luminance is above 0.2, and white text on any other."""
    for step in range(5):
        tile = themes()[theme][f"age-{step}"]
        assert contrast(tile, "#0b1216" if luminance(tile) > 0.2 else "#ffffff") >= AA_TEXT, step
