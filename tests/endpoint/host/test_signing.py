"""Each launch of an instance gets variables of its own, and its end voids them."""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass, field, replace

import pytest

from tests.endpoint.helpers.fake_host import FakeHost
from torpor_endpoint.host import HostError, Launched, LaunchSpec, Slot
from torpor_endpoint.host.signing import SigningHost

SLOT = Slot("shop", "v", 0)
SPEC = LaunchSpec(SLOT, {"A": "1"}, role="reader")


class NotingHost(FakeHost):
    """It notes the environments of its launches."""

    def __init__(self) -> None:
        super().__init__()
        self.environments: list[Mapping[str, str]] = []

    async def launch(self, spec: LaunchSpec) -> Launched:
        self.environments.append(spec.environment)
        return await super().launch(spec)


@dataclass
class Grants:
    """The roles of slots that have a token."""

    valid: dict[Slot, str] = field(default_factory=dict)
    begun: int = 0

    def begin(self, spec: LaunchSpec) -> Mapping[str, str]:
        if spec.role == "nobody's":
            raise ValueError("The execution role is invalid")
        self.valid[spec.slot] = spec.role
        self.begun += 1
        return {"TOKEN": str(self.begun)}

    def end(self, slot: Slot) -> None:
        self.valid.pop(slot, None)

    def keep(self, slots: Collection[Slot]) -> None:
        self.valid = {slot: role for slot, role in self.valid.items() if slot in slots}


def play(story: Callable[[NotingHost, Grants, SigningHost], Awaitable[None]]) -> None:
    async def whole() -> None:
        host, grants = NotingHost(), Grants()
        with host:
            await story(host, grants, SigningHost(host, grants.begin, grants.end, grants.keep))
            await host.close()

    asyncio.run(whole())


def test_a_token_lasts_as_long_as_its_instance() -> None:
    async def story(host: NotingHost, grants: Grants, signing: SigningHost) -> None:
        await signing.launch(SPEC)
        assert (host.environments, grants.valid) == ([{"A": "1", "TOKEN": "1"}], {SLOT: "reader"})
        await signing.terminate(SLOT, 0.0)
        assert grants.valid == {}
        await signing.launch(SPEC)
        assert host.environments[1]["TOKEN"] == "2"

    play(story)


def test_what_runs_when_the_endpoint_starts_keeps_its_token() -> None:
    async def story(host: NotingHost, grants: Grants, signing: SigningHost) -> None:
        grants.valid[Slot("shop", "v", 7)] = "reader"
        await signing.launch(SPEC)
        host.left.add(SLOT)
        await signing.open(())
        await signing.launch(SPEC)
        assert (grants.begun, grants.valid) == (1, {SLOT: "reader"})

    play(story)


def test_what_runs_for_another_configuration_leaves_its_token_to_nobody() -> None:
    async def story(host: NotingHost, grants: Grants, signing: SigningHost) -> None:
        await signing.launch(replace(SPEC, configuration="before"))
        host.left.add(SLOT)
        await signing.launch(replace(SPEC, configuration="after"))
        assert [environment["TOKEN"] for environment in host.environments] == ["1", "2"]

    play(story)


def test_a_launch_that_fails_leaves_no_token() -> None:
    async def story(host: NotingHost, grants: Grants, signing: SigningHost) -> None:
        host.launches_to_fail = 1
        with pytest.raises(HostError, match="no room"):
            await signing.launch(SPEC)
        assert (grants.begun, grants.valid) == (1, {})

    play(story)


def test_a_role_that_cannot_be_assumed_fails_the_launch() -> None:
    async def story(host: NotingHost, grants: Grants, signing: SigningHost) -> None:
        with pytest.raises(HostError, match="The execution role is invalid"):
            await signing.launch(LaunchSpec(SLOT, role="nobody's"))
        assert host.environments == []

    play(story)
