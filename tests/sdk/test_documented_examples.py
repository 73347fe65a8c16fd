"""The pages on Python have every public name, and the guide to tests passes. tests/docs runs the other examples."""

import inspect
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from sklearn.linear_model import LinearRegression

import torpor

ROOT = Path(__file__).parents[2]
PYTHON = ROOT / "docs" / "reference" / "python.md"
GUIDE = ROOT / "docs" / "how-to" / "test-your-application.md"


def names(section: str) -> set[str]:
    """The names in the first column of a table between `<!-- section -->` and `<!-- end -->`."""
    table = PYTHON.read_text().partition(f"<!-- {section} -->\n")[2].partition("<!-- end -->")[0]
    firsts = [line.split("|")[1] for line in table.splitlines()[2:]]
    return {name for first in firsts for name in re.findall(r"`(\w+)[^`]*`", first)}


def run(arguments: list[str], folder: Path) -> str:
    command = [sys.executable, "-W", "error", *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_every_public_name_is_on_the_page() -> None:
    named = set(re.findall(r"`torpor\.(\w+)", PYTHON.read_text()))
    assert [name for name in torpor.__all__ if name != "Local" and name not in named] == []


def test_every_option_of_local_is_on_the_page() -> None:
    assert names("options") == set(inspect.signature(torpor.local).parameters)


def test_everything_that_an_endpoint_can_do_is_on_the_page() -> None:
    assert names("methods") == {name for name in vars(torpor.Local) if not name.startswith("_")}


@pytest.mark.thorough
def test_the_page_on_tests_runs(tmp_path: Path) -> None:
    shutil.copy(ROOT / "examples" / "boto3-application" / "houses.py", tmp_path)
    houses = LinearRegression().fit([[0.1, 0.2, 0.3], [0.4, 0.2, 0.7]], [1.0, 2.0])
    torpor.bundle(houses, tmp_path / "models" / "Houston_TX.tar.gz")
    for number, block in enumerate(re.findall(r"^```python\n(.*?)^```", GUIDE.read_text(), re.DOTALL | re.MULTILINE)):
        name = f"test_{number}.py" if "pytest" in block or "def test_" in block else f"program_{number}.py"
        (tmp_path / name).write_text(block)
    assert "7 passed" in run(["-m", "pytest", "-q", "-p", "no:cacheprovider", "."], tmp_path)
    [program] = tmp_path.glob("program_*.py")
    assert "InService" in run([program.name], tmp_path)
