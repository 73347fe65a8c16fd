"""What metrics and ledger add to a warm request: an endpoint that has them and one that has not, in turn.

No switch turns them off, so the second one is another program: see `benchmarks/unaccounted`. The clock and the steps of
`Server-Timing`, which an answer carries anyway, are in both.
"""

import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from unittest.mock import patch
from urllib.request import urlopen

from benchmarks.live import Live, Serve
from benchmarks.live import live as own_process
from benchmarks.measure import Figures, Target, Turn, agree, figures, spread, warm
from benchmarks.own_answers import make_models
from benchmarks.sizes import Sizes

PATH = "PYTHONPATH"
WITH, WITHOUT = "with metrics and ledger", "without"
UNACCOUNTED = Path(__file__).parent.parent / "unaccounted"


class StillAccounted(Exception):
    """The endpoint that should account for nothing does: there is nothing to compare."""


def rows(folder: Path, sizes: Sizes, live: Serve) -> list[Figures]:
    artifacts = folder / "artifacts"
    expected = make_models(artifacts, 1)
    with ExitStack() as stack:
        targets = []
        for name, serving in ((WITH, own_process()), (WITHOUT, _unaccounted())):
            running = stack.enter_context(serving)
            running.link(artifacts)
            running.deploy()
            targets.append(running.through(name, expected))
            agree(targets[-1:])
            if _accounted(running) is not (name == WITH):
                raise StillAccounted(name)
        return [row for connections in sizes.connections for row in _measured(targets, connections, sizes)]


@contextmanager
def _unaccounted() -> Iterator[Live]:
    paths = [str(UNACCOUNTED), *filter(None, [os.environ.get(PATH)])]
    with patch.dict(os.environ, {PATH: os.pathsep.join(paths)}), own_process() as running:
        yield running


def _accounted(running: Live) -> bool:
    """Whether its metrics know of an invocation."""
    with urlopen(f"{running.process.url}/_torpor/metrics") as page:
        metrics = page.read().decode()
    return any(line.startswith("torpor_invocations_total") for line in metrics.splitlines())


def _measured(targets: Sequence[Target], connections: int, sizes: Sizes) -> list[Figures]:
    turns = warm(targets, (), connections, sizes.turn_s, sizes.rounds)
    return [_row(name, connections, seen, turns[WITHOUT]) for name, seen in turns.items()]


def _row(name: str, connections: int, turns: Sequence[Turn], without: Sequence[Turn]) -> Figures:
    added_us = [one.cpu_us - other.cpu_us for one, other in zip(turns, without, strict=True)]
    ratios = [one.cpu_us / other.cpu_us for one, other in zip(turns, without, strict=True)]
    compared = {**spread("added_us", added_us), **spread("cpu_of_without", ratios)}
    return {"what": name, "connections": connections, **figures(turns), **compared}
