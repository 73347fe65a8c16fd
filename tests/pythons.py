"""`python -m tests.pythons VERSION…`: runs the whole suite on each of these Pythons, in an environment of its own.

An interpreter is one on the PATH, of pyenv or of uv. What this machine lacks, or what does not install on it, is said
with its reason; the exit code counts the Pythons on which the suite ran and failed.
"""

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

ROOT = Path(__file__).parent.parent
VERSION = "import sys; print('.'.join(map(str, sys.version_info[:2])))"


def candidates(version: str) -> Iterator[str]:
    """The commands that may be this Python."""
    yield f"python{version}"
    yield from map(str, sorted(Path.home().glob(f".pyenv/versions/{version}.*/bin/python")))
    if uv := shutil.which("uv"):
        found = subprocess.run([uv, "python", "find", version], capture_output=True, text=True, check=False)
        yield from found.stdout.split()


def interpreter(version: str) -> str | None:
    """The first command that is this Python; one of pyenv's may be there and start another, or none."""
    for command in candidates(version):
        if shutil.which(command):
            told = subprocess.run([command, "-c", VERSION], capture_output=True, text=True, check=False)
            if told.stdout.strip() == version:
                return command
    return None


def made(target: str, version: str, python: str) -> tuple[int, str]:
    """The exit code of a target of the Makefile in the environment of this Python, and what it printed, which is also
    shown."""
    command = ["make", target, f"VENV=build/python{version}", f"PYTHON={python}", f"RAN=build/tests-{version}.xml"]
    said = ""
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            print(line, end="", flush=True)
            said += line
    return process.returncode, said


def reason(said: str) -> str:
    """Why an environment was not built: pip's own words, or else the last ones."""
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    return next((line for line in lines if re.match(r"ERROR:|error:", line)), lines[-1] if lines else "no word")


def outcome(version: str) -> tuple[bool, str]:
    """Whether the suite failed on this Python, and what is to be said of it."""
    python = interpreter(version)
    if python is None:
        return False, f"not run: no python{version} is on the PATH, and neither pyenv nor uv has one"
    code, said = made("setup", version, python)
    if code:
        return False, f"not run: the environment cannot be built: {reason(said)}"
    code, said = made("test", version, python)
    return code != 0, next((line for line in reversed(said.splitlines()) if " passed" in line), f"exit code {code}")


def main(versions: Sequence[str]) -> int:
    outcomes = {version: outcome(version) for version in versions}
    for version, (_, said) in outcomes.items():
        print(f"Python {version}: {said}")
    return sum(failed for failed, _ in outcomes.values())


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
