"""How a container starts, and that it listens and accepts connections."""

import time
from contextlib import ExitStack, suppress

from torpor.conformance.container import CheckedContainer
from torpor.conformance.container_client import NoContainerAnswer
from torpor.conformance.judging import RuleBroken
from torpor.conformance.rule import LISTENS, Level, Source, rule

LOOK_S = 0.1
CONNECTIONS = 10
RECOVERY_S = 10.0


@rule(
    "starts",
    Level.MUST,
    says="If the container does not begin to pass health checks, by consistently responding with 200s, during the 8 "
    "minutes after startup, CreateEndPoint will fail.",
    source=Source.HOSTING,
    mend="Make the command serve in the foreground, and answer GET /ping with 200 within 8 minutes of its start.",
    needs_command=True,
)
def starts(container: CheckedContainer) -> None:
    process = container.process
    assert process is not None
    until_s = process.started_s + container.limits.start_s
    last = "GET /ping got no answer"
    while time.monotonic() < until_s:
        if process.has_ended:
            raise RuleBroken(f"the command ended with exit status {process.exit_status}", process.output)
        try:
            answer = container.ping()
            if answer.status == 200:
                return
            last = f"GET /ping answered {answer.status}"
        except NoContainerAnswer as error:
            last = str(error)
        time.sleep(min(LOOK_S, container.limits.start_s / 20))
    raise RuleBroken(f"not ready within {container.limits.start_s:g} s of its start: {last}", process.output)


@rule(
    LISTENS,
    Level.MUST,
    says="To receive inference requests, the container must have a web server listening on port 8080.",
    source=Source.HOSTING,
    mend="Listen on all interfaces, on port 8080 or on SAGEMAKER_BIND_TO_PORT.",
    needs=("starts",),
)
def listens(container: CheckedContainer) -> None:
    with container.client.connected(container.limits.ping_s):
        pass


@rule(
    "accepts-connections",
    Level.MUST,
    says="A customer's model containers must accept socket connection requests within 250 ms.",
    source=Source.HOSTING,
    mend="Listen with a backlog of more than a few connections (such as 128), and accept them while requests run.",
)
def connections_are_accepted_in_time(container: CheckedContainer) -> None:
    accepted = 0
    try:
        with ExitStack() as opened:
            for _ in range(CONNECTIONS):
                opened.enter_context(container.client.connected(container.limits.connect_s))
                accepted += 1
    except NoContainerAnswer as error:
        with suppress(NoContainerAnswer), container.client.connected(RECOVERY_S):
            pass  # the next rule finds a container that accepts connections again
        raise RuleBroken(f"with {accepted} connections open, the next was not accepted: {error}") from None
