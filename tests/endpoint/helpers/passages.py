"""Passages of requests as they are before a step: a test takes the step."""

from torpor_endpoint.runtime.errors import ErrorPlace
from torpor_endpoint.runtime.passage import CallLimits, Passage, Route
from torpor_endpoint.runtime.request import Invoke


def passage(
    endpoint: str, *headers: tuple[bytes, bytes], route: Route | None = None, limits: CallLimits | None = None
) -> Passage:
    """The passage of a request without a body, parsed, and routed if a route is given."""
    scope = {"type": "http", "headers": list(headers), "path": f"/endpoints/{endpoint}/invocations"}
    place = ErrorPlace(endpoint, "123456789012", "us-east-1")
    begun = Passage(scope, place, limits or CallLimits(), 0.0, 0.0, request_id="1")
    begun.request, begun.route = Invoke.read(scope), route
    return begun
