"""How an endpoint or a router ends whose worker cannot start."""

import subprocess
import sys

PROGRAM = """
import sys
from torpor_account.port import serve
from torpor_container.http.server import NOT_STARTED, ServerOptions

def make_app():
    print("the database is away", file=sys.stderr, flush=True)
    {end}

sys.argv = sys.argv[:1]
serve(make_app, ServerOptions(bind="127.0.0.1:0", log_level="warning"))
"""


def ended(end: str) -> "subprocess.CompletedProcess[str]":
    """What becomes of a server whose application ends so while it is made."""
    command = [sys.executable, "-c", PROGRAM.format(end=end)]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


def test_a_worker_that_cannot_start_says_all_there_is_to_say() -> None:
    done = ended("sys.exit(NOT_STARTED)")
    assert (done.returncode, done.stdout, done.stderr) == (1, "", "the database is away\n")


def test_an_unknown_fault_of_a_start_is_told_with_its_traceback() -> None:
    done = ended("raise RuntimeError('unknown')")
    assert done.returncode == 1
    assert "RuntimeError: unknown" in done.stderr
    assert "Shutting down" not in done.stderr
