"""Tickets: each lets one kind of request in at a guarded port, whose connection has not greeted (`greeting`).

A gateway such as Envoy speaks HTTP alone. A router that has picked the instance for a gateway's request gives it a
ticket for that instance, that model and a short time: HMAC-SHA256 by the incarnation's secret, so that one instance's
ticket opens no other. An instance gets such a ticket for the artifact that it may take from another one, whose secret
it does not know. As a greeting, it keeps strangers out and does not encrypt.
"""

import hmac
from hashlib import sha256

HEADER = b"x-torpor-ticket"
INVOCATION = b"ticket"
ARTIFACT = b"artifact"
"""What a ticket is good for: a call of the model, or its artifact, which a neighbour takes."""
LASTS_S = 120
"""How long a ticket is good for, in seconds: a gateway sends the request at once. The clocks of machines may differ by
less than that."""


def ticket_for(secret: bytes, model: bytes, now_s: float, purpose: bytes = INVOCATION) -> bytes:
    """A ticket for one model at the incarnation of this secret. `model` is the header TargetModel, empty without one;
    `now_s` are seconds since 1970."""
    until_s = int(now_s) + LASTS_S
    return b"%d.%s" % (until_s, _proof(secret, model, until_s, purpose))


def admits(secret: bytes, model: bytes, ticket: bytes, now_s: float, purpose: bytes = INVOCATION) -> bool:
    """Whether a ticket is this incarnation's, for this purpose and model, and not too old."""
    until, _, proof = ticket.partition(b".")
    if not until.isdigit() or len(until) > 12 or not now_s <= int(until):
        return False
    return hmac.compare_digest(proof, _proof(secret, model, int(until), purpose))


def _proof(secret: bytes, model: bytes, until_s: int, purpose: bytes) -> bytes:
    return hmac.new(secret, b"%s\0%d\0%s" % (purpose, until_s, model), sha256).hexdigest().encode()
