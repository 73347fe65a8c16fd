"""The page of versions comes back whole, and its line tells what answers and what waits."""

import json

from torpor_endpoint.core.pages.model_versions import (
    ModelVersions,
    VersionState,
    read_versions,
    told_versions,
    versions_page,
)

IRIS = ModelVersions(
    "iris",
    "v",
    6,
    {"stable": 6},
    (VersionState(6, "iris/6/m.tar", True, ("stable",), ("i-1",)), VersionState(7, "iris/7/m.tar", True)),
    {"default": 7},
)


def test_the_page_comes_back_whole() -> None:
    assert read_versions(json.loads(json.dumps(versions_page([IRIS])))) == (IRIS,)


def test_a_line_tells_what_answers_and_what_waits() -> None:
    assert told_versions(IRIS) == (
        "versions: 6, 7; in memory: 6; calls without a version: 6; stable: 6; default waits for 7"
    )
