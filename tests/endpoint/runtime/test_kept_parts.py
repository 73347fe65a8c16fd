"""What is kept of streams in progress, and when they are cut."""

from torpor_endpoint.runtime.kept_parts import KeptLimits, KeptStreams

LIMITS = KeptLimits(stream_bytes=4, streams_bytes=10)


def kept(*parts: bytes, streams: KeptStreams | None = None, request_bytes: int = 0) -> tuple[bytes, bool]:
    one = (streams or KeptStreams(LIMITS)).begin(request_bytes)
    assert one is not None
    for part in parts:
        one.add(part)
    (joined,) = one.chunks()
    return joined, one.cut


def test_the_parts_are_joined() -> None:
    assert kept(b"one", b"", b"2") == (b"one2", False)
    assert kept() == (b"", False)


def test_parts_beyond_the_bound_of_a_stream_are_cut_and_none_is_left_out_between_two() -> None:
    assert kept(b"one", b"two", b"") == (b"onet", True)
    assert kept(b"one", b"two", b"x") == (b"onet", True)


def test_all_streams_share_a_bound_with_the_bodies_of_their_requests() -> None:
    streams = KeptStreams(LIMITS)
    assert kept(b"1234", streams=streams, request_bytes=3) == (b"1234", False)
    assert streams.begin(4) is None
    assert kept(b"1234", streams=streams) == (b"123", True)
    assert kept(b"1", streams=streams) == (b"", True)


def test_a_stream_that_has_ended_leaves_its_room_to_others() -> None:
    streams = KeptStreams(LIMITS)
    for _ in range(3):
        one = streams.begin(6)
        assert one is not None
        one.add(b"1234")
        assert (streams.room_bytes, streams.begin(1)) == (0, None)
        one.close()
        one.close()
        assert streams.room_bytes == 10
