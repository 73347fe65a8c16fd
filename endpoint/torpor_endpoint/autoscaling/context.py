"""What the operations of Application Auto Scaling work with, and what whoever scales reads."""

from collections.abc import Callable

from torpor_endpoint.autoscaling import decoding
from torpor_endpoint.autoscaling.activities import Activities
from torpor_endpoint.autoscaling.errors import Trouble, error
from torpor_endpoint.autoscaling.records import ScalableTarget, target_name
from torpor_endpoint.autoscaling.variants import Refusal
from torpor_endpoint.shelf import Database, Shelf
from torpor_endpoint.store import Store


class Autoscaling:
    """Any thread may call. `refused` says why a resource cannot be a target, `clock` gives epoch seconds."""

    def __init__(self, database: Database, store: Store, clock: Callable[[], float], refused: Refusal) -> None:
        self.database = database
        self.targets = Shelf(database, "scalable_targets", decoding.target, key=str)
        self.policies = Shelf(database, "scaling_policies", decoding.policy, key=str)
        self.schedules = Shelf(database, "scheduled_actions", decoding.scheduled_action, key=str)
        self.activities = Activities()
        self.tags = store
        self.clock = clock
        self.refused = refused

    def target(self, resource_id: str, dimension: str, trouble: Trouble = Trouble.UNREGISTERED) -> ScalableTarget:
        """Raises ObjectNotFoundException, in the words of `trouble`."""
        found = self.targets.get(target_name(resource_id, dimension))
        if found is None:
            raise error(trouble, resource_id=resource_id, dimension=dimension)
        return found

    def remove(self, target: ScalableTarget) -> None:
        """The target, and all that was for it alone."""
        with self.database.transaction():
            self.targets.remove(target.name)
            for policy in self.policies.all():
                if policy.target == target.name:
                    self.policies.remove(policy.name)
            for schedule in self.schedules.all():
                if schedule.target == target.name:
                    self.schedules.remove(schedule.name)
        self.tags.remove_tags(target.arn, self.tags.tags(target.arn))

    def forget(self, endpoint_name: str) -> None:
        """An endpoint was deleted: AWS "deregisters those variants as scalable targets without notifying you"."""
        for target in self.targets.all():
            if target.resource_id.startswith(f"endpoint/{endpoint_name}/"):
                self.remove(target)
