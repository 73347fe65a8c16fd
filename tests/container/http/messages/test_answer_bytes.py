"""Answers as bytes."""

import pytest

from torpor_container.http.messages.answer_bytes import (
    answer_head,
    chunk_frame,
    date_line,
    refusal,
    status_line,
    whole_answer,
    without_framing,
)
from torpor_container.transport.frames import BadHeaders


def lines(answer: bytes) -> list[bytes]:
    """Without the date."""
    return [line for line in answer.split(b"\r\n") if not line.startswith(b"Date: ")]


def test_a_whole_answer_has_our_own_headers_behind_the_applications() -> None:
    told = whole_answer(200, [(b"x-one", b"1")], b"ab", b"1.1", closes=True)
    own = [b"content-length: 2", b"Server: gunicorn/asgi", b"Connection: close"]
    expected = [b"HTTP/1.1 200 OK", b"x-one: 1", *own, b"", b"ab"]
    assert lines(told) == expected
    assert date_line() in told


def test_an_application_may_say_who_and_when_and_that_it_closes() -> None:
    own = [(b"Server", b"s"), (b"date", b"d"), (b"connection", b"close")]
    expected = b"HTTP/1.0 404 Not Found\r\nServer: s\r\ndate: d\r\nconnection: close\r\n\r\n"
    assert answer_head(404, own, b"1.0", closes=True) == expected


@pytest.mark.parametrize(
    "header", [(b"x", b"1\r\ny: 2"), (b"x\r\ny", b"1"), (b"x y", b"1"), (b"x", b"\0"), (b"", b"1")]
)
def test_a_header_that_would_break_its_line_is_refused(header: tuple[bytes, bytes]) -> None:
    with pytest.raises(BadHeaders):
        whole_answer(200, [header], b"", b"1.1", closes=False)
    with pytest.raises(BadHeaders):
        answer_head(200, [header], b"1.1", closes=False)


@pytest.mark.parametrize(
    ("status", "kept"), [(204, []), (100, []), (304, [b"content-length"]), (200, [b"content-length"])]
)
def test_an_answer_without_a_body_has_no_framing_that_is_forbidden(status: int, kept: list[bytes]) -> None:
    headers = [(b"content-length", b"2"), (b"transfer-encoding", b"chunked")]
    assert [name for name, _ in without_framing(headers, status)] == kept


def test_a_status_without_a_body_drops_it() -> None:
    assert whole_answer(204, [(b"content-length", b"2")], b"ab", b"1.1", closes=False).endswith(b"GMT\r\n\r\n")


def test_every_status_has_its_phrase_in_each_version_of_python() -> None:
    assert status_line(413) == b"HTTP/1.1 413 Payload Too Large\r\n"
    assert status_line(424) == b"HTTP/1.1 424 Failed Dependency\r\n"
    assert status_line(599) == b"HTTP/1.1 599 Unknown\r\n"


def test_chunks_have_their_size_before_them_and_the_last_one_ends_the_answer() -> None:
    assert chunk_frame(b"x" * 17, last=False) == (b"11\r\n", b"\r\n")
    assert chunk_frame(b"x", last=True) == (b"1\r\n", b"\r\n0\r\n\r\n")
    assert chunk_frame(b"", last=False) == (b"", b"")
    assert chunk_frame(b"", last=True) == (b"", b"0\r\n\r\n")


def test_a_refusal_is_a_whole_answer_that_ends_the_connection() -> None:
    expected = b"HTTP/1.1 431 Request Header Fields Too Large\r\nContent-Type: text/plain\r\nContent-Length: 3\r\n"
    assert refusal(431, "why") == expected + b"Connection: close\r\n\r\nwhy"
