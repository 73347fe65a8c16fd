"""Frames are read as they were written, however their bytes are cut."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.container.helpers.read_frames import NamingReader, ReadFrame
from torpor_container.transport.frames import (
    BODY_MAX_BYTES,
    HEAD_MAX_BYTES,
    START,
    UPGRADE,
    BadHeaders,
    FrameTooLong,
    encoded,
    lines,
    upgrade,
    valid_lines,
)

NAMES = st.from_regex(rb"[a-z][a-z0-9-]{0,20}", fullmatch=True)
VALUES = st.from_regex(rb"[ -~\x80-\xff]{0,40}", fullmatch=True)
FRAMES = st.builds(
    ReadFrame,
    st.integers(0, 2**32 - 1),
    st.integers(0, 599),
    st.lists(st.tuples(NAMES, VALUES), max_size=4).map(valid_lines),
    st.binary(max_size=200),
)


@given(st.lists(FRAMES, max_size=6), st.lists(st.integers(1, 60), max_size=40))
def test_frames_are_read_as_they_were_however_their_bytes_are_cut(frames: list[ReadFrame], cuts: list[int]) -> None:
    sent = b"".join(encoded(*one) for one in frames)
    reader, read = NamingReader(), list[ReadFrame]()
    for cut in cuts:
        read += reader.read(sent[:cut])
        sent = sent[cut:]
    read += reader.read(sent)
    assert read == frames


def test_a_frame_that_comes_in_parts_is_not_copied_with_each_of_them() -> None:
    body = bytes(64 * 1024 * 1024)
    sent, reader = encoded(7, 200, b"", body), NamingReader()
    parts = [list(reader.read(sent[at : at + 65_536])) for at in range(0, len(sent), 65_536)]
    assert parts[:-1] == [[]] * (len(parts) - 1)  # 1,024 parts: copied with each of them it were 32 GiB
    assert parts[-1] == [ReadFrame(7, 200, b"", body)]


@pytest.mark.parametrize(
    ("head_bytes", "body_bytes"), [(HEAD_MAX_BYTES + 1, 0), (0, BODY_MAX_BYTES + 1), (0, 2**32 - 1)]
)
def test_a_frame_that_is_too_long_is_refused_at_its_head(head_bytes: int, body_bytes: int) -> None:
    sent = encoded(1, 200, b"", b"whole") + START.pack(2, 200, head_bytes, body_bytes)
    frames = NamingReader().read(sent)
    assert next(frames).body == b"whole"
    with pytest.raises(FrameTooLong, match=str(max(head_bytes, body_bytes))):
        next(frames)


@pytest.mark.parametrize("value", [b"1\r\nx-two: 2", b"1\n", b"1\r", b"\x00"])
def test_a_value_that_would_break_its_line_is_refused(value: bytes) -> None:
    with pytest.raises(BadHeaders, match="x-one"):
        valid_lines([(b"x-one", value)])


@pytest.mark.parametrize("name", [b"", b"x one", b"x:one", b"x-one\r\n"])
def test_a_name_that_is_no_token_is_refused(name: bytes) -> None:
    with pytest.raises(BadHeaders):
        valid_lines([(name, b"1")])


def test_headers_are_lines_as_in_http() -> None:
    assert lines([(b"accept", b"text/csv"), (b"x-one", b"")]) == b"accept: text/csv\r\nx-one: \r\n"


@pytest.mark.parametrize("path", ["/invocations", "/a/b/invocations"])
def test_an_upgrade_names_the_path_of_its_requests(path: str) -> None:
    asked = UPGRADE.fullmatch(upgrade(path))
    assert asked is not None
    assert asked[1] == path.encode()
