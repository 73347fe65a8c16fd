"""Headers of invocations: those that SageMaker passes to a container, and those that it passes back."""

from torpor.conformance.container import CheckedContainer
from torpor.conformance.judging import expect, expect_success, skip
from torpor.conformance.rule import Level, Source, rule
from torpor_container import wire

ATTRIBUTES_MAX = 1024
"""InvokeEndpoint: "no more than 1024 visible US-ASCII characters"."""
OTHER_HEADERS = {
    wire.INFERENCE_ID: "i" * 64,
    wire.TARGET_VARIANT: "AllTraffic",
    wire.PREFIX_AWARE_ID: "p" * 64,
    "X-Amzn-SageMaker-Added-Later": "1",
    "X-Amzn-Trace-Id": "Root=1-67891233-abcdef012345678912345678",
    "X-Forwarded-For": "203.0.113.7",
}


@rule(
    "added-headers",
    Level.MUST,
    says="SageMaker might add additional headers. Inference containers must be able to safely ignore these additional "
    "headers.",
    source=Source.HOSTING,
    mend="Ignore request headers that the container does not know.",
    needs=("invoke",),
)
def added_headers_are_ignored(container: CheckedContainer) -> None:
    expect_success(container.invoke(headers=OTHER_HEADERS), " with headers that SageMaker may add")


@rule(
    "custom-attributes-accepted",
    Level.MUST,
    says="The value must consist of no more than 1024 visible US-ASCII characters.",
    source=Source.INVOKE,
    mend="Accept X-Amzn-SageMaker-Custom-Attributes with any 1024 visible characters.",
    needs=("invoke",),
)
def custom_attributes_are_accepted(container: CheckedContainer) -> None:
    visible = "".join(map(chr, range(0x21, 0x7F))) * 11
    answer = container.invoke(headers={wire.CUSTOM_ATTRIBUTES: visible[:ATTRIBUTES_MAX]})
    expect_success(answer, f" with {ATTRIBUTES_MAX} characters of custom attributes")


@rule(
    "custom-attributes-answered",
    Level.MUST,
    says="If the customer wants the custom attribute returned, the model must set the custom attribute to be included "
    "on the way back.",
    source=Source.INVOKE,
    mend="Answer X-Amzn-SageMaker-Custom-Attributes with at most 1024 visible US-ASCII characters, or without it.",
    needs=("invoke",),
)
def answered_custom_attributes_can_be_passed_on(container: CheckedContainer) -> None:
    answer = container.invoke(headers={wire.CUSTOM_ATTRIBUTES: "trace=7"})
    value = answer.headers.get(wire.CUSTOM_ATTRIBUTES.lower(), "")
    shown = f"{wire.CUSTOM_ATTRIBUTES} of the answer"
    expect(len(value) <= ATTRIBUTES_MAX, f"{shown} has {len(value)} characters, more than {ATTRIBUTES_MAX}")
    expect(all(" " <= letter <= "~" for letter in value), f"{shown} has a character that is not visible US-ASCII")


@rule(
    "accept-own-type",
    Level.SHOULD,
    says="Accept: the desired MIME type of the inference response from the model container.",
    source=Source.INVOKE,
    mend="Answer in the type that Accept names, if the container can make it.",
    needs=("invoke",),
)
def accept_of_its_own_type_gets_that_type(container: CheckedContainer) -> None:
    own = container.invoke().content_type
    if not own:
        skip("the answer has no Content-Type")
    answer = container.invoke(headers={"Accept": own})
    expect_success(answer, f" with Accept: {own}, the type of its own answer,")
    expect(answer.content_type == own, f"Accept: {own} was answered as {answer.content_type or 'no type'}", answer)


@rule(
    "accept-unknown-type",
    Level.SHOULD,
    says="A request that asks for a type that a server cannot make gets 406, or another type.",
    source=Source.HTTP,
    mend="Answer an Accept that the container cannot meet with 406, or with the type that it has.",
    needs=("invoke",),
)
def accept_of_an_unknown_type_is_no_5xx(container: CheckedContainer) -> None:
    answer = container.invoke(headers={"Accept": "application/x-nobody-makes-this"})
    expect(answer.status < 500, f"an Accept of an unknown type got {answer.status}", answer)
