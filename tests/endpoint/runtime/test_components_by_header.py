"""A request names the inference component that it is for, by a header: the way that it takes, and the refusals."""

from dataclasses import replace

import pytest

from tests.endpoint.helpers.passages import passage
from torpor_endpoint.core.resource_records import AsyncInference, Container, CopyNeeds, Variant
from torpor_endpoint.in_service.pool import VariantPool
from torpor_endpoint.in_service.served_endpoints import LiveEndpoint, Roster
from torpor_endpoint.runtime.admitting import Router
from torpor_endpoint.runtime.errors import RuntimeFault, Situation, message_of
from torpor_endpoint.runtime.passage import Passage

HEADER = b"x-amzn-sagemaker-inference-component"
VARIANT = b"x-amzn-sagemaker-target-variant"
TARGET = b"x-amzn-sagemaker-target-model"

CAPACITY = Variant("v", "", (), instance_type="ml.m5.large")
ORDINARY = Variant("v", "m", (Container("torpor"),), instance_type="ml.m5.large")
ONE = replace(ORDINARY, name="component.one", copies=CopyNeeds("one", "v", 128))
MANY = replace(ONE, name="component.many", containers=(Container("torpor", multi_model=True),))
MANY = replace(MANY, copies=CopyNeeds("many", "v", 128))


class Sized(VariantPool):
    """A pool without instances."""

    size = 0

    def wake(self) -> None:
        raise AssertionError("nothing is woken before the request is admitted")


def router(*variants: Variant, strict: bool = False) -> Router:
    roster: Roster[Sized] = Roster()
    roster.serve(LiveEndpoint("shop", "arn", {one.name: Sized("shop", one) for one in variants}))
    return Router(roster, lambda: 0.5, strict)


def refused(router: Router, *headers: tuple[bytes, bytes], step: str = "route") -> tuple[Situation, str]:
    request = passage("shop", *headers)

    def admit() -> None:
        getattr(router, step)(request)
        router.admit(request)

    with pytest.raises(RuntimeFault) as fault:
        admit()
    return fault.value.situation, message_of(fault.value, request.place) or ""


def routed(router: Router, *headers: tuple[bytes, bytes], step: str = "route") -> Passage:
    request = passage("shop", *headers)
    getattr(router, step)(request)
    return request


@pytest.mark.parametrize("step", ["route", "route_stream"])
def test_a_request_goes_to_the_copies_of_the_component_that_it_names(step: str) -> None:
    one = router(CAPACITY, ONE, MANY)
    route = routed(one, (HEADER, b"one"), step=step).route
    assert route is not None
    assert (route.variant, route.pool.variant.copies) == ("component.one", ONE.copies)
    assert routed(one, (HEADER, b"one"), (VARIANT, b"v"), step=step).route == route


def test_its_way_is_known_as_that_of_any_request() -> None:
    one = router(CAPACITY, ONE)
    request = routed(one, (HEADER, b"one"))
    assert request.way is not None
    assert request.request is not None
    assert request.request.way is request.way


def test_a_request_for_an_adapter_goes_to_the_copies_of_its_base() -> None:
    adapted = replace(ONE, copies=CopyNeeds("one", "v", 128, adapters=(("lora", "s3://b/lora.tar.gz"),)))
    route = routed(router(CAPACITY, adapted), (HEADER, b"lora")).route
    assert route is not None
    assert route.variant == "component.one"
    assert refused(router(CAPACITY, ONE), (HEADER, b"lora"))[0] is Situation.COMPONENT_UNKNOWN


def test_an_asynchronous_request_names_its_component_too() -> None:
    later = AsyncInference("s3://b/out")
    one = router(replace(CAPACITY, asynchronous=later), replace(ONE, asynchronous=later))
    route = routed(one, (HEADER, b"one"), step="route_async").route
    assert route is not None
    assert route.variant == "component.one"
    assert refused(one, (HEADER, b"one"))[0] is Situation.PARAMETER


def test_a_component_of_many_models_needs_a_target_and_no_other_takes_one() -> None:
    one = router(CAPACITY, ONE, MANY)
    assert refused(one, (HEADER, b"many"))[0] is Situation.TARGET_MISSING
    assert refused(one, (HEADER, b"one"), (TARGET, b"a.tar.gz"))[0] is Situation.TARGET_NOT_SUPPORTED
    route = routed(one, (HEADER, b"many"), (TARGET, b"a.tar.gz")).route
    assert route is not None
    assert route.target == "a.tar.gz"


@pytest.mark.parametrize(
    ("variants", "headers", "text"),
    [
        ((CAPACITY,), [], "Inference Component Name header is required for endpoints to which you plan to deploy"),
        ((CAPACITY, ONE), [], "Inference Component Name header is required for endpoints to which you plan to deploy"),
        ((CAPACITY, ONE), [(HEADER, b"")], "Inference Component Name header is required for endpoints to which you"),
        ((ORDINARY,), [(HEADER, b"one")], "Inference Component Name header is not allowed for endpoints to which you"),
        ((CAPACITY, ONE), [(HEADER, b"two")], "Inference Component two of endpoint shop of account 123456789012 not"),
        ((CAPACITY, ONE), [(HEADER, b"one"), (VARIANT, b"w")], "Inference component one is on production variant v"),
        ((ORDINARY,), [(HEADER, b"-")], "1 validation error detected"),
    ],
)
def test_a_missing_or_wrong_header_has_awss_text(
    variants: tuple[Variant, ...], headers: list[tuple[bytes, bytes]], text: str
) -> None:
    situation, message = refused(router(*variants), *headers)
    assert (situation.code, situation.status) == ("ValidationError", 400)
    assert message.startswith(text)


def test_without_copies_a_request_is_refused_in_strict_mode_and_admitted_otherwise() -> None:
    situation, message = refused(router(CAPACITY, ONE, strict=True), (HEADER, b"one"))
    assert situation is Situation.COMPONENT_NO_CAPACITY
    assert message.startswith("Inference Component has no capacity to process this request. ApplicationAutoScaling")
    ready = router(CAPACITY, ONE)
    ready.admit(routed(ready, (HEADER, b"one")))
