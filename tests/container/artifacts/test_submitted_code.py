"""The script outside the artifacts is downloaded once, as a whole, and again after a failure."""

import asyncio
import shutil
import tarfile
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from torpor_container.artifacts.archives.unpack import UnpackLimits, unpack
from torpor_container.artifacts.stores.folder import FolderArtifactStore
from torpor_container.artifacts.submitted_code import SubmittedCode, SubmittedFolder
from torpor_container.errors import LoadFailed

KEY = "code/sourcedir.tar.gz"


Work = Callable[..., Any]
STEPS: dict[str, Work] = {"copy": shutil.copyfile, "unpack": unpack}


def submitted(root: Path, copy: Work = shutil.copyfile, unpack: Work = unpack) -> SubmittedCode:
    """As an instance has it, over a folder that stands for the bucket."""
    store = FolderArtifactStore(root / "bucket", copy=copy)
    return SubmittedCode(store, KEY, root / "here", "train.py", UnpackLimits(), unpack)


def archive(root: Path, **files: str) -> None:
    """`train="x"` is a file train.py that says x."""
    source = root / "source"
    source.mkdir(exist_ok=True)
    (root / "bucket" / "code").mkdir(parents=True, exist_ok=True)
    with tarfile.open(root / "bucket" / KEY, "w:gz") as tar:
        for name, text in files.items():
            path = source / (f"{name}.py" if name != "requirements" else "requirements.txt")
            path.write_text(text)
            tar.add(path, arcname=path.name)


def test_the_script_comes_with_its_own_modules(tmp_path: Path) -> None:
    archive(tmp_path, train="print('hello')", beside="X = 1")
    script = asyncio.run(submitted(tmp_path).script())
    assert script.read_text() == "print('hello')"
    assert sorted(path.name for path in script.parent.iterdir()) == ["beside.py", "train.py"]


def test_the_script_is_downloaded_once_for_any_number_of_models(tmp_path: Path) -> None:
    archive(tmp_path, train="first")

    async def story() -> None:
        code = submitted(tmp_path)
        scripts = await asyncio.gather(*(code.script() for _ in range(5)))
        archive(tmp_path, train="second")
        assert {script.read_text() for script in [*scripts, await code.script()]} == {"first"}

    asyncio.run(story())


def test_files_of_an_earlier_process_are_gone(tmp_path: Path) -> None:
    archive(tmp_path, train="old", leftover="")
    asyncio.run(submitted(tmp_path).script())
    archive(tmp_path, train="new")
    script = asyncio.run(submitted(tmp_path).script())
    assert script.read_text() == "new"
    assert not script.with_name("leftover.py").exists()


def test_a_failure_names_the_setting_and_the_next_model_tries_again(tmp_path: Path) -> None:
    (tmp_path / "bucket").mkdir()
    code = submitted(tmp_path)
    with pytest.raises(LoadFailed, match="SAGEMAKER_SUBMIT_DIRECTORY"):
        asyncio.run(code.script())
    archive(tmp_path, other="")
    with pytest.raises(LoadFailed, match=r"no train\.py in code/sourcedir\.tar\.gz"):
        asyncio.run(code.script())
    archive(tmp_path, train="found")
    assert asyncio.run(code.script()).read_text() == "found"


def test_a_torn_archive_is_a_failure_of_the_load(tmp_path: Path) -> None:
    (tmp_path / "bucket" / "code").mkdir(parents=True)
    (tmp_path / "bucket" / KEY).write_bytes(b"no archive")
    with pytest.raises(LoadFailed, match="SAGEMAKER_SUBMIT_DIRECTORY cannot be fetched"):
        asyncio.run(submitted(tmp_path).script())


def test_a_folder_of_this_machine_is_used_in_its_place(tmp_path: Path) -> None:
    (tmp_path / "inference.py").write_text("X = 1")
    assert asyncio.run(SubmittedFolder(tmp_path, "").script()) == tmp_path / "inference.py"


@pytest.mark.parametrize("folder", ["none", "."])
def test_a_folder_without_the_script_is_a_failure_that_names_the_setting(tmp_path: Path, folder: str) -> None:
    with pytest.raises(LoadFailed, match=r"no inference\.py in .*, which SAGEMAKER_SUBMIT_DIRECTORY names"):
        asyncio.run(SubmittedFolder(tmp_path / folder, "").script())


@pytest.mark.parametrize("step", STEPS)
def test_a_cancelled_preparation_leaves_no_thread_that_still_writes(tmp_path: Path, step: str) -> None:
    archive(tmp_path, train="whole")
    working, go_on = threading.Event(), threading.Event()

    def slowly(*arguments: Any) -> Any:
        working.set()
        assert go_on.wait(60.0)
        return STEPS[step](*arguments)

    async def story() -> None:
        code = submitted(tmp_path, **{step: slowly})
        first = asyncio.create_task(code.script())
        assert await asyncio.to_thread(working.wait, 10.0)
        first.cancel()
        second = asyncio.create_task(code.script())
        for _ in range(10):
            await asyncio.sleep(0)
        assert not first.done()
        go_on.set()
        with pytest.raises(asyncio.CancelledError):
            await first
        assert (await second).read_text() == "whole"

    asyncio.run(story())
