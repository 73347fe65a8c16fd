"""Scripts that contain `/opt/ml/model`: the path exists, or the error names the line."""

import asyncio
import os
from pathlib import Path

import pytest

from tests.container.helpers.script_processes import started, write_script
from torpor_container.errors import LoadFailed
from torpor_container.formats.script.paths import mentions, show
from torpor_container.invocation import Invocation
from torpor_container.processes.namespaces import NoNamespace
from torpor_container.processes.zygote_client import ZygoteClient


@pytest.mark.parametrize(
    ("source", "line"),
    [
        ("open('/opt/ml/model/vocabulary.txt')", 1),
        ("import os\nHERE = os.path.join('/opt/ml/model', 'a')", 2),
        ("import os\nHERE = f'/opt/ml/model/{os.name}'", 2),
        ("import os\nHERE = os.environ.get('SM_MODEL_DIR', '/opt/ml/model')", None),
        ("import os\nHERE = os.getenv('SM_MODEL_DIR', '/opt/ml/model')", None),
        ('"""/opt/ml/model"""', None),
        ("# /opt/ml/model", None),
        ("parser.add_argument('--model-dir', default='/opt/ml/model')", None),
        ("if __name__ == '__main__':\n    train('/opt/ml/model')", None),
        ("WHERE = 'see /opt/ml/model'\nTHERE = '/opt/mlflow'", None),
        ("no python: /opt/ml/model", None),
    ],
)
def test_a_path_counts_where_the_script_needs_it(tmp_path: Path, source: str, line: int | None) -> None:
    script = write_script(tmp_path, source)
    assert [(found.file, found.line) for found in mentions(script)] == ([("inference.py", line)] if line else [])


def test_a_module_beside_the_script_counts_too(tmp_path: Path) -> None:
    script = write_script(tmp_path, "import beside")
    write_script(tmp_path, "ROWS = open('/opt/ml/model/rows')", "beside.py")
    assert str(mentions(script)[0]) == "beside.py, line 1, has the path /opt/ml/model/rows"


def test_machine_without_namespaces_fails_the_load_and_names_the_line(tmp_path: Path) -> None:
    def refuse(mounts: object) -> None:
        raise NoNamespace("Operation not permitted")

    script = write_script(tmp_path, "X = 1\nROWS = open('/opt/ml/model/rows')")
    with pytest.raises(
        LoadFailed, match=r"inference\.py, line 2, .*/rows, which is not there: Operation .* SM_MODEL_DIR"
    ):
        show(script, tmp_path, refuse)


READS = """
WORDS = open("/opt/ml/model/words.txt").read()
def model_fn(model_dir):
    return open("/opt/ml/code/inference.py").readline()
def transform_fn(model, body, content_type, accept):
    open("/opt/ml/model/written", "w").write("here")
    return WORDS, "text/plain"
"""


def test_the_path_shows_the_model_s_folder_to_its_script_alone(tmp_path: Path, zygote: ZygoteClient) -> None:
    before = os.path.lexists("/opt/ml")

    async def story() -> None:
        for name in ("first", "second"):
            write_script(tmp_path / name, READS, "code/inference.py")
            write_script(tmp_path / name, name, "words.txt")
            async with started(zygote, tmp_path / name, program="code/inference.py") as process:
                try:
                    await process.loaded(30.0)
                except LoadFailed as error:
                    if "mount namespace is not available" in str(error):
                        pytest.skip(f"this machine allows no mount namespace: {error}")
                    raise
                assert (await process.invoke(Invocation(b""))).body.decode() == name
            assert (tmp_path / name / "written").read_text() == "here"

    asyncio.run(story())
    assert os.path.lexists("/opt/ml") == before
