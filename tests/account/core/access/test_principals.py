"""The condition keys that the requests of each kind of caller have."""

import pytest

from torpor_account.core.access.principals import Principal, PrincipalKind, anonymous, root

NO_SERVICE = {"aws:principalisawsservice": ("false",), "aws:viaawsservice": ("false",)}


def test_a_user_has_its_name_and_its_tags() -> None:
    ann = Principal(PrincipalKind.USER, "1", "arn:ann", unique_id="AIDA", tags={"Team": "a", "empty": ""}, name="ann")
    assert ann.keys == {
        "aws:principalarn": ("arn:ann",),
        "aws:principalaccount": ("1",),
        "aws:principaltype": ("User",),
        "aws:userid": ("AIDA",),
        "aws:username": ("ann",),
        "aws:principaltag/team": ("a",),
        "aws:principaltag/empty": ("",),
        **NO_SERVICE,
    }
    assert ann.counted_as == "arn:ann"


def test_a_session_has_the_arn_of_its_role_and_no_user_s_name() -> None:
    one = Principal(PrincipalKind.ROLE, "1", "arn:session", "arn:role", "AROA:s", name="s")
    assert one.keys == {
        "aws:principalarn": ("arn:role",),
        "aws:principalaccount": ("1",),
        "aws:principaltype": ("AssumedRole",),
        "aws:userid": ("AROA:s",),
        **NO_SERVICE,
    }


def test_what_a_caller_has_not_is_no_key() -> None:
    nameless = {"aws:principalaccount": ("1",), "aws:principaltype": ("User",), **NO_SERVICE}
    assert Principal(PrincipalKind.USER, "1").keys == nameless


def test_root_is_the_account() -> None:
    assert root("1").keys == {
        "aws:principalarn": ("arn:aws:iam::1:root",),
        "aws:principalaccount": ("1",),
        "aws:principaltype": ("Account",),
        "aws:userid": ("1",),
        **NO_SERVICE,
    }


def test_who_signs_nothing_is_nobody_and_counted_for_nobody() -> None:
    assert anonymous("1").keys == {"aws:principaltype": ("Anonymous",), "aws:userid": ("anonymous",), **NO_SERVICE}
    assert anonymous("1").counted_as == ""


@pytest.mark.parametrize("kind", PrincipalKind)
def test_no_boundary_and_no_session_policy_is_not_an_empty_one(kind: PrincipalKind) -> None:
    one = Principal(kind, "1")
    assert (one.boundary, one.session) == (None, None)
