"""Scripts that misbehave: the harm stays within the model, and the caller gets the reason."""

import asyncio
import json
import os
from collections.abc import Awaitable, Callable
from contextlib import nullcontext, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.container.helpers.script_processes import started, write_script
from tests.helpers.processes import gone
from tests.helpers.thorough_values import one_in
from tests.helpers.waiting import PATIENCE_S
from torpor_container.errors import (
    BadInput,
    ContainerError,
    LoadFailed,
    LoadOutOfMemory,
    ModelDied,
    NotCalled,
    OutOfMemory,
    PredictionFailed,
    UnknownFormat,
)
from torpor_container.formats.script.child_process import ScriptProcess
from torpor_container.formats.script.socket_frames import PREFIX
from torpor_container.invocation import Invocation, Reply
from torpor_container.processes.process_tree import descendants
from torpor_container.processes.zygote_client import ZygoteClient

MIB = 1024 * 1024
Steps = Callable[[ScriptProcess], Awaitable[Any]]
Story = Callable[..., Any]

ON_DEMAND = """
import os, signal, sys, time
def model_fn(model_dir):
    return os.getpid()
def transform_fn(model, body, content_type, accept):
    exec(body)
    return "fine"
"""
"""A script that does what the request says, and answers `fine` if it still can."""

ON_THE_LINE = """
import gc, socket
for found in gc.get_objects():
    if type(found) is socket.socket and found.fileno() >= 0:
        line = found.fileno()
"""
"""Finds the descriptor that the script's process answers on."""


def call(source: str) -> Invocation:
    return Invocation(source.encode(), "text/plain")


@pytest.fixture
def story(zygote: ZygoteClient) -> Story:
    """Load the script of a folder, run the steps on its process, and make sure that the process is gone afterwards."""

    async def run(directory: Path, steps: Steps, memory_bytes: int | None) -> Any:
        async with started(zygote, directory, memory_bytes) as process:
            await process.loaded(timeout_s=30)
            result = await steps(process)
        with pytest.raises(ProcessLookupError):
            os.kill(process.pid, 0)
        return result

    async def in_time(directory: Path, steps: Steps, memory_bytes: int | None) -> Any:
        return await asyncio.wait_for(run(directory, steps, memory_bytes), PATIENCE_S)

    return lambda directory, steps, memory_bytes=None: asyncio.run(in_time(directory, steps, memory_bytes))


@pytest.fixture
def on_demand(tmp_path: Path) -> Path:
    write_script(tmp_path, ON_DEMAND)
    return tmp_path


def test_a_script_that_raises_answers_500_with_message_and_traceback_and_lives_on(
    story: Story, on_demand: Path
) -> None:
    async def steps(process: ScriptProcess) -> None:
        with pytest.raises(PredictionFailed) as raised:
            await process.invoke(call("raise ValueError('no such city')"))
        reply = raised.value.reply()
        assert (reply.status, reply.body.splitlines()[0]) == (500, b"no such city")
        assert b"Traceback" in reply.body
        assert b"inference.py" in reply.body
        assert (await process.invoke(call("pass"))).body == b"fine"

    story(on_demand, steps)


@pytest.mark.parametrize("source", ["import no_such_library", "def broken(:"], ids=["import", "syntax"])
def test_a_script_that_fails_to_import_is_told_from_its_own_first_frame(
    zygote: ZygoteClient, tmp_path: Path, source: str
) -> None:
    write_script(tmp_path, source)

    async def loaded() -> None:
        async with started(zygote, tmp_path) as process:
            await process.loaded(timeout_s=30)

    with pytest.raises(LoadFailed) as raised:
        asyncio.run(loaded())
    frames = [line for line in str(raised.value).splitlines() if line.startswith("  File ")]
    assert len(frames) == 1
    assert "inference.py" in frames[0]


@pytest.mark.parametrize("harm", ["raise ValueError('no such city')", "json.loads('{')"])
def test_an_exception_is_told_from_the_first_frame_of_the_script(story: Story, on_demand: Path, harm: str) -> None:
    async def steps(process: ScriptProcess) -> None:
        with pytest.raises(PredictionFailed) as raised:
            await process.invoke(call(f"import json; {harm}"))
        _, head, first, *_ = str(raised.value).splitlines()
        assert head == "Traceback (most recent call last):"
        assert first.endswith('inference.py", line 6, in transform_fn')
        assert "child_main" not in str(raised.value)

    story(on_demand, steps)


@pytest.mark.parametrize(
    ("harm", "text"),
    [
        ("raise KeyboardInterrupt('stop')", "stop"),
        ("raise type('PanicException', (BaseException,), {})('a library in Rust')", "a library in Rust"),
        ("raise type('Mute', (Exception,), {'__str__': lambda self: 1 / 0})", "<exception str() failed>"),
    ],
)
def test_whatever_a_script_raises_is_the_answer_to_that_call_alone(
    story: Story, on_demand: Path, harm: str, text: str
) -> None:
    async def steps(process: ScriptProcess) -> None:
        with pytest.raises(PredictionFailed) as raised:
            await process.invoke(call(harm))
        assert str(raised.value).splitlines()[0] == text
        assert (await process.invoke(call("pass"))).body == b"fine"

    story(on_demand, steps)


TOOLKIT_ERROR = """
class BaseInferenceToolkitError(Exception):
    def __init__(self, status_code, message, phrase):
        self.status_code, self.message, self.phrase = status_code, message, phrase
"""
"""As `sagemaker_inference.errors` has it, of which all of the toolkit's errors are."""


@pytest.mark.parametrize(
    ("told", "status"), [(422, 422), ("HTTPStatus.UNSUPPORTED_MEDIA_TYPE", 415), (599, 599), (200, 500), ("'422'", 500)]
)
def test_the_toolkits_errors_answer_with_their_own_status(
    story: Story, on_demand: Path, told: object, status: int
) -> None:
    harm = f"from http import HTTPStatus{TOOLKIT_ERROR}raise BaseInferenceToolkitError({told}, 'bad thing', 'phr')"

    async def steps(process: ScriptProcess) -> None:
        with pytest.raises(PredictionFailed) as raised:
            await process.invoke(call(harm))
        reply = raised.value.reply()
        assert reply.status == status
        assert reply.body.startswith(b"bad thing\nTraceback") == (status != 500)

    story(on_demand, steps)


@pytest.mark.parametrize(
    ("harm", "exit_code", "status"),
    [
        ("sys.exit(3)", 3, 500),
        ("sys.exit()", 0, 500),
        ("sys.exit('no key')", 1, 500),
        ("os._exit(7)", 7, 500),
        ("os.abort()", -6, 500),
        ("os.kill(os.getpid(), signal.SIGKILL)", -9, 507),
        ("os._exit(137)", 137, 507),
    ],
)
def test_the_error_of_a_script_that_ends_carries_its_exit_code(
    story: Story, on_demand: Path, harm: str, exit_code: int, status: int
) -> None:
    async def steps(process: ScriptProcess) -> None:
        for source, error in ((harm, ModelDied), ("pass", NotCalled)):
            with pytest.raises(ModelDied) as raised:
                await process.invoke(call(source))
            assert type(raised.value) is error
            assert (raised.value.exit_code, raised.value.status) == (exit_code, status)

    story(on_demand, steps)


@pytest.mark.parametrize(
    ("head", "why"),
    [
        ({"kind": "reply", "effort": "0 0 0"}, "an answer without its content type"),
        ({"kind": "reply", "content_type": "a/b", "effort": "0 nan 0"}, "a frame reply with an impossible effort"),
        ({"kind": "reply", "content_type": "a/b", "effort": 5}, "a frame reply without its effort"),
        (
            {"kind": "reply", "content_type": "a/b", "custom_attributes": "a\r\nb"},
            "an answer with a header that cannot",
        ),
        ({"kind": "reply", "content_type": "a/b", "effort": "0 0 0", "headers": "["}, "an answer with unreadable head"),
        ({"kind": "loaded", "effort": "0 0 0"}, "a frame loaded where none belongs"),
        ({"kind": "error", "status": "99"}, "a frame error with an invalid status"),
        ({"kind": "sing"}, 'a frame whose head is b\'{"kind": "sing"}\''),
    ],
)
def test_a_script_that_writes_on_the_line_itself_is_ended(
    story: Story, on_demand: Path, head: dict[str, Any], why: str
) -> None:
    encoded = json.dumps(head).encode()
    frame = PREFIX.pack(len(encoded), 0) + encoded

    async def steps(process: ScriptProcess) -> None:
        with pytest.raises(ModelDied, match=f"it sent {why}") as raised:
            await process.invoke(call(f"{ON_THE_LINE}\nos.write(line, {frame!r}); time.sleep(600)"))
        assert raised.value.status == 500
        with pytest.raises(NotCalled, match="it sent a"):
            await process.invoke(call("pass"))

    story(on_demand, steps)


@pytest.mark.parametrize(
    ("field", "header"),
    [
        ("content_type", "Content-Type"),
        ("accept", "Accept"),
        ("custom_attributes", "X-Amzn-SageMaker-Custom-Attributes"),
    ],
)
def test_a_header_that_is_too_long_is_a_bad_input_and_harms_no_other_call(
    story: Story, on_demand: Path, field: str, header: str
) -> None:
    """Quotes, which take two bytes each on their way to the script."""

    async def steps(process: ScriptProcess) -> None:
        with pytest.raises(BadInput, match=f"^{header} takes 80002 bytes"):
            await process.invoke(Invocation(b"pass", **{field: '"' * 40_000}))
        longest = replace(call("pass"), accept='"' * 8_191, custom_attributes='"' * 8_191)
        assert (await process.invoke(longest)).content_type == longest.accept

    story(on_demand, steps)


def test_an_answer_that_is_too_large_to_be_sent_fails_and_the_script_lives_on(story: Story, on_demand: Path) -> None:
    write_script(on_demand, "def model_fn(d): pass\ndef transform_fn(m, body, c, a): return '', 'x' * int(body)")

    async def steps(process: ScriptProcess) -> None:
        with pytest.raises(PredictionFailed, match="the script's answer cannot be sent: a frame with a head of"):
            await process.invoke(call("70000"))
        assert (await process.invoke(call("3"))).content_type == "xxx"

    story(on_demand, steps)


def test_a_script_that_writes_on_the_line_while_it_loads_has_not_loaded(story: Story, tmp_path: Path) -> None:
    loaded = json.dumps({"kind": "loaded"}).encode()
    frame = PREFIX.pack(len(loaded), 0) + loaded
    write_script(tmp_path, f"import os\n{ON_THE_LINE}\nos.write(line, {frame!r})")

    async def nothing(process: ScriptProcess) -> None: ...

    with pytest.raises(LoadFailed, match="it sent a frame loaded without its effort"):
        story(tmp_path, nothing)


def test_a_script_that_hangs_is_ended_when_its_caller_gives_up(story: Story, on_demand: Path) -> None:
    async def steps(process: ScriptProcess) -> None:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(process.invoke(call("time.sleep(600)")), 0.2)
        with pytest.raises(NotCalled, match="did not answer in time") as raised:
            await process.invoke(call("pass"))
        assert raised.value.status == 500

    story(on_demand, steps)


@pytest.mark.parametrize(("gives_up", "end"), [(True, asyncio.CancelledError), (False, ModelDied)])
def test_calls_behind_one_that_ends_the_script_end_as_not_called(
    story: Story, on_demand: Path, gives_up: bool, end: type[BaseException]
) -> None:
    gate = on_demand / "gate"
    os.mkfifo(gate)

    async def steps(process: ScriptProcess) -> None:
        killed = f"open({str(gate)!r}).read(); os.kill(os.getpid(), signal.SIGKILL)"
        ending = asyncio.create_task(process.invoke(call(killed)))
        await asyncio.sleep(0)  # it has its turn
        behind = [asyncio.create_task(process.invoke(call("pass"))) for _ in range(3)]
        await asyncio.sleep(0)
        if gives_up:
            ending.cancel()
        else:
            await asyncio.to_thread(gate.write_text, "go")
        ends = await asyncio.gather(ending, *behind, return_exceptions=True)
        assert [type(error) for error in ends] == [end, NotCalled, NotCalled, NotCalled]

    story(on_demand, steps)


def test_a_call_cancelled_in_the_queue_harms_no_other_call(story: Story, on_demand: Path) -> None:
    gate = on_demand / "gate"
    os.mkfifo(gate)

    async def steps(process: ScriptProcess) -> None:
        first = asyncio.create_task(process.invoke(call(f"open({str(gate)!r}).read()")))
        await asyncio.sleep(0)
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(process.invoke(call("pass")), 0.05)
        await asyncio.to_thread(gate.write_text, "go")
        assert (await first).body == b"fine"
        assert (await process.invoke(call("pass"))).body == b"fine"

    story(on_demand, steps)


def test_callers_are_served_one_at_a_time_in_the_order_they_came(story: Story, tmp_path: Path) -> None:
    write_script(
        tmp_path, "seen = []\ndef model_fn(d): pass\ndef transform_fn(m, b, c, a): seen.append(int(b)); return seen"
    )

    async def steps(process: ScriptProcess) -> list[Reply]:
        return await asyncio.gather(*(process.invoke(Invocation(b"%d" % i, "text/csv")) for i in range(20)))

    replies = story(tmp_path, steps)
    assert [len(json.loads(reply.body)) for reply in replies] == list(range(1, 21))
    assert json.loads(replies[-1].body) == list(range(20))


def test_a_script_that_eats_memory_gets_memory_error_and_its_caller_507(story: Story, on_demand: Path) -> None:
    async def steps(process: ScriptProcess) -> None:
        with pytest.raises(OutOfMemory) as raised:
            await process.invoke(call(f"b = bytearray({400 * MIB})"))
        assert raised.value.status == 507
        assert (await process.invoke(call(f"b = bytearray({20 * MIB})"))).body == b"fine"

    story(on_demand, steps, memory_bytes=100 * MIB)


DAEMON = """
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        open({number!r}, "w").write(str(os.getpid()))
        open({gate!r}).read()
        time.sleep(600)
    os._exit(0)
os.wait()
open({gate!r}, "w").close()
"""
"""Starts one, as daemons are started: in a session of its own, and handed over to the system."""


@pytest.mark.parametrize("harm", ["pass", "os._exit(0)", "os.abort()", "os.kill(os.getpid(), 9)", "time.sleep(600)"])
def test_a_daemon_of_a_script_ends_before_the_scripts_end_is_reported(story: Story, on_demand: Path, harm: str) -> None:
    number, gate = on_demand / "number", on_demand / "gate"
    os.mkfifo(gate)

    async def steps(process: ScriptProcess) -> None:
        await process.invoke(call(DAEMON.format(number=str(number), gate=str(gate))))
        assert int(number.read_text()) in descendants(process.pid)
        with suppress(ModelDied, TimeoutError):
            await asyncio.wait_for(process.invoke(call(harm)), 30 if "sleep" not in harm else 0.1)
        await process.close()
        with pytest.raises(ProcessLookupError):
            os.kill(int(number.read_text()), 0)

    story(on_demand, steps)


def test_a_script_that_kills_its_own_group_is_reported_with_its_exit_code(story: Story, on_demand: Path) -> None:
    async def steps(process: ScriptProcess) -> None:
        with pytest.raises(ModelDied, match="exit code -15"):
            await process.invoke(call("os.killpg(os.getpgrp(), signal.SIGTERM); time.sleep(600)"))

    story(on_demand, steps)


def test_a_script_that_hangs_does_not_hold_up_its_unloading(story: Story, on_demand: Path) -> None:
    async def steps(process: ScriptProcess) -> None:
        hanging = asyncio.create_task(process.invoke(call("time.sleep(600)")))
        await asyncio.sleep(0)
        await process.close()
        with pytest.raises(ModelDied, match="unloaded") as raised:
            await hanging
        assert not isinstance(raised.value, NotCalled)

    story(on_demand, steps)


RESISTANCE = {
    "stops its guardian": "os.kill(os.getppid(), signal.SIGSTOP)",
    "stops its guardian again and again": """
guardian = os.getppid()
if not os.fork():
    os.setsid()
    while True:
        os.kill(guardian, signal.SIGSTOP)
""",
    "stops itself": "os.kill(os.getpid(), signal.SIGSTOP)",
    "hears no signal": "[signal.signal(n, signal.SIG_IGN) for n in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)]",
    "starts daemons": """
for _ in range(3):
    if not os.fork():
        os.setsid()
        if os.fork():
            os._exit(0)
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        time.sleep(600)
""",
}


@pytest.mark.parametrize("how", one_in(2, RESISTANCE))
def test_a_script_that_resists_is_unloaded_within_five_seconds_with_all_it_started(
    story: Story, on_demand: Path, how: str
) -> None:
    async def steps(process: ScriptProcess) -> set[int]:
        stopped = how == "stops itself"
        below = {process.pid, *descendants(process.pid)}  # now: a caller that gives up ends the script
        with pytest.raises(TimeoutError) if stopped else nullcontext():
            await asyncio.wait_for(process.invoke(call(RESISTANCE[how])), 0.2 if stopped else 60.0)
        below |= set(descendants(process.pid))
        async with asyncio.timeout(PATIENCE_S):
            await process.close()
        return below

    below = story(on_demand, steps)
    assert len(below) > 1
    assert [pid for pid in below if not gone(pid)] == []


def test_a_body_of_six_mebibytes_reaches_the_script_and_returns(story: Story, tmp_path: Path) -> None:
    write_script(tmp_path, "def model_fn(d): pass\ndef transform_fn(m, body, c, a): return body[::-1]")
    body = os.urandom(6 * MIB)

    async def steps(process: ScriptProcess) -> Reply:
        return await process.invoke(Invocation(body, "application/octet-stream"))

    assert story(tmp_path, steps).body == body[::-1]


async def nothing(process: ScriptProcess) -> None:
    """No step beyond loading."""


LOADS_BADLY: dict[str, tuple[str, type[ContainerError], str]] = {
    "import fails": ("import no_such_module", LoadFailed, "ModuleNotFoundError"),
    "syntax": ("def broken(:", LoadFailed, "SyntaxError"),
    "model_fn raises": ("def model_fn(d): raise RuntimeError('no weights')", LoadFailed, "no weights"),
    "exits": ("import sys; sys.exit(5)", LoadFailed, "exit code 5"),
    "a service": ("def handle(data, context): return []", LoadFailed, "handle is a service of Multi Model Server"),
    "is killed": ("import os; os.kill(os.getpid(), 9)", LoadOutOfMemory, "-9"),
    "eats memory": (f"x = bytearray({400 * MIB})", LoadOutOfMemory, "out of memory"),
    "no model and no model_fn": ("", UnknownFormat, r"Please provide a model_fn implementation: .*inference\.py"),
}


@pytest.mark.parametrize("name", LOADS_BADLY)
def test_the_error_of_a_script_that_does_not_load_has_the_reason(story: Story, tmp_path: Path, name: str) -> None:
    source, error, said = LOADS_BADLY[name]
    write_script(tmp_path, source)
    with pytest.raises(error, match=said) as raised:
        story(tmp_path, nothing, memory_bytes=100 * MIB)
    assert raised.value.status == (507 if error is LoadOutOfMemory else 500)


def test_a_script_that_takes_too_long_to_load_is_ended(tmp_path: Path, zygote: ZygoteClient) -> None:
    write_script(tmp_path, "import time; time.sleep(600)")

    async def run() -> None:
        async with started(zygote, tmp_path) as process:
            with pytest.raises(TimeoutError):
                await process.loaded(timeout_s=0.3)
            with pytest.raises(NotCalled, match="did not load in time"):
                await process.invoke(call("pass"))

    asyncio.run(run())


def test_errors_of_the_defaults_keep_their_kind_across_the_process(story: Story, on_demand: Path) -> None:
    async def steps(process: ScriptProcess) -> None:
        with pytest.raises(BadInput, match="too old"):
            await process.invoke(call("from torpor_container.errors import BadInput; raise BadInput('too old')"))

    story(on_demand, steps)
