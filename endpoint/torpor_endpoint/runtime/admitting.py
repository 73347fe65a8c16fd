"""The steps of a passage that decide where it goes: route and admit. They wait for nothing."""

from collections.abc import Callable, Sequence

from torpor_container.core.target_names import BadTarget, name_of
from torpor_endpoint.core.resource_records import Variant
from torpor_endpoint.core.routing.weighted_choice import weighted
from torpor_endpoint.core.sending.machine import SESSION_ID, TARGET_MODEL
from torpor_endpoint.core.sending.session_holders import knows_session
from torpor_endpoint.core.versions.version_answers import NoSuchVersion
from torpor_endpoint.in_service.pool import VariantPool
from torpor_endpoint.in_service.served_endpoints import ServedEndpoint, ServedEndpoints
from torpor_endpoint.runtime.choosing.model_chooser import ModelChooser
from torpor_endpoint.runtime.errors import RuntimeFault, Situation
from torpor_endpoint.runtime.passage import ONLY, KnownWay, Passage, Route
from torpor_endpoint.runtime.request import EXPLANATIONS, INFERENCE_COMPONENT, TARGET_CONTAINER, TARGET_VARIANT, Invoke

RARE = "./ "
"""How few names of models begin. All others get their names here by what `target_names.name_of` does for them, which is
little: it would take twenty calls for each request."""

DRAW = "torpor.draw"
"""The key of the scope under which a request keeps its draw between the inline way and the way by ASGI."""

CLOSED = "Production variant {variant} of endpoint {endpoint} takes no more requests here: try again."


class Router:
    """`draw` gives numbers from 0 to 1 for the weights. `choosing` chooses among the models of a group: without it, no
    target names a group."""

    def __init__(
        self,
        roster: ServedEndpoints,
        draw: Callable[[], float],
        strict: bool,
        choosing: ModelChooser | None = None,
    ) -> None:
        self._roster = roster
        self._draw = draw
        self._strict = strict
        self.choosing = choosing

    # -- route -----------------------------------------------------------------------------------------------------
    def route(self, passage: Passage) -> None:
        """Raises RuntimeFault for the first rule that the request breaks."""
        self._route(passage)
        route = passage.route
        if route is not None and route.pool.variant.asynchronous is not None:
            passage.route = passage.way = None
            detail = f"Endpoint {passage.home.endpoint} is asynchronous: call it with InvokeEndpointAsync."
            raise RuntimeFault(Situation.PARAMETER, detail=detail)

    def _route(self, passage: Passage) -> None:
        passage.route = passage.way = None
        request = passage.request
        assert request is not None, "the step parse comes first"
        live = self._endpoint(passage.home.endpoint)
        if passage.request_bytes > passage.limits.body_bytes:
            raise RuntimeFault(Situation.OVERSIZE, limit=passage.limits.body_bytes)
        way = request.way
        if way is not None and way.pools is live.pools:
            route = way.route
        else:
            route, drawn = self._found(live, request, passage)
            way = request.way = None if drawn else KnownWay(route)
        serverless = route.pool.variant.serverless
        if serverless is not None and passage.request_bytes > passage.limits.serverless_body_bytes:
            raise RuntimeFault(Situation.OVERSIZE_SERVERLESS)
        passage.route, passage.way = route, way

    def _found(self, live: ServedEndpoint, request: Invoke, passage: Passage) -> tuple[Route, bool]:
        """The route, and whether another request with these headers may have another one."""
        request.check()
        component = request.headers.get(INFERENCE_COMPONENT)
        named = request.text(TARGET_VARIANT)
        header, target = request.headers.get(TARGET_MODEL), None
        if header is not None:
            spelled = header.decode(errors="surrogateescape")  # boto3 sends a name beyond ASCII as UTF-8
            target = spelled[1:] if spelled[:1] == "/" else spelled
            if target[:1] in RARE or target[-1:] == " " or "/." in target or not target.isprintable():
                target = _name_of(spelled)
        drawn, adapter = named is None and len(live.production) > 1, ""
        if component or live.takes_components:
            generations = component_pools(live, component, named)
            pool, drawn = self._generation(generations, request, target, passage), len(generations) > 1
            variant, adapter = pool.variant.name, adapter_of(live, component)
        elif live.shifting:
            variant, pool, drawn = *self._in_shift(live, request, target, passage), True
        else:
            chosen = _variant_of_session(live, request, target) if named is None else named
            variant = self._variant(live, chosen, passage)
            pool = live.pools[variant]
        _check_supported(live, request)
        path = path_of(pool.variant, request, live.name)
        check_target(pool.variant, path, target)
        if target is not None and pool.groups is not None and self.choosing is not None:
            by_need = self.choosing.route(passage, Route(live, variant, pool, target, path), pool.groups)
            if by_need is not None:
                return by_need, True
        if target is not None and pool.versions is not None:
            answers = version_in(pool, target)
            asked = None if answers == target else target
            return Route(live, variant, pool, answers, path, asked), drawn
        return Route(live, variant, pool, target, path, adapter=adapter), drawn

    def _endpoint(self, name: str) -> ServedEndpoint:
        live = self._roster.get(name)
        if live is not None and live.trouble is not None:
            raise RuntimeFault(Situation.PARAMETER, detail=live.trouble)
        if live is None or not live.pools:
            raise RuntimeFault(Situation.ENDPOINT_UNKNOWN)
        return live

    def _in_shift(
        self, live: ServedEndpoint, request: Invoke, target: str | None, passage: Passage
    ) -> tuple[str, VariantPool]:
        """The variant and the fleet of it, during a rollout. A session stays with the fleet that has it."""
        named = request.text(TARGET_VARIANT)
        parts = live.shifting if named is None else live.fleets_of(self._variant(live, named, passage))
        if (session := request.headers.get(SESSION_ID)) is not None:
            for pool, _ in parts:
                if knows_session(pool, target, session):
                    return pool.variant.name, pool
        if DRAW not in passage.scope:
            passage.scope[DRAW] = self._draw()
        pool = weighted(parts, passage.scope[DRAW])
        return pool.variant.name, pool

    def _variant(self, live: ServedEndpoint, named: str | None, passage: Passage) -> str:
        """Draws once for each request, whichever way it goes: a request that cannot go inline keeps its variant."""
        if named is None and len(live.production) == 1:
            return next(iter(live.production))
        if named is None:
            if DRAW not in passage.scope:
                passage.scope[DRAW] = self._draw()
            return weighted(live.weights, passage.scope[DRAW])
        if named not in live.production:  # a shadow variant answers no caller, not even one that names it
            raise RuntimeFault(Situation.VARIANT_UNKNOWN, variant=named, variants=", ".join(live.production))
        return named

    def _generation(
        self, generations: Sequence[VariantPool], request: Invoke, target: str | None, passage: Passage
    ) -> VariantPool:
        """The old or the new copies of an inference component, by the share of each. A session stays where it is."""
        if len(generations) == 1:
            return generations[0]
        session = request.headers.get(SESSION_ID)
        if session is not None and (held := [one for one in generations if knows_session(one, target, session)]):
            return held[0]
        if DRAW not in passage.scope:
            passage.scope[DRAW] = self._draw()
        drawn = weighted([(one.variant.name, one.variant.weight) for one in generations], passage.scope[DRAW])
        return next(one for one in generations if one.variant.name == drawn)

    def route_stream(self, passage: Passage) -> None:
        """As `route`, for InvokeEndpointWithResponseStream. AWS has no route for it to one of many models."""
        live = self._endpoint(passage.home.endpoint)
        if self._strict and any(pool.variant.multi_model for pool in live.every_pool):
            detail = f"Endpoint {live.name} has many models: InvokeEndpointWithResponseStream takes no TargetModel."
            raise RuntimeFault(Situation.PARAMETER, detail=detail)
        self.route(passage)

    def route_async(self, passage: Passage) -> None:
        """As `route`, for InvokeEndpointAsync. AWS has no route for it to one of many models."""
        live = self._endpoint(passage.home.endpoint)
        variants = [pool.variant for pool in live.every_pool]
        if any(variant.asynchronous is None for variant in variants):
            why = "its configuration has no AsyncInferenceConfig"
            raise RuntimeFault(Situation.PARAMETER, detail=f"Endpoint {live.name} is not asynchronous: {why}.")
        if self._strict and any(variant.multi_model for variant in variants):
            detail = f"Endpoint {live.name} has many models: InvokeEndpointAsync takes no TargetModel."
            raise RuntimeFault(Situation.PARAMETER, detail=detail)
        self._route(passage)

    # -- admit -----------------------------------------------------------------------------------------------------
    def admit(self, passage: Passage) -> None:
        """Raises RuntimeFault for a request that the variant does not take now."""
        assert passage.route is not None, "the step route comes first"
        pool = passage.route.pool
        serverless = pool.variant.serverless
        if pool.closed:
            detail = CLOSED.format(variant=pool.variant.name, endpoint=passage.home.endpoint)
            raise RuntimeFault(Situation.UNAVAILABLE, detail=detail)
        if not pool.admits():
            raise RuntimeFault(Situation.THROTTLED)
        if self._strict and serverless is None and not pool.ready and not pool.size:
            # AWS fails invocations at zero instances, and does not queue them; serverless ones wait.
            if pool.variant.copies is not None:
                raise RuntimeFault(Situation.COMPONENT_NO_CAPACITY)
            raise RuntimeFault(Situation.NO_CAPACITY, variant=pool.variant.name)


def component_pools(live: ServedEndpoint, header: bytes | None, variant: str | None) -> Sequence[VariantPool]:
    """The copies of the inference component that a request names: two pools while an update replaces them. `variant` is
    the production variant that it names. Raises RuntimeFault."""
    if not header:
        raise RuntimeFault(Situation.COMPONENT_MISSING)
    if not live.takes_components:
        raise RuntimeFault(Situation.COMPONENT_NOT_ALLOWED)
    component = header.decode()
    pools = live.generations.get(component) or live.generations.get(live.adapters.get(component, ""))
    if not pools:
        raise RuntimeFault(Situation.COMPONENT_UNKNOWN, component=component)
    copies = pools[0].variant.copies
    if variant is not None and copies is not None and copies.placed_on != variant:
        detail = f"Inference component {component} is on production variant {copies.placed_on}, and not on {variant}."
        raise RuntimeFault(Situation.PARAMETER, detail=detail)
    return pools


def adapter_of(live: ServedEndpoint, component: bytes | None) -> str:
    """The component, if it is an adapter; else nothing."""
    name = (component or b"").decode()
    return name if name in live.adapters else ""


def path_of(variant: Variant, request: Invoke, endpoint: str) -> tuple[int, ...]:
    """The containers that a request passes. Raises RuntimeFault for a header that names no container of the variant."""
    named = request.headers.get(TARGET_CONTAINER, b"").decode()
    if not variant.direct:
        single = len(variant.containers) == 1
        if named:
            why = "its variants have one container each" if single else "its requests pass all containers"
            detail = f"Endpoint {endpoint} takes no TargetContainerHostname: {why}."
            raise RuntimeFault(Situation.PARAMETER, detail=detail)
        return ONLY if single else tuple(range(len(variant.containers)))
    names = [container.name for container in variant.containers]
    if not named:
        detail = f"Endpoint {endpoint} needs TargetContainerHostname, one of {', '.join(names)}."
        raise RuntimeFault(Situation.PARAMETER, detail=detail)
    if named not in names:
        allowed = ", ".join(names)
        detail = f"Endpoint {endpoint} has no container {named}: TargetContainerHostname must be one of {allowed}."
        raise RuntimeFault(Situation.PARAMETER, detail=detail)
    return (names.index(named),)


def takes_target(variant: Variant, path: tuple[int, ...]) -> bool:
    """Whether a container on the path serves many models by name."""
    if path is ONLY:
        return variant.containers[0].multi_model
    return any(variant.containers[place].multi_model for place in path)


def check_target(variant: Variant, path: tuple[int, ...], target: str | None) -> None:
    """A multi-model container needs a target model, and no other takes one. Raises RuntimeFault."""
    takes = takes_target(variant, path)
    if takes and target is None:
        raise RuntimeFault(Situation.TARGET_MISSING)
    if not takes and target is not None:
        raise RuntimeFault(Situation.TARGET_NOT_SUPPORTED)


def version_in(pool: VariantPool, target: str) -> str:
    """The target of the version that answers calls of this target now; the target itself, if it has no versions.

    Raises RuntimeFault.
    """
    if pool.versions is None:
        return target
    try:
        return pool.versions.resolved(target)
    except NoSuchVersion as error:
        raise RuntimeFault(Situation.PARAMETER, detail=str(error)) from None


def _name_of(target: str) -> str:
    """Raises RuntimeFault."""
    try:
        return name_of(target)
    except BadTarget as error:
        raise RuntimeFault(Situation.PARAMETER, detail=str(error)) from None


def _check_supported(live: ServedEndpoint, request: Invoke) -> None:
    """Raises RuntimeFault for a header that asks for what no variant has."""
    if EXPLANATIONS in request.headers:
        detail = f"Endpoint {live.name} has no explainer: it takes no EnableExplanations."
        raise RuntimeFault(Situation.PARAMETER, detail=detail)


def _variant_of_session(live: ServedEndpoint, request: Invoke, target: str | None) -> str | None:
    """The variant that has the request's session; None if no variant has it, or there is only one variant."""
    if len(live.production) == 1 or (session := request.headers.get(SESSION_ID)) is None:
        return None
    return next((name for name, pool in live.production.items() if knows_session(pool, target, session)), None)
