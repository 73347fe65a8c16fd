"""What the answer of one of several containers says: whether the container lacked room."""

import json

import pytest

from torpor_container import wire
from torpor_container.transport.upstream import UpstreamAnswer
from torpor_endpoint.services.runtime.legs import lacked_room


def cold(*victims: str) -> list[tuple[bytes, bytes]]:
    return [(wire.COLD.lower().encode(), json.dumps({"victims": victims}).encode())]


@pytest.mark.parametrize(
    ("answer", "lacked"),
    [
        (UpstreamAnswer(200), False),
        (UpstreamAnswer(200, cold()), False),
        (UpstreamAnswer(200, cold("a.tar.gz")), True),
        (UpstreamAnswer(500), False),
        (UpstreamAnswer(507), True),
    ],
)
def test_a_container_lacked_room_if_a_model_left_or_found_no_memory(answer: UpstreamAnswer, lacked: bool) -> None:
    assert lacked_room(answer) is lacked
