"""The part of the step route that chooses a model, for a request whose TargetModel names a group.

`core.model_choice` decides. The chooser reads the need, asks the instances where the models are, leaves out those that
the caller may not call, and has a model loaded that would meet the need once it is in memory.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from torpor_account.aws.wire.asgi import ACCESS
from torpor_container import wire
from torpor_endpoint.core.ledger_records import cold_load
from torpor_endpoint.core.model_choice.call_rate import CallRate
from torpor_endpoint.core.model_choice.choosing_model import ModelState, NeedNotMet, choose_model, queued_ms
from torpor_endpoint.core.model_choice.counted_rows import counted_rows
from torpor_endpoint.core.model_choice.model_group import ChoiceGroup, GroupedModel, ModelTier
from torpor_endpoint.core.model_choice.served_groups import ServedGroup, ServedGroups
from torpor_endpoint.core.model_choice.stated_need import BadNeed, StatedNeed, read_need
from torpor_endpoint.core.sending.machine import CONTENT_TYPE, CUSTOM_ATTRIBUTES, SESSION_ID
from torpor_endpoint.core.versions.version_answers import NoSuchVersion
from torpor_endpoint.host.launch import size_of
from torpor_endpoint.in_service.asked_tiers import loaded_by
from torpor_endpoint.in_service.incarnation import Incarnation
from torpor_endpoint.in_service.model_tiers import KnownTiers, ask_all
from torpor_endpoint.in_service.pool import VariantPool
from torpor_endpoint.runtime.errors import RuntimeFault, Situation
from torpor_endpoint.runtime.holding import PoolClosed
from torpor_endpoint.runtime.passage import Passage, Route, Served, parsed
from torpor_endpoint.runtime.request import TARGET_CONTAINER
from torpor_endpoint.runtime.sending import RequestSender

if TYPE_CHECKING:
    from torpor_account.core.access.needs import CallerAccess

COLD = wire.COLD.lower().encode()
FRESH_S = 2.0
"""What an instance told is asked again after that, while the group is called."""
RATES_MAX = 1024
"""The most groups whose calls are counted."""
LOADS_MAX = 16
"""The most models that are loaded ahead of a call at a time."""
ROWS_UNKNOWN = 1
FAULTY = "the group answers no call; `torpor ls`, and the log of the endpoint, say why"
"""What a verified caller is told: the reason may name models that it must not know of."""


class LookFirst(Exception):
    """Nobody knows yet where the models are: await `look`, and take the step again."""

    def __init__(self, look: Callable[[], Awaitable[None]]) -> None:
        super().__init__()
        self.look = look


class ModelChooser:
    """`clock` gives seconds that only go forward. For the event loop's thread."""

    def __init__(self, sender: RequestSender, clock: Callable[[], float]) -> None:
        self._sender = sender
        self._clock = clock
        self._known: WeakKeyDictionary[VariantPool, KnownTiers] = WeakKeyDictionary()
        self._looks: WeakKeyDictionary[VariantPool, asyncio.Task[None]] = WeakKeyDictionary()
        self._loads: dict[tuple[int, str], asyncio.Task[None]] = {}
        self._rates: dict[tuple[str, str, str], CallRate] = {}

    def route(self, passage: Passage, way: Route, groups: ServedGroups) -> Route | None:
        """The route by the model that answers, for one whose target is a group; None for any other. Raises
        RuntimeFault, LookFirst."""
        name = way.target
        assert name is not None, "a group is a target"
        served = groups.get(name)
        if name in groups.changing:
            if not passage.chooses:
                detail = f"TargetModel {name}: its file has changed and is being read. Try again."
                raise RuntimeFault(Situation.NOT_READY, detail=detail)
            raise LookFirst(lambda: way.pool.until(lambda: name not in groups.changing or way.pool.closed))
        if served is None:
            return None
        if served.group is None or served.fault:
            fault = served.fault if passage.scope.get(ACCESS) is None else FAULTY
            raise RuntimeFault(Situation.PARAMETER, detail=f"TargetModel {name}: {fault}.")
        if not passage.chooses:
            detail = (
                f"TargetModel {name} is a group of models, which InvokeEndpoint takes alone: name one of its models."
            )
            raise RuntimeFault(Situation.PARAMETER, detail=detail)
        if parsed(passage).headers.get(SESSION_ID):
            detail = f"TargetModel {name} is a group of models, and a session stays with one model: name that model."
            raise RuntimeFault(Situation.PARAMETER, detail=detail)
        need = _need(passage)
        rows = need.rows or counted_rows(parsed(passage).headers.get(CONTENT_TYPE, b""), passage.body) or ROWS_UNKNOWN
        targets = self._allowed(passage, way, served)
        states = self._states(way.pool, served.group, targets, rows)
        calls = self._rate(way, name).called(self._clock()) * way.pool.routers
        try:
            choice = choose_model(served.group, need, states, rows, calls)
        except NeedNotMet as error:
            raise self._not_met(passage, way, error, targets) from None
        if choice.later is not None:
            self._bring(passage, way, targets[choice.later])
        return way._replace(target=targets[choice.model], asked=choice.model, choice=choice)

    def answered(self, route: Route, served: Served) -> None:
        """A chosen model has answered: it is in memory now, and what left memory for it is on disk."""
        if route.choice is not None and route.target is not None and 200 <= served.answer.status < 300:
            cold = cold_load(served.answer.header(COLD))
            self._known_of(route.pool).came(served.instance, route.target, () if cold is None else cold["victims"])

    # -- what is known ---------------------------------------------------------------------------------------------
    def _allowed(self, passage: Passage, way: Route, served: ServedGroup) -> Mapping[str, str]:
        """The target of each model that is there and that the caller may call. Raises RuntimeFault if there is none."""
        assert served.group is not None, "a group without a fault"
        there = dict(_there(way.pool, served.group, served.absent))
        if not there:
            detail = f"TargetModel {served.group.name}: none of its models is there now."
            raise RuntimeFault(Situation.PARAMETER, detail=detail)
        access: CallerAccess | None = passage.scope.get(ACCESS)
        if access is None:
            return there
        from torpor_account.core.access.needs import AccessRefused
        from torpor_endpoint.core.rights import invocation

        container = parsed(passage).headers.get(TARGET_CONTAINER, b"").decode() or None
        needs = {one: invocation("InvokeEndpoint", way.live.name, one, access.place, container) for one in there}
        allowed = {one: there[one] for one, need in needs.items() if access.decide(need).allowed}
        if not allowed:
            try:
                access.check(needs.values())
            except AccessRefused as refused:
                raise RuntimeFault(Situation.DENIED, detail=refused.message) from None
        return allowed

    def _states(
        self, pool: VariantPool, group: ChoiceGroup, targets: Mapping[str, str], rows: int
    ) -> dict[str, ModelState]:
        """Where each model is now, on the instance that a call of it would go to. Raises LookFirst."""
        if not pool.ready.count:
            return dict.fromkeys(targets, ModelState(ModelTier.ASLEEP))
        known, now_s = self._known_of(pool), self._clock()
        named = tuple(targets.values())
        states = {}
        for model in group.models:
            if (target := targets.get(model.model)) is None:
                continue
            instance = pool.ready.pick(target, begins=False)
            tiers = known.get(instance, named)
            if tiers is None:
                raise LookFirst(lambda: self._look(pool, named))
            if known.age_s(instance, now_s) > FRESH_S:
                self._look(pool, named)
            states[model.model] = ModelState(tiers[target], _queued_ms(pool, instance, model, rows))
        return states

    def _known_of(self, pool: VariantPool) -> KnownTiers:
        return self._known.setdefault(pool, KnownTiers())

    def _look(self, pool: VariantPool, targets: tuple[str, ...]) -> "asyncio.Task[None]":
        """Ask the instances of a pool, once at a time."""
        looking = self._looks.get(pool)
        if looking is None or looking.done():
            look = ask_all(pool, self._known_of(pool), targets, self._clock())
            looking = self._looks[pool] = asyncio.create_task(look)
        return looking

    def _rate(self, way: Route, group: str) -> CallRate:
        if len(self._rates) >= RATES_MAX:
            self._rates.clear()
        return self._rates.setdefault((way.live.name, way.variant, group), CallRate(0.0, self._clock()))

    # -- what is not met -------------------------------------------------------------------------------------------
    def _not_met(self, passage: Passage, way: Route, error: NeedNotMet, targets: Mapping[str, str]) -> RuntimeFault:
        if error.later is None:
            return RuntimeFault(Situation.PARAMETER, detail=f"{error}. Ask for less, or add nearest=true.")
        self._bring(passage, way, targets[error.later])
        detail = (
            f"{error}. {error.later} will once it is in memory: it is being loaded. Try again, or add nearest=true."
        )
        return RuntimeFault(Situation.NOT_READY, detail=detail)

    def _bring(self, passage: Passage, way: Route, target: str) -> None:
        """Have a model loaded for the calls that follow, once at a time."""
        place = id(way.pool), target
        if place in self._loads or len(self._loads) >= LOADS_MAX:
            return
        route = way._replace(target=target)
        ahead = Passage(passage.scope, passage.home, passage.limits, passage.at_s, self._clock())
        ahead.request, ahead.route = passage.request, route
        task = self._loads[place] = asyncio.create_task(self._brought(ahead, route, target))
        task.add_done_callback(lambda _: self._loads.pop(place, None))

    async def _brought(self, ahead: Passage, route: Route, target: str) -> None:
        with suppress(RuntimeFault, PoolClosed):
            instance = await self._sender.chosen(ahead)
            names = route.pool.neighbours
            if await loaded_by(instance, target, [] if names is None else names.order(target, instance, ())):
                self._known_of(route.pool).came(instance.id, target, ())


def _need(passage: Passage) -> StatedNeed:
    """Raises RuntimeFault."""
    try:
        return read_need(parsed(passage).text(CUSTOM_ATTRIBUTES) or "")
    except BadNeed as error:
        raise RuntimeFault(Situation.PARAMETER, detail=f"CustomAttributes: {error}.") from None


def _there(pool: VariantPool, group: ChoiceGroup, absent: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """The models of a group that are below the prefix, each with the target of the version that answers."""
    for model in group.models:
        if model.model in absent:
            continue
        with suppress(NoSuchVersion):
            yield model.model, model.model if pool.versions is None else pool.versions.resolved(model.model)


def _queued_ms(pool: VariantPool, instance: Incarnation, model: GroupedModel, rows: int) -> float:
    return queued_ms(instance.in_flight, size_of(pool.variant).vcpu, model.predict_ms(rows))
