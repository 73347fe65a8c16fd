"""The signature, compared with botocore's own signer."""

from calendar import timegm
from time import strptime

from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import ReadOnlyCredentials
from hypothesis import given
from hypothesis import strategies as st

from torpor.calling.caller import path_of
from torpor.calling.signature_v4 import SignedPost, Signer

values = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r\n\0"), max_size=30)
names = st.sampled_from(["accept", "content-type", "x-amzn-sagemaker-target-model", "x-amzn-sagemaker-inference-id"])
credentials = st.builds(ReadOnlyCredentials, st.just("AKIA"), values, st.none() | st.text("aB/+=", min_size=1))
SIGNER = Signer("eu-central-1", "sagemaker")


@given(values.filter(bool), st.dictionaries(names, values), st.binary(max_size=99), credentials, st.integers(0, 2**32))
def test_a_signature_is_botocores_for_whatever_is_signed(
    endpoint: str, members: dict[str, str], body: bytes, whose: ReadOnlyCredentials, now_s: int
) -> None:
    path = path_of("", endpoint)
    theirs = AWSRequest("POST", f"http://127.0.0.1:4700{path}", {**members}, body)
    SigV4Auth(whose, "sagemaker", "eu-central-1").add_auth(theirs)
    moment_s = timegm(strptime(theirs.headers["X-Amz-Date"], "%Y%m%dT%H%M%SZ"))
    request = SignedPost(path, {"host": "127.0.0.1:4700", **members}, body)
    SIGNER.signed(request, whose, now_s)  # the key that is kept is another's, or another day's
    ours = SIGNER.signed(request, whose, moment_s)
    assert {name: ours[name] for name in ours if name != "host"} == {
        name.lower(): value for name, value in theirs.headers.items()
    }
