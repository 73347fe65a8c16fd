"""What is kept of an authority, as values: which one signs, which are trusted, and who is refused, by the time."""

import pytest

from torpor_endpoint.peers.authority_records import (
    AUTHORITY_LEFT_S,
    CREDENTIAL_S,
    LEARNT_S,
    RENEWED_AFTER_S,
    KeptAuthority,
    PeerRecords,
    is_due,
)

TEN_YEARS_S = 10 * 365 * 86_400.0


def authority(name: str, since_s: float) -> KeptAuthority:
    return KeptAuthority(name, f"key of {name}", since_s)


FIRST, SECOND = authority("first ", 0.0), authority("second ", 1_000.0)
ONE = PeerRecords((FIRST,))
TWO = ONE.followed_by(SECOND)


@pytest.mark.parametrize(
    ("now_s", "signing", "trusted"),
    [
        (1_000.0, FIRST, "first second "),
        (1_000.0 + LEARNT_S - 1, FIRST, "first second "),
        (1_000.0 + LEARNT_S, SECOND, "first second "),
        (1_000.0 + LEARNT_S + CREDENTIAL_S - 1, SECOND, "first second "),
        (1_000.0 + LEARNT_S + CREDENTIAL_S, SECOND, "second "),
    ],
)
def test_an_authority_signs_once_all_know_it_and_is_trusted_as_long_as_what_it_signed_holds(
    now_s: float, signing: KeptAuthority, trusted: str
) -> None:
    kept = TWO.at(now_s)
    assert (kept.signing(now_s), kept.trusted) == (signing, trusted)


def test_everybody_renews_before_a_further_authority_signs() -> None:
    assert RENEWED_AFTER_S < LEARNT_S < CREDENTIAL_S


def test_the_only_authority_stays_and_signs_at_once() -> None:
    assert ONE.at(TEN_YEARS_S) == ONE
    assert ONE.signing(0.0) is FIRST


def test_an_authority_is_old_in_its_last_year() -> None:
    end_s = TEN_YEARS_S - AUTHORITY_LEFT_S
    assert [ONE.is_old(now_s, TEN_YEARS_S) for now_s in (0.0, end_s - 1, end_s)] == [False, False, True]
    assert PeerRecords().is_old(0.0, TEN_YEARS_S)


def test_a_name_is_refused_until_its_certificate_has_ended() -> None:
    refusing = ONE.refusing("r-1", 50.0)
    assert set(refusing.at(50.0 + CREDENTIAL_S - 1).refused) == {"r-1"}
    assert refusing.at(50.0 + CREDENTIAL_S).refused == {}


def test_a_certificate_is_due_once_a_third_of_its_time_is_over() -> None:
    assert not is_due(CREDENTIAL_S, RENEWED_AFTER_S - 1)
    assert is_due(CREDENTIAL_S, RENEWED_AFTER_S)


def test_no_key_is_shown() -> None:
    assert "key of" not in repr(TWO)
