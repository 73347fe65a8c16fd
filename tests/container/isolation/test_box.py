"""Hostile scripts in a live box: each gets an error of its own, and reaches nothing outside."""

import asyncio
import os
import socket
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from benchmarks.hostile.scripts import ENDS, HARM, in_place
from tests.container.helpers import boxed_scripts
from torpor_container.isolation.abilities import Abilities, found
from torpor_container.processes import namespaces
from torpor_container.processes.zygote_client import ZygoteClient
from torpor_container.running.script_boxes import ensure_isolation, lacking
from torpor_container.settings import BadSetting, Settings

pytestmark = pytest.mark.skipif(bool(found().missing()), reason="; ".join(found().missing()))

SMALL = {
    "TORPOR_SCRIPT_DISK_MIB": "8",
    "TORPOR_SCRIPT_FILES": "300",
    "TORPOR_SCRIPT_PROCESSES": "12",
    "TORPOR_MEMORY_MIB": "160",
}
NARROW = {**SMALL, "TORPOR_SCRIPT_NETWORK": "endpoint", "TORPOR_SCRIPT_PORTS": "4700"}


def answers(zygote: ZygoteClient, folder: Path, sources: Sequence[str], **settings: str) -> list[str]:
    """The first line of each answer of one script to these requests; an error is `Type: message`."""
    places = {"outside": folder, "instance": os.getpid(), "zygote": os.getpid(), "socket": zygote.path}
    told = boxed_scripts.answers(zygote, folder, [in_place(source, places) for source in sources], **settings)
    return [answer.split("\n")[0] for answer in told]


def test_each_harm_is_an_error_of_the_script_s_own_and_it_lives_on(tmp_path: Path, zygote: ZygoteClient) -> None:
    told = answers(zygote, tmp_path, [*HARM.values(), "os.kill(-1, 9)", "out = 'alive'"], **NARROW)
    harmless = {name for name, answer in zip(HARM, told, strict=False) if not answer.startswith("PredictionFailed: ")}
    assert (harmless, told[-1]) == (set(), "alive")
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith("scratch-")] == []


LIMITS = {"disk": "TORPOR_SCRIPT_DISK_MIB allows", "make": "TORPOR_SCRIPT_FILES allows", "memory": "exit code 137"}
"""What ends a script whose harm has this word in its name."""


def test_a_script_that_takes_too_much_is_ended_with_its_reason(tmp_path: Path, zygote: ZygoteClient) -> None:
    """All of them at once: each would have a second until its guardian looks."""

    async def ends() -> dict[str, str]:
        folders = {harm: tmp_path / str(number) for number, harm in enumerate(ENDS)}
        told = (boxed_scripts.told(zygote, folders[harm], [source], **SMALL) for harm, source in ENDS.items())
        return {harm: answer for harm, (answer,) in zip(ENDS, await asyncio.gather(*told), strict=True)}

    expected = {harm: next(limit for word, limit in LIMITS.items() if word in harm) for harm in ENDS}
    found = asyncio.run(ends())
    assert {harm: answer for harm, answer in found.items() if not answer.endswith(expected[harm])} == {}


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads every process")
def test_a_process_that_hides_from_its_guardian_ends_its_script(tmp_path: Path, zygote: ZygoteClient) -> None:
    hiding = """
import shutil
shutil.copy('/bin/sh', 'hidden'); os.chmod('hidden', 0o111)
subprocess.Popen([os.path.abspath('hidden'), '-c', 'while true; do :; done'])
while True: pass
"""
    (told,) = answers(zygote, tmp_path, [hiding], **SMALL)
    assert "its guardian cannot read" in told


def test_the_end_of_a_script_is_seen_while_its_processes_start_others(tmp_path: Path, zygote: ZygoteClient) -> None:
    storm = """
for _ in range(4):
    if not os.fork():
        while True:
            try:
                pid = os.fork()
            except OSError:
                continue
            if not pid:
                os._exit(0)
            os.waitpid(pid, 0)
os._exit(7)
"""
    (told,) = answers(zygote, tmp_path, [storm], **SMALL)
    assert "exit code 7" in told


def test_work_that_takes_hardly_any_time_is_seen(tmp_path: Path, zygote: ZygoteClient) -> None:
    filling = """
for number in range(4):
    os.posix_fallocate(os.open(f'f{number}', os.O_CREAT | os.O_RDWR), 0, 4 << 20)
time.sleep(60)
"""
    (told,) = answers(zygote, tmp_path, [filling], **SMALL)
    assert told.endswith("TORPOR_SCRIPT_DISK_MIB allows")


NEEDS: Mapping[str, tuple[str, str]] = {
    "a temporary file": ("with tempfile.NamedTemporaryFile() as file: out = os.path.exists(file.name)", "True"),
    "a file beside the model": ("open('note', 'w').write('x'); out = open('note').read()", "x"),
    "a program": ("out = subprocess.run(['echo', 'hello'], capture_output=True, text=True).stdout.strip()", "hello"),
    "a Python of its own": (
        "out = subprocess.run([sys.executable, '-c', 'import json; print(7)'], capture_output=True, text=True).stdout",
        "7",
    ),
    "a pool of threads": (
        "from multiprocessing.pool import ThreadPool\nwith ThreadPool(2) as pool: out = pool.map(abs, [-1])",
        "[1]",
    ),
    "an import": ("import decimal, sqlite3, sklearn.svm; out = 'in'", "in"),
    "an event loop": ("import asyncio; out = asyncio.run(asyncio.sleep(0, 5))", "5"),
    "pairs of sockets": (
        "pairs = [socket.socketpair(), socket.socketpair(type=socket.SOCK_SEQPACKET | socket.SOCK_NONBLOCK)]\n"
        "out = [near.send(b'x') and far.recv(1) for near, far in pairs]",
        "[b'x', b'x']",
    ),
    "processes that talk": (
        "import multiprocessing\nours, theirs = multiprocessing.Pipe()\n"
        "child = multiprocessing.get_context('fork').Process(target=theirs.send, args=('hello',))\n"
        "child.start(); out = ours.recv(); child.join()",
        "hello",
    ),
    "an own /tmp": (
        "open('/tmp/torpor-was-here', 'w').write('x'); out = os.path.exists('/tmp/torpor-was-here')",
        "True",
    ),
    "a list of its shared memory": ("open('/dev/shm/x', 'w').write('x'); out = os.listdir('/dev/shm')", "['x']"),
    "no neighbour": ("out = os.path.exists('../other')", "False"),
    "no descriptor but its own": (
        "links = [f'/proc/self/fd/{d}' for d in os.listdir('/proc/self/fd') if int(d) > 2]\n"
        "files = [os.readlink(link) for link in links if os.path.lexists(link)]\n"
        "out = [file for file in files if file[0] == '/' and not file.startswith(('/proc/', '/dev/null'))]",
        "[]",
    ),
}
OF_PROCESSES: Mapping[str, tuple[str, str]] = {
    "its own processes": (
        'code = \'import os; print([open(f"/proc/{one}/stat").read(1) for one in ("self", os.getpid())])\'\n'
        "out = subprocess.run([sys.executable, '-c', code], capture_output=True, text=True).stdout.count(',')",
        "1",
    ),
    "no process but its own": (
        "listed = [int(one) for one in os.listdir('/proc') if one.isdigit()]\nout = listed == [os.getpid()]",
        "True",
    ),
}
"""Where its view may have a /proc of its own."""


def test_a_script_has_what_a_model_needs(tmp_path: Path, zygote: ZygoteClient) -> None:
    needs = {**NEEDS, **(OF_PROCESSES if namespaces.shows_processes() else {})}
    told = answers(zygote, tmp_path, [source for source, _ in needs.values()])
    assert dict(zip(needs, told, strict=True)) == {name: answer for name, (_, answer) in needs.items()}


def test_further_places_and_the_network_are_settings(tmp_path: Path, zygote: ZygoteClient) -> None:
    asked = [
        "out = open('{outside}/s3/secret').read()",
        "open('{outside}/s3/secret', 'w')",
        "out = socket.socket().close()",
    ]
    settings = {"TORPOR_SCRIPT_READS": str(tmp_path / "s3"), "TORPOR_SCRIPT_NETWORK": "allow"}
    read, write, network = answers(zygote, tmp_path, asked, **settings)
    assert (read, network) == ("secret", "None")
    assert write.startswith("PredictionFailed: ")


@pytest.mark.skipif(not found().ports, reason="this machine cannot hold a script's connections to a port")
def test_a_script_may_be_held_to_the_port_of_its_endpoint(tmp_path: Path, zygote: ZygoteClient) -> None:
    with socket.create_server(("127.0.0.1", 0)) as ours, socket.create_server(("127.0.0.1", 0)) as another:
        ports = [server.getsockname()[1] for server in (ours, another)]
        asked = [
            f"out = socket.create_connection(('127.0.0.1', {ports[0]}), 1).close()",
            f"socket.create_connection(('127.0.0.1', {ports[1]}), 1)",
            f"socket.socket().sendto(b'x', 0x20000000, ('127.0.0.1', {ports[1]}))",
            "socket.socket(socket.AF_INET, socket.SOCK_STREAM, 262)",
            "socket.socket(socket.AF_INET, socket.SOCK_DGRAM)",
            "socket.socket().bind(('127.0.0.1', 0))",
            "socket.socket().listen()",
        ]
        settings = {"TORPOR_SCRIPT_NETWORK": "endpoint", "TORPOR_SCRIPT_PORTS": str(ports[0])}
        reached, *walls = answers(zygote, tmp_path, asked, **settings)
    assert reached == "None"
    assert ["Permission denied" in wall for wall in walls] == [True] * 6


def test_a_network_that_the_machine_cannot_hold_is_fatal() -> None:
    held = Settings.read({"TORPOR_SCRIPT_NETWORK": "endpoint"})
    ensure_isolation(held, Abilities(4, filters=True, mounts=True))
    with pytest.raises(BadSetting, match=r"TORPOR_SCRIPT_NETWORK=endpoint needs .*Linux 6\.7"):
        ensure_isolation(held, Abilities(3, filters=True, mounts=True))


def test_isolation_that_is_required_and_not_there_is_fatal() -> None:
    strict = Settings.read({"TORPOR_REQUIRE_ISOLATION": "true"})
    ensure_isolation(strict, Abilities(7, filters=True, mounts=True))
    with pytest.raises(BadSetting, match="no Landlock"):
        ensure_isolation(strict, Abilities(0, filters=True, mounts=True))
    with pytest.raises(BadSetting, match="TORPOR_SCRIPT_BOX=false"):
        ensure_isolation(Settings.read({"TORPOR_REQUIRE_ISOLATION": "true", "TORPOR_SCRIPT_BOX": "false"}))
    assert lacking(Settings.read({"TORPOR_SCRIPTS": "refuse"}), Abilities(0, filters=False, mounts=True)) == []
