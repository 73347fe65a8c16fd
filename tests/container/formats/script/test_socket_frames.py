"""Frames carry any contents, and malformed frames are refused."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.memory import peak_bytes
from torpor_container.errors import PredictionFailed
from torpor_container.formats.script import child_main, socket_frames
from torpor_container.formats.script.socket_frames import BadFrame, FrameKind, ScriptFrame


@given(
    st.sampled_from(FrameKind), st.dictionaries(st.sampled_from(["accept", "type"]), st.text()), st.binary(max_size=300)
)
def test_an_encoded_frame_is_decoded_unchanged(kind: FrameKind, fields: dict[str, str], body: bytes) -> None:
    message = socket_frames.encode(ScriptFrame(kind, fields, body))
    prefix, rest = message[: socket_frames.PREFIX.size], message[socket_frames.PREFIX.size :]
    head_bytes, body_bytes = socket_frames.sizes(prefix)
    assert len(rest) == head_bytes + body_bytes
    assert socket_frames.decode(rest[:head_bytes], rest[head_bytes:]) == ScriptFrame(kind, fields, body)


@pytest.mark.parametrize("sizes", [(socket_frames.HEAD_MAX + 1, 0), (0, socket_frames.BODY_MAX + 1)])
def test_a_frame_that_claims_too_much_is_refused(sizes: tuple[int, int]) -> None:
    with pytest.raises(BadFrame):
        socket_frames.sizes(socket_frames.PREFIX.pack(*sizes))


@pytest.mark.parametrize("head", [b"", b"{", b"[]", b'{"kind": "dance"}', b"{}", b"\xff", b"[" * 60_000])
def test_a_head_that_is_none_is_refused(head: bytes) -> None:
    with pytest.raises(BadFrame):
        socket_frames.decode(head, b"")


@pytest.mark.parametrize("told", ["nan nan nan", "inf 0.0 0.0", "-1.0 0.0 0.0"])
def test_an_effort_that_nothing_takes_is_no_frame(told: str) -> None:
    with pytest.raises(BadFrame, match="effort"):
        socket_frames.effort_of(ScriptFrame(FrameKind.REPLY, {socket_frames.EFFORT: told}))


def test_a_failure_message_that_is_not_valid_unicode_is_escaped() -> None:
    failure = PredictionFailed("no such city: \ud800")
    assert child_main._error(FrameKind.FAILED, failure).body == b"no such city: \\ud800"
    assert failure.reply().body == b"no such city: \\ud800"


@given(st.lists(st.binary(max_size=300), max_size=6), st.integers(1, 40))
def test_frames_are_found_however_they_come_in(bodies: list[bytes], piece_bytes: int) -> None:
    sent = [ScriptFrame(FrameKind.PART, {}, body) for body in bodies]
    data = b"".join(map(socket_frames.encode, sent))
    buffer = socket_frames.FrameBuffer()
    found = [frame for at in range(0, len(data), piece_bytes) for frame in buffer.feed(data[at : at + piece_bytes])]
    assert found == sent


def test_a_large_frame_is_joined_once() -> None:
    """Its pieces are not copied again and again: else a large answer takes a time that grows with its square."""
    body = bytes(64 * 1024 * 1024)
    data = memoryview(socket_frames.encode(ScriptFrame(FrameKind.REPLY, {}, body)))
    piece_bytes = 16 * 1024

    def fed() -> None:
        buffer = socket_frames.FrameBuffer()
        for at in range(0, len(data) - piece_bytes, piece_bytes):
            assert buffer.feed(bytes(data[at : at + piece_bytes])) == []

    assert peak_bytes(fed) < 1.2 * len(body)
