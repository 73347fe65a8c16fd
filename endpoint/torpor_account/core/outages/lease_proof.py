"""Says whether an endpoint can still prove that it holds the records, where another one waits to take them over.

Each beat that reaches the database is a proof. The event loop looks for a new one as often as beats are made; what
counts is how many looks in a row saw none, so no clock is read. Nobody takes the records over where nobody waits: then
an endpoint whose database is away goes on without proof.
"""

UNPROVEN_LOOKS = 6
"""About as long as a standby waits for a beat before it takes over."""
GIVEN_UP_LOOKS = 12


class LeaseProof:
    """The proofs of one endpoint. One thread proves, another one looks."""

    def __init__(self, unproven_looks: int = UNPROVEN_LOOKS, given_up_looks: int = GIVEN_UP_LOOKS) -> None:
        self._unproven_looks = unproven_looks
        self._given_up_looks = given_up_looks
        self._proofs = self._last = 0
        self._same = 0
        self._waits = False

    def proved(self, waits: bool) -> None:
        """A beat has reached the database. `waits`: another endpoint waits there."""
        self._waits = waits
        self._proofs += 1

    def look(self) -> None:
        """Look once for a new proof."""
        proofs = self._proofs
        self._same = self._same + 1 if proofs == self._last else 0
        self._last = proofs

    @property
    def is_unproven(self) -> bool:
        """Whether another endpoint may have taken over: whoever asks is to be led to that one."""
        return self._waits and self._same > self._unproven_looks

    @property
    def is_given_up(self) -> bool:
        """Whether another endpoint has surely taken over, if it could."""
        return self._waits and self._same > self._given_up_looks
