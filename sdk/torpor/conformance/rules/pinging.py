"""Health checks of a container that has nothing else to do. `invoking` and `loading` check it while it is busy."""

from torpor.conformance.container import CheckedContainer
from torpor.conformance.judging import expect, expect_status
from torpor.conformance.rule import Level, Source, rule
from torpor_container import wire

PATIENCE = 2
"""How many times the allowed time a ping is waited for, to tell a late answer from none."""
PINGS = 3


@rule(
    "ping-200",
    Level.MUST,
    says="The simplest requirement on the container is to respond with an HTTP 200 status code and an empty body.",
    source=Source.HOSTING,
    mend="Answer GET /ping with 200 as soon as the container can answer an invocation. A redirect is not followed.",
)
def ping_answers_200(container: CheckedContainer) -> None:
    expect_status(container.get(wire.PING, within_s=PATIENCE * container.limits.ping_s), 200)


@rule(
    "ping-in-time",
    Level.MUST,
    says="The request timeout on /ping attempts is 2 seconds.",
    source=Source.HOSTING,
    mend="Do no work in /ping that can take long: report what the container knows already.",
    needs=("ping-200",),
)
def ping_answers_in_time(container: CheckedContainer) -> None:
    for _ in range(PINGS):
        answer = container.get(wire.PING, within_s=PATIENCE * container.limits.ping_s)
        late = f"GET /ping took {answer.took_s:.2g} s, more than {container.limits.ping_s:g} s"
        expect(answer.took_s <= container.limits.ping_s, late)
