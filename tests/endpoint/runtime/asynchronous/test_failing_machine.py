"""No accepted request is lost while the disk, the database or the store fails: the machine fails each step of the
work in turn, comes back, and each request has exactly the result, or the failure, that it earned."""

import json
from pathlib import Path

import pytest

from tests.endpoint.services.helpers.async_scene import Scene, played
from tests.endpoint.services.helpers.failing_machine import DATABASE, KINDS, FailingMachine
from tests.helpers.thorough_values import thorough
from tests.helpers.waiting import reached
from torpor_account.storage.databases.database import DatabaseAway, OutcomeUnknown
from torpor_endpoint.core.async_inference.requests import AsyncState

BODIES = (b"one", b"refuse", b"break", b"s3://results/in")


async def asked(scene: Scene) -> list[int]:
    """Accepted requests of each kind; while the database is away, each is asked until it is accepted."""
    numbers = []
    for body in BODIES:
        while True:
            try:
                numbers += await scene.ask(body)
                break
            except OutcomeUnknown:
                scene.dispatcher.unsure()
            except DatabaseAway:
                continue
    return numbers


def outcome(scene: Scene, number: int) -> tuple[object, ...]:
    """What a request came to: its state, its attempts that count, and its result and failure objects."""
    kept = scene.kept(number)
    urls = kept.request.output, kept.request.failure or ""
    objects = [scene.bucket / url.removeprefix("s3://results/") for url in urls]
    return kept.state, kept.attempts, *(one.read_bytes() if one.exists() else None for one in objects)


def earned(scene: Scene, number: int, body: bytes) -> tuple[object, ...]:
    kept = scene.kept(number)
    if body == b"refuse":
        return AsyncState.FAILED, 1, None, b"no"
    if body == b"break":
        return AsyncState.FAILED, 3, None, json.dumps({"message": kept.reason}).encode()
    return AsyncState.COMPLETED, 1, b"ONE" if body == b"one" else b"TWO", None


@pytest.mark.parametrize("away", [1, *thorough(7)])
@pytest.mark.parametrize("kind", [*thorough(DATABASE), *(kind for kind in KINDS if kind != DATABASE)])
def test_each_accepted_request_ends_as_it_earned_whatever_step_the_machine_fails(
    tmp_path: Path, kind: str, away: int
) -> None:
    machine = FailingMachine(kind)
    failed = []

    async def story(scene: Scene) -> None:
        (scene.bucket / "in").write_bytes(b"two")
        numbers = await asked(scene)
        await scene.ended(*numbers)
        await reached(lambda: len(scene.messages) == len(BODIES), look_s=0.5)
        steps = machine.steps
        assert steps > len(BODIES)
        for first in range(steps):
            scene.messages.clear()
            machine.fail_next(first, away)
            numbers = await asked(scene)
            await scene.ended(*numbers)
            await scene.dispatcher.look()
            await reached(lambda: not scene.seen.waiting(), look_s=0.5)
            await reached(lambda: not scene.seen.unsent((), 100), look_s=0.5)
            found = [outcome(scene, number) for number in numbers]
            assert found == [earned(scene, number, body) for number, body in zip(numbers, BODIES, strict=True)], first
            told = sorted(message["inferenceId"] for _, message in scene.messages)
            assert told == sorted(set(told)), first
            assert {scene.kept(number).request.inference_id for number in numbers} <= set(told), first
            failed.append(machine.failed)
            machine.away = range(0)

    played(tmp_path, story, machine=machine)
    assert failed[-1] > len(failed) / 2  # it failed indeed
