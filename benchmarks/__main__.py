"""`python -m benchmarks [--short]`: warm requests, cold loads and memory per model, as tables and as JSON."""

import argparse
import json
import os
import tempfile
from dataclasses import asdict
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmarks import measure, scene

RESULTS = Path(__file__).parent / "results"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--short", action="store_true", help="a smoke run: few requests, figures that mean little")
    short = parser.parse_args().short
    count, rounds, models = (200, 1, 20) if short else (3000, 3, 200)
    with tempfile.TemporaryDirectory() as folder:
        results = run(Path(folder), count, rounds, models)
    show(results)
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "latest.json").write_text(json.dumps(results, indent=1))


def run(folder: Path, count: int, rounds: int, models: int) -> dict[str, object]:
    """Everything, with one live endpoint of one instance."""
    (folder / "models").mkdir()
    names = scene.make_models(folder / "models", models)
    with (
        scene.endpoint(folder / "models") as running,
        measure.floor(folder) as floor,
        measure.reference(folder) as reference,
    ):
        cold = measure.cold(running, names[: models // 2])
        memory = measure.memory(running, names[models // 2 :])
        targets = [*measure.endpoint_targets(running, names[:8]), floor, reference]
        for target in targets:  # not measured: connections, caches and the processor's clock warm up
            measure.warm([target], (8,), max(200, count // 10), 1)
        warm = measure.warm(targets, (1, 8, 32), count, rounds)
    return {
        "machine": {"cores": os.cpu_count(), "load": os.getloadavg()[0]},
        "requests": count,
        "rounds": rounds,
        "warm": [asdict(row) for row in warm],
        "cold_ms": cold,
        "memory": memory,
    }


def show(results: dict[str, object]) -> None:
    console = Console()
    console.print(f"{results['machine']}, medians of {results['rounds']} rounds of {results['requests']} requests")
    warm = results["warm"]
    assert isinstance(warm, list)
    console.print(_table("Warm requests", warm))
    for title, name in (("Cold: first call to a model, median ms", "cold_ms"), ("Memory", "memory")):
        figures = results[name]
        assert isinstance(figures, dict)
        console.print(_table(title, [figures]))


def _table(title: str, rows: list[dict[str, object]]) -> Table:
    table = Table(title=title, title_justify="left")
    for name in rows[0]:
        table.add_column(name)
    for row in rows:
        table.add_row(*(f"{cell:,.2f}" if isinstance(cell, float) else str(cell) for cell in row.values()))
    return table


if __name__ == "__main__":
    main()
