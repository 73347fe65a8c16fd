"""The headers that InvokeEndpoint knows, held against botocore's service model of the runtime API."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from torpor_account.aws.service_models import Shape, service_model
from torpor_endpoint.runtime.errors import RuntimeFault, Situation
from torpor_endpoint.runtime.request import MEMBERS, HeaderMember, Invoke

MODELLED: dict[str, Shape] = {
    shape.serialization["name"]: shape
    for shape in service_model("sagemaker-runtime").operation_model("InvokeEndpoint").input_shape.members.values()
    if shape.serialization.get("location") == "header"
}


def refused(**headers: bytes) -> str:
    """The message for a request with these headers; an underscore in a name stands for a dash."""
    request = Invoke({name.replace("_", "-").encode(): value for name, value in headers.items()})
    with pytest.raises(RuntimeFault) as caught:
        request.check()
    assert caught.value.situation is Situation.PARAMETER
    return str(caught.value.fields["detail"])


def test_every_header_of_the_service_model_is_known_and_no_other() -> None:
    assert {name.lower().encode() for name in MODELLED} == set(MEMBERS)


@pytest.mark.parametrize("header", MODELLED)
def test_a_header_has_the_constraints_of_the_service_model(header: str) -> None:
    known, metadata = MEMBERS[header.lower().encode()], MODELLED[header].metadata
    assert (known.shortest, known.longest) == (metadata.get("min", 0), metadata["max"])
    assert (known.pattern, known.sensitive) == (metadata["pattern"], metadata.get("sensitive", False))
    names = service_model("sagemaker-runtime").operation_model("InvokeEndpoint").input_shape.members
    assert names[known.name].serialization["name"] == header


CHECKED = [member for member in MEMBERS.values() if member.fits is not None]
"""A target may have more letters than AWS's pattern allows. An id has only ASCII ones, also the first."""
JAVA = {r"\p{ASCII}": r"[\x00-\x7f]", r"[\p{Print}]": "[ -~]", r"\S": "[!-~]", r"\z": r"\Z", ".*": r"[^\n]*"}


@given(st.sampled_from(CHECKED), st.text("aZ9-_ ~é\x7f", min_size=1, max_size=6) | st.just("NEW_SESSION"))
def test_a_value_is_taken_exactly_if_it_has_the_pattern(member: HeaderMember, text: str) -> None:
    pattern = member.pattern
    for java, python in JAVA.items():
        pattern = pattern.replace(java, python)
    assert member.fits is not None
    assert bool(member.fits(text.encode())) == bool(re.fullmatch(pattern, text))


def test_a_value_of_the_wrong_length_is_refused_in_the_words_of_aws() -> None:
    assert refused(x_amzn_sagemaker_inference_id=b"x" * 65) == (
        f"1 validation error detected: Value '{'x' * 65}' at 'inferenceId' failed to satisfy constraint: "
        "Member must have length less than or equal to 64"
    )
    assert "Value '' at 'prefixAwareId'" in refused(x_amzn_sagemaker_prefix_aware_id=b"")


def test_custom_attributes_never_stand_in_a_message() -> None:
    assert refused(x_amzn_sagemaker_custom_attributes="geheim=ü".encode()) == (
        "1 validation error detected: Value at 'customAttributes' failed to satisfy constraint: "
        r"Member must satisfy regular expression pattern: \p{ASCII}*"
    )


def test_one_message_names_every_bad_header() -> None:
    text = refused(x_amzn_sagemaker_session_id=b"-no-", x_amzn_sagemaker_inference_id=b" \x7f", accept=b"text/csv")
    assert text.startswith("2 validation errors detected: Value '-no-' at 'sessionId'")
    assert "; Value ' \x7f' at 'inferenceId'" in text
    assert "accept" not in text


@pytest.mark.parametrize("session", [b"NEW_SESSION", b"s-1", b""])
def test_a_session_is_new_or_named(session: bytes) -> None:
    Invoke({b"x-amzn-sagemaker-session-id": session}).check()
