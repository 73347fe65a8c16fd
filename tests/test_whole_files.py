"""A process of the tests that crashes costs one test, and the run comes to its end."""

import subprocess
import sys
from pathlib import Path

CONFTEST = """
def pytest_xdist_make_scheduler(config, log):
    from tests.helpers.whole_files import WholeFiles

    config.option.loadscopereorder = False
    return WholeFiles(config, log)
"""
QUICK = "import pytest\n\n@pytest.mark.parametrize('n', range(4))\ndef test_quick(n):\n    pass\n"
CRASHES = (
    "import os\n\ndef test_first():\n    pass\n\ndef test_crash():\n    os._exit(1)\n\ndef test_last():\n    pass\n"
)


def test_a_crash_fails_its_test_alone(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text(CONFTEST)
    for name in "abcdefgh":
        (tmp_path / f"test_{name}.py").write_text(CRASHES if name in "bf" else QUICK)
    command = [sys.executable, "-m", "pytest", "-q", "-n2", "-p", "no:cacheprovider", "-p", "no:torpor", str(tmp_path)]
    root = Path(__file__).parent.parent
    ran = subprocess.run([*command, f"--rootdir={tmp_path}"], cwd=root, capture_output=True, text=True, timeout=600)
    assert "2 failed, 28 passed" in ran.stdout, ran.stdout
