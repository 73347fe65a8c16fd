"""The way of a request through the containers of an instance: one leg for each container that it passes. No I/O.

A variant of one container is the case of one leg. In an inference pipeline (Serial) the answer of one container is the
body of the next: its chunks are handed on as they are. "SageMaker handles invocations as a sequence of HTTP requests."
In a direct variant, a request names the one container that it goes to.
"""

import json

from torpor_container import wire
from torpor_container.transport.upstream import UpstreamAnswer, size_of
from torpor_endpoint.core.records import Variant
from torpor_endpoint.runtime.errors import RuntimeFault, Situation
from torpor_endpoint.runtime.passage import ONLY, Leg, Passage, Route, Served, Trail, parsed, routed
from torpor_endpoint.runtime.request import (
    ACCEPT,
    CONTENT_TYPE,
    CUSTOM_ATTRIBUTES,
    TARGET_CONTAINER,
    Invoke,
)

CARRIED = (CONTENT_TYPE, CUSTOM_ATTRIBUTES)
"""The headers of an answer that the next container gets in place of the caller's."""
COLD = wire.COLD.lower().encode()
NO_MEMORY = 507
"""AWS: "If there is not enough memory, the container must return an HTTP 507"."""
NOTED = frozenset(
    name.lower().encode()
    for name in (wire.COLD, wire.MODEL_CACHE, wire.ARTIFACT_VERSION, wire.NEW_SESSION_ID, wire.CLOSED_SESSION_ID)
)
"""The headers of an answer that the endpoint reads at the end, from whichever container they are."""
VERSION_WANTED = (wire.ARTIFACT_VERSION.lower().encode(), wire.ARTIFACT_VERSION_WANTED.encode())
STRICT_HOP_BYTES = 5 * 1024 * 1024
"""AWS's largest body between two containers. Otherwise each container has its own limit for bodies."""


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


def current_leg(passage: Passage) -> Leg:
    """The part to send next."""
    trail = passage.trail
    return trail.leg if trail is not None and trail.leg is not None else first_leg(passage)


def first_leg(passage: Passage) -> Leg:
    """The part of the first container. The passage has a route."""
    request, route = parsed(passage), routed(passage)
    variant, path, margin_s = route.pool.variant, route.path, passage.limits.attempt_margin_s
    place = path[0]
    headers = request.forwarded(route.target if variant.containers[place].multi_model else None)
    if passage.wants_version and place == _versioned(variant, path):
        headers.append(VERSION_WANTED)
    if len(variant.containers) > 1:
        _begin(passage, route, 0)
        if len(path) > 1:
            headers = [header for header in headers if header[0] != ACCEPT]
    if passage.trace is not None:
        headers += passage.trace.headers(0)
    return Leg(0, place, headers, passage.body, route.pool.answer_within_s[place] + margin_s)


def next_leg(passage: Passage, leg: Leg, answer: UpstreamAnswer, strict: bool) -> Leg | None:
    """The part of the container that follows; None if the answer is the caller's: the last one, or a failure.

    Raises RuntimeFault for an answer that is too large for it.
    """
    request, route, trail = parsed(passage), routed(passage), passage.trail
    if trail is None:
        return None
    step, path = leg.step + 1, route.path
    if step == len(path) or not 200 <= answer.status < 300:
        return None
    containers = route.pool.variant.containers
    container = containers[path[step]]
    if strict and (size_bytes := size_of(answer.chunks)) > STRICT_HOP_BYTES:
        raise RuntimeFault(
            Situation.HOP_OVERSIZE,
            original=(answer.status, ""),
            container=containers[leg.container].name,
            following=container.name,
            status=answer.status,
            size=size_bytes,
        )
    trail.noted += [header for header in answer.headers if header[0] in NOTED]
    carried = {name: value for name, value in answer.headers if name in CARRIED}
    own = {CONTENT_TYPE, *carried} if step == len(path) - 1 else {CONTENT_TYPE, ACCEPT, *carried}
    forwarded = request.forwarded(route.target if container.multi_model else None)
    headers = [header for header in forwarded if header[0] not in own] + list(carried.items())
    if passage.wants_version and path[step] == _versioned(route.pool.variant, path):
        headers.append(VERSION_WANTED)
    if passage.trace is not None:
        headers += passage.trace.headers(step)
    _begin(passage, route, step)
    timeout_s = route.pool.answer_within_s[path[step]] + passage.limits.attempt_margin_s
    return Leg(step, path[step], headers, answer.chunks, timeout_s)


def _versioned(variant: Variant, path: tuple[int, ...]) -> int:
    """The container whose model's version is the request's: the one that serves many models, or else the last one."""
    return next((place for place in path if variant.containers[place].multi_model), path[-1])


def _begin(passage: Passage, route: Route, step: int) -> None:
    """Errors name the container from now on."""
    if passage.trail is None:
        passage.trail = Trail()
    name = route.pool.variant.containers[route.path[step]].name
    passage.place = passage.place._replace(container=name)


def note(passage: Passage, leg: Leg, served: Served) -> Served:
    """Note what a container did, and return the outcome of all containers so far."""
    route, trail = routed(passage), passage.trail
    if trail is None:
        return served
    name = route.pool.variant.containers[leg.container].name
    trail.seconds[name] = trail.seconds.get(name, 0.0) + served.sent_s
    if leg.step < len(route.path) - 1 and 200 <= served.answer.status < 300:
        passage.measured(served.answer)
        return served
    served.answer.headers.extend(_missing(served.answer, trail))
    return served._replace(sent_s=sum(trail.seconds.values()))


def lacked_room(answer: UpstreamAnswer) -> bool:
    """Whether a container found no memory for a request, or a model left for the model of this request."""
    if answer.status == NO_MEMORY:
        return True
    cold = answer.header(COLD)
    return cold is not None and bool(json.loads(cold)["victims"])


def _missing(answer: UpstreamAnswer, trail: Trail) -> list[tuple[bytes, bytes]]:
    present = {name for name, _ in answer.headers}
    return [header for header in trail.noted if header[0] not in present]
