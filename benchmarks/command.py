"""What the benchmarks' commands have in common: where they keep what they measured."""

import argparse
import json
from pathlib import Path

RESULTS = Path(__file__).parent / "results"


def command(name: str, about: str | None) -> argparse.ArgumentParser:
    """`python -m benchmarks.NAME`, with the option that all have."""
    parser = argparse.ArgumentParser(prog=f"python -m benchmarks{name and '.' + name}", description=about)
    parser.add_argument("--results", type=Path, default=RESULTS, metavar="DIR", help="the folder for what was measured")
    return parser


def keep(folder: Path, name: str, results: object) -> None:
    """As a JSON file of this name."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.json").write_text(json.dumps(results, indent=1))
