"""Requests that are large, or that no container can answer with a prediction."""

from collections.abc import Iterator

from torpor.conformance.container import CheckedContainer
from torpor.conformance.judging import expect, expect_success
from torpor.conformance.limits import MIB
from torpor.conformance.rule import Level, Source, rule
from torpor.conformance.sample_inputs import JSON, Sample

UNKNOWN = "application/x-nobody-reads-this"
NO_BODY = (b"", b"\x00\xff\xfe what is this?\n")


@rule(
    "large-body",
    Level.MUST,
    says="The body of InvokeEndpoint has up to 6,291,456 bytes (BodyBlob).",
    source=Source.INVOKE,
    mend="Raise the server's limit for request bodies to 6 MiB.",
    needs=("invoke",),
)
def a_body_of_6_mib_is_taken(container: CheckedContainer) -> None:
    sample = container.material.sample.grown(container.limits.request_bytes)
    answer = container.invoke(sample)
    taken = answer.status != 413 and answer.status < 500
    expect(taken, f"a body of {len(sample.body) / MIB:.3g} MiB got {answer.status}", answer)


@rule(
    "get-refused",
    Level.SHOULD,
    says="The container must accept POST requests to the /invocations endpoint; another method gets 405.",
    source=Source.HOSTING,
    mend="Answer GET and HEAD of an invocation's path with 405 or 404.",
    needs=("load-model",),
)
def get_and_head_invoke_nothing(container: CheckedContainer) -> None:
    for method in ("GET", "HEAD"):
        answer = container.client.send(method, container.invocation_path(), within_s=container.limits.invoke_s)
        expect(400 <= answer.status < 500, f"{answer.request} answered {answer.status}, not 4xx", answer)


@rule(
    "unknown-content-type",
    Level.SHOULD,
    says="The origin server refuses a content type that it does not support with 415.",
    source=Source.HTTP,
    mend="Check Content-Type, and answer one that the container cannot read with 415.",
    needs=("invoke",),
)
def a_content_type_that_nobody_reads_is_4xx(container: CheckedContainer) -> None:
    answer = container.invoke(Sample(UNKNOWN, container.material.sample.body))
    expect(400 <= answer.status < 500, f"Content-Type: {UNKNOWN} got {answer.status}, not 415", answer)


@rule(
    "bad-body-answered",
    Level.MUST,
    says="A customer's model containers must respond to requests within 60 seconds.",
    source=Source.HOSTING,
    mend="Answer a body that cannot be read with an error: it must not end or block the worker.",
    needs=("invoke",),
)
def bad_bodies_get_an_answer(container: CheckedContainer) -> None:
    for sample in bad_samples(container):
        container.invoke(sample)


@rule(
    "bad-body-4xx",
    Level.SHOULD,
    says="SageMaker counts 4xx as the caller's errors (Invocation4XXErrors) and 5xx as the model's.",
    source=Source.TORPOR,
    mend="Answer a body that cannot be read with 400, not with the trace of an exception as 500.",
    needs=("bad-body-answered",),
)
def bad_bodies_are_the_callers_fault(container: CheckedContainer) -> None:
    for sample in bad_samples(container):
        answer = container.invoke(sample)
        expect(answer.status < 500, f"the body {sample.body[:20]!r} got {answer.status}, not 4xx", answer)


@rule(
    "bad-body-leaves-nothing",
    Level.MUST,
    says="After a request that fails, the container answers the next one; on the same connection too, if it stays.",
    source=Source.TORPOR,
    mend="Read the whole body before the answer, also when it is an error, and keep no state of a failed request.",
    needs=("bad-body-answered", "keep-alive"),
)
def after_a_bad_body_the_next_request_succeeds(container: CheckedContainer) -> None:
    good, path, limit_s = container.material.sample, container.invocation_path(), container.limits.invoke_s
    for bad in bad_samples(container):
        with container.client.connected(limit_s) as connection:
            headers = container.invocation_headers(bad)
            if not connection.send("POST", path, bad.body, headers, within_s=limit_s).closes:
                after = connection.send("POST", path, good.body, container.invocation_headers(good), within_s=limit_s)
                expect_success(after, " after a bad body on the same connection")
        expect_success(container.invoke(), " after a bad body")


def bad_samples(container: CheckedContainer) -> Iterator[Sample]:
    """Bodies that are none in the sample's type."""
    content_type = container.material.sample.content_type
    yield from (Sample(content_type, body) for body in NO_BODY)
    if content_type.startswith(JSON):
        yield Sample(content_type, b'{"instances": [')
