"""A policy that several callers put or delete at once has two alarms, or none once it is deleted."""

import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from botocore.exceptions import ClientError

from tests.endpoint.services.helpers.in_memory_autoscaling import OF, InMemoryAutoscaling, autoscaling_over
from torpor_account.storage.databases.database import Database
from torpor_account.storage.record_table import RecordTable
from torpor_endpoint.services.autoscaling.scaling_records import ScalingPolicy


def together(*works: Callable[[], object]) -> None:
    threads = [threading.Thread(target=work) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


@pytest.mark.parametrize("round_number", range(5))
def test_a_policy_put_several_times_at_once_has_two_alarms_and_none_after_its_deletion(
    autoscaling: InMemoryAutoscaling, round_number: int
) -> None:
    autoscaling.register()
    together(autoscaling.track, autoscaling.track, autoscaling.track)
    assert len(autoscaling.context.alarms.all()) == 2
    autoscaling.client.delete_scaling_policy(**OF, PolicyName="track")
    assert autoscaling.context.alarms.all() == ()


@pytest.mark.parametrize("round_number", range(5))
def test_a_policy_deleted_while_it_is_put_has_alarms_only_if_it_exists(
    autoscaling: InMemoryAutoscaling, round_number: int
) -> None:
    def delete() -> None:
        with suppress(ClientError):  # it may not be there, or not any more
            autoscaling.client.delete_scaling_policy(**OF, PolicyName="track")

    autoscaling.register()
    together(autoscaling.track, delete, autoscaling.track, delete)
    assert len(autoscaling.context.alarms.all()) == 2 * len(autoscaling.context.policies.all())


class InterruptedPolicies(RecordTable[ScalingPolicy]):
    """Another thread works between the look-up of a policy and its use."""

    def __init__(self, database: Database, meanwhile: threading.Thread) -> None:
        super().__init__(database, "scaling_policies", ScalingPolicy, key=str)
        self._meanwhile = meanwhile

    def get(self, name: str) -> ScalingPolicy | None:
        found = super().get(name)
        if self._meanwhile.ident is None:
            self._meanwhile.start()
            self._meanwhile.join(0.5)  # it may have to wait for us
        return found


def test_a_policy_that_takes_anothers_place_while_that_is_deleted_is_not_deleted_without_its_alarms(
    tmp_path: Path,
) -> None:
    def replace() -> None:
        with suppress(ClientError):
            scaling.client.delete_scaling_policy(**OF, PolicyName="track")
        scaling.track()

    with autoscaling_over(tmp_path / "torpor.sqlite") as scaling:
        scaling.register()
        scaling.track()
        replacing = threading.Thread(target=replace)
        scaling.context.policies = InterruptedPolicies(scaling.database, replacing)
        scaling.client.delete_scaling_policy(**OF, PolicyName="track")
        replacing.join()
        assert len(scaling.context.alarms.all()) == 2 * len(scaling.context.policies.all())
