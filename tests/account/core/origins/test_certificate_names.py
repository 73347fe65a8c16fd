"""The names of certificates: which an endpoint wants, which one it is called by, and when one is renewed."""

import pytest

from torpor_account.core.origins.certificate_names import (
    AUTHORITY_S,
    BUCKETS_OF_LOCALHOST,
    CERTIFICATE_S,
    LOCAL,
    callable_names,
    called_as,
    covers,
    renewal_due,
    wanted_names,
)

DAY_S = 86_400.0
LOCAL_FIRST = "127.0.0.1", "localhost", "::1"


def test_an_own_certificate_is_for_this_machine_and_for_what_the_endpoint_is_called() -> None:
    assert wanted_names("127.0.0.1", (), "box") == (*LOCAL, BUCKETS_OF_LOCALHOST)
    wanted = wanted_names("0.0.0.0", ("Torpor.internal.", "10.0.0.7"), "box")
    assert wanted == (*LOCAL, BUCKETS_OF_LOCALHOST, "torpor.internal", "10.0.0.7", "box")
    assert wanted_names("0:0:0:0:0:0:0:1", (), "") == (*LOCAL, BUCKETS_OF_LOCALHOST)


@pytest.mark.parametrize(
    ("host", "allowed", "first"),
    [("127.0.0.1", (), "127.0.0.1"), ("0.0.0.0", ("a.b",), "127.0.0.1"), ("box.internal", ("a.b",), "box.internal")],
)
def test_programs_here_call_the_address_that_the_endpoint_listens_on(
    host: str, allowed: tuple[str, ...], first: str
) -> None:
    assert callable_names(host, allowed, "box")[0] == first


def test_no_program_calls_an_address_that_is_not_listened_on() -> None:
    assert "localhost" not in callable_names("10.0.0.7", (), "box")


@pytest.mark.parametrize(
    ("certified", "name"),
    [
        ("torpor.example.com", "TORPOR.example.com."),
        ("*.example.com", "torpor.example.com"),
        ("127.0.0.1", "127.0.0.1"),
        ("::1", "0:0:0:0:0:0:0:1"),
    ],
)
def test_a_certificate_covers(certified: str, name: str) -> None:
    assert covers([certified], name)


@pytest.mark.parametrize(
    ("certified", "name"),
    [
        ("*.example.com", "example.com"),
        ("*.example.com", "a.b.example.com"),
        ("example.com", "a.example.com"),
        ("localhost", "127.0.0.1"),
        ("*.0.0.1", "127.0.0.1"),
        ("", ""),
    ],
)
def test_a_certificate_does_not_cover(certified: str, name: str) -> None:
    assert not covers([certified], name)


def test_the_first_name_that_a_certificate_covers_is_called() -> None:
    assert called_as(["b.c", "*.x"], ["127.0.0.1", "a.x", "b.c"]) == "a.x"
    assert called_as(["b.c"], ["127.0.0.1"]) is None


def test_a_certificate_is_renewed_when_a_third_of_its_time_is_left() -> None:
    assert not renewal_due(0.0, 90 * DAY_S, 59 * DAY_S)
    assert renewal_due(0.0, 90 * DAY_S, 60 * DAY_S)
    assert renewal_due(0.0, 90 * DAY_S, -1.0)
    assert not renewal_due(0.0, 90 * DAY_S, 0.0)
    assert not renewal_due(900 * DAY_S, 990 * DAY_S, 959 * DAY_S)
    assert renewal_due(900 * DAY_S, 990 * DAY_S, 960 * DAY_S)


def test_an_own_certificate_holds_for_three_months_and_its_authority_for_ten_years() -> None:
    assert (CERTIFICATE_S, AUTHORITY_S) == (90 * DAY_S, 3650 * DAY_S)


@pytest.mark.parametrize(
    ("host", "machine", "names"),
    [
        ("127.0.0.1", "box", LOCAL_FIRST),
        ("localhost", "box", LOCAL),
        ("0.0.0.0", "box", (*LOCAL_FIRST, "box")),
        ("", "box", (*LOCAL_FIRST, "box")),
        ("10.0.0.7", "box", ("10.0.0.7", "box")),
        ("10.0.0.7", "no host", ("10.0.0.7",)),
        ("127.0.0.1", "no host", LOCAL_FIRST),
    ],
)
def test_programs_here_call_every_name_that_leads_to_the_endpoint(
    host: str, machine: str, names: tuple[str, ...]
) -> None:
    assert callable_names(host, (), machine) == names


def test_one_of_several_addresses_of_a_certificate_is_enough() -> None:
    assert covers(["10.0.0.7", "127.0.0.1"], "127.0.0.1")
