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
from torpor_container.measuring.timing import Timing
from torpor_container.processes.memory_budget import MemoryBudget
from torpor_container.processes.zygote_access import ZygoteAccess
from torpor_container.processes.zygote_client import ZygoteClient
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
    ],
)
def test_each_line_is_met_or_has_a_reason(tmp_path: Path, text: str, faults: list[str] | None) -> None:
    (tmp_path / "more.txt").write_text("not-there-either>2\n")
    (tmp_path / "requirements.txt").write_text(text)
    told = list(map(str, unmet(tmp_path / "requirements.txt")))
    assert told == faults if faults is not None else all("pytest[dev]" in fault for fault in told)


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
            running, _ = await scripts.start(model, script)
            reply = await running.invoke(Invocation(b""), 10.0, Timing(asyncio.get_running_loop().time))
            await running.close()
            assert reply.body == b"seven"
            wheel(model / "code").unlink(missing_ok=True)  # what is installed is not installed again

    asyncio.run(story())
    assert (tmp_path / "version" / "requirements" / "tiny_words.py").is_file()
    assert not (tmp_path / "base").exists()


def test_an_installation_that_fails_says_the_installer_s_last_words(tmp_path: Path) -> None:
    (tmp_path / "broken-1.0-py3-none-any.whl").write_bytes(b"no wheel")
    with pytest.raises(LoadFailed, match=r"(?s)requirements.txt of the script cannot be installed: .*broken"):
        met(tmp_path, "install", "./broken-1.0-py3-none-any.whl\n")
