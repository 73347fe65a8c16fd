"""The dispatcher on a fake host: who is sent when, what is tried again, and how requests end."""

import asyncio
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.endpoint.helpers.fake_host import FakeHost
from tests.endpoint.helpers.pool_on_fake_host import PoolOnFakeHost
from tests.endpoint.services.helpers.async_scene import Scene, played
from tests.endpoint.services.helpers.failing_machine import COMMIT, DATABASE, FailingMachine
from tests.helpers.waiting import reached
from torpor_account.metrics import metrics
from torpor_account.storage.databases.database import DatabaseAway, OutcomeUnknown
from torpor_endpoint.core.async_inference.requests import AsyncState
from torpor_endpoint.core.resource_records import CopyNeeds, Variant
from torpor_endpoint.in_service.served_endpoints import TrafficShift
from torpor_endpoint.runtime.asynchronous.async_queue import Waiting
from torpor_endpoint.runtime.asynchronous.dispatcher import COMPONENT_DELETED, DELETED


def test_requests_are_sent_in_their_order_one_at_a_time(tmp_path: Path) -> None:
    async def story(scene: Scene) -> None:
        bodies = [b"%d" % number for number in range(8)]
        numbers = await scene.ask(*bodies)
        await scene.ended(*numbers)
        assert scene.instances.sent == bodies
        assert scene.instances.most == 1
        assert (scene.bucket / "out/7").read_bytes() == b"7"
        await reached(lambda: len(scene.messages) == 8, look_s=0.1)
        assert {topic for topic, _ in scene.messages} == {"arn:ok"}

    played(tmp_path, story)


def test_the_lines_of_removed_variants_share_the_room_of_their_successor(tmp_path: Path) -> None:
    async def story(scene: Scene) -> None:
        for variant in ("a", "b", "v"):
            await scene.ask(b"wait", b"wait", variant=variant)
        await reached(lambda: scene.instances.sent, look_s=0.1)
        await asyncio.sleep(0.1)
        assert scene.instances.sent == [b"wait"]
        scene.dispatcher.put_levels()
        assert scene.pool.traffic.queued == 5 + 1 - scene.pool.traffic.in_flight
        scene.instances.gate.set()
        await scene.ended(*range(1, 7))
        assert scene.instances.most == 1

    played(tmp_path, story)


def test_during_a_rollout_a_fleet_that_nobody_scales_leaves_its_requests_to_the_other(tmp_path: Path) -> None:
    async def story(scene: Scene) -> None:
        with FakeHost() as host:
            empty = PoolOnFakeHost(host).pool
            empty.become(scene.pool.variant)
            scene.live.serve({"v": empty}, TrafficShift({"v": scene.pool}, {"v": 0.1}))
            await scene.ended(*await scene.ask(b"0", b"1", b"2"))
            assert scene.instances.sent == [b"0", b"1", b"2"]

    played(tmp_path, story)


def test_what_the_platform_broke_is_tried_three_times(tmp_path: Path) -> None:
    async def story(scene: Scene) -> None:
        [number] = await scene.ask(b"break")
        await scene.ended(number)
        kept = scene.kept(number)
        assert (kept.state, kept.attempts, scene.instances.sent) == (AsyncState.FAILED, 3, [b"break"] * 3)
        assert "could not get a response from the shop endpoint" in str(kept.reason)
        assert json.loads((scene.bucket / "failed/0").read_text())["message"] == kept.reason
        await reached(lambda: scene.messages, look_s=0.1)
        [(topic, message)] = scene.messages
        assert (topic, message["failureReason"]) == ("arn:failed", kept.reason)
        assert message["failureLocation"] == "s3://results/failed/0"

    played(tmp_path, story)


def test_what_the_model_refused_is_not_tried_again(tmp_path: Path) -> None:
    async def story(scene: Scene) -> None:
        [number] = await scene.ask(b"refuse")
        await scene.ended(number)
        assert scene.instances.sent == [b"refuse"]
        assert (scene.bucket / "failed/0").read_bytes() == b"no"
        assert "Received client error (400) from model" in str(scene.kept(number).reason)
        reason, answer = scene.data_log.read_text().splitlines()
        mark = f":[sagemaker logs] [{scene.kept(number).request.inference_id}]"
        assert f"{mark} ClientError: Received client error (400) from model" in reason
        assert answer.endswith(f"{mark} no")
        assert scene.noted == [scene.data_log]

    played(tmp_path, story)


def test_an_end_that_cannot_be_kept_is_kept_later_and_the_model_is_not_asked_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def story(scene: Scene) -> None:
        end, failures = scene.queue.end, [OSError("the disk is full")] * 3

        async def failing(*told: Any) -> None:
            if failures:
                raise failures.pop()
            await end(*told)

        monkeypatch.setattr(scene.queue, "end", failing)
        [number] = await scene.ask(b"once")
        await scene.ended(number)
        assert scene.instances.sent == [b"once"]
        assert failures == []

    played(tmp_path, story)


def test_a_notice_waits_for_its_topic(tmp_path: Path) -> None:
    async def story(scene: Scene) -> None:
        scene.topics_work = False
        [number] = await scene.ask(b"1")
        await scene.ended(number)
        await reached(lambda: scene.counted(metrics.NOTIFICATION_FAILURES) > 2, look_s=0.1)
        assert len(scene.queue.unsent((), 10)) == 1
        scene.topics_work = True
        await reached(lambda: scene.messages, look_s=0.1)
        await reached(lambda: not scene.queue.unsent((), 10), look_s=0.1)

    played(tmp_path, story)


def test_the_requests_of_a_deleted_endpoint_fail_and_say_so(tmp_path: Path) -> None:
    async def story(scene: Scene) -> None:
        numbers = await scene.ask(b"wait", b"2", b"3")
        await reached(lambda: scene.instances.sent, look_s=0.1)
        scene.roster.stop("shop")
        late = await scene.ask(b"accepted as it was deleted")
        await scene.dispatcher.look()
        await scene.ended(*numbers, *late)
        assert {scene.kept(number).reason for number in (*numbers, *late)} == {DELETED}
        assert scene.instances.sent == [b"wait"]
        await reached(lambda: len(scene.messages) == 4, look_s=0.1)
        assert len(list((scene.bucket / "failed").iterdir())) == 4

    played(tmp_path, story)


def test_the_requests_of_a_deleted_component_fail_at_once_and_those_of_others_wait(tmp_path: Path) -> None:
    async def story(scene: Scene) -> None:
        capacity = PoolOnFakeHost(scene.stage.host).pool
        capacity.become(Variant("v", "", (), instance_type="ml.m5.large", instance_count=1))
        scene.live.serve({"v": capacity})
        others = await scene.ask(b"for another one", variant="component.two")
        numbers = [*await scene.ask(b"1", variant="component.one"), *await scene.ask(b"2", variant="component.one.2")]
        await scene.dispatcher.component_deleted("shop", "one")
        await scene.ended(*numbers)
        [late] = await scene.ask(b"accepted as it was deleted", variant="component.one")
        await scene.dispatcher.came_too_late(Waiting(late, "shop", "component.one", 0.0, 9e9))
        await scene.ended(late)
        assert {scene.kept(number).reason for number in (*numbers, late)} == {COMPONENT_DELETED}
        assert {scene.kept(number).state for number in (*numbers, late)} == {AsyncState.FAILED}
        assert len(list((scene.bucket / "failed").iterdir())) == 3
        await reached(lambda: scene.counted(metrics.INVOCATION_FAILURES, "component.one") == 2, look_s=0.1)
        assert scene.counted(metrics.INVOCATION_FAILURES, "component.one.2") == 1
        assert scene.kept(*others).ended_s is None

    played(tmp_path, story)


def test_a_request_whose_endpoint_is_deleted_while_it_fails_counts_one_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def story(scene: Scene) -> None:
        end, tried = scene.queue.end, asyncio.Event()

        async def failing(*told: Any) -> None:
            tried.set()
            raise OSError("the disk is full")

        monkeypatch.setattr(scene.queue, "end", failing)
        [number] = await scene.ask(b"refuse")
        await tried.wait()
        scene.roster.stop("shop")
        await scene.dispatcher.look()
        monkeypatch.setattr(scene.queue, "end", end)
        await scene.ended(number)
        assert scene.kept(number).reason == DELETED
        await reached(lambda: scene.counted(metrics.INVOCATION_FAILURES))
        assert scene.counted(metrics.INVOCATION_FAILURES) == 1

    played(tmp_path, story)


@pytest.mark.parametrize(("body", "failures"), [(b"answer", 0), (b"refuse", 1)])
def test_an_end_that_was_kept_unknown_to_its_attempt_is_told_and_counted_after_its_endpoint_is_deleted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, body: bytes, failures: int
) -> None:
    async def story(scene: Scene) -> None:
        end, kept = scene.queue.end, asyncio.Event()

        async def unsaid(*told: Any) -> None:
            await end(*told)
            kept.set()
            raise OutcomeUnknown("the connection broke")

        monkeypatch.setattr(scene.queue, "end", unsaid)
        await scene.ask(body)
        await kept.wait()
        scene.roster.stop("shop")
        await scene.dispatcher.look()
        await reached(lambda: scene.messages, look_s=0.1)
        assert scene.counted(metrics.INVOCATIONS_PROCESSED) == 1
        assert scene.counted(metrics.INVOCATION_FAILURES) == failures
        assert scene.dispatcher.under_way() is None

    played(tmp_path, story)


def test_a_request_runs_until_its_attempt_knows_that_its_end_is_kept(tmp_path: Path) -> None:
    async def story(scene: Scene) -> None:
        [number] = await scene.ask(b"wait")
        await reached(lambda: scene.instances.sent, look_s=0.1)
        machine.fail_next(0, 1)
        scene.instances.gate.set()
        await reached(lambda: machine.works_again, look_s=0.01)
        assert (scene.kept(number).state, scene.dispatcher.level("shop").running) == (AsyncState.COMPLETED, 1)
        await reached(lambda: scene.dispatcher.level("shop").size == 0, look_s=0.01)
        assert scene.counted(metrics.INVOCATIONS_PROCESSED) == 1

    machine = FailingMachine(COMMIT)
    played(tmp_path, story, machine=machine)


def test_many_requests_expire_together(tmp_path: Path) -> None:
    async def story(scene: Scene) -> None:
        await scene.stage.scale(0)
        await scene.pool.until(lambda: not scene.pool.ready)
        numbers = await scene.ask(*[b"1"] * 50, ttl_s=60.0)
        scene.now_s += 61.0
        await scene.dispatcher.look()
        await scene.ended(*numbers)
        assert {scene.kept(number).state for number in numbers} == {AsyncState.EXPIRED}
        await reached(lambda: scene.counted(metrics.EXPIRED_REQUESTS) == 50)
        assert scene.counted(metrics.INVOCATIONS_PROCESSED) == 0

    played(tmp_path, story)


def test_a_request_that_finds_no_room_waits_and_counts_no_attempt(tmp_path: Path) -> None:
    async def story(scene: Scene) -> None:
        [instance] = scene.pool.ready
        room = scene.pool.ready.has_room
        assert room
        [number] = await scene.ask(b"1")
        instance.took()  # of somebody else
        await asyncio.sleep(0.05)
        instance.answered()
        await scene.ended(number)
        assert scene.kept(number).attempts == 1

    played(tmp_path, story)


def test_only_a_request_that_waits_is_cancelled(tmp_path: Path) -> None:
    async def story(scene: Scene) -> None:
        runs, waits = await scene.ask(b"wait", b"2")
        await reached(lambda: scene.instances.sent, look_s=0.1)
        assert not await scene.dispatcher.cancel(runs)
        assert await scene.dispatcher.cancel(waits)
        assert scene.dispatcher.running("shop") == [runs]
        scene.instances.gate.set()
        await scene.ended(runs)
        assert scene.instances.sent == [b"wait"]

    played(tmp_path, story)


def test_a_request_whose_cancellation_the_database_refused_is_answered(tmp_path: Path) -> None:
    machine = FailingMachine(DATABASE)

    async def story(scene: Scene) -> None:
        runs, waits = await scene.ask(b"wait", b"2")
        await reached(lambda: scene.instances.sent, look_s=0.1)
        machine.fail_next(0, 1)
        with pytest.raises(DatabaseAway):
            await scene.dispatcher.cancel(waits)
        await scene.dispatcher.look()
        scene.instances.gate.set()
        await scene.ended(runs, waits)
        assert scene.kept(waits).state is AsyncState.COMPLETED

    played(tmp_path, story, machine=machine)


def test_what_waited_goes_on_after_a_restart(tmp_path: Path) -> None:
    async def first(scene: Scene) -> None:
        await scene.ask(b"wait", b"2")
        await reached(lambda: scene.instances.sent, look_s=0.1)

    async def second(scene: Scene) -> None:
        scene.instances.gate.set()
        await scene.ended(1, 2)
        assert scene.instances.sent == [b"wait", b"2"]
        assert scene.kept(1).attempts == 2  # the crash ended the first one

    played(tmp_path, first)
    (tmp_path / "s3").rename(tmp_path / "old")
    played(tmp_path, second)


def test_what_waits_for_the_old_copies_of_a_component_goes_to_the_new_ones_after_an_update(tmp_path: Path) -> None:
    async def story(scene: Scene) -> None:
        named, launched = "component.one.2", scene.pool.variant
        scene.pool.become(replace(launched, name=named, copies=CopyNeeds("one", "v", 128)))
        capacity = PoolOnFakeHost(scene.stage.host).pool
        capacity.become(Variant("v", "", (), instance_type="ml.m5.large", instance_count=1))
        scene.live.serve({"v": capacity, named: scene.pool})
        elsewhere = await scene.ask(b"for another one", variant="component.two")
        numbers = await scene.ask(b"1", b"2", variant="component.one")
        await scene.ended(*numbers)
        assert scene.instances.sent == [b"1", b"2"]
        assert scene.kept(*elsewhere).ended_s is None
        scene.pool.become(launched)

    played(tmp_path, story)
