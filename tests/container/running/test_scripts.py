"""Script processes forked from a zygote: their environment, and the fate of the processes that they start."""

import asyncio
import json
import socket
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from time import monotonic

import pytest

from tests.container.helpers.script_processes import write_script
from tests.helpers.processes import gone
from torpor_container.core.turns import Sharing, Turns
from torpor_container.errors import LoadFailed, TimedOut
from torpor_container.formats import Conventions
from torpor_container.formats.script.aws_variables import VARIABLES
from torpor_container.invocation import Invocation
from torpor_container.isolation.box import TEMPORARY
from torpor_container.measuring.server_timing import Timing
from torpor_container.processes.memory import uss_bytes
from torpor_container.processes.memory_budget import MemoryBudget
from torpor_container.processes.threads import Threads
from torpor_container.processes.zygote_access import ZygoteAccess
from torpor_container.processes.zygote_client import ZygoteClient
from torpor_container.running.predicting import Predictors
from torpor_container.running.runners import Scripted
from torpor_container.running.script_workers import SESSION
from torpor_container.running.scripts import Scripts, without_credentials
from torpor_container.settings import Settings
from torpor_container.wire import WaitStep

MIB = 1024 * 1024
SETTINGS = Settings.read({})
SCRIPT = """
import json, os, subprocess, sys, time
def model_fn(model_dir):
    return None
def transform_fn(model, body, content_type, accept):
    if body == b"environment":
        return json.dumps(dict(os.environ)), "application/json"
    if body == b"read":
        return sys.stdin.read() + "nothing", "text/plain"
    if body == b"hang":
        time.sleep(600)
    held = "held = b'x' * (30 << 20); print('ready', flush=True); import time; time.sleep(600)"
    started = subprocess.Popen([sys.executable, "-S", "-c", held], stdout=subprocess.PIPE, start_new_session=True)
    started.stdout.readline()
    return str(started.pid), "text/plain"
"""


@asynccontextmanager
async def running(
    parent: ZygoteClient, folder: Path, environment: Mapping[str, str], source: str = SCRIPT
) -> AsyncIterator[Scripted]:
    scripts = Scripts(
        SETTINGS, MemoryBudget(SETTINGS.memory_bytes), Conventions(), ZygoteAccess(str(parent.path)), environment
    )
    script = (await scripts.start(folder, write_script(folder, source))).runner
    try:
        yield script
    finally:
        await script.close()


async def asked(script: Scripted, body: bytes, timeout_s: float = 30.0) -> bytes:
    return (await script.invoke(Invocation(body, "application/octet-stream"), timeout_s, Timing(monotonic))).body


def test_a_script_sees_its_environment_and_nothing_of_the_zygote_s(tmp_path: Path, zygote: ZygoteClient) -> None:
    async def story() -> None:
        async with running(zygote, tmp_path, {"MY_THRESHOLD": "0.7"}) as script:
            seen = json.loads(await asked(script, b"environment"))
        assert seen.keys() - {variable.name for variable in VARIABLES} == {"MY_THRESHOLD", *TEMPORARY}
        assert seen["SM_MODEL_DIR"] == seen["SAGEMAKER_SUBMIT_DIRECTORY"] == str(tmp_path)

    asyncio.run(story())


def test_a_script_runs_in_its_model_s_folder(tmp_path: Path, zygote: ZygoteClient) -> None:
    """Multi Model Server starts a model's worker there (WorkerLifeCycle.startBackendServer)."""
    source = """
def model_fn(model_dir):
    return open("code/vocabulary.txt").read()
def transform_fn(model, body, content_type, accept):
    open("scratch.txt", "a").write("mine")
    return model + open("scratch.txt").read(), "text/plain"
"""

    async def story() -> None:
        (tmp_path / "code").mkdir()
        (tmp_path / "code" / "vocabulary.txt").write_text("seven")
        scripts = Scripts(
            SETTINGS, MemoryBudget(SETTINGS.memory_bytes), Conventions(), ZygoteAccess(str(zygote.path)), {}
        )
        script = (await scripts.start(tmp_path, write_script(tmp_path, source, "code/inference.py"))).runner
        try:
            assert await asked(script, b"") == b"sevenmine"
        finally:
            await script.close()

    asyncio.run(story())


def test_a_script_unpickles_a_frame_with_text(tmp_path: Path, zygote: ZygoteClient) -> None:
    """pandas keeps text in arrays of pyarrow, where that was there when pandas was imported: by the zygote."""
    pytest.importorskip("pyarrow")
    pandas = pytest.importorskip("pandas")
    source = """
import pandas
def model_fn(model_dir):
    return pandas.read_pickle("cities.pkl")
def transform_fn(model, body, content_type, accept):
    return model["city"].str.upper()[0], "text/plain"
"""

    async def story() -> None:
        pandas.DataFrame({"city": ["Oslo"]}).to_pickle(tmp_path / "cities.pkl")
        async with running(zygote, tmp_path, {}, source) as script:
            assert await asked(script, b"") == b"OSLO"

    asyncio.run(story())


def test_a_script_that_reads_its_input_finds_nothing_there(tmp_path: Path, zygote: ZygoteClient) -> None:
    async def story() -> None:
        async with running(zygote, tmp_path, {}) as script:
            assert await asked(script, b"read", 5.0) == b"nothing"

    asyncio.run(story())


WORKS_AND_WAITS = """
import subprocess, sys, time

def model_fn(model_dir):
    time.sleep(0.1)

def transform_fn(model, body, content_type, accept):
    time.sleep(0.05)
    subprocess.run([sys.executable, "-S", "-c", "sum(range(3_000_000))"])
    return b"", "text/plain"
"""


def test_processor_time_of_a_script_and_its_processes_is_work_and_its_waiting_is_not(
    tmp_path: Path, zygote: ZygoteClient
) -> None:
    async def story() -> None:
        scripts = Scripts(
            SETTINGS, MemoryBudget(SETTINGS.memory_bytes), Conventions(), ZygoteAccess(str(zygote.path)), {"PATH": ""}
        )
        script, load, *_ = await scripts.start(tmp_path, write_script(tmp_path, WORKS_AND_WAITS))
        timing = Timing(monotonic)
        await script.invoke(Invocation(b"", "application/octet-stream"), 30.0, timing)
        await script.close()
        assert load.fields()["delay_s"] > 0.09
        assert 0 < load.work_s < 0.1 < load.wall_s
        assert timing.effort is not None
        assert timing.effort.work_s > 0.02
        assert timing.effort.wall_s > 0.05 + timing.effort.work_s / 2
        assert timing.effort.wall_s <= timing.steps[WaitStep.PREDICT]

    asyncio.run(story())


def test_an_environment_that_is_too_large_to_pass_on_fails_the_load(tmp_path: Path, zygote: ZygoteClient) -> None:
    async def story() -> None:
        with pytest.raises(LoadFailed, match="200000"):
            async with running(zygote, tmp_path, {"MUCH": "x" * 200_000}):
                pass

    asyncio.run(story())


def held_bytes(script: Scripted) -> int:
    return sum(uss_bytes(pid) for group in script.processes() for pid in group)


@pytest.mark.parametrize("how", ["unloaded", "hangs"])
def test_a_process_that_a_script_started_counts_as_its_memory_and_ends_with_it(
    tmp_path: Path, zygote: ZygoteClient, how: str
) -> None:
    """A process with a session of its own counts and ends too."""

    async def story() -> None:
        async with running(zygote, tmp_path, {}) as script:
            before = held_bytes(script)
            started = int(await asked(script, b"start"))
            assert held_bytes(script) - before > 30 * MIB
            assert uss_bytes(started) > 30 * MIB
            if how == "hangs":
                with pytest.raises(TimedOut):
                    await asked(script, b"hang", 0.1)
            else:
                await script.close()
            assert await asyncio.to_thread(gone, started)

    asyncio.run(story())


def test_a_script_ends_also_where_the_caller_of_its_end_is_cancelled(tmp_path: Path, zygote: ZygoteClient) -> None:
    async def story() -> None:
        async with running(zygote, tmp_path, {}) as script:
            pids = [pid for group in script.processes() for pid in group]
            closing = asyncio.create_task(script.close())
            await asyncio.sleep(0)
            closing.cancel()
            await asyncio.gather(closing, return_exceptions=True)
            assert closing.cancelled()
            assert all(map(gone, pids))

    asyncio.run(story())


def test_a_script_without_a_network_has_no_credentials_either() -> None:
    given = {"AWS_CONTAINER_CREDENTIALS_FULL_URI": "http://here", "AWS_CONTAINER_AUTHORIZATION_TOKEN": "t", "MINE": "1"}
    assert without_credentials(given) == {"MINE": "1"}


# -- several workers ---------------------------------------------------------------------------------------------------
COUNTS_SESSIONS = """
import json, os, socket

state = {}

def model_fn(model_dir):
    if os.path.exists("second-fails"):
        return socket.create_server(("127.0.0.1", int(open("second-fails").read())))  # its files are its own
    return None

def transform_fn(model, body, content_type, accept, context):
    session = context.get_request_header(0, "X-Amzn-SageMaker-Session-Id")
    if session == "NEW_SESSION":
        session = f"s{os.getpid()}"
        context.set_response_header(0, "X-Amzn-SageMaker-New-Session-Id", f"{session}; Expires=2030-01-01T00:00:00Z")
    state[session] = state.get(session, 0) + 1
    return json.dumps([os.getpid(), state[session]]), "application/json"
"""


@asynccontextmanager
async def with_workers(parent: ZygoteClient, folder: Path, count: int) -> AsyncIterator[Scripted]:
    settings = Settings.read({"SAGEMAKER_MODEL_SERVER_WORKERS": str(count)})
    access = ZygoteAccess(str(parent.path))
    scripts = Scripts(settings, MemoryBudget(settings.memory_bytes), Conventions(), access, {})
    predictors = Predictors(Threads(4, "test"), Turns(Sharing(parallel=4)), monotonic)
    script = (await scripts.start(folder, write_script(folder, COUNTS_SESSIONS), None, predictors)).runner
    try:
        yield script
    finally:
        await script.close()


async def answer_of(script: Scripted, session: str = "") -> tuple[int, int]:
    invocation = Invocation(b"")
    if session:
        invocation.headers = [(SESSION, session.encode())]
    pid, count = json.loads((await script.invoke(invocation, 30.0, Timing(monotonic))).body)
    return pid, count


def test_the_workers_of_a_script_answer_side_by_side_and_one_keeps_its_sessions(
    tmp_path: Path, zygote: ZygoteClient
) -> None:
    async def story() -> None:
        async with with_workers(zygote, tmp_path, 3) as script:
            groups = script.processes()
            assert script.workers == len({first for first, *_ in groups}) == 3
            pids = {pid for pid, _ in await asyncio.gather(*(answer_of(script) for _ in range(3)))}
            assert len(pids) == 3
            pid, _ = await answer_of(script, "NEW_SESSION")
            again = await asyncio.gather(*(answer_of(script, f"s{pid}") for _ in range(4)))
            assert again == [(pid, count) for count in (2, 3, 4, 5)]
        assert not [pid for pid in pids if not gone(pid)]

    asyncio.run(story())


def test_a_script_of_which_one_worker_does_not_load_fails_and_leaves_none(tmp_path: Path, zygote: ZygoteClient) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        (tmp_path / "second-fails").write_text(str(free.getsockname()[1]))

    async def story() -> None:
        with pytest.raises(LoadFailed, match="Address already in use"):
            async with with_workers(zygote, tmp_path, 2):
                pass

    asyncio.run(story())


STREAMS = """
import time
def model_fn(model_dir):
    return None
def transform_fn(model, body, content_type, accept):
    def parts():
        for _ in range(3):
            time.sleep(0.2)
            yield b"part"
    return parts(), "text/plain"
"""


def test_a_turn_learns_from_a_stream_what_part_of_its_time_was_work(tmp_path: Path, zygote: ZygoteClient) -> None:
    async def story() -> None:
        scripts = Scripts(
            SETTINGS, MemoryBudget(SETTINGS.memory_bytes), Conventions(), ZygoteAccess(str(zygote.path)), {}
        )
        script = (await scripts.start(tmp_path, write_script(tmp_path, STREAMS))).runner
        invocation = Invocation(b"")
        invocation.streamed = True
        async with script.stream(invocation, 30.0, Timing(monotonic)) as reply:
            assert not reply.whole
            assert [part async for parts in reply.parts for part in parts] == [b"part"] * 3
        assert script._queue.busy < 1.0
        await script.close()

    asyncio.run(story())
