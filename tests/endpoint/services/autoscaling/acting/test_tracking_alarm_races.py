"""A policy that several put or delete at once has two alarms, or none once it is gone."""

import threading
from collections.abc import Callable
from contextlib import suppress

import pytest
from botocore.exceptions import ClientError

from tests.endpoint.services.helpers.in_memory_autoscaling import OF, InMemoryAutoscaling


def together(*works: Callable[[], object]) -> None:
    threads = [threading.Thread(target=work) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


@pytest.mark.parametrize("round_number", range(5))
def test_a_policy_that_is_put_twice_at_once_has_two_alarms_and_leaves_none(
    desk: InMemoryAutoscaling, round_number: int
) -> None:
    desk.register()
    together(desk.track, desk.track, desk.track)
    assert len(desk.context.alarms.all()) == 2
    desk.client.delete_scaling_policy(**OF, PolicyName="track")
    assert desk.context.alarms.all() == ()


@pytest.mark.parametrize("round_number", range(5))
def test_a_policy_that_is_deleted_while_it_is_put_leaves_alarms_only_where_it_is(
    desk: InMemoryAutoscaling, round_number: int
) -> None:
    def delete() -> None:
        with suppress(ClientError):  # it may not be there, or not any more
            desk.client.delete_scaling_policy(**OF, PolicyName="track")

    desk.register()
    together(desk.track, delete, desk.track, delete)
    assert len(desk.context.alarms.all()) == 2 * len(desk.context.policies.all())


def test_a_policy_that_takes_anothers_place_while_that_is_deleted_is_not_deleted_without_its_alarms(
    desk: InMemoryAutoscaling, monkeypatch: pytest.MonkeyPatch
) -> None:
    def replace() -> None:
        with suppress(ClientError):
            desk.client.delete_scaling_policy(**OF, PolicyName="track")
        desk.track()

    replacing = threading.Thread(target=replace)
    get = desk.context.policies.get

    def found_and_replaced(name: str) -> object:
        found = get(name)
        if replacing.ident is None:
            replacing.start()
            replacing.join(0.5)  # it may have to wait for us
        return found

    desk.register()
    desk.track()
    monkeypatch.setattr(desk.context.policies, "get", found_and_replaced)
    desk.client.delete_scaling_policy(**OF, PolicyName="track")
    replacing.join()
    assert len(desk.context.alarms.all()) == 2 * len(desk.context.policies.all())
