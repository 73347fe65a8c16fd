"""Tests stand in the folder of the room that they test, and helpers in packages of their own."""

from collections.abc import Iterator
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
ROOMS = {
    "container": TESTS.parent / "container" / "torpor_container",
    "account": TESTS.parent / "endpoint" / "torpor_account",
    "endpoint": TESTS.parent / "endpoint" / "torpor_endpoint",
    "sdk": TESTS.parent / "sdk" / "torpor",
}
BEHAVIOURS = {"endpoint/account", "endpoint/robust"}
"""Folders of tests of a whole endpoint: what its account answers, and what it does when processes end, bodies are large
or many models come."""
DATA = {"container/formats/xgboost/old_models"}
PROGRAMS = {
    "clients/kserve_client.py",
    "clients/mlserver_client.py",
    "clients/old_boto3.py",
    "clients/open_inference_grpc.py",
    "clients/openai_client.py",
    "clients/sagemaker_v2.py",
    "clients/sagemaker_v3.py",
    "clients/tf_serving_client.py",
    "clients/v2_clients.py",
    "deploy/helm/rendering.py",
}
"""Each runs in an environment of its own."""


def folders(package: str) -> Iterator[str]:
    """The folders of the package's tests, as paths below it; none of helpers, and none that has caches alone, as one
    that was renamed leaves behind."""
    files = (path for path in (TESTS / package).rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    inner = {folder for path in files for folder in path.relative_to(TESTS / package).parents}
    yield from sorted(str(folder) for folder in inner - {Path()} if "helpers" not in folder.parts)


def modules(room: Path) -> set[str]:
    """The names that a test file of this folder may have: its modules, the packages in it, or the folder itself."""
    return {room.name, *(path.stem for path in room.glob("*.py")), *(path.name for path in room.glob("*/"))}


def is_a_room(package: str, folder: str) -> bool:
    return any((ROOMS[package] / folder).glob("*.py"))


@pytest.mark.parametrize("package", ROOMS)
def test_every_folder_of_tests_is_that_of_a_room(package: str) -> None:
    others = BEHAVIOURS | DATA
    strange = [f for f in folders(package) if not is_a_room(package, f) and f"{package}/{f}" not in others]
    assert strange == []


def test_the_folders_without_a_room_are_there() -> None:
    assert [name for name in BEHAVIOURS | DATA if not (TESTS / name).is_dir()] == []


@pytest.mark.parametrize("package", ROOMS)
def test_a_file_named_after_a_module_stands_in_the_modules_room(package: str) -> None:
    """A name that no module of the package has is that of a behaviour."""
    everywhere = {path.stem for path in ROOMS[package].rglob("*.py")}
    misplaced = [
        str(path.relative_to(TESTS))
        for path in sorted((TESTS / package).rglob("test_*.py"))
        if (name := path.stem.removeprefix("test_")) in everywhere
        and name not in modules(ROOMS[package] / path.parent.relative_to(TESTS / package))
    ]
    assert misplaced == []


def test_helpers_have_packages_of_their_own() -> None:
    outside = [
        name
        for path in sorted(TESTS.glob("*/**/*.py"))
        if not path.name.startswith(("test_", "conftest")) and "helpers" not in path.parts
        if (name := str(path.relative_to(TESTS))) not in PROGRAMS
    ]
    assert outside == []


def test_helpers_hold_no_tests() -> None:
    assert list(TESTS.rglob("helpers/**/test_*.py")) == []
