"""A script's requirements.txt: met by installed packages, refused by name, or installed beside the model."""

import asyncio
import os
import zipfile
from importlib.metadata import version
from pathlib import Path

import pytest

from tests.container.helpers.script_processes import write_script
from torpor_container.errors import LoadFailed
from torpor_container.formats import Conventions
from torpor_container.invocation import Invocation
from torpor_container.measuring.server_timing import Timing
from torpor_container.processes.memory_budget import MemoryBudget
from torpor_container.processes.zygote_access import ZygoteAccess
from torpor_container.processes.zygote_client import ZygoteClient
from torpor_container.running import requirement_files
from torpor_container.running.requirements import Requirements, unmet
from torpor_container.running.scripts import Scripts
from torpor_container.settings import Settings

NUMPY = version("numpy")


@pytest.mark.parametrize(
    ("text", "faults"),
    [
        ("", []),
        ("# numpy==0.1\n\nnumpy  # any\n", []),
        (f"numpy=={NUMPY}\nNumPy>=1\nscikit_learn\n", []),
        ("xgboost>=1\n", []),
        ("left-pad\n", ["left-pad (not installed)"]),
        ("numpy<1\n", [f"numpy<1 ({NUMPY} is installed)"]),
        ('left-pad; python_version < "3"\n', []),
        ('left-pad; python_version > "3"\n', ['left-pad; python_version > "3" (not installed)']),
        ("pytest[dev]\n", None),
        ("--prefer-binary\n--no-cache\n-r more.txt\n", ["not-there-either>2 (not installed)"]),
        ("-e ./mine\n", ["-e ./mine (only an installation can show it)"]),
        ("./wheels/mine.whl\n", ["./wheels/mine.whl (only an installation can show it)"]),
        ("mine @ https://place/mine.whl\n", ["mine @ https://place/mine.whl (only an installation can show it)"]),
        ("numpy \\\n  >=1\n", []),
        ("numpy \\\r\n  >=1\r\n", []),
        ("-rmore.txt\n", ["not-there-either>2 (not installed)"]),
        ("--requirement=more.txt\n", ["not-there-either>2 (not installed)"]),
        ("-c more.txt\n--constraint more.txt\n", []),
        ("-r https://place/more.txt\n", []),
        ("numpy --hash=sha256:00\n", []),
        (
            "mine @ https://place/mine.whl#egg=1\n",
            ["mine @ https://place/mine.whl#egg=1 (only an installation can show it)"],
        ),
        ("sagemaker-containers==2.8.6\nsagemaker_inference>=1.5\nSageMaker.Training\n", []),
        ("sagemaker-xgboost-container\nsagemaker-sklearn-container[test]==2.0\n", []),
        ("sagemaker-nobody\n", ["sagemaker-nobody (not installed)"]),
    ],
)
def test_each_line_is_met_or_has_a_reason(tmp_path: Path, text: str, faults: list[str] | None) -> None:
    (tmp_path / "more.txt").write_text("not-there-either>2\n")
    (tmp_path / "requirements.txt").write_text(text)
    told = list(map(str, unmet(tmp_path / "requirements.txt")))
    assert told == faults if faults is not None else all("pytest[dev]" in fault for fault in told)


@pytest.mark.parametrize(
    "data",
    [
        b"caf\xc3\xa9\r\nnumpy\r\n",
        "\ufeffcaf\xe9\nnumpy".encode(),
        *("\ufeffcaf\xe9\r\nnumpy\r\n".encode(f"utf-{bits}-{order}") for bits in (16, 32) for order in ("le", "be")),
        b"# -*- coding: latin-1 -*-\ncaf\xe9\nnumpy\n",
        b"#!pip\n# vim: set fileencoding: cp1252 :\ncaf\xe9\nnumpy\n",
    ],
)
def test_a_file_is_decoded_as_pip_decodes_it(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "requirements.txt").write_bytes(data)
    assert [line.shown for line in requirement_files.read(tmp_path / "requirements.txt")] == ["caf\xe9", "numpy"]


def test_a_byte_order_mark_may_be_on_an_included_file_too(tmp_path: Path) -> None:
    (tmp_path / "more.txt").write_bytes("\ufeffnumpy\nleft-pad".encode("utf-16-le"))
    (tmp_path / "requirements.txt").write_bytes("\ufeff-r more.txt".encode("utf-16-be"))
    assert [str(fault) for fault in unmet(tmp_path / "requirements.txt")] == ["left-pad (not installed)"]


@pytest.mark.parametrize("data", [b"caf\xe9\n", b"\xff\xfea", b"# coding: klingon\nnumpy\n"])
def test_a_file_that_is_not_of_its_encoding_is_refused_by_name(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "requirements.txt").write_bytes(data)
    with pytest.raises(LoadFailed, match=r"requirements\.txt of the script cannot be read: "):
        asyncio.run(Requirements("install", tmp_path / "base", os.environ).met(tmp_path, tmp_path, 60.0))


def met(folder: Path, permission: str, text: str) -> Path | None:
    (folder / "requirements.txt").write_text(text)
    requirements = Requirements(permission, folder / "base", os.environ)
    return asyncio.run(requirements.met(folder, folder, 60.0))


def test_a_script_whose_requirements_are_met_needs_no_permission(tmp_path: Path) -> None:
    assert met(tmp_path, "refuse", "numpy\nscikit-learn>=1\n") is None


def test_a_missing_requirement_is_refused_by_name_with_the_way_to_allow_it(tmp_path: Path) -> None:
    with pytest.raises(LoadFailed, match=r"asks for left-pad \(not installed\): .* TORPOR_REQUIREMENTS=install"):
        met(tmp_path, "refuse", "left-pad\nnumpy\n")


@pytest.mark.parametrize("permission", ["refuse", "install"])
def test_another_version_of_a_loaded_package_is_always_refused(tmp_path: Path, permission: str) -> None:
    with pytest.raises(
        LoadFailed, match=r"numpy<1 \(.* is installed\)\. Scripts run with the versions that Torpor has"
    ):
        met(tmp_path, permission, "numpy<1\n")


def wheel(folder: Path) -> Path:
    """A package of one module, as an index has it."""
    path = folder / "tiny_words-1.0-py3-none-any.whl"
    info = "tiny_words-1.0.dist-info"
    with zipfile.ZipFile(path, "w") as packed:
        packed.writestr("tiny_words.py", "WORD = 'seven'\n")
        packed.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\nName: tiny-words\nVersion: 1.0\n")
        packed.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        packed.writestr(f"{info}/RECORD", "")
    return path


SCRIPT = "import tiny_words\ndef model_fn(d): ...\ndef transform_fn(m, b, c, a): return tiny_words.WORD\n"


def test_requirements_are_installed_once_beside_the_model_and_found_by_its_script_alone(
    tmp_path: Path, zygote: ZygoteClient
) -> None:
    model = tmp_path / "version" / "model"
    script = write_script(model, SCRIPT, "code/inference.py")
    (tmp_path / "version" / "artifact.json").write_text("{}")
    (model / "code" / "requirements.txt").write_text(f"./{wheel(model / 'code').name}\n")
    settings = Settings.read({"TORPOR_REQUIREMENTS": "install", "SAGEMAKER_BASE_DIR": str(tmp_path / "base")})

    async def story() -> None:
        scripts = Scripts(
            settings, MemoryBudget(settings.memory_bytes), Conventions(), ZygoteAccess(str(zygote.path)), {}
        )
        for _ in range(2):
            running = (await scripts.start(model, script)).runner
            reply = await running.invoke(Invocation(b""), 10.0, Timing(asyncio.get_running_loop().time))
            await running.close()
            assert reply.body == b"seven"
            wheel(model / "code").unlink(missing_ok=True)  # what is installed is not installed again

    asyncio.run(story())
    assert (tmp_path / "version" / "requirements" / "tiny_words.py").is_file()
    assert not (tmp_path / "base").exists()


@pytest.mark.thorough
def test_an_installation_that_fails_says_the_installer_s_last_words(tmp_path: Path) -> None:
    (tmp_path / "broken-1.0-py3-none-any.whl").write_bytes(b"no wheel")
    with pytest.raises(LoadFailed, match=r"(?s)requirements.txt of the script cannot be installed: .*broken"):
        met(tmp_path, "install", "./broken-1.0-py3-none-any.whl\n")


def test_the_installer_gets_utf_8_absolute_paths_constraints_and_no_package_of_a_stand_in(tmp_path: Path) -> None:
    code = tmp_path / "code"
    (code / "lists").mkdir(parents=True)
    (code / "lists" / "held.txt").write_bytes("\ufefftiny-words<2\n".encode("utf-16-le"))
    text = f"\ufeff# mine\r\nsagemaker-containers==2.8.6\r\n./{wheel(code).name}\r\n-c lists/held.txt\r\n"
    (code / "requirements.txt").write_bytes(text.encode("utf-16-le"))
    requirements = Requirements("install", tmp_path / "base", os.environ)
    home = asyncio.run(requirements.met(code, tmp_path, 60.0))
    assert home is not None
    assert (home / "tiny_words.py").is_file()
    assert not (home / "sagemaker_containers").exists()
    assert (home / ".wanted").read_text().splitlines() == [str(code / wheel(code).name)]
    assert (home / ".constraints").read_text().endswith("tiny-words<2\n")
