"""How often the endpoint starts a router that ends."""

from torpor_endpoint.routing.control.local_routers import PAUSE_MAX_S, PAUSE_S, pause_s


def test_a_router_that_ends_at_once_again_and_again_is_started_after_longer_and_longer_pauses() -> None:
    assert [pause_s(ends) for ends in range(9)] == [1.0, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 60.0, 60.0]
    assert pause_s(0) == PAUSE_S
    assert pause_s(10**6) == PAUSE_MAX_S
