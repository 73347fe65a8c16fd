"""How the door asks callers of the faces: by a signature, or by an access key and its secret.

The protocols' clients sign nothing. Each has a way to send HTTP's Basic authentication. The face itself checks what a
caller may do, once it knows the model.
"""

from torpor_account.access.door import CallsByHead
from torpor_account.access.problems import Problem
from torpor_account.aws.errors import AwsError
from torpor_account.aws.wire.asgi import Scope, Send, sent
from torpor_account.core.access.rates import CallKind
from torpor_endpoint.faces.open_inference.v2_answers import refused
from torpor_endpoint.faces.open_inference.v2_paths import OPEN

THROTTLED, _ = Problem.THROTTLED.json


async def refuse(error: AwsError, scope: Scope, send: Send) -> None:
    """Answer in the protocols' own form: 401 for an unknown caller, 429 for one that calls too often, 403 else."""
    signed = any(name == b"authorization" for name, _ in scope["headers"])
    status = 429 if error.code == THROTTLED else error.status
    if status in (400, 403):
        status = 403 if signed else 401
    await sent(refused(error.message, status), send)


FACE_AT_THE_DOOR = CallsByHead(
    CallKind.INVOCATIONS, None, refuse, anybody=lambda scope: scope["path"].rstrip("/") in OPEN, passwords=True
)
