"""The protocol's repository and statistics: what the prefix of an endpoint holds, what is in memory, what was answered.

To unload a model is `torpor unload`. A caller sees in index and statistics the models alone that it may invoke.
"""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Iterable, Sequence
from typing import Any, NamedTuple

from starlette.exceptions import HTTPException

from torpor_account.aws.errors import AwsError
from torpor_account.aws.wire.asgi import Response, Scope
from torpor_container import wire
from torpor_endpoint.core.versions.version_answers import target_for
from torpor_endpoint.faces.choosing_endpoints import (
    NoSuchModel,
    kind_of,
    naming_headers,
)
from torpor_endpoint.faces.finding_models import answering_of, versioned
from torpor_endpoint.faces.finding_targets import Targets
from torpor_endpoint.faces.models_in_sight import ModelsInSight, SeenModel
from torpor_endpoint.faces.open_inference.v2_answers import in_json, refused
from torpor_endpoint.faces.open_inference.v2_control import ONLY_VERSION, check_control, members_of
from torpor_endpoint.faces.open_inference.v2_paths import V2Action, V2Call
from torpor_endpoint.fleet.endpoint_roster import FleetEndpoint, FleetRoster
from torpor_endpoint.fleet.retiring import retired
from torpor_endpoint.ledger.reader import LedgerReader, ModelSums

NOT_IN_MEMORY = "not in memory: it is loaded when it is called"
NS = 1e9


class V2Repository:
    """`flush` has the ledger write what it still buffers."""

    def __init__(
        self,
        roster: FleetRoster,
        targets: Targets,
        sight: ModelsInSight,
        ledger: Callable[[], LedgerReader],
        flush: Callable[[], Awaitable[object]],
    ) -> None:
        self._roster = roster
        self._targets = targets
        self._sight = sight
        self._ledger = ledger
        self._flush = flush

    def rows(self) -> dict[V2Action, Callable[[V2Call, Scope, bytes], Awaitable[Response]]]:
        return {
            V2Action.INDEX: self.index,
            V2Action.UNLOAD: self.unload,
            V2Action.STATISTICS: self.statistics,
        }

    async def index(self, call: V2Call, scope: Scope, body: bytes) -> Response:
        """Each model below the prefix, READY if it is in memory. `{"ready": true}` asks for these alone."""
        only_ready = members_of(body, ("ready",)).get("ready", False)
        if not isinstance(only_ready, bool):
            raise AwsError("BadRequest", 400, "ready is true or false")
        models = await self._sight.models(scope, call.endpoint, only_ready)
        return await asyncio.to_thread(lambda: in_json([_entry(one) for one in models]))

    async def unload(self, call: V2Call, scope: Scope, body: bytes) -> Response:
        members_of(body, ("parameters",), ("parameters",))
        check_control(scope)
        live = self._sight.live(scope, call.endpoint, call.model)
        if not kind_of(live).many:
            raise AwsError("BadRequest", 400, f"endpoint {live.name} serves no models by name, and keeps its one model")
        answering = answering_of(live, call.model)
        targets = [await self._targets.found(live, call.model)] if answering is None else answering.artifacts.values()
        try:
            for target in targets:
                await retired(self._roster, live, target, wire.UNLOAD_MODEL)
        except HTTPException as error:
            return refused(error.detail, error.status_code)
        return Response(200, b"")

    async def statistics(self, call: V2Call, scope: Scope, body: bytes) -> Response:
        """What the ledger knows of each model that was called, and the memory that it takes now."""
        live = self._sight.live(scope, call.endpoint, call.model)
        await self._flush()
        in_memory = await self._sight.resident(live)
        books = await asyncio.to_thread(_Books.read, live, in_memory, lambda: self._ledger().model_sums(live.name))
        if call.model:
            keys = await self._of_model(call, scope, live, books.called)
        else:
            names = dict.fromkeys(name for name, _ in books.called.values())
            allowed = set(await self._sight.visible(live, scope, names))
            keys = [key for key, (name, _) in books.called.items() if name in allowed]
        return await asyncio.to_thread(books.told, live, keys)

    async def _of_model(self, call: V2Call, scope: Scope, live: FleetEndpoint, known: Collection[str]) -> list[str]:
        """The names by which the ledger and the instances know a model. Raises NoSuchModel, NoSuchLabel."""
        answering = answering_of(live, call.model)
        if answering is not None:
            target = target_for(call.model, call.version or None)
        else:
            target = await self._targets.found(live, call.model)
        if not await self._sight.visible(live, scope, [target]):
            raise NoSuchModel(call.model)
        versioned(live, call.model, call.version)
        if answering is not None:
            number = answering.number_of(call.version)
            return [key for one, key in answering.artifacts.items() if number in (None, one)]
        naming_headers(live, call.model, target)
        if kind_of(live).components:
            raise AwsError(
                "BadRequest", 400, f"no statistics of component {call.model} alone: CloudWatch has its metrics"
            )
        if not kind_of(live).many:
            return list(dict.fromkeys(["", *sorted(known)]))
        if target not in known and not await self._targets.exists(live, target):
            raise NoSuchModel(call.model)
        return [target]


class _Books(NamedTuple):
    """What ledger and instances know of an endpoint's models, by the keys that they have for them. There may be
    thousands of them, so it is read and written in worker threads."""

    resident: dict[str, int]
    """The bytes of those in memory."""
    sums: dict[str, ModelSums]
    called: dict[str, tuple[str, str]]
    """Of each, the name and the version."""

    @classmethod
    def read(
        cls, live: FleetEndpoint, in_memory: Sequence[wire.LoadedModel], sums: Callable[[], Iterable[ModelSums]]
    ) -> "_Books":
        resident = {model["name"]: model["size_bytes"] for model in in_memory}
        known = {one.model: one for one in sums()}
        return cls(resident, known, {key: _version_of(live, key) for key in dict.fromkeys([*known, *resident])})

    def told(self, live: FleetEndpoint, keys: Iterable[str]) -> Response:
        stats = [
            _statistics(*(self.called.get(key) or _version_of(live, key)), self.sums.get(key), self.resident.get(key))
            for key in keys
        ]
        return in_json({"model_stats": stats})


def _entry(model: SeenModel) -> dict[str, str]:
    state, reason = ("READY", "") if model.loaded else ("UNAVAILABLE", NOT_IN_MEMORY)
    return {"name": model.name, "version": model.version, "state": state, "reason": reason}


def _version_of(live: FleetEndpoint, key: str) -> tuple[str, str]:
    """The name and the version of a model by the key that the books have for it."""
    for pool in live.every_pool:
        if pool.versions is not None and (found := pool.versions.version_of(key)) is not None:
            return found[0], str(found[1])
    return key, ONLY_VERSION


def _statistics(name: str, version: str, sums: ModelSums | None, size_bytes: int | None) -> dict[str, Any]:
    """In Triton's form. What Torpor does not measure apart is nothing there."""
    known = sums or ModelSums(name)
    answered = known.requests - known.errors
    waited_s = known.total_s - known.predict_s
    return {
        "name": name,
        "version": version,
        "last_inference": int(known.last_minute_s * 1000),
        "inference_count": answered,
        "execution_count": answered,
        "inference_stats": {
            "success": _duration(answered, known.total_s),
            "fail": _duration(known.errors, 0.0),
            "queue": _duration(known.requests, waited_s),
            "compute_input": _duration(0, 0.0),
            "compute_infer": _duration(known.requests, known.predict_s),
            "compute_output": _duration(0, 0.0),
            "cache_hit": _duration(0, 0.0),
            "cache_miss": _duration(0, 0.0),
        },
        "batch_stats": [],
        "memory_usage": [] if size_bytes is None else [{"type": "CPU", "id": 0, "byte_size": size_bytes}],
    }


def _duration(count: int, seconds: float) -> dict[str, int]:
    return {"count": count, "ns": int(max(seconds, 0.0) * NS)}
