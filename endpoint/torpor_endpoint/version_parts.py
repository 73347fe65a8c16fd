"""The parts of an endpoint that know what names below prefixes mean: versions of models, labels, groups of models."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from torpor_account.account import Account
from torpor_account.s3.access.embedded import AsRole, Storage
from torpor_account.storage.record_table import RecordTable
from torpor_endpoint.clocks.clock import EndpointClock
from torpor_endpoint.core.registry.fed_names import FED_BY
from torpor_endpoint.core.resource_records import Variant
from torpor_endpoint.core.versions.label_records import VersionLabels
from torpor_endpoint.core.versions.version_steps import VersionStep
from torpor_endpoint.fleet.endpoint_roster import FleetRoster
from torpor_endpoint.fleet.model_groups.group_keeper import GroupKeeper
from torpor_endpoint.fleet.versions.label_moves import LabelMoves, VersionLabelBook
from torpor_endpoint.fleet.versions.overwritten_objects import OverwrittenObjects
from torpor_endpoint.fleet.versions.version_keeper import VersionKeeper
from torpor_endpoint.in_service.pool import VariantPool

Fault = Callable[[Variant, str], Awaitable[str | None]]
"""As `InstanceFactory.fault`."""


@dataclass(frozen=True)
class VersionSite:
    """What the parts need of the endpoint. `as_role` makes of a storage one that acts as the role of a model,
    `switched` tells routers of a change, `applied` returns once they have it, and `stepped` writes each step of
    versions into the ledger."""

    roster: FleetRoster
    account: Account
    as_role: AsRole
    arn_of: Callable[[str], str]
    clock: EndpointClock
    switched: Callable[[str], None]
    applied: Callable[[], Awaitable[None]]
    stepped: Callable[[VersionStep], None]


class VersionParts:
    """Makes the parts. `start` comes before the first endpoint is served."""

    def __init__(self, site: VersionSite) -> None:
        self._site = site
        self.labels = VersionLabelBook(RecordTable(site.account.database, "version_labels", VersionLabels, key=str))
        self.keeper = VersionKeeper(
            site.roster,
            self._keys,
            self.labels.of,
            site.arn_of,
            site.clock.steady,
            site.clock.pause_of("versions"),
            site.switched,
            site.stepped,
        )
        self.overwritten = OverwrittenObjects(site.roster)
        site.account.objects.watch(self.told)
        self.moves = LabelMoves(self.labels, self.keeper, site.applied)
        self.groups = GroupKeeper(
            site.roster,
            self._storage,
            site.arn_of,
            site.clock.steady,
            site.clock.pause_of("groups"),
            site.switched,
        )

    async def start(self) -> None:
        """Read the labels, and take events from now on."""
        await asyncio.to_thread(self.labels.read)
        self.keeper.start()
        self.groups.start()
        self.overwritten.start()

    async def catch_up(self) -> None:
        """List every prefix that is due."""
        await self.keeper.catch_up()
        await self.groups.catch_up()

    async def close(self) -> None:
        """Take no more events, and stop what is under way."""
        await self.groups.close()
        await self.keeper.close()
        await self.overwritten.close()

    def joined(self, pool: VariantPool) -> None:
        """See `InstanceFactory.named`."""
        if pool.versions is not None:
            self.keeper.joined(pool)
        if pool.groups is not None:
            self.groups.joined(pool)

    def prepared(self, fault: Fault, bring: Callable[[Variant, str], None]) -> Fault:
        """Also lists the prefix of a variant that has no fault: its versions and groups are known before its first
        call. `bring`, which blocks, puts there before what belongs there."""

        async def checked(variant: Variant, endpoint_arn: str) -> str | None:
            why = await fault(variant, endpoint_arn)
            if why is None:
                if any(FED_BY in one.environment for one in variant.containers):
                    await asyncio.to_thread(bring, variant, endpoint_arn)
                await self.keeper.prepare(variant, endpoint_arn)
                await self.groups.prepare(variant, endpoint_arn)
            return why

        return checked

    def told(self, bucket: str, key: str, there: bool) -> None:
        """An object has come or gone. Any thread may call it."""
        self.keeper.told(bucket, key, there)
        self.groups.told(bucket, key, there)
        self.overwritten.told(bucket, key, there)

    def _keys(self, role: str, endpoint_arn: str, bucket: str, folder: str) -> list[str]:
        return self._storage(role, endpoint_arn).keys(bucket, folder)

    def _storage(self, role: str, endpoint_arn: str) -> Storage:
        return self._site.as_role(self._site.account.storage, role, endpoint_arn)
