"""The benchmarks' README names commands that there are, and all of them."""

import re
from pathlib import Path

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
COMMAND = re.compile(r"^\| `python -m benchmarks\.(\w+)", re.MULTILINE)


def test_the_table_of_commands_is_whole() -> None:
    modules = [*BENCHMARKS.glob("*.py"), *BENCHMARKS.glob("*/__main__.py")]
    named = {path.stem if path.parent == BENCHMARKS else path.parent.name: path.read_text() for path in modules}
    commands = {name for name, text in named.items() if f"python -m benchmarks.{name}" in text.partition("\n")[0]}

    assert set(COMMAND.findall((BENCHMARKS / "README.md").read_text())) == commands
