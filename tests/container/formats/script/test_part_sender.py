"""Answers in parts of a script in a process of its own: what is made when, and how a stream ends."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

import pytest

from tests.container.helpers.script_processes import started, write_script
from tests.helpers.waiting import PATIENCE_S
from torpor_container.errors import PredictionFailed, TimedOut
from torpor_container.formats.script import socket_frames
from torpor_container.formats.script.child_process import ScriptProcess
from torpor_container.invocation import PART_MAX_BYTES, Invocation
from torpor_container.processes.zygote_client import ZygoteClient

SCRIPT = """
import pathlib, time

def model_fn(model_dir):
    return pathlib.Path(model_dir)

def transform_fn(model, body, content_type, accept, context):
    return globals()[str(body)](model, context), "text/plain"

def two(model, context):
    context.set_response_status(201)
    yield "one"
    yield b""
    yield b"two"

def count(model, context):
    try:
        for number in range(1000):
            (model / "made").write_text(str(number + 1))
            yield str(number)
    finally:
        (model / "closed").touch()

def broken(model, context):
    yield "one"
    raise ValueError("no more")

def of_numbers(model, context):
    yield "one"
    yield 1

def large(model, context):
    yield b"x" * (2_500_000)

def hanging(model, context):
    yield "one"
    time.sleep(600)
"""


Steps = Callable[[ScriptProcess], Awaitable[None]]
Run = Callable[[Steps], None]


@pytest.fixture
def run(zygote: ZygoteClient, tmp_path: Path) -> Run:
    """Runs steps against a process of the script, which is loaded."""
    write_script(tmp_path, SCRIPT)

    async def with_process(steps: Steps) -> None:
        async with asyncio.timeout(PATIENCE_S), started(zygote, tmp_path) as process:
            await process.loaded(30.0)
            await steps(process)

    return lambda steps: asyncio.run(with_process(steps))


def call(body: bytes, streamed: bool = True) -> Invocation:
    invocation = Invocation(body, "text/csv")
    invocation.streamed = streamed
    return invocation


async def parts_of(process: ScriptProcess, body: bytes) -> Sequence[bytes]:
    async with process.stream(call(body), 30.0) as reply:
        return [part for come in [come async for come in reply.parts] for part in come]


def test_text_and_bytes_are_parts_and_empty_ones_are_dropped(run: Run) -> None:
    async def steps(process: ScriptProcess) -> None:
        async with process.stream(call(b"two"), 30.0) as reply:
            assert (reply.head.content_type, reply.head.status) == ("text/plain", 201)
            assert [bytes(part) async for come in reply.parts for part in come] == [b"one", b"two"]

    run(steps)


def test_a_caller_that_takes_no_parts_gets_them_joined(run: Run) -> None:
    async def steps(process: ScriptProcess) -> None:
        reply = await process.invoke(call(b"two", streamed=False))
        assert (reply.body, reply.status) == (b"onetwo", 201)

    run(steps)


def test_a_large_part_is_split(run: Run) -> None:
    async def steps(process: ScriptProcess) -> None:
        assert list(map(len, await parts_of(process, b"large"))) == [PART_MAX_BYTES, PART_MAX_BYTES, 402_848]

    run(steps)


def test_a_script_makes_no_more_parts_than_the_window_until_some_are_taken(run: Run, tmp_path: Path) -> None:
    async def steps(process: ScriptProcess) -> None:
        async with process.stream(call(b"count"), 30.0) as reply:
            while (made := int((tmp_path / "made").read_text() or 0)) < socket_frames.WINDOW:
                await asyncio.sleep(0.01)
            assert made == socket_frames.WINDOW
            taken = [part async for come in reply.parts for part in come]
            assert len(taken) == 1000

    run(steps)


def test_a_stream_that_nobody_takes_closes_the_generator_and_the_process_serves_on(run: Run, tmp_path: Path) -> None:
    async def steps(process: ScriptProcess) -> None:
        async with process.stream(call(b"count"), 30.0) as reply:
            await anext(reply.parts)
        assert (tmp_path / "closed").exists()
        assert await parts_of(process, b"two") == [b"one", b"two"]

    run(steps)


@pytest.mark.parametrize(("body", "message"), [(b"broken", "no more"), (b"of_numbers", "parts are bytes or text")])
def test_an_error_is_raised_where_the_stream_broke(run: Run, body: bytes, message: str) -> None:
    async def steps(process: ScriptProcess) -> None:
        with pytest.raises(PredictionFailed, match=message):
            await parts_of(process, body)
        assert process.alive

    run(steps)


def test_a_script_that_does_not_end_its_stream_is_ended(run: Run) -> None:
    async def steps(process: ScriptProcess) -> None:
        with pytest.raises(TimedOut):
            async with process.stream(call(b"hanging"), 0.3) as reply:
                assert [part async for come in reply.parts for part in come] == [b"one"]
        assert not process.alive

    run(steps)
