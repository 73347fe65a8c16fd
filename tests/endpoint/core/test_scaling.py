"""How many instances: sleep when nobody calls, wake when somebody does, and only where that is allowed."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from torpor_endpoint.core.scaling import Seen, at_start, desired, may_sleep
from torpor_endpoint.records import Container, Serverless, Variant

PLAIN = Variant("AllTraffic", "houses", Container("torpor"), instance_type="ml.m5.large", instance_count=2)
TO_ZERO = replace(PLAIN, instances_min=0)
SERVERLESS = Variant("AllTraffic", "houses", Container("torpor"), serverless=Serverless(1024, 20))
IDLE_S = 60.0

traffic = st.builds(Seen, in_flight=st.integers(0, 50), last_request_s=st.floats(0, 1000), now_s=st.floats(1000, 5000))


@given(traffic, st.integers(0, 5))
def test_a_plain_variant_never_sleeps(seen: Seen, present: int) -> None:
    assert desired(PLAIN, present, seen, IDLE_S) == present


@given(traffic, st.integers(0, 5), st.sampled_from([TO_ZERO, SERVERLESS]))
def test_who_may_sleep_is_at_zero_only_when_idle_for_long(seen: Seen, present: int, variant: Variant) -> None:
    wanted = desired(variant, present, seen, IDLE_S)
    if seen.in_flight:
        assert wanted >= 1
    elif seen.now_s - seen.last_request_s >= IDLE_S:
        assert wanted == 0
    else:
        assert wanted == present


def test_provisioned_concurrency_keeps_awake() -> None:
    provisioned = replace(SERVERLESS, serverless=Serverless(1024, 20, provisioned_concurrency=3))
    assert not may_sleep(provisioned)
    assert at_start(provisioned) == desired(provisioned, 3, Seen(0, 0.0, 1e6), IDLE_S) == 3


def test_a_variant_told_to_have_none_has_none() -> None:
    assert at_start(replace(TO_ZERO, instance_count=0)) == 0
    assert at_start(SERVERLESS) == 1
