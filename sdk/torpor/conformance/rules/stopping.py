"""How a container ends."""

import signal

from torpor.conformance.container import CheckedContainer
from torpor.conformance.judging import expect
from torpor.conformance.rule import Level, Source, rule


@rule(
    "stops",
    Level.MUST,
    says="The command sends the SIGTERM signal, then it sends the SIGKILL signal thirty seconds later.",
    source=Source.HOSTING,
    mend="End on SIGTERM within 30 seconds. With a shell in between, start the server by `exec`.",
    needs=("starts",),
    needs_command=True,
)
def it_ends_on_sigterm(container: CheckedContainer) -> None:
    process = container.process
    assert process is not None
    limit_s = container.limits.stop_s
    container.close()
    expect(process.ended_by(signal.SIGTERM, limit_s), f"{limit_s:g} s after SIGTERM, the container was still running")
