import pytest
from hypothesis import given
from hypothesis import strategies as st

from torpor_account.core.origins.cross_origin import (
    LOCAL_NAMES,
    Judgement,
    OwnHosts,
    Sender,
    host_name,
    is_host,
    is_loopback,
    origin_of,
    own_hosts,
)

HOST = (b"host", b"127.0.0.1:4700")
LOCAL = own_hosts(["127.0.0.1"])
LABELS = st.sampled_from(["localhost", "localdomain", "local", "host", "evil", "s3", "test", "ip6-loopback"])


def sender(*headers: tuple[bytes, bytes], of: OwnHosts = LOCAL, authority: bytes | None = None) -> Sender:
    return of.judge(headers, authority).sender


@pytest.mark.parametrize(
    "host",
    [
        *("127.0.0.1", "127.0.0.1:4700", "127.8.9.10", "[::1]", "[::1]:4700", "[::ffff:127.0.0.1]", "127.0.0.1.:1"),
        *("localhost", "LOCALHOST:4700", "localhost.", "localhost.:4700", "ip6-localhost", "localhost:"),
        *("bucket.localhost:4700", "bucket.s3.localhost", "a.b.s3.us-west-2.localhost", "friend.localhost"),
    ],
)
def test_loopback_addresses_and_names_are_own_hosts(host: str) -> None:
    assert sender((b"host", host.encode())) is Sender.OWN


@pytest.mark.parametrize(
    "host",
    [
        *("evil.test", "evil.test:4700", "localhost.evil.test", "127.0.0.1.nip.io", "evillocalhost", "evil-localhost"),
        *("", ":4700", ".", "..", "localhost:port", "localhost:4700:80", "localhost@evil.test", "localhost/", "[::1"),
        *("10.0.0.1", "0.0.0.0", "[::]", "[2001:db8::1]", "::1", "127.1", "0x7f.1", "bucket.s3.amazonaws.com"),
        *("localhost, evil.test", "lo calhost", "local\xffhost", "a" * 300 + ".localhost", "s3.evil.test"),
    ],
)
def test_no_other_host_is(host: str) -> None:
    assert LOCAL.judge([(b"host", host.encode("latin-1"))]) == Judgement(Sender.ELSEWHERE, host)


def test_a_request_with_two_hosts_is_refused_and_one_without_a_host_is_no_browsers() -> None:
    assert sender(HOST, HOST) is Sender.ELSEWHERE
    assert sender() is Sender.OWN
    assert sender((b"origin", b"http://evil.test")) is Sender.FOREIGN


@pytest.mark.parametrize("authority", [b"evil.test", b"user@localhost", b"", b"10.0.0.1:80"])
def test_the_host_in_a_target_counts_as_well_as_the_header(authority: bytes) -> None:
    assert sender(HOST, authority=authority) is Sender.ELSEWHERE
    assert sender((b"host", b"evil.test"), authority=b"localhost") is Sender.ELSEWHERE
    assert sender(HOST, authority=b"localhost:4700") is Sender.OWN


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ([(b"origin", b"http://127.0.0.1:4700")], Sender.OWN),
        ([(b"origin", b"http://127.0.0.1:4700"), (b"sec-fetch-site", b"same-origin")], Sender.OWN),
        ([(b"sec-fetch-site", b"none")], Sender.OWN),
        ([(b"sec-fetch-site", b"same-site")], Sender.FOREIGN),
        ([(b"sec-fetch-site", b"cross-site")], Sender.FOREIGN),
        ([(b"sec-fetch-site", b"")], Sender.FOREIGN),
        ([(b"sec-fetch-site", b"none"), (b"sec-fetch-site", b"cross-site")], Sender.FOREIGN),
        ([(b"origin", b"null")], Sender.FOREIGN),
        ([(b"origin", b"")], Sender.FOREIGN),
        ([(b"origin", b"http://localhost:4700")], Sender.FOREIGN),
        ([(b"origin", b"http://127.0.0.1:8888")], Sender.FOREIGN),
        ([(b"origin", b"https://127.0.0.1:4700")], Sender.FOREIGN),
        ([(b"origin", b"http://127.0.0.1:4700"), (b"sec-fetch-site", b"cross-site")], Sender.FOREIGN),
        ([(b"origin", b"http://127.0.0.1:4700"), (b"origin", b"http://evil.test")], Sender.FOREIGN),
        ([(b"origin", b"http://friend.test"), (b"sec-fetch-site", b"cross-site")], Sender.ALLOWED),
        ([(b"origin", b"http://friend.test:81")], Sender.FOREIGN),
    ],
)
def test_a_page_is_recognized_by_its_origin_and_its_site(headers: list[tuple[bytes, bytes]], expected: Sender) -> None:
    assert sender(HOST, *headers, of=own_hosts(["127.0.0.1"], origins=["HTTP://friend.test:80"])) is expected


def test_an_allowed_origin_does_not_lead_a_name_here() -> None:
    friendly = own_hosts(["127.0.0.1"], origins=["http://friend.test"])
    assert sender((b"host", b"evil.test"), (b"origin", b"http://friend.test"), of=friendly) is Sender.ELSEWHERE


def test_a_host_that_is_allowed_brings_the_names_under_it() -> None:
    known = own_hosts(["127.0.0.1"], ["Torpor.internal", "10.1.2.3", "2001:DB8::1"])
    for host in (b"torpor.internal:80", b"bucket.s3.torpor.internal", b"10.1.2.3:4700", b"[2001:db8::1]"):
        assert sender((b"host", host), of=known) is Sender.OWN
    for host in (b"internal", b"eviltorpor.internal", b"10.1.2.4"):
        assert sender((b"host", host), of=known) is Sender.ELSEWHERE


def test_an_endpoint_on_every_address_accepts_any_address_and_no_foreign_name() -> None:
    opened = own_hosts(["0.0.0.0"], machine="Box")
    for host in (b"10.0.0.1:4700", b"[2001:db8::1]", b"0.0.0.0", b"box:4700", b"localhost"):
        assert sender((b"host", host), of=opened) is Sender.OWN
    assert sender((b"host", b"evil.test"), of=opened) is Sender.ELSEWHERE
    assert sender((b"host", b"box"), of=own_hosts(["127.0.0.1"], machine="box")) is Sender.ELSEWHERE


@given(st.lists(LABELS, min_size=1, max_size=4))
def test_a_name_is_an_own_host_only_if_it_ends_in_one(labels: list[str]) -> None:
    name = ".".join(labels)
    ends = {".".join(labels[at:]) for at in range(len(labels))}
    assert LOCAL.has_host(name) == bool(ends & LOCAL.names)
    assert LOCAL.has_host(f"{name}.localhost")


SAID = st.tuples(
    st.sampled_from([b"origin", b"sec-fetch-site"]),
    st.sampled_from(
        [b"null", b"http://127.0.0.1:4700", b"http://127.0.0.1", b"same-origin", b"none", b"cross-site", b""]
    ),
)


@given(st.lists(SAID, max_size=4))
def test_a_request_with_any_foreign_header_is_never_an_own_one(said: list[tuple[bytes, bytes]]) -> None:
    own = {(b"origin", b"http://127.0.0.1:4700"), (b"sec-fetch-site", b"same-origin"), (b"sec-fetch-site", b"none")}
    assert sender(HOST, *said) is (Sender.OWN if set(said) <= own else Sender.FOREIGN)


@given(st.text(max_size=300), st.booleans())
def test_any_header_is_judged(text: str, origin: bool) -> None:
    value = text.encode("utf-8", "replace")
    assert LOCAL.judge([HOST, (b"origin" if origin else b"sec-fetch-site", value)]).sender in Sender
    assert host_name(text) is None or "/" not in text


def test_only_a_host_or_an_origin_can_be_allowed() -> None:
    assert all(map(is_host, ("torpor", "a.b-c", "10.0.0.1", "::1")))
    assert not any(map(is_host, ("", "a:80", "*.a", "http://a", "a/b", "[::1]:80")))
    assert origin_of("https://A.test:443") == "https://a.test"
    assert origin_of("http://[::1]:3000") == "http://[::1]:3000"
    assert origin_of("chrome-extension://abc") == "chrome-extension://abc"
    assert not any(map(origin_of, ("", "*", "null", "a.test", "http://a/", "http://a/b", "http://*.a", "http://")))


def test_only_loopback_is_reached_from_this_machine_alone() -> None:
    assert all(map(is_loopback, ("127.0.0.1", "127.0.1.1", "::1", "localhost")))
    assert not any(map(is_loopback, ("0.0.0.0", "::", "", "10.0.0.1", "box", "box.localhost.test")))


def test_what_is_not_said_allows_nothing() -> None:
    assert OwnHosts() == OwnHosts(LOCAL_NAMES, frozenset(), any_address=False, origins=frozenset(), scheme="http")
    assert own_hosts(["127.0.0.1"]) == OwnHosts(addresses=frozenset({"127.0.0.1"}))
    assert own_hosts(["0.0.0.0"]).names == LOCAL_NAMES
    assert Judgement(Sender.OWN).because == ""


def test_the_names_that_machines_have_for_themselves_are_own_hosts() -> None:
    """As /etc/hosts of common distributions has them."""
    names = ("localhost", "localhost.localdomain", "localhost4", "localhost6", "ip6-localhost", "ip6-loopback")
    assert [name for name in names if not OwnHosts().has_host(name)] == []


def test_the_last_dot_of_a_name_that_is_listened_on_is_no_part_of_it() -> None:
    assert own_hosts(["box.internal."]).has_host("box.internal")


def test_a_request_without_a_host_is_of_no_page_of_the_endpoints() -> None:
    assert OwnHosts().judge([(b"origin", b"http://localhost")]).sender is Sender.FOREIGN


def test_an_origin_has_no_default_port_of_its_scheme_and_any_other_port() -> None:
    told = ["http://a.b:80", "https://a.b:443", "http://a.b:443", "ftp://a.b:80", "ftp://a.b"]
    assert list(map(origin_of, told)) == ["http://a.b", "https://a.b", *told[2:]]
