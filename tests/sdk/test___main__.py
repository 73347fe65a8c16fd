"""The `torpor` command before its own code runs."""

import os
import subprocess
import sys

import pytest

from torpor import __main__ as command


def test_an_interrupt_during_the_imports_ends_it_without_a_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(feature: str, *extras: str) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(command, "require", interrupted)
    with pytest.raises(SystemExit) as ended:
        command.main()
    assert ended.value.code == 130


def test_a_terminal_without_the_letters_of_a_name_gets_their_numbers() -> None:
    printing = "from torpor import __main__ as c; c.require = lambda *a: print('modèle') or c.sys.exit(); c.main()"
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    done = subprocess.run([sys.executable, "-c", printing], capture_output=True, env=environment, check=True)
    assert done.stdout == b"mod\\xe8le\n"
