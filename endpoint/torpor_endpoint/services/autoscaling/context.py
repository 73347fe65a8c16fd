"""The records of Application Auto Scaling, which its operations write and its scaler reads."""

import asyncio
from collections.abc import Callable

from torpor_account.aws.errors import ErrorKind
from torpor_account.cloudwatch.alarms.alarm_record import Alarm, StateChange
from torpor_account.cloudwatch.alarms.alarm_store import Alarms, NoSuchAction
from torpor_account.storage.databases.database import Database
from torpor_account.storage.record_table import RecordTable
from torpor_account.wakeup import NameSet, Wakeup
from torpor_endpoint.services.autoscaling import errors
from torpor_endpoint.services.autoscaling.acting import tracking_alarms
from torpor_endpoint.services.autoscaling.acting.activities import Activities
from torpor_endpoint.services.autoscaling.acting.scalable_variants import Refusal
from torpor_endpoint.services.autoscaling.resources import VARIANT
from torpor_endpoint.services.autoscaling.scaling_records import (
    ScalableTarget,
    ScalingPolicy,
    ScheduledAction,
    target_name,
)
from torpor_endpoint.storage.store import Store


async def left_to_the_policy(alarm: Alarm, change: StateChange) -> None:
    """Do nothing: the action of an alarm of target tracking is its policy, which reads the alarm itself."""


class Autoscaling:
    """Any thread may call its methods. `refused` returns why a resource cannot be a target, `clock` epoch seconds.

    `alarms` is CloudWatch's table of alarms. This service writes only the alarms of its target tracking policies.
    """

    def __init__(self, database: Database, store: Store, clock: Callable[[], float], refused: Refusal) -> None:
        self.database = database
        self.targets = RecordTable(database, "scalable_targets", ScalableTarget, key=str)
        self.policies = RecordTable(database, "scaling_policies", ScalingPolicy, key=str)
        self.schedules = RecordTable(database, "scheduled_actions", ScheduledAction, key=str)
        self.activities = Activities()
        self.alarms = Alarms(database, store.tags, clock, left_to_the_policy)
        self.wakeup = Wakeup()
        self.new_bounds = NameSet()
        self.tags = store.tags
        self.clock = clock
        self.refused = refused

    def target(self, resource_id: str, dimension: str, absent: ErrorKind = errors.UNREGISTERED) -> ScalableTarget:
        """Raises ObjectNotFoundException, in the words of `absent`."""
        found = self.targets.get(target_name(resource_id, dimension))
        if found is None:
            raise absent(resource_id=resource_id, dimension=dimension)
        return found

    def scaled(self, endpoint_name: str) -> set[str]:
        """The endpoint's variants that are scalable targets."""
        found = (VARIANT.fullmatch(target.resource_id) for target in self.targets.all())
        return {named["variant"] for named in found if named is not None and named["endpoint"] == endpoint_name}

    def bounded(self, target: ScalableTarget) -> None:
        """Let the scaler move the target's capacity into its new bounds."""
        self.new_bounds.add(target.name)
        self.wakeup.notify()

    async def fired(self, alarm: Alarm, change: StateChange) -> None:
        """Wake the scaler for an alarm whose action is a policy. The scaler reads the alarm. Raises NoSuchAction."""
        policies = await asyncio.to_thread(self.policies.all)
        if all(policy.arn != change.action for policy in policies):
            raise NoSuchAction(f"there is no scaling policy {change.action}")
        self.wakeup.notify()

    def remove(self, target: ScalableTarget) -> None:
        """Remove the target with its policies, schedules, tags and alarms."""
        with self.database.transaction():
            self.targets.remove(target.name)
            policies = [policy for policy in self.policies.all() if policy.target == target.name]
            for policy in policies:
                self.policies.remove(policy.name)
            for schedule in self.schedules.all():
                if schedule.target == target.name:
                    self.schedules.remove(schedule.name)
        self.tags.forget(target.arn)
        for policy in policies:
            tracking_alarms.remove(self.alarms, policy.arn)

    def forget_component(self, component: str) -> None:
        """Remove the target of a deleted inference component."""
        for target in self.targets.all():
            if target.resource_id == f"inference-component/{component}":
                self.remove(target)

    def forget(self, endpoint_name: str) -> None:
        """Remove the targets of a deleted endpoint: AWS "deregisters those variants as scalable targets without
        notifying you"."""
        for target in self.targets.all():
            if target.resource_id.startswith(f"endpoint/{endpoint_name}/"):
                self.remove(target)
