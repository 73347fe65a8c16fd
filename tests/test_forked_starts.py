"""A forked program is what it would be with a Python of its own, and ends with the process that started it."""

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.helpers.forked_starts import starting
from tests.helpers.forked_starts.forked_zygotes import launched
from tests.helpers.processes import children, gone, has_ended, marked
from tests.helpers.waiting import PATIENCE_S, until
from tests.helpers.zygotes import LIGHT
from torpor_container.processes.process_tree import parent
from torpor_container.processes.zygote_client import Job, OwnedZygote

TELLS = """
import json, os, sys
inherited = int(sys.argv[2])
os.write(inherited, b"from the child")
found = sorted(int(number) for number in os.listdir("/proc/self/fd"))
told = {"name": __name__, "arguments": sys.argv, "variables": dict(os.environ), "folder": os.getcwd()}
shown = open("/proc/self/environ").read().strip("\\0").split("\\0")
told["shown"] = dict(variable.split("=", 1) for variable in shown)
told |= {"session": os.getsid(0), "input": sys.stdin.read(), "open": [number for number in found if number < 256]}
print(json.dumps(told), flush=True)
sys.exit(7)
"""
RESTS = "import os, sys, time; print(os.getpid(), flush=True); time.sleep(600)"
OWNER = """
import os, sys
from tests.helpers.forked_starts import starting
if sys.argv[3:]:
    starting.share(starting.SharedForking(bytes.fromhex(sys.argv[3]), int(sys.argv[4]), os.getpid()))
with open(sys.argv[2], "wb") as output:
    starting.start([sys.executable, sys.argv[1]], output)
sys.stdin.read()
"""


@pytest.fixture
def read_end() -> Iterator[tuple[int, int]]:
    ends = os.pipe()
    yield ends
    for end in ends:
        os.close(end)


def test_it_has_the_arguments_variables_descriptors_and_session_of_a_process_and_tells_its_end(
    tmp_path: Path, read_end: tuple[int, int]
) -> None:
    program, (read, write), variables = tmp_path / "program.py", read_end, {**os.environ, "ITS_MARK": "abc"}
    program.write_text(TELLS)
    told = []
    for command in ([sys.executable, "-P", str(program)], ["/usr/bin/env", sys.executable, "-P", str(program)]):
        with (tmp_path / "told").open("wb") as output:
            started = starting.start([*command, "a", str(write)], output, pass_fds=[write], env=variables)
        assert started.wait(60.0) == 7 == started.poll()
        assert os.read(read, 100) == b"from the child"
        found = json.loads((tmp_path / "told").read_bytes())
        assert found.pop("session") == started.pid
        told.append((isinstance(started, starting.Forked), found))
    (forked, ours), (apart, its) = told
    assert (forked, apart) == (True, False)
    assert ours == its
    assert {*ours["open"]} <= {0, 1, 2, 3, write}  # 3 lists them


def test_variables_that_python_reads_as_it_starts_are_read(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text("import sys; sys.exit(sys.flags.optimize)")
    with (tmp_path / "told").open("wb") as output:
        started = starting.start([sys.executable, str(program)], output, env={**os.environ, "PYTHONOPTIMIZE": "2"})
    assert started.wait(60.0) == 2


def test_a_signal_ends_it_and_its_mark_finds_it(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(RESTS)
    with (tmp_path / "told").open("wb") as output:
        started = starting.start([sys.executable, str(program)], output, env={**os.environ, "ITS_MARK": str(tmp_path)})
    assert started.poll() is None
    assert marked(str(tmp_path)) == [started.pid]
    started.kill()
    assert started.wait(60.0) == -signal.SIGKILL
    assert marked(str(tmp_path)) == []


@pytest.mark.parametrize("shared", [False, True])
def test_it_ends_when_the_process_that_started_it_is_killed(tmp_path: Path, shared: bool) -> None:
    """Also where the process that forks is another one's, and lives on."""
    program, told = tmp_path / "program.py", tmp_path / "told"
    program.write_text(RESTS)
    address, forking, _ = starting.forking()
    command = [sys.executable, "-c", OWNER, program, told, *((address.hex(), str(forking)) if shared else ())]
    with subprocess.Popen(command, stdin=subprocess.PIPE) as owner:
        pid = int(until(lambda: told.exists() and told.read_text().strip()))
        assert os.getsid(pid) == pid
        assert (parent(pid) == forking) is shared
        owner.kill()
    assert gone(pid)
    assert not has_ended(forking)


@pytest.mark.parametrize(
    ("ends", "code"),
    [
        ("pass", 0),
        ("sys.exit()", 0),
        ("sys.exit(258)", 2),
        ("sys.exit('no reason')", 1),
        ("raise ValueError('a fault')", 1),
        ("os.fork() or sys.exit(3); sys.exit(os.waitstatus_to_exitcode(os.wait()[1]) + 1)", 4),
        ("os.kill(os.getpid(), 9)", -9),
    ],
)
def test_it_ends_as_a_process_of_python_does(tmp_path: Path, ends: str, code: int) -> None:
    """With its code, what it has printed, and what was to be done at its end."""
    program = tmp_path / "program.py"
    program.write_text(f"import atexit, os, sys\natexit.register(print, 'at its end')\nprint('printed')\n{ends}")
    told = []
    for command in ([sys.executable, str(program)], ["/usr/bin/env", sys.executable, str(program)]):
        with (tmp_path / "told").open("wb") as output:
            assert starting.start(command, output).wait(60.0) == code
        told.append((tmp_path / "told").read_text())
    ours, its = (text.partition("Traceback")[::2] for text in told)
    assert ours[0] == its[0]
    assert ours[1].splitlines()[-1:] == its[1].splitlines()[-1:]


def test_a_forked_zygote_belongs_to_its_owner_forks_children_and_ends_with_its_lifeline(tmp_path: Path) -> None:
    async def story() -> None:
        zygote = await OwnedZygote.start(tmp_path / "s", LIGHT, launch=launched)
        await zygote.ready()
        assert (os.getsid(zygote.pid), zygote.pid in children(os.getpid())) == (zygote.pid, True)
        assert await (await zygote.fork(Job("operator:eq"))).wait() == 0
        assert zygote.running
        await zygote.close()
        assert not zygote.running
        assert zygote.pid not in children(os.getpid())
        assert has_ended(zygote.pid)

    asyncio.run(asyncio.wait_for(story(), PATIENCE_S))


def test_a_zygote_of_another_command_or_of_other_variables_has_a_process_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def parent_of(command: tuple[str, ...]) -> int | None:
        zygote = await OwnedZygote.start(tmp_path / "s", command, launch=launched)
        found = parent(zygote.pid)
        zygote.kill()
        await zygote.close()
        return found

    assert asyncio.run(parent_of((*LIGHT[:1], "-c", "input()"))) == os.getpid()
    monkeypatch.setenv("PYTHONHASHSEED", "1")
    assert asyncio.run(parent_of(LIGHT)) == os.getpid()
