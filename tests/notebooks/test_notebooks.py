"""The notebooks run from top to bottom, leave nothing behind, and are stored without outputs."""

import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.helpers.notebook_files import FOLDER, NOTEBOOKS, cells, imported, read, run
from tests.helpers.processes import marked
from tests.helpers.waiting import soon

MAY_IMPORT = {"torpor", "numpy", "pandas", "boto3"}
METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}


LONG = (
    "01-quickstart",
    "02-save-with-mme",
    "03-right-size",
    "04-scale-to-zero",
    "05-policies",
    "06-replay",
    "07-compare-versions",
    "09-components",
    "10-choose-by-need",
    "11-flat-trees",
    "12-register-and-deploy",
)
runs = [pytest.param(path, id=path.stem, marks=pytest.mark.thorough if path.stem in LONG else ()) for path in NOTEBOOKS]


@pytest.mark.slow
@pytest.mark.parametrize("path", runs)
def test_a_notebook_runs_and_leaves_nothing_behind(path: Path) -> None:
    with tempfile.TemporaryDirectory(prefix="n-", dir="/tmp") as folder:
        ran = run(path, Path(folder))
        printed = [output for cell in cells(ran.notebook, "code") for output in cell.outputs]
        assert [output.text for output in printed if output.get("name") == "stderr"] == []
        assert any("image/png" in output.get("data", {}) for output in printed)
        assert soon(lambda: not marked(ran.mark), within_s=60)
        assert [left.name for left in Path(folder).iterdir() if left.name.startswith("torpor")] == []


def kept(path: Path) -> Iterator[object]:
    """What a notebook keeps of a run, or of another kernel."""
    notebook = read(path)
    yield from (key for key, value in notebook.metadata.items() if METADATA.get(key) != value)
    yield from (cell.metadata for cell in notebook.cells if cell.metadata)
    yield from (cell.source for cell in cells(notebook, "code") if cell.outputs or cell.execution_count is not None)


def test_nothing_of_a_run_is_kept_in_a_notebook() -> None:
    assert [(path.stem, one) for path in NOTEBOOKS for one in kept(path)] == []
    assert [path.stem for path in NOTEBOOKS if read(path).metadata.keys() != METADATA.keys()] == []


def test_a_notebook_imports_the_public_package_and_little_else() -> None:
    found = {path.stem: set(imported(read(path))) - MAY_IMPORT - sys.stdlib_module_names for path in NOTEBOOKS}
    assert {name: others for name, others in found.items() if others} == {}


def begins_well(path: Path) -> bool:
    """With a title that has its question, and then with its sizes."""
    title, sizes, *_ = read(path).cells
    asks = title.cell_type == "markdown" and title.source.startswith("# ") and "?**" in title.source
    return asks and all(line.split(" = ")[0].isupper() for line in sizes.source.splitlines())


def test_a_notebook_starts_with_its_question_and_then_its_sizes() -> None:
    assert [path.stem for path in NOTEBOOKS if not begins_well(path)] == []


def test_the_readme_lists_them_all() -> None:
    text = (FOLDER / "README.md").read_text()
    assert [path.stem for path in NOTEBOOKS if f"[{path.stem}]({path.name})" not in text] == []
