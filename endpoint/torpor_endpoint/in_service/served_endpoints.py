"""The endpoints that take requests now, with their pools. The pools' owner writes them; the router reads them."""

import hmac
import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Generic, NamedTuple, Protocol, TypeVar

from torpor_endpoint.core.components.component_records import ComponentRecord
from torpor_endpoint.core.resource_records import Container, Variant
from torpor_endpoint.in_service.pool import VariantPool

P = TypeVar("P", bound=VariantPool)
DIGEST_CHARS = 16
COMING = "/coming"
"""Follows the name of a variant in the key of the pool that a rollout brings for it. No variant's name has a slash."""


class TrafficShift(NamedTuple, Generic[P]):
    """What a rollout brings beside the pools that are current: the green fleet."""

    pools: Mapping[str, P]
    """By variant name. A pool that serves both configurations is also in the endpoint's own."""
    shares: Mapping[str, float]
    """Of each variant's traffic, the part that these pools get."""

    @property
    def complete(self) -> bool:
        """Whether all traffic goes to these pools."""
        return all(share >= 1.0 for share in self.shares.values())


class ServedEndpoint(Protocol):
    """An endpoint that takes requests, as the router reads it."""

    @property
    def name(self) -> str: ...

    @property
    def arn(self) -> str: ...

    @property
    def trouble(self) -> str | None:
        """Why an endpoint that is InService has no pool: its image was known once and is no longer."""

    @property
    def pools(self) -> Mapping[str, VariantPool]:
        """Every pool by variant name, in the order of the configuration."""

    @property
    def production(self) -> Mapping[str, VariantPool]:
        """Those that answer callers."""

    @property
    def components(self) -> Mapping[str, VariantPool]:
        """Those of inference components, by the component's name: while an update replaces copies, the pool that has
        more of the requests."""

    @property
    def generations(self) -> Mapping[str, Sequence[VariantPool]]:
        """The pools of each inference component: the old copies and the new ones, while an update replaces them."""

    @property
    def adapters(self) -> Mapping[str, str]:
        """By the name of each adapter, the inference component whose copies serve it."""

    @property
    def takes_components(self) -> bool:
        """Whether requests go to inference components only."""

    @property
    def shadows(self) -> Sequence[VariantPool]:
        """Those that get copies of requests."""

    @property
    def weights(self) -> list[tuple[str, float]]:
        """The weight of each production variant."""

    @property
    def every_pool(self) -> Sequence[VariantPool]:
        """The pools, and those of the fleet that a rollout brings."""

    @property
    def shifting(self) -> Sequence[tuple[VariantPool, float]]:
        """During a rollout, each pool that answers callers with its part of all traffic; empty otherwise."""

    def fleets_of(self, variant: str) -> Sequence[tuple[VariantPool, float]]:
        """During a rollout, the pools of a production variant with their parts of its own traffic, which it may have
        without a weight too: callers may name it. Empty otherwise."""


class ServedEndpoints(Protocol):
    """The endpoints that take requests, as the router reads them."""

    @property
    def changes(self) -> int:
        """How often an endpoint has come or gone."""

    def get(self, name: str) -> ServedEndpoint | None: ...

    def __iter__(self) -> Iterator[ServedEndpoint]: ...

    def __contains__(self, name: object) -> bool: ...


class LiveEndpoint(Generic[P]):
    """An endpoint and its pools."""

    def __init__(self, name: str, arn: str, pools: dict[str, P] | None = None) -> None:
        self.name = name
        self.arn = arn
        self.trouble: str | None = None
        self.serve(pools or {})

    def serve(self, pools: dict[str, P], shift: TrafficShift[P] | None = None) -> None:
        """Serve by these pools from now on, and by those of a shift. A change of the shift comes with a new mapping of
        pools: a way that was remembered by the mapping is found anew."""
        self.pools = pools
        self.shift = shift
        self.by_key: Mapping[str, P]  # each pool by its variant's name; with COMING, if a rollout brings it
        ordinary = {name: pool for name, pool in pools.items() if pool.variant.copies is None}
        self.production = {name: pool for name, pool in ordinary.items() if not pool.variant.shadow}
        self.takes_components = any(pool.variant.for_components for pool in self.production.values())
        self.generations: dict[str, list[P]] = {}
        for pool in pools.values():
            if pool.variant.copies is not None:
                self.generations.setdefault(pool.variant.copies.component, []).append(pool)
        self.components = {name: max(two, key=_weight) for name, two in self.generations.items()}
        self.adapters = {
            adapter: name
            for name, two in self.generations.items()
            for pool in two
            if pool.variant.copies is not None
            for adapter, _ in pool.variant.copies.adapters
        }
        fleet = pools if shift is None or not shift.complete else shift.pools
        self.shadows = tuple(pool for pool in fleet.values() if pool.variant.shadow)
        self.by_key = {**pools, **_coming(pools, shift)}
        self.every_pool = tuple(self.by_key.values())
        self.shifting = () if shift is None else _parts(self.production, shift)

    @property
    def weights(self) -> list[tuple[str, float]]:
        """The weight of each production variant."""
        return [(name, pool.variant.weight) for name, pool in self.production.items()]

    def fleets_of(self, variant: str) -> Sequence[tuple[P, float]]:
        """During a rollout, the pools of a production variant with their parts of its own traffic."""
        blue, shift = self.production.get(variant), self.shift
        if blue is None or shift is None or variant not in shift.pools:
            return ()
        share = shift.shares.get(variant, 0.0)
        return (blue, 1.0 - share), (shift.pools[variant], share)


def _coming(pools: Mapping[str, P], shift: TrafficShift[P] | None) -> dict[str, P]:
    """The pools that a shift brings, by their keys."""
    brought = {} if shift is None else shift.pools
    return {f"{name}{COMING}": pool for name, pool in brought.items() if pools.get(name) is not pool}


def _parts(production: Mapping[str, P], shift: TrafficShift[P]) -> tuple[tuple[P, float], ...]:
    """Both fleets divide the traffic of each variant, which has its own part by its weight."""
    green = {name: pool for name, pool in shift.pools.items() if not pool.variant.shadow}
    parts = [(pool, part * (1.0 - shift.shares.get(name, 0.0))) for name, pool, part in _by_weight(production)]
    return (*parts, *((pool, part * shift.shares.get(name, 0.0)) for name, pool, part in _by_weight(green)))


def _by_weight(pools: Mapping[str, P]) -> list[tuple[str, P, float]]:
    """Each pool with its part. If all weights are 0 the first has all, as without a rollout."""
    total = sum(pool.variant.weight for pool in pools.values())
    parts = [pool.variant.weight / total if total else float(place == 0) for place, pool in enumerate(pools.values())]
    return [(name, pool, part) for (name, pool), part in zip(pools.items(), parts, strict=True)]


class Roster(Generic[P]):
    """Every endpoint that takes requests, by its exact name: InvokeEndpoint distinguishes upper and lower case."""

    def __init__(self, changed: Callable[[str], None] = lambda name: None) -> None:
        """`changed` is called with the name of an endpoint that comes or goes."""
        self._changed = changed
        self._serving: dict[str, LiveEndpoint[P]] = {}
        self.changes = 0

    def get(self, name: str) -> LiveEndpoint[P] | None:
        return self._serving.get(name)

    def serve(self, endpoint: LiveEndpoint[P]) -> None:
        self._serving[endpoint.name] = endpoint
        self.changes += 1
        self._changed(endpoint.name)

    def stop(self, name: str) -> None:
        self._serving.pop(name, None)
        self.changes += 1
        self._changed(name)

    def __contains__(self, name: object) -> bool:
        return name in self._serving

    def __len__(self) -> int:
        return len(self._serving)

    def __bool__(self) -> bool:
        """A roster without endpoints is one all the same."""
        return True

    def __iter__(self) -> Iterator[LiveEndpoint[P]]:
        return iter(tuple(self._serving.values()))

    def placed_on(self, endpoint: str, component: str) -> str | None:
        """The production variant that the component's copies are on; None if it is not in service."""
        live = self._serving.get(endpoint)
        pool = None if live is None else live.components.get(component)
        return None if pool is None or pool.variant.copies is None else pool.variant.copies.placed_on

    def copy_counts(self, component: ComponentRecord) -> dict[str, int]:
        """The component's copies in service by the type of their instances."""
        live = self._serving.get(component.endpoint_name)
        pools = () if live is None else live.generations.get(component.name, ())
        types = {pool.variant.instance_type or "": 0 for pool in pools}
        return {**types, **Counter(kind for pool in pools for kind in pool.ready_types)}

    def instance_counts(self, endpoint_name: str) -> dict[str, int]:
        """Ready instances by variant name."""
        live = self._serving.get(endpoint_name)
        return {name: len(pool.ready) for name, pool in live.pools.items()} if live else {}

    def type_counts(self, endpoint_name: str) -> dict[str, dict[str, int]]:
        """The ready instances by variant name and instance type."""
        live = self._serving.get(endpoint_name)
        return {name: Counter(pool.ready_types) for name, pool in live.pools.items()} if live else {}

    def green_counts(self, endpoint_name: str) -> dict[str, int]:
        """Ready instances by variant name, of the fleet that a rollout brings."""
        live = self._serving.get(endpoint_name)
        shift = live.shift if live else None
        return {name: len(pool.ready) for name, pool in shift.pools.items()} if shift else {}


def _weight(pool: VariantPool) -> float:
    return pool.variant.weight


def same_machine(old: Variant, new: Variant) -> bool:
    """Whether instances of the old variant can serve the new one: only the weight or the sizes differ."""
    return _machine(old) == _machine(new)


def machine_digest(variant: Variant, key: bytes) -> str:
    """The digests of two variants are equal if they are of the `same_machine`, also in two processes or releases: a
    field with its default value counts for nothing, so that a new field changes no digest. An Environment may hold a
    password; without the `key` nobody can try whether a digest is that of a guess."""
    containers = [_given(container) for container in variant.containers]
    whole = json.dumps([containers, *_machine(variant)[1:]], sort_keys=True)
    return hmac.digest(key, b"machine\0" + whole.encode(), "sha256").hex()[:DIGEST_CHARS]


def _given(container: Container) -> dict[str, object]:
    plain = vars(Container(""))
    return {name: value for name, value in vars(container).items() if value != plain[name]}


def _machine(variant: Variant) -> tuple[object, ...]:
    memory_mib = variant.serverless.memory_mib if variant.serverless else None
    plain = variant.containers, variant.direct, variant.instance_type, memory_mib
    copies = variant.copies
    if copies is None:
        return plain
    other = (copies.first_type,) if copies.first_type else ()
    return *plain, copies.bound_mib, copies.cores, copies.accelerators, *other
