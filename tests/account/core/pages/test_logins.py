"""The login's cookie, its token against forged requests, and the wait after wrong tries."""

import pytest

from torpor_account.core.pages.logins import (
    ADDRESSES_MAX,
    FREE_TRIES,
    WAIT_MAX_S,
    WrongTries,
    cookie_name,
    cookie_of,
    csrf_of,
    digest_of,
    is_csrf,
    set_cookie,
)


@pytest.mark.parametrize(
    ("host", "name"),
    [("127.0.0.1:4700", "torpor-session-4700"), ("torpor.example", "torpor-session"), ("[::1]", "torpor-session")],
)
def test_endpoints_on_several_ports_of_a_host_have_cookies_of_their_own(host: str, name: str) -> None:
    assert cookie_name(host) == name


def test_a_cookie_is_kept_from_scripts_and_other_sites_and_from_plain_http_after_tls() -> None:
    assert set_cookie("c", "t", secure=False) == "c=t; HttpOnly; SameSite=Strict; Path=/; Max-Age=43200"
    assert set_cookie("c", "t", secure=True).endswith("; Secure")
    assert set_cookie("c", "", secure=False).endswith("Max-Age=0")


def test_a_cookie_is_found_among_others_and_not_if_it_is_there_twice() -> None:
    assert cookie_of("a=1; c=t; b=2", "c") == "t"
    assert cookie_of("xc=t; c2=t", "c") is None
    assert cookie_of("c=t; c=u", "c") is None
    assert cookie_of("c=", "c") is None


def test_the_token_against_forged_requests_is_of_its_session_and_tells_nothing_of_the_cookie() -> None:
    assert is_csrf(csrf_of("token"), "token")
    assert not is_csrf(csrf_of("other"), "token")
    assert not is_csrf("", "token")
    assert len({"token", csrf_of("token"), digest_of("token")}) == 3


def test_an_address_waits_longer_with_each_wrong_try_and_others_do_not() -> None:
    tries = WrongTries()
    waits = []
    for _ in range(FREE_TRIES + 8):
        tries.failed("192.0.2.1", 100.0)
        waits.append(tries.wait_s("192.0.2.1", 100.0))
    assert waits[: FREE_TRIES - 1] == [0.0] * (FREE_TRIES - 1)
    assert waits[FREE_TRIES - 1 : FREE_TRIES + 3] == [1.0, 2.0, 4.0, 8.0]
    assert waits[-1] == WAIT_MAX_S
    assert tries.wait_s("192.0.2.1", 130.0) == WAIT_MAX_S - 30.0
    assert tries.wait_s("192.0.2.2", 100.0) == 0.0
    tries.succeeded("192.0.2.1")
    assert tries.wait_s("192.0.2.1", 100.0) == 0.0


def test_wrong_tries_are_forgotten_after_a_while_and_an_ipv6_network_is_one_address() -> None:
    tries = WrongTries()
    for number in range(FREE_TRIES):
        tries.failed(f"2001:db8::{number:x}", 0.0)
    assert tries.wait_s("2001:db8::ffff", 0.0) == 1.0
    assert tries.wait_s("2001:db8:0:1::1", 0.0) == 0.0
    assert tries.wait_s("2001:db8::ffff", 1000.0) == 0.0


def test_so_many_addresses_are_remembered_and_no_more() -> None:
    tries = WrongTries()
    for number in range(ADDRESSES_MAX + 1):
        for _ in range(FREE_TRIES):
            tries.failed(f"name-{number}", 0.0)
    assert tries.wait_s("name-0", 0.0) == 0.0
    assert tries.wait_s(f"name-{ADDRESSES_MAX}", 0.0) == 1.0
