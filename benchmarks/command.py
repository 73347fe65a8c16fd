"""The common option of the benchmarks' commands, and the files of their results."""

import argparse
import json
from pathlib import Path

RESULTS = Path(__file__).parent / "results"


def command(name: str, about: str | None) -> argparse.ArgumentParser:
    """The parser of `python -m benchmarks.NAME`, with the common option."""
    parser = argparse.ArgumentParser(prog=f"python -m benchmarks{name and '.' + name}", description=about)
    parser.add_argument("--results", type=Path, default=RESULTS, metavar="DIR", help="the folder for what was measured")
    return parser


def keep(folder: Path, name: str, results: object) -> None:
    """Write results to a JSON file of this name."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.json").write_text(json.dumps(results, indent=1))
