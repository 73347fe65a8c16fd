"""How the door asks callers of the faces: by a signature, or by what the protocols' clients send in place of one.

Those clients sign nothing. Each has a way to send HTTP's Basic authentication: an access key and its secret. OpenAI's
send a bearer token, which any face takes. The face itself checks what a caller may do, once it knows the model.
"""

from torpor_account.access.bearer_tokens import bearer_caller
from torpor_account.access.door import CallsByHead
from torpor_account.access.problems import Problem
from torpor_account.access.verifying import Verifier
from torpor_account.aws.errors import AwsError
from torpor_account.aws.wire.asgi import Scope, Send, sent
from torpor_account.core.access.rates import CallKind
from torpor_endpoint.faces.open_inference.v2_answers import refused
from torpor_endpoint.faces.open_inference.v2_paths import OPEN
from torpor_endpoint.faces.openai import openai_answers

THROTTLED = frozenset((Problem.THROTTLED.json[0], Problem.THROTTLED.query[0]))
DENIED = frozenset((Problem.DENIED.json[0], Problem.DENIED.query[0]))
"""The codes of a problem, by whichever of AWS's protocols the door takes the request for."""


async def refuse(error: AwsError, scope: Scope, send: Send) -> None:
    """Answer in the protocols' own form: 401 for an unknown caller, 429 for one that calls too often, 403 else."""
    signed = any(name == b"authorization" for name, _ in scope["headers"])
    status = 429 if error.code in THROTTLED else error.status
    if status in (400, 403):
        status = 403 if signed else 401
    await sent(refused(error.message, status), send)


async def refuse_in_openais_form(error: AwsError, scope: Scope, send: Send) -> None:
    """As `refuse`, but that a key or a token which does not hold is 401 too, as at OpenAI."""
    status = 429 if error.code in THROTTLED else error.status
    if status in (400, 403):
        status = 403 if error.code in DENIED else 401
    await sent(openai_answers.refused(status, error.message), send)


FACE_AT_THE_DOOR = CallsByHead(
    CallKind.INVOCATIONS,
    None,
    refuse,
    anybody=lambda scope: scope["path"].rstrip("/") in OPEN,
    unsigned=(bearer_caller, Verifier.password_caller),
)
OPENAI_AT_THE_DOOR = CallsByHead(
    CallKind.INVOCATIONS, None, refuse_in_openais_form, unsigned=(bearer_caller, Verifier.password_caller)
)
