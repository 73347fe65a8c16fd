"""The space of scenarios that a plan may choose from, as the options of `torpor plan` say it."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from torpor.cli.commands.studies import choices
from torpor.cli.exit_codes import UsageRefused

if TYPE_CHECKING:
    from torpor.simulator.planning.plan_space import PlanSpace
    from torpor.simulator.scenario import Scenario


@dataclass(frozen=True)
class SpaceOptions:
    """The options as they were given."""

    instance_type: str | None
    instances_max: int
    policy: str | None
    sleep_after: str
    keep_alive: str | None
    aws_strict: bool = False

    def around(self, like: "Scenario") -> "PlanSpace":
        """The space, whose other fields are those of a scenario. Raises UsageRefused, BadScenario."""
        from torpor.simulator.planning.plan_space import KEEP_ALIVES, SEARCHED, PlanSpace

        return PlanSpace(
            None if self.instance_type is None else choices.several("--instance-type", self.instance_type),
            self.instances_max,
            SEARCHED if self.policy is None else deployable(self.policy),
            choices.keep_alives_s(self.sleep_after),
            like,
            KEEP_ALIVES
            if self.keep_alive is None
            else choices.known_names("--keep-alive", self.keep_alive, KEEP_ALIVES),
            self.aws_strict,
        )


def deployable(policy: str, option: str = "--policy") -> list[str]:
    """The policies of this option. Raises UsageRefused for one that is unknown, or knows the trace in advance."""
    from torpor_container.core.eviction import OFFLINE, POLICIES

    for one in choices.several(option, policy):
        if one.upper() in OFFLINE:
            raise UsageRefused(
                f"{option} {one} knows the trace in advance, and cannot be deployed: choose from {', '.join(POLICIES)}"
            )
    return choices.known_names(option, policy, POLICIES)
