"""How long a standby waits until it has the lease, whatever befell the control that served, in virtual time."""

import math

import pytest

from torpor_account.core.outages.holder_silence import Beat, HolderSilence
from torpor_account.core.outages.lease_proof import GIVEN_UP_LOOKS, UNPROVEN_LOOKS, LeaseProof

pytest.importorskip("psycopg")
heartbeat = pytest.importorskip("torpor_account.storage.databases.postgresql_heartbeat")
schema = pytest.importorskip("torpor_account.storage.databases.postgresql_schema")

LEASE_S = 4.0
"""What `docs/how-to/postgresql.md` promises."""
FURTHER_PARTS = 4
PHASES = 20
"""So many moments between two looks, at which the last beat came."""


def lease_taken_after_s(phase_s: float, *, session_stays: bool) -> float:
    """The time from the last beat to the lock. `session_stays`: the server does not know yet that the connection which
    has the lock is gone, until the standby ends it."""
    silence, look, session = HolderSilence(schema.LEASE_LOOKS), 0, 7
    silence.look(Beat("first", 1, session))
    lock: int | None = session if session_stays else None
    while True:
        look += 1
        silence.look(Beat("first", 2, lock))
        if silence.is_silent and lock is None:
            return look * float(schema.LOOK_S) - phase_s
        if silence.silent_session is not None:
            lock = None


@pytest.mark.parametrize("session_stays", [True, False])
def test_a_standby_has_the_lease_soon_and_not_before_a_busy_control_could_beat(session_stays: bool) -> None:
    phases = [schema.LOOK_S * number / PHASES for number in range(PHASES)]
    waited = [lease_taken_after_s(phase_s, session_stays=session_stays) for phase_s in phases]
    assert min(waited) > 5 * heartbeat.BEAT_S
    assert max(waited) + FURTHER_PARTS * 2 * schema.LEFT_LOOK_S <= LEASE_S


def steps_until(stage: str) -> int:
    proof, looks = LeaseProof(), 0
    proof.proved(waits=True)
    proof.look()
    while not getattr(proof, stage):
        proof.look()
        looks += 1
    return looks


def test_a_control_without_proof_is_named_no_longer_before_and_ends_soon_after_another_one_has_the_lease() -> None:
    """Its health page leads callers to the other one, and instances have two owners for a moment only."""
    assert steps_until("is_unproven") == UNPROVEN_LOOKS + 1
    assert steps_until("is_unproven") * heartbeat.BEAT_S <= LEASE_S
    assert steps_until("is_given_up") == GIVEN_UP_LOOKS + 1
    assert math.isclose(steps_until("is_given_up") * heartbeat.BEAT_S, 6.5)
