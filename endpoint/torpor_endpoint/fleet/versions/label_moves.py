"""Moves the labels of versions: loads what a label will point to beside what it points to, and only then moves it.

A move that cannot be made changes nothing. The labels of all endpoints are in memory: they are few.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol
from weakref import WeakValueDictionary

from torpor_endpoint.core.versions.label_records import VersionLabels, record_name
from torpor_endpoint.core.versions.version_answers import DEFAULT, LABEL
from torpor_endpoint.fleet.endpoint_roster import FleetEndpoint
from torpor_endpoint.fleet.instance_pool import InstancePool
from torpor_endpoint.fleet.versions.version_keeper import Labels, VersionKeeper


class LabelTable(Protocol):
    """The stored labels. Its methods block."""

    def all(self) -> Sequence[VersionLabels]: ...

    def put(self, record: VersionLabels) -> None: ...

    def remove(self, name: str) -> bool: ...


class BadMove(ValueError):
    """The label cannot be moved so. The text names what is wrong, and what there is."""


class NotLoadable(Exception):
    """The version that the label should point to could not be loaded: the label stays."""


class VersionLabelBook:
    """The labels of all endpoints."""

    def __init__(self, table: LabelTable) -> None:
        self._table = table
        self._records: dict[str, VersionLabels] = {}

    def read(self) -> None:
        """Read all labels. It blocks."""
        self._records = {record.name: record for record in self._table.all()}

    def of(self, endpoint: str, model: str) -> Labels:
        """The version of each label."""
        return self.record(endpoint, model).labels

    def record(self, endpoint: str, model: str) -> VersionLabels:
        return self._records.get(record_name(endpoint, model)) or VersionLabels(endpoint, model)

    async def keep(self, record: VersionLabels) -> None:
        """Store the labels of one model."""
        await asyncio.to_thread(self._table.put, record)
        self._records[record.name] = record

    async def forget(self, endpoint: str) -> None:
        """The endpoint is deleted: another one may take its name."""
        for name in [name for name, record in self._records.items() if record.endpoint == endpoint]:
            await asyncio.to_thread(self._table.remove, name)
            self._records.pop(name, None)


class LabelMoves:
    """`applied` returns once every router answers as the control does now."""

    def __init__(self, book: VersionLabelBook, keeper: VersionKeeper, applied: Callable[[], Awaitable[None]]) -> None:
        self._book = book
        self._keeper = keeper
        self._applied = applied
        self._turns: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()  # by endpoint and model

    async def move(self, live: FleetEndpoint, model: str, label: str, number: int | None) -> VersionLabels:
        """Point the label to a version, or, with None, remove it. The label `default` says what answers calls without a
        version; without it the newest version does. It returns once the version answers, everywhere.

        Raises BadMove, NotLoadable.
        """
        async with self._turns.setdefault(record_name(live.name, model), asyncio.Lock()):
            pools = self._pools(live, model)
            self._check(pools, model, label, number)
            return await self._moved(live, pools, self._book.record(live.name, model).moved(label, number))

    async def back(self, live: FleetEndpoint, model: str, label: str) -> VersionLabels:
        """Point the label to the version that it had before its last move. Raises BadMove, NotLoadable."""
        async with self._turns.setdefault(record_name(live.name, model), asyncio.Lock()):
            pools, record = self._pools(live, model), self._book.record(live.name, model)
            if label not in record.before:
                raise BadMove(f"label {label} of model {model} has not moved yet: name a version")
            number = record.before[label] or None
            self._check(pools, model, label, number)
            return await self._moved(live, pools, record.moved(label, number))

    def _pools(self, live: FleetEndpoint, model: str) -> list[InstancePool]:
        versioned = [pool for pool in live.every_pool if pool.versions is not None]
        if not versioned:
            raise BadMove(f"endpoint {live.name} has no versions: set TORPOR_VERSIONS in its container's Environment")
        pools = [pool for pool in versioned if pool.versions is not None and model in pool.versions.names]
        if not pools:
            raise BadMove(f"endpoint {live.name} has no versions of a model {model!r}: put MODEL/NUMBER/ARTIFACT")
        return pools

    def _check(self, pools: Sequence[InstancePool], model: str, label: str, number: int | None) -> None:
        if not LABEL.fullmatch(label):
            raise BadMove(f"label {label!r} must be a letter, then letters, digits, '_' or '-': at most 63 in all")
        for pool in pools:
            versions = pool.versions.names.get(model) if pool.versions is not None else None
            if versions is not None and versions.fault:
                raise BadMove(f"model {model}: {versions.fault}")
            present = self._keeper.present(pool, model)
            if number is not None and number not in present:
                there = ", ".join(map(str, sorted(present))) or "none"
                raise BadMove(f"version {number} of model {model} is not there; there are: {there}")
            if number is None and label != DEFAULT and label not in self._book.of(pool.endpoint, model):
                raise BadMove(f"model {model} has no label {label}")

    async def _moved(self, live: FleetEndpoint, pools: Sequence[InstancePool], record: VersionLabels) -> VersionLabels:
        for pool in pools:
            plan = await self._keeper.bring(pool, record.model, record.labels, serve=False)
            failures = self._keeper.loading.failures(pool)
            present = self._keeper.present(pool, record.model)
            for label, number in plan.waits.items():
                if record.labels.get(label) == number and present.get(number) in failures:
                    why = failures[present[number]]
                    raise NotLoadable(f"version {number} of model {record.model} cannot be loaded: {why}")
        if self._keeper.roster.get(live.name) is not live:  # its labels are forgotten: another may take its name
            raise BadMove(f"endpoint {live.name} was deleted meanwhile")
        await self._book.keep(record)
        for pool in pools:
            await self._keeper.bring(pool, record.model, record.labels)
        await self._applied()
        return record
