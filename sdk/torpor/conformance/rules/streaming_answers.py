"""Response streaming: answers in chunks, which leave the container as they are made."""

from torpor.conformance.container import CheckedContainer
from torpor.conformance.container_client import ContainerAnswer
from torpor.conformance.judging import expect, expect_success, skip
from torpor.conformance.rule import STREAMING, Level, Source, rule

SEEN_S = 0.1
"""An answer that is whole sooner is too short to tell whether its first part came before its end."""
EARLY_SHARE = 0.9
"""The first part has to come within this share of the whole answer's time."""


@rule(
    "stream-chunked",
    Level.MUST,
    says="The inference stream provides the response payload incrementally as a series of parts.",
    source=Source.STREAM,
    mend="Answer with Transfer-Encoding: chunked and without Content-Length.",
    uses=STREAMING,
    needs=("invoke",),
)
def a_stream_comes_in_chunks(container: CheckedContainer) -> None:
    answer = streamed(container)
    encoding = answer.headers.get("transfer-encoding", "")
    expect("chunked" in encoding.lower(), "the answer is not chunked", answer)


@rule(
    "stream-first-part",
    Level.MUST,
    says="The inference stream provides the response payload incrementally as a series of parts.",
    source=Source.STREAM,
    mend="Flush each part as it is made: no buffer of the framework or of a proxy may hold it until the end.",
    uses=STREAMING,
    needs=("stream-chunked",),
)
def the_first_part_comes_before_the_end(container: CheckedContainer) -> None:
    answer = streamed(container)
    early = answer.first_s <= EARLY_SHARE * answer.took_s
    if not early and answer.took_s < SEEN_S:
        skip(f"the stream took {1000 * answer.took_s:.0f} ms: give a longer one with --stream-body FILE")
    expect(early, f"the first byte came after {answer.first_s:.2g} s of {answer.took_s:.2g} s: nothing was streamed")


def streamed(container: CheckedContainer) -> ContainerAnswer:
    answer = container.invoke(container.material.stream)
    expect_success(answer, " to --stream-body" if container.material.stream else "")
    return answer
