"""The runtime goes by the one name of a target model, by which policies are asked too."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.endpoint.helpers.fake_host import FakeHost
from tests.endpoint.helpers.passages import passage
from tests.endpoint.helpers.pool_on_fake_host import PoolOnFakeHost
from tests.endpoint.helpers.virtual_time import run
from torpor_account.core.access.needs import AccessPlace
from torpor_container.core.target_names import BadTarget, name_of
from torpor_endpoint.core.rights import invocation
from torpor_endpoint.core.sending.machine import TARGET_MODEL
from torpor_endpoint.fleet.endpoint_roster import FleetEndpoint, FleetRoster
from torpor_endpoint.runtime.admitting import Router
from torpor_endpoint.runtime.errors import RuntimeFault

PIECES = st.sampled_from(
    ["/", "//", ".", "..", "a", "b/", " ", "%2F", "\\", "\u00e9", "e\u0301", "\u00a0", "\n", "\x7f"]
)
SPELLED = st.lists(PIECES, min_size=1, max_size=6).map("".join) | st.text(min_size=1, max_size=20)
HEADERS = SPELLED.map(lambda text: text.encode(errors="surrogatepass")) | st.binary(min_size=1, max_size=8)


def routed(header: bytes) -> str | None:
    """The target of the route, or None if the request is refused for it."""
    found: list[str | None] = []

    async def story() -> None:
        with FakeHost() as host:
            roster = FleetRoster()
            roster.serve(FleetEndpoint("shop", "arn", {"v": PoolOnFakeHost(host, multi_model=True).pool}))
            sent = passage("shop", (TARGET_MODEL, header))
            try:
                Router(roster, lambda: 0.0, strict=False).route(sent)
            except RuntimeFault:
                return
            assert sent.route is not None
            found.append(sent.route.target)

    run(story())
    return found[0] if found else None


@given(HEADERS)
@example(b"/tenant-b/m")
@example(b"/./m")
@example(b"a/.hidden")
@example(b"/ m")
@example(b"//m")
@example(b"/")
@example(b"\xff")
def test_a_route_has_the_name_about_which_policies_are_asked(header: bytes) -> None:
    target = routed(header)
    try:
        name: str | None = name_of(header.decode(errors="surrogateescape"))
    except BadTarget:
        name = None
    assert target == name
    if name is not None:
        need = invocation("InvokeEndpoint", "shop", header.decode(errors="replace"), AccessPlace("1", "us-east-1"))
        assert need.keys == {"sagemaker:targetmodel": (name,)}


@pytest.mark.parametrize("header", [b"../m", b"m/..", b"a/./m", b"\xff", b" m", b"m\x00"])
def test_a_target_that_names_no_model_is_refused_by_its_rule(header: bytes) -> None:
    assert routed(header) is None
