"""The scenarios of `torpor simulate`: each combination of the lists in its options, around the trace's own scenario."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any

from torpor.cli.commands.studies import choices
from torpor.cli.exit_codes import UsageRefused

if TYPE_CHECKING:
    from torpor.simulator.scenario import Scenario

STRICTLY_NOTHING = (
    "--aws-strict leaves out {}: AWS has no multi-model endpoint that sleeps, is serverless or asynchronous. Name"
    " instances that are always on, as --instances 1 --sleep-after never"
)


@dataclass(frozen=True)
class ScenarioLists:
    """The options as they were given; None for one that was not, which leaves it to the trace's own scenario."""

    instance_type: str | None = None
    instances: str | None = None
    policy: str | None = None
    sleep_after: str | None = None
    memory_mib: float | None = None
    serverless: str | None = None
    max_concurrency: int | None = None
    provisioned_concurrency: int = 0

    @property
    def given(self) -> dict[str, object]:
        """The options that were given, by name."""
        return {f"--{name.replace('_', '-')}": value for name, value in self.__dict__.items() if value}

    def check(self) -> None:
        """Raises UsageRefused for a value that no scenario can have. It needs no trace."""
        from torpor.simulator.serverless_terms import SIZES_MIB
        from torpor_container.core.eviction import OFFLINE, POLICIES

        for count in _listed("--instances", self.instances):
            if count is not None and (not count.isdecimal() or int(count) < 1):
                raise UsageRefused(f"--instances takes numbers of 1 or more, as 1,2,4, not {count!r}")
        for nap in _listed("--sleep-after", self.sleep_after):
            if nap not in (None, choices.NEVER):
                choices.keep_alive_s(nap)
        if self.policy is not None:
            choices.known_names("--policy", self.policy, {**POLICIES, **OFFLINE})
        if self.serverless is not None:
            choices.known_names("--serverless", self.serverless, tuple(map(str, SIZES_MIB)))
            if _listed("--sleep-after", self.sleep_after) == [choices.NEVER]:
                raise UsageRefused("--sleep-after never: a serverless variant sleeps; give a time too, as never,20m")
            if self.provisioned_concurrency > (self.max_concurrency or self.provisioned_concurrency):
                raise UsageRefused("--provisioned-concurrency is at most --max-concurrency")
        elif self.max_concurrency is not None or self.provisioned_concurrency:
            raise UsageRefused("--max-concurrency and --provisioned-concurrency go with --serverless")

    def around(self, own: "Scenario") -> "list[Scenario]":
        """The scenarios: those of instances first. Raises BadScenario."""
        rules, naps = _listed("--policy", self.policy), _listed("--sleep-after", self.sleep_after)
        types, counts = _listed("--instance-type", self.instance_type), _listed("--instances", self.instances)
        found = []
        if self.serverless is None or types != [None] or counts != [None]:
            found = [
                own.altered(
                    **choices.size_changes(size, self.memory_mib), **_ruled(rule), **_held(own, size, count, nap)
                )
                for size, count, rule, nap in product(types, counts, rules, naps)
            ]
        sizes = [] if self.serverless is None else choices.several("--serverless", self.serverless)
        return found + [
            own.altered(serverless=self._config(own, int(size)), **_ruled(rule), **_slept(nap))
            for size, rule, nap in product(sizes, rules, naps)
            if nap != choices.NEVER
        ]

    def _config(self, own: "Scenario", memory_mib: int) -> Any:
        from torpor.simulator.serverless_terms import CONCURRENCY_MOST, Serverless

        most = CONCURRENCY_MOST if own.serverless is None else own.serverless.max_concurrency
        return Serverless(memory_mib, self.max_concurrency or most, self.provisioned_concurrency)


def sold_by_aws(scenarios: "Sequence[Scenario]") -> "list[Scenario]":
    """Those that AWS has too. Raises UsageRefused if there is none."""
    left = [one for one in scenarios if one.on_aws]
    if not left:
        raise UsageRefused(STRICTLY_NOTHING.format(scenarios[0].name))
    return left


def _listed(option: str, text: str | None) -> list[Any]:
    return [None] if text is None else choices.several(option, text)


def _ruled(rule: str | None) -> dict[str, Any]:
    return {} if rule is None else {"policy": rule}


def _slept(nap: str | None) -> dict[str, Any]:
    """The field for the sleep of a serverless variant. Raises UsageRefused."""
    return {} if nap is None else {"idle_s": choices.keep_alive_s(nap)}


def _held(own: "Scenario", size: str | None, count: str | None, nap: str | None) -> dict[str, Any]:
    """The fields for the number of instances and their sleep. Without a number they are as many as the trace's own."""
    number = own.instances if count is None else int(count)
    if nap is None:
        return {} if count is None else {"instances": number}
    if nap == choices.NEVER:
        return {"instances": number}
    if own.serverless is not None and size is None and count is None:
        return _slept(nap)
    most = number if count is not None or own.instances_max is None else own.instances_max
    return {"instances_min": 0, "instances_max": most, "idle_s": choices.keep_alive_s(nap)}
