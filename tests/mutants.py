"""Do the tests bite? `make mutants` breaks the pure cores in one place at a time, and runs the room's own tests.

A mutant that no test fails for is a survivor. tests/mutants.md has their share by room, and why those that are left
cannot be killed. `MUTANTS=room` takes one room; build/mutants has lists of the survivors without a reason.

Each mutant runs in a fork of this process, which has imported what the tests need of others, and only those tests run
that reach the mutant's line. It ends by the processor time that its tests take without a fault. Hypothesis tries the
same examples each time: as many as in `make test`, and five times as many before a mutant counts as a survivor.
"""

import gc
import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import json
import os
import re
import resource
import signal
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from types import CodeType, FrameType, ModuleType
from typing import Any

import pytest
from hypothesis import settings

from tests.helpers.example_counts import USUAL
from tests.helpers.mutation import Mutant, mutants

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "tests/mutants.md"
LISTS = ROOT / "build/mutants"
CORES = {
    "container/torpor_container/core": "tests/container/core",
    "endpoint/torpor_account/core": "tests/account/core",
    "endpoint/torpor_endpoint/core": "tests/endpoint/core",
}
"""The pure cores, with their tests."""
CONTAINER, ACCOUNT, ENDPOINT = CORES


@dataclass(frozen=True)
class MutatedRoom:
    """The modules that get faults, and the tests that are theirs."""

    sources: tuple[str, ...]
    tests: tuple[str, ...]


def _rooms(core: str, *names: str) -> dict[str, MutatedRoom]:
    """Folders and modules of a core, each with the tests of the same name."""
    tests = CORES[core]
    return {
        name: MutatedRoom((f"{core}/{name}",), (f"{tests}/{name}",))
        if (ROOT / core / name).is_dir()
        else MutatedRoom((f"{core}/{name}.py",), (f"{tests}/test_{name}.py",))
        for name in names
    }


def _part_of_access(sources: str, tests: str) -> MutatedRoom:
    """A part of the folder, with the tests that are its own: those of all parts would take hours."""
    core = f"{ACCOUNT}/access"
    return MutatedRoom(
        tuple(f"{core}/{name}" for name in sources.split()),
        tuple(f"{CORES[ACCOUNT]}/access/{name}" for name in tests.split()),
    )


ROOMS: dict[str, MutatedRoom] = {
    "residency": MutatedRoom(
        (f"{CONTAINER}/residency.py", f"{CONTAINER}/occupancy.py"),
        ("tests/container/core/test_residency.py", "tests/container/core/test_footprint.py"),
    ),
    **_rooms(
        CONTAINER,
        "eviction",
        "sizing",
        "keepalive",
        "turns",
        "rounds",
        "resting",
        "trials",
        "clients",
        "client_timeouts",
        "near_names",
        "prediction_pace",
        "target_names",
        "work_wait",
        "devices",
    ),
    "old_links": _part_of_access("old_links.py", "test_old_links.py"),
    "condition_keys": _part_of_access("condition_keys.py", "test_condition_keys.py"),
    "rights": _part_of_access("rights", "rights test_condition_keys.py"),
    "signing": _part_of_access(
        "chunks.py claims.py known_keys.py rates.py signatures.py",
        "test_chunks.py test_claims.py test_known_keys.py test_rates.py test_signatures.py test_signed_texts.py",
    ),
    "policies": _part_of_access(
        "conditions.py evaluation.py explaining needs.py policy_statements.py principals.py text_patterns.py",
        "test_conditions.py test_evaluation.py explaining test_needs.py test_policy_documents.py test_principals.py "
        "test_role_trust.py test_text_patterns.py",
    ),
    **_rooms(ACCOUNT, "alarms", "origins", "outages", "s3_address", "written_numbers"),
    **_rooms(
        ENDPOINT,
        "sending",
        "scaling",
        "rollouts",
        "lineage",
        "search",
        "model_choice",
        "tuning",
        "pipelines",
        "routing",
        "lifecycle",
        "components",
        "packing",
        "transform",
        "autoscaling",
        "capture",
        "ledger",
        "memory_shares",
        "sessions",
        "traffic",
        "testing",
        "warm_steps",
    ),
    "placement": MutatedRoom(
        (f"{ENDPOINT}/placement.py", f"{ENDPOINT}/routing/ready_slots.py", f"{ENDPOINT}/routing/weighted_choice.py"),
        (
            f"{CORES[ENDPOINT]}/test_placement.py",
            f"{CORES[ENDPOINT]}/routing/test_weighted_choice.py",
            f"{CORES[ENDPOINT]}/routing/test_handing_over.py",
            f"{CORES[ENDPOINT]}/routing/test_second_copies.py",
        ),
    ),
    "versions": MutatedRoom(
        (f"{CONTAINER}/versions", f"{ENDPOINT}/versions"),
        ("tests/container/core/versions", "tests/endpoint/core/versions"),
    ),
}
"""By the name that `MUTANTS` takes. The others, such as `pages` and `pricing`, hold values alone."""

FEW, MANY = "few examples", "many examples"
STOP = ("-x",)
SLOWER = 5
SPARE_S = 2.0
"""A mutant may take this many times the processor time of its tests, and this much more for their collection."""
MEMORY_BYTES = 4 << 30
OURS = ("torpor", "tests", "test_", "benchmarks", "__")
"""How the names begin of modules that each mutant imports anew."""
FOLLOWED_MAX = 200_000
"""So many events of one test are followed. What it has begun to run by then, it is taken to reach as a whole."""


# Without a fault: what the tests import, which lines each reaches, and how long it takes.


@dataclass
class Reach:
    """What one run of a room's tests has shown."""

    lines: dict[str, dict[int, set[str]]] = field(default_factory=lambda: defaultdict(lambda: defaultdict(set)))
    """By file and line: the tests that come there; "" for what is reached before any test runs."""
    cpu_s: dict[str, float] = field(default_factory=dict)
    """By test, in the order in which they run."""
    modules: list[str] = field(default_factory=list)
    """What was imported that is not ours."""

    def tests(self, path: Path, lines: range) -> list[str]:
        """The tests that reach one of these lines: the module's own first, and quick ones before slow ones."""
        found = set().union(*(self.lines.get(str(path), {}).get(line, ()) for line in lines))
        reached = self.cpu_s if "" in found else found
        return sorted(reached, key=lambda test: (f"test_{path.stem}.py" not in test, self.cpu_s[test]))


class Following:
    """A plugin of pytest that writes down which test reaches which lines."""

    def __init__(self, files: frozenset[str], traced: bool) -> None:
        self.reach = Reach()
        self.traced = traced
        self._files = files
        self._begin("")

    def _begin(self, test: str) -> None:
        self._test, self._events = test, 0
        self._missing: dict[int, tuple[CodeType, set[int]]] = {}  # by `id`: the lines that are not reached yet

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        self._begin(item.nodeid)
        before_s = time.process_time()
        sys.settrace(self.trace if self.traced else None)  # a test may have put a function of its own in its place
        try:
            return (yield)
        finally:
            self.reach.cpu_s[item.nodeid] = time.process_time() - before_s
            self._begin("")

    def trace(self, frame: FrameType, event: str, argument: Any) -> Any:
        code = frame.f_code
        if code.co_filename not in self._files:
            return None
        if id(code) not in self._missing:
            self._missing[id(code)] = code, {line for _, _, line in code.co_lines() if line is not None}
        missing = self._missing[id(code)][1]
        self._events += 1
        if self._events == FOLLOWED_MAX:
            sys.settrace(None)
            for begun, lines in self._missing.values():
                self._reached(begun, lines)
        elif frame.f_lineno in missing:
            missing.discard(frame.f_lineno)
            self._reached(code, (frame.f_lineno,))
        return self.trace if missing else None

    def _reached(self, code: CodeType, lines: Iterable[int]) -> None:
        for line in lines:
            self.reach.lines[code.co_filename][line].add(self._test)


class Chosen:
    """A plugin of pytest that keeps these tests alone, in this order."""

    def __init__(self, tests: Sequence[str]) -> None:
        self._place = {test: place for place, test in enumerate(tests)}

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        items[:] = sorted(
            (item for item in items if item.nodeid in self._place), key=lambda item: self._place[item.nodeid]
        )


# With a fault: a loader in the place of the module's own.


class FaultyLoader(importlib.machinery.SourceFileLoader):
    def __init__(self, name: str, path: Path, source: str) -> None:
        super().__init__(name, str(path))
        self._source = source

    def get_code(self, fullname: str) -> CodeType:
        return compile(self._source, self.path, "exec", dont_inherit=True)


@dataclass
class FaultyModule(importlib.abc.MetaPathFinder):
    """Finds one module, with a fault in it."""

    path: Path
    source: str

    def find_spec(
        self, name: str, path: Any, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if name != module_name(self.path):
            return None
        return importlib.util.spec_from_file_location(
            name, self.path, loader=FaultyLoader(name, self.path, self.source)
        )


def module_name(path: Path) -> str:
    inner = path.relative_to(ROOT).with_suffix("").parts[1:]
    return ".".join(inner).removesuffix(".__init__")


def run_tests(paths: Sequence[str], *plugins: object, options: Sequence[str] = STOP) -> int:
    options = [*options, "-q", "--assert=plain", "--noconftest", "--capture=no", "--rootdir", str(ROOT)]
    without = ("-p", "no:torpor", "-p", "no:cacheprovider", "-p", "no:faulthandler")
    return int(pytest.main([*options, *without, *paths], plugins=list(plugins)))


def in_a_fork(work: Any, cpu_s: float = 0.0) -> int:
    """Runs `work` in a fork of this process, without output; returns its status as `os.waitpid` has it."""
    child = os.fork()
    if child == 0:
        quiet = os.open(os.devnull, os.O_RDWR)
        for descriptor in range(3):
            os.dup2(quiet, descriptor)
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
        signal.setitimer(signal.ITIMER_PROF, cpu_s)
        status = 99
        with suppress(BaseException):
            status = work()
        os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def reach_of(room: MutatedRoom, files: Sequence[Path]) -> Reach:
    """Runs the room's tests twice without a fault: to follow them, and for their time."""

    def follow(traced: bool, out: str) -> int:
        plugin = Following(frozenset(map(str, files)), traced)
        sys.settrace(plugin.trace if traced else None)
        status = run_tests(room.tests, plugin, options=() if traced else STOP)
        sys.settrace(None)
        lines = {file: {line: sorted(tests) for line, tests in by.items()} for file, by in plugin.reach.lines.items()}
        others = [name for name in sys.modules if not name.startswith(OURS)]
        Path(out).write_text(json.dumps([lines, plugin.reach.cpu_s, others]))
        return status

    with tempfile.NamedTemporaryFile() as out:
        reach = Reach()
        for traced in (True, False):
            status = in_a_fork(lambda traced=traced: follow(traced, out.name))
            if status != 0 and not traced:  # a test that counts lines fails where they are followed
                raise SystemExit(f"The tests fail without a fault (status {status}): pytest {' '.join(room.tests)}")
            lines, cpu_s, others = json.loads(Path(out.name).read_bytes())
            for file, by in lines.items():
                reach.lines[file].update({int(line): set(tests) for line, tests in by.items()})
        reach.cpu_s, reach.modules = cpu_s, others
    return reach


def survives(mutant: Mutant, path: Path, reach: Reach) -> bool:
    tests = reach.tests(path, mutant.lines)
    limit_s = SLOWER * sum(reach.cpu_s[test] for test in tests) + SPARE_S
    files = list(dict.fromkeys(test.split("::")[0] for test in tests))

    def work(examples: str) -> int:
        settings.load_profile(examples)
        sys.meta_path.insert(0, FaultyModule(path, mutant.source))
        return run_tests(files, Chosen(tests))

    return all(not tests or in_a_fork(partial(work, examples), limit_s) == 0 for examples in (FEW, MANY))


# The page: a table that is written anew, room by room, and reasons that people write.

ROW = re.compile(r"^\| (\w+) \| (\d+) \| (\d+) \|.*\n", re.MULTILINE)
REASON = re.compile(r"^- `([^`]+)`: .+$", re.MULTILINE)


def explained() -> set[str]:
    """The mutants that tests/mutants.md has a reason for, by their names with their modules'."""
    return set(REASON.findall(PAGE.read_text()))


def write_row(name: str, total: int, alive: Sequence[str]) -> None:
    """Puts a room's figures into the page's table."""
    page, known = PAGE.read_text(), explained()
    rows = {found[1]: found[0] for found in ROW.finditer(page)}
    open_ones = sum(one not in known for one in alive)
    rows[name] = f"| {name} | {total} | {len(alive)} | {len(alive) / total:.1%} | {open_ones} |\n"
    table = "".join(rows[room] for room in ROOMS if room in rows)
    before, rule, after = page.partition("| --- | --- | --- | --- | --- |\n")
    PAGE.write_text(before + rule + table + ROW.sub("", after))


def files_of(room: MutatedRoom) -> list[Path]:
    found = [
        path
        for source in room.sources
        for path in ([ROOT / source] if source.endswith(".py") else (ROOT / source).rglob("*.py"))
    ]
    return sorted(path for path in found if path.read_text().count("\n") > 1)


def survivors(room: MutatedRoom) -> tuple[int, list[str]]:
    """How many mutants a room has, and the names of those that its tests let live."""
    files = files_of(room)
    reach = reach_of(room, files)
    for name in reach.modules:
        with suppress(Exception):
            importlib.import_module(name)
    if early := [name for name in sys.modules if name.startswith("torpor")]:
        raise SystemExit(f"Faults in modules that are imported already would not be seen: {', '.join(early)}")
    gc.freeze()
    total, alive = 0, []
    for path in files:
        for mutant in mutants(path.read_text()):
            total += 1
            if survives(mutant, path, reach):
                alive.append(f"{module_name(path)}: {mutant.name}")
    return total, alive


def register_examples() -> None:
    for name, examples in ((FEW, USUAL), (MANY, 5 * USUAL)):
        settings.register_profile(name, deadline=None, derandomize=True, database=None, max_examples=examples)
    settings.load_profile(MANY)


def main(names: Sequence[str]) -> None:
    register_examples()
    gc.disable()
    known = explained()
    for name in names or ROOMS:
        total, alive = survivors(ROOMS[name])
        write_row(name, total, alive)
        new = [one for one in alive if one not in known]
        LISTS.mkdir(parents=True, exist_ok=True)
        (LISTS / f"{name}.txt").write_text("".join(f"{one}\n" for one in new))
        print(f"{name}: {len(alive)} of {total} survive, and {len(new)} have no reason", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
