"""Inference pipelines: several containers on one instance, each of which answers the next one's request."""

from torpor.conformance.container import CheckedContainer
from torpor.conformance.judging import RuleBroken, expect, skip
from torpor.conformance.rule import PIPELINE, Level, Source, rule
from torpor.conformance.started_container import PORT


@rule(
    "bind-to-port",
    Level.MUST,
    says="The containers in a pipeline listen on the port specified in the SAGEMAKER_BIND_TO_PORT environment variable "
    "(instead of 8080).",
    source=Source.PIPELINE,
    mend="Listen on SAGEMAKER_BIND_TO_PORT if it is set, and label the image accept-bind-to-port=true.",
    uses=PIPELINE,
    needs=("starts",),
    needs_command=True,
)
def it_listens_on_the_port_that_it_is_told(container: CheckedContainer) -> None:
    process = container.process
    assert process is not None
    if process.names_port:
        skip(f"the command has {PORT} in it, so the port may come from there")
    if container.client.port != process.bound_port:
        raise RuleBroken(f"SAGEMAKER_BIND_TO_PORT is {process.bound_port}, and it listens on {container.client.port}")


@rule(
    "answer-content-type",
    Level.SHOULD,
    says="The answer of a container in a pipeline is the next one's request: its Content-Type says what it is.",
    source=Source.TORPOR,
    mend="Send Content-Type with each answer.",
    uses=PIPELINE,
    needs=("invoke",),
)
def an_answer_names_its_type(container: CheckedContainer) -> None:
    answer = container.invoke()
    expect(bool(answer.content_type), "the answer to an invocation has no Content-Type", answer)


@rule(
    "answer-size",
    Level.MUST,
    says="The request payload from one container to the next must not exceed the maximum limit of 5 MB.",
    source=Source.PIPELINE_TROUBLE,
    mend="Make the answer smaller than 5 MB, or split the request.",
    uses=PIPELINE,
    needs=("invoke",),
)
def an_answer_fits_the_next_request(container: CheckedContainer) -> None:
    size = len(container.invoke().body)
    expect(
        size <= container.limits.hop_bytes, f"the answer has {size:,} bytes, more than {container.limits.hop_bytes:,}"
    )
