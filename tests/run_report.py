"""`python -m tests.run_report FILE [FILE]`: what a run of `make test` took, and what passed only when it was run again.

The files are JUnit XML, as `make test` and `make test-failed` leave them in `build`.
"""

import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree

FILES, SLOWEST = 20, 50


class Ran(NamedTuple):
    """One test: its module, how long it took with its fixtures, and whether it failed."""

    module: str
    seconds: float
    failed: bool


Run = Mapping[str, Ran]
"""The tests of a run, by their whole names."""


def read(path: Path) -> Run:
    """The tests of a run. One that failed twice, as in its fixture too, is one."""
    tests: dict[str, Ran] = {}
    for case in ElementTree.parse(path).getroot().iter("testcase"):
        module, name = case.get("classname", ""), case.get("name", "")
        failed = any(part.tag in ("failure", "error") for part in case)
        before = tests.get(f"{module}::{name}", Ran(module, 0.0, failed=False))
        tests[f"{module}::{name}"] = Ran(module, before.seconds + float(case.get("time", 0)), before.failed or failed)
    return tests


def second_tries(first: Run, again: Run) -> list[str]:
    """The tests that failed, and passed when they were run once more."""
    return [name for name, test in first.items() if test.failed and name in again and not again[name].failed]


def report(first: Run, again: Run) -> Iterator[str]:
    """The lines of the report. The tests that passed only at the second try come last: each is a fault to mend."""
    seconds: dict[str, float] = defaultdict(float)
    for test in first.values():
        seconds[test.module] += test.seconds
    yield f"{len(first):,} tests took {sum(seconds.values()):.0f} s together. The files that took most:"
    yield from (f"{seconds[name]:8.1f} s  {name}" for name in sorted(seconds, key=lambda name: -seconds[name])[:FILES])
    yield "The slowest tests:"
    slowest = sorted(first, key=lambda name: -first[name].seconds)[:SLOWEST]
    yield from (f"{first[name].seconds:8.1f} s  {name}" for name in slowest)
    if names := second_tries(first, again):
        yield "Passed only at the second try:"
        yield from (f"  {name}" for name in names)


def main(paths: Sequence[str]) -> None:
    runs = [read(Path(path)) for path in paths if Path(path).exists()]
    if runs:
        print("\n".join(report(runs[0], runs[1] if len(runs) > 1 else {})))


if __name__ == "__main__":
    main(sys.argv[1:])
