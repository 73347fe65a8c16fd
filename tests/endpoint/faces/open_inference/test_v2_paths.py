"""The paths of the Open Inference Protocol, with names that have slashes, encoded or not."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from torpor_endpoint.faces.open_inference.v2_paths import UnknownPath, V2Action, V2Call, parsed

PATHS = [
    ("GET", "/v2", V2Call(V2Action.SERVER)),
    ("GET", "/v2/", V2Call(V2Action.SERVER)),
    ("GET", "/v2/health/live", V2Call(V2Action.LIVE)),
    ("GET", "/v2/endpoints/shop/health/ready", V2Call(V2Action.READY, "shop")),
    ("GET", "/v2/models/m", V2Call(V2Action.METADATA, None, "m")),
    ("HEAD", "/v2/models/m/ready", V2Call(V2Action.MODEL_READY, None, "m")),
    ("GET", "/v2/models/a/b.tar.gz/versions/3/ready", V2Call(V2Action.MODEL_READY, None, "a/b.tar.gz", "3")),
    ("POST", "/v2/models/a/b/infer", V2Call(V2Action.INFER, None, "a/b")),
    ("POST", "/v2/endpoints/shop/models/a%2Fready/infer", V2Call(V2Action.INFER, "shop", "a/ready")),
    ("POST", "/v2/models/m/versions/1/infer", V2Call(V2Action.INFER, None, "m", "1")),
    ("GET", "/v2/models/stats", V2Call(V2Action.STATISTICS)),
    ("GET", "/v2/models/m/stats", V2Call(V2Action.STATISTICS, None, "m")),
    ("POST", "/v2/repository/index", V2Call(V2Action.INDEX)),
    ("POST", "/v2/repository/models/a/b/load", V2Call(V2Action.LOAD, None, "a/b")),
    ("POST", "/v2/repository/models/a%2Fb/unload", V2Call(V2Action.UNLOAD, None, "a/b")),
]


@pytest.mark.parametrize(("method", "path", "call"), PATHS)
def test_a_path_says_what_is_wanted(method: str, path: str, call: V2Call) -> None:
    assert parsed(method, path) == call


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("GET", "/v2/models/m/infer", "POST"),
        ("POST", "/v2/models/m", "GET"),
        ("POST", "/v2/health/live", "GET"),
        ("GET", "/v2/repository/index", "POST"),
        ("DELETE", "/v2/models/m/ready", "GET"),
        ("GET", "/v2/other", ""),
        ("GET", "/v2/models", ""),
    ],
)
def test_any_other_path_is_refused_with_the_method_that_it_takes(method: str, path: str, allowed: str) -> None:
    with pytest.raises(UnknownPath) as refused:
        parsed(method, path)
    assert refused.value.allowed == allowed


@given(st.sampled_from(["GET", "POST", "PUT"]), st.text(max_size=30))
def test_no_path_is_anything_but_read_or_refused(method: str, rest: str) -> None:
    with suppress(UnknownPath):
        assert isinstance(parsed(method, f"/v2/{rest}").action, V2Action)
