"""The lines and keys of captured requests, as SageMaker's readers expect them."""

import json
from base64 import b64decode
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from torpor_endpoint.core.capture import (
    HEADS_MAX,
    PIECE,
    UNKNOWN_TYPE,
    CapturedBody,
    CapturedRequest,
    CapturedStream,
    Encoding,
    LineEncoder,
    encoding_of,
    file_name,
    key_prefix,
)
from torpor_endpoint.core.resource_records import DataCapture

CAPTURE = DataCapture(
    "s3://bucket/captured/", 100, csv_types=("text/csv",), json_types=("application/json", "application/x-LINES")
)
AT_S = 1_790_000_000.0625  # 2026-09-21T14:13:20Z


def request(body: CapturedBody | None, answer: CapturedBody | None = None, **metadata: Any) -> CapturedRequest:
    return CapturedRequest(CAPTURE, "Shop", "blue", "event-1", AT_S, body, answer, **metadata)


def read(one: CapturedRequest) -> Any:
    """The record of the one line."""
    written = "".join(LineEncoder(CAPTURE).line(one))
    assert written.isascii()
    assert written.endswith("\n")
    assert written.count("\n") == 1
    return json.loads(written)


def test_a_line_has_the_form_of_the_developer_guide() -> None:
    answer = CapturedBody("text/csv; charset=utf-8", [b"0.01", b"73"])
    assert read(request(CapturedBody("text/csv", [b"132,25"]), answer)) == {
        "captureData": {
            "endpointInput": {
                "observedContentType": "text/csv",
                "mode": "INPUT",
                "data": "132,25",
                "encoding": "CSV",
            },
            "endpointOutput": {
                "observedContentType": "text/csv; charset=utf-8",
                "mode": "OUTPUT",
                "data": "0.0173",
                "encoding": "CSV",
            },
        },
        "eventMetadata": {"eventId": "event-1", "inferenceTime": "2026-09-21T14:13:20Z"},
        "eventVersion": "0",
    }


def test_only_the_captured_sides_appear() -> None:
    body = CapturedBody("text/csv", [b"1"])
    assert list(read(request(body, None))["captureData"]) == ["endpointInput"]
    assert list(read(request(None, body))["captureData"]) == ["endpointOutput"]


def test_the_metadata_has_what_the_caller_sent() -> None:
    sent = {"custom_attributes": "trace=7", "inference_id": "id-1", "target_model": "é.tar.gz"}
    metadata = read(request(CapturedBody("text/csv", []), None, **sent))["eventMetadata"]
    assert metadata["customAttributes"] == ["trace=7"]
    assert (metadata["inferenceId"], metadata["torporTargetModel"]) == ("id-1", "é.tar.gz")


def test_the_metadata_has_the_version_of_the_model_and_the_end_of_a_stream() -> None:
    artifact = {"model_version": '"5d41"', "model_digest": "c0ffee"}
    metadata = read(request(CapturedBody("text/csv", []), None, **artifact))["eventMetadata"]
    assert metadata["torporModelDigest"] == "c0ffee"
    assert "torporChoice" not in metadata
    metadata_of_group = read(request(CapturedBody("text/csv", []), None, choice="group=digits"))["eventMetadata"]
    assert metadata_of_group["torporChoice"] == "group=digits"
    assert (metadata["torporModelVersion"], metadata.keys() & {"torporStream", "torporOutputCut"}) == ('"5d41"', set())
    ended = {"stream": CapturedStream.CALLER_LEFT, "cut": True}
    metadata = read(request(CapturedBody("text/csv", []), None, **ended))["eventMetadata"]
    assert (metadata["torporStream"], metadata["torporOutputCut"]) == ("CallerLeft", True)


@given(st.text(min_size=1), st.data())
def test_a_text_that_was_cut_stays_a_text_up_to_its_last_whole_character(text: str, data: st.DataObject) -> None:
    whole = text.encode()
    kept = whole[: data.draw(st.integers(0, len(whole)))]
    side = read(request(None, CapturedBody("text/csv", [kept], broken=True)))["captureData"]["endpointOutput"]
    assert (side["encoding"], text.startswith(side["data"])) == ("CSV", True)
    assert len(kept) - len(side["data"].encode()) < 4


@pytest.mark.parametrize("letter", ["a", "\x7f", "\x80", "\u07ff", "\u0800", "\uffff", "\U00010000", "\U0010ffff"])
def test_a_text_that_was_cut_loses_the_begun_character_and_no_other(letter: str) -> None:
    whole = f"1,{letter}{letter}".encode()
    for end in range(len(whole) + 1):
        side = read(request(CapturedBody("text/csv", [whole[:end]], broken=True)))["captureData"]["endpointInput"]
        assert (side["encoding"], side["data"]) == ("CSV", whole[:end].decode(errors="ignore"))


def test_the_words_of_records_are_those_that_their_readers_know() -> None:
    assert [one.value for one in Encoding] == ["CSV", "JSON", "BASE64"]
    assert [one.value for one in CapturedStream] == ["Complete", "Failed", "CallerLeft"]
    assert UNKNOWN_TYPE == "application/octet-stream"
    metadata = read(request(CapturedBody("text/csv", []), None, face="v2", choice="cheapest"))["eventMetadata"]
    assert (metadata["torporFace"], metadata["torporChoice"]) == ("v2", "cheapest")


def test_an_encoder_writes_the_time_of_each_record_and_forgets_content_types() -> None:
    encoder, body = LineEncoder(CAPTURE), CapturedBody("text/csv", [])
    times = [
        json.loads("".join(encoder.line(request(body)._replace(at_s=at_s))))["eventMetadata"]["inferenceTime"]
        for at_s in (-2.0, 0.0, 1.0, 1.5, 2.0)
    ]
    assert [time[-4:] for time in times] == [":58Z", ":00Z", ":01Z", ":01Z", ":02Z"]
    for at_s in (-1.0, 0.0, 1.0):
        first = json.loads("".join(LineEncoder(CAPTURE).line(request(body)._replace(at_s=at_s))))
        assert len(first["eventMetadata"]["inferenceTime"]) == len("1970-01-01T00:00:00Z")
    for number in range(3 * HEADS_MAX):
        list(encoder.line(request(CapturedBody(f"text/{number}", []))))
        assert len(encoder._heads) <= HEADS_MAX


@given(st.binary())
def test_a_cut_body_that_is_no_text_keeps_every_byte(kept: bytes) -> None:
    side = read(request(None, CapturedBody("image/png", [kept], broken=True)))["captureData"]["endpointOutput"]
    assert b64decode(side["data"]) == kept


@pytest.mark.parametrize(
    ("content_type", "encoding"),
    [
        ("text/csv", Encoding.CSV),
        ("Text/CSV ; charset=utf-8", Encoding.CSV),
        ("application/json", Encoding.JSON),
        ("application/x-lines", Encoding.JSON),
        ("text/csvx", Encoding.BASE64),
        ("", Encoding.BASE64),
    ],
)
def test_the_content_type_without_its_parameters_decides_the_encoding(content_type: str, encoding: Encoding) -> None:
    assert encoding_of(content_type, CAPTURE) is encoding


@given(st.lists(st.binary()), st.sampled_from(["text/csv", "application/json", "image/png"]))
def test_every_body_can_be_read_back(chunks: list[bytes], content_type: str) -> None:
    side = read(request(None, CapturedBody(content_type, chunks)))["captureData"]["endpointOutput"]
    binary = side["encoding"] == "BASE64"
    assert (b64decode(side["data"]) if binary else side["data"].encode()) == b"".join(chunks)
    assert binary or content_type != "image/png"


@pytest.mark.parametrize("content_type", ["text/csv", "image/png"])
def test_a_large_body_is_encoded_in_pieces(content_type: str) -> None:
    whole = ("€1," * PIECE).encode()
    pieces = list(LineEncoder(CAPTURE).line(request(CapturedBody(content_type, [whole]))))
    assert max(map(len, pieces)) <= 6 * PIECE
    side = json.loads("".join(pieces))["captureData"]["endpointInput"]
    assert (b64decode(side["data"]) if content_type == "image/png" else side["data"].encode()) == whole


def test_a_text_that_is_not_utf_8_is_kept_in_base64() -> None:
    side = read(request(CapturedBody("text/csv; charset=latin-1", [b"\xe9"])))["captureData"]["endpointInput"]
    assert (side["encoding"], b64decode(side["data"])) == ("BASE64", b"\xe9")


@pytest.mark.parametrize(
    ("destination", "prefix"),
    [
        ("s3://bucket/MAX", "MAX/"),
        ("s3://bucket/captured", "captured/"),
        ("s3://bucket/a/b/", "a/b/"),
        ("s3://bucket", ""),
        ("s3://bucket/", ""),
    ],
)
def test_the_key_names_endpoint_variant_and_hour(destination: str, prefix: str) -> None:
    one = CapturedRequest(DataCapture(destination, 100), "Shop", "blue", "event-1", AT_S, None, None)
    assert key_prefix(one) == ("bucket", f"{prefix}Shop/blue/2026/09/21/14/")
    assert file_name(AT_S, "uuid") == "13-20-062-uuid.jsonl"
    assert file_name(1.999_999, "uuid") == "00-01-999-uuid.jsonl"
    assert file_name(1.5, "uuid") == "00-01-500-uuid.jsonl"
