"""An endpoint that cannot prove its lease steps back where another one waits, and nowhere else."""

from hypothesis import given
from hypothesis import strategies as st

from torpor_account.core.outages.lease_proof import LeaseProof


def looked(proof: LeaseProof, times: int) -> list[tuple[bool, bool]]:
    seen = []
    for _ in range(times):
        proof.look()
        seen.append((proof.is_unproven, proof.is_given_up))
    return seen


def test_it_steps_back_by_degrees_where_another_waits() -> None:
    proof = LeaseProof(unproven_looks=2, given_up_looks=4)
    proof.proved(waits=True)
    assert looked(proof, 6) == [(False, False)] * 3 + [(True, False)] * 2 + [(True, True)]


def test_one_proof_more_begins_anew() -> None:
    proof = LeaseProof(unproven_looks=1, given_up_looks=2)
    proof.proved(waits=True)
    assert looked(proof, 4)[-1] == (True, True)
    proof.proved(waits=True)
    assert looked(proof, 2) == [(False, False)] * 2


@given(st.lists(st.booleans(), max_size=40))
def test_it_goes_on_for_ever_where_nobody_waited_at_the_last_proof(proofs: list[bool]) -> None:
    proof = LeaseProof(unproven_looks=1, given_up_looks=2)
    for waits in [*proofs, False]:
        proof.proved(waits)
    assert looked(proof, 50) == [(False, False)] * 50


def test_it_goes_on_before_its_first_proof() -> None:
    assert looked(LeaseProof(1, 2), 9) == [(False, False)] * 9
