"""The page of origins comes back whole, and tells what S3 has now."""

import json

import pytest

from torpor_endpoint.core.pages.model_origins import (
    Makers,
    ModelOrigin,
    StoredObject,
    compared,
    origins_page,
    read_origins,
    told_origin,
)

LOCAL = ModelOrigin("a.tar.gz", "v", "i-1", "s3://b/m/a.tar.gz", "17-5-9", "c0ffee")
REMOTE = ModelOrigin("a.tar.gz", "v", "i-1", "s3://b/m/a.tar.gz", '"5d41"', "c0ffee")


def test_the_page_comes_back_whole() -> None:
    made = ModelOrigin("a", "v", "i", "s3://b/a", "1", "2", made_by=Makers(("arn:p",), ("arn:j",), ("s3://b/d",)))
    assert read_origins(json.loads(json.dumps(origins_page([made, LOCAL])))) == (made, LOCAL)


@pytest.mark.parametrize(
    ("origin", "stored", "etag", "now"),
    [
        (LOCAL, StoredObject("5d41", "17-5-9"), "5d41", ""),
        (LOCAL, StoredObject("9999", "18-5-9"), "not known", "; S3 has another version now"),
        (LOCAL, None, "not known", "; S3 has no such object now"),
        (REMOTE, StoredObject("5d41", '"5d41"'), "5d41", ""),
        (REMOTE, StoredObject("9999", '"9999"'), "5d41", "; S3 has another version now"),
        (REMOTE, None, "5d41", "; S3 has no such object now"),
    ],
)
def test_an_etag_is_shown_only_of_the_version_that_was_loaded(
    origin: ModelOrigin, stored: StoredObject | None, etag: str, now: str
) -> None:
    told = list(told_origin(compared(origin, stored)))
    assert told[:2] == ["in memory of v/i-1:", f"  object    s3://b/m/a.tar.gz{now}"]
    assert told[3] == f"  ETag      {etag}"
