"""Runs the code blocks of a page in their order, in one folder, against an endpoint of the page's own."""

import contextlib
import io
import os
import re
import shlex
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from typer.testing import CliRunner

from tests.docs.helpers.reading import SOON, Block, Command, before, blocks, commands, matches
from tests.helpers.waiting import soon
from tests.markdown import ROOT
from torpor.calling.connection import EndpointConnection
from torpor.cli import app
from torpor.testing.movable_clock import MovableClock

AT_MOST_S = 60.0
WIDTH = "120"
SHELL = frozenset("|&;<>$`*?\n")
SLEEP = re.compile(r"sleep (\d+)")


def _no_names() -> dict[str, Any]:
    return {"__name__": "__main__"}


@dataclass
class Reader:
    """Does what a page says, as its reader would: in a folder that looks like the checkout, and with one Python.

    That folder is the process's working directory, and the process's environment leads to the endpoint. The clock of
    the endpoint travels: `$ sleep 65` moves it.
    """

    folder: Path
    names: dict[str, Any] = field(default_factory=_no_names)
    printed: str = ""

    def prepare(self) -> None:
        (self.folder / ".venv").symlink_to(sys.prefix)
        (self.folder / "examples").symlink_to(ROOT / "examples")

    def read(self, page: Path) -> int:
        """Runs the pages before this one, and then its own blocks. Returns how many of its own ran."""
        for earlier in before(page):
            self._read(earlier, python_only=True)
            self.names = _no_names()
        return self._read(page)

    def _read(self, page: Path, python_only: bool = False) -> int:
        found = blocks(page.read_text())
        for block in found:
            if block.file:
                path = self.folder / block.file
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(block.text)
            elif block.mark == "printed" and not python_only:
                assert matches(block.text, self.printed), told(page, block, self.printed)
            elif block.runs and block.language == "python":
                self.python(block, page)
            elif block.runs and not python_only:
                for command in commands(block):
                    self.command(command, block, page)
        return sum(block.runs for block in found)

    def python(self, block: Block, page: Path) -> None:
        padded = "\n" * block.line + block.text
        output = io.StringIO()
        with contextlib.redirect_stdout(output):
            exec(compile(padded, str(page), "exec"), self.names)
        self.printed = output.getvalue()

    def command(self, command: Command, block: Block, page: Path) -> None:
        if asleep := SLEEP.fullmatch(command.line):
            MovableClock(EndpointConnection.configured()).advance(seconds=int(asleep[1]))
            return
        shown = ""

        def ran() -> bool:
            nonlocal shown
            status, printed = self._torpor(command.line) or self._shell(command.line)
            shown = told(page, block, f"$ {command.line}\n{printed}")
            assert status == 0, shown
            return not command.output.strip() or matches(command.output, printed, block.varies)

        assert soon(ran) if block.mark == SOON else ran(), shown

    def _torpor(self, line: str) -> tuple[int, str] | None:
        """Runs a plain `torpor` command in this process, which saves half a second. None if it needs a shell."""
        words = shlex.split(line, comments=True)
        if words[0] != "torpor" or SHELL & set("".join(words)):
            return None
        done = CliRunner().invoke(app, words[1:], env={"COLUMNS": WIDTH})
        return done.exit_code, done.output

    def _shell(self, line: str) -> tuple[int, str]:
        path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
        done = subprocess.run(
            ["bash", "-c", line],
            cwd=self.folder,
            env={**os.environ, "PATH": path, "COLUMNS": WIDTH},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            text=True,
            timeout=AT_MOST_S,
            check=False,
        )
        return done.returncode, done.stdout


def told(page: Path, block: Block, printed: str) -> str:
    return f"{page.relative_to(ROOT)}:{block.line} shows\n{block.text}\nbut this was printed:\n{printed}"
