"""The paths of TensorFlow Serving's REST API."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from torpor_endpoint.faces.tf_serving.tfs_paths import Malformed, TfsAction, TfsCall, parsed

PATHS = [
    ("POST", "/v1/models/m:predict", TfsCall(TfsAction.PREDICT, "m")),
    ("POST", "/V1/Models/m:Classify", TfsCall(TfsAction.CLASSIFY, "m")),
    ("POST", "/v1/models/a%2Fb.tar.gz/versions/3:regress", TfsCall(TfsAction.REGRESS, "a/b.tar.gz", version="3")),
    ("POST", "/v1/models/a/b/labels/canary:predict", TfsCall(TfsAction.PREDICT, "a/b", label="canary")),
    ("POST", "/v1/endpoints/shop/models/m:predict", TfsCall(TfsAction.PREDICT, "m", "shop")),
    ("GET", "/v1/models/m", TfsCall(TfsAction.STATUS, "m")),
    ("GET", "/v1/models/m/versions/1", TfsCall(TfsAction.STATUS, "m", version="1")),
    ("HEAD", "/v1/models/a/b/metadata", TfsCall(TfsAction.METADATA, "a/b")),
    ("GET", "/v1/models/m/versions/1/metadata", TfsCall(TfsAction.METADATA, "m", version="1")),
]


@pytest.mark.parametrize(("method", "path", "call"), PATHS)
def test_a_path_says_what_is_wanted(method: str, path: str, call: TfsCall) -> None:
    assert parsed(method, path) == call


@pytest.mark.parametrize(("method", "path"), [("GET", "/v1/models/m:predict"), ("POST", "/v1/models/m"), ("PUT", "/v1/models/m")])  # fmt: skip  # noqa: E501
def test_any_other_request_is_malformed(method: str, path: str) -> None:
    with pytest.raises(Malformed, match=f"Malformed request: {method} {path}"):
        parsed(method, path)


@given(st.sampled_from(["GET", "POST", "PUT"]), st.text(max_size=30))
def test_no_path_is_anything_but_read_or_malformed(method: str, rest: str) -> None:
    with suppress(Malformed):
        assert isinstance(parsed(method, f"/v1/models/{rest}").action, TfsAction)
