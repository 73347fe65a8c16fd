"""Where uploads go, and what they do to an object that is there already: against the endpoint's own S3."""

from pathlib import Path

import pytest
from botocore.exceptions import ClientError

import torpor
from tests.sdk.helpers.answering_endpoint import Asked, Told, answering
from torpor.errors import TorporError, ValueRefused
from torpor.uploads.storing import PlannedUpload, Stored, UploadPlace, keys, planned, upload


@pytest.mark.parametrize(
    ("url", "place"),
    [
        ("s3://bucket", UploadPlace("bucket")),
        ("s3://bucket/", UploadPlace("bucket")),
        ("s3://bucket/a/b", UploadPlace("bucket", "a/b/")),
        ("s3://bucket/a/b/", UploadPlace("bucket", "a/b/")),
    ],
)
def test_a_place_is_a_bucket_and_a_prefix_that_ends_with_a_slash(url: str, place: UploadPlace) -> None:
    assert UploadPlace.of(url) == place


@pytest.mark.parametrize("url", ["bucket/a", "s3://", "s3:///a", "https://bucket/a"])
def test_another_place_is_refused(url: str) -> None:
    with pytest.raises(ValueRefused, match="name one as s3://bucket/prefix/"):
        UploadPlace.of(url)


def test_an_upload_makes_the_bucket_and_knows_what_is_there(endpoint: torpor.Local, tmp_path: Path) -> None:
    s3, place = endpoint.client("s3"), UploadPlace("uploads-of-storing", "a/")
    sent: list[int] = []
    file = tmp_path / "model"
    file.write_bytes(b"one")
    assert keys(s3, place) == []
    first = planned(s3, place, [(file, "m")], force=False)
    assert first == [PlannedUpload(file, "m", Stored.NEW)]
    upload(s3, place, first, sent.append)
    assert (keys(s3, place), sum(sent)) == (["m"], 3)
    assert planned(s3, place, [(file, "m")], force=False)[0].does is Stored.SAME
    file.write_bytes(b"two")
    with pytest.raises(TorporError, match=r"s3://uploads-of-storing/a/m is there with other content: --force"):
        planned(s3, place, [(file, "m")], force=False)
    assert planned(s3, place, [(file, "m")], force=True)[0].does is Stored.REPLACED


def test_an_object_that_was_uploaded_in_parts_is_compared_by_its_bytes(endpoint: torpor.Local, tmp_path: Path) -> None:
    s3, place = endpoint.client("s3"), UploadPlace("uploads-of-storing", "large/")
    file = tmp_path / "model"
    file.write_bytes(b"1" * (9 * 1024 * 1024))
    upload(s3, place, [PlannedUpload(file, "m", Stored.NEW)], lambda count: None)
    assert planned(s3, place, [(file, "m")], force=False)[0].does is Stored.SAME
    file.write_bytes(b"1" * (9 * 1024 * 1024 - 1) + b"2")
    assert planned(s3, place, [(file, "m")], force=True)[0].does is Stored.REPLACED


def test_a_refusal_of_what_is_there_has_its_reason(tmp_path: Path) -> None:
    file = tmp_path / "model"
    file.write_bytes(b"one")
    reason = b"<Error><Code>InvalidRequest</Code><Message>S3 is elsewhere.</Message></Error>"
    with answering(lambda asked: Told(400, reason)) as url, pytest.raises(ClientError, match="S3 is elsewhere"):
        planned(torpor.client("s3", url), UploadPlace("bucket"), [(file, "m")], force=False)


def test_a_refusal_without_a_reason_stays_the_first_one(tmp_path: Path) -> None:
    def answer(asked: Asked) -> Told:
        return Told(403) if asked.method == "HEAD" else Told(200, b"one")

    file = tmp_path / "model"
    file.write_bytes(b"one")
    with answering(answer) as url, pytest.raises(ClientError, match="HeadObject"):
        planned(torpor.client("s3", url), UploadPlace("bucket"), [(file, "m")], force=False)
