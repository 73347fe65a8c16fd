"""Takes a face's inferences inline, as the runtime takes InvokeEndpoint: without a task, where nothing has to wait."""

from collections.abc import Callable, Sequence
from typing import Any

from torpor_account.aws.wire.asgi import Headers, Scope, TakeInline, Tell
from torpor_endpoint.faces.finding_models import FoundModel
from torpor_endpoint.faces.passage_calls import AnswersInvocations, invocation_members
from torpor_endpoint.in_service.pool import VariantPool
from torpor_endpoint.in_service.served_endpoints import ServedEndpoints
from torpor_endpoint.runtime.face_notes import FACE, FaceNote

Answered = Callable[[FaceNote, int, Headers, bytes], tuple[int, Headers, bytes]]
"""Turns the runtime's answer into the face's."""


class InlineInference:
    """Takes the inferences with one head. `way` finds the model, and `headers_for` makes the headers of its
    InvokeEndpoint: once, as long as the roster's endpoints and their pools stay the same, unless models have versions.
    """

    def __init__(
        self,
        runtime: AnswersInvocations,
        face: str,
        roster: ServedEndpoints,
        way: Callable[[Scope], FoundModel | None],
        headers_for: Callable[[FoundModel], Headers],
        answered: Answered,
    ) -> None:
        self._runtime = runtime
        self._face = face
        self._roster = roster
        self._way = way
        self._headers_for = headers_for
        self._answered = answered
        self._changes = -1
        self._pools: Sequence[VariantPool] = ()
        self._found: FoundModel | None = None
        self._members: dict[str, Any] = {}
        self._take: TakeInline | None = None

    def take(self, scope: Scope, body: bytes, tell: Tell) -> bool:
        """See `aws.wire.asgi.TakeInline`."""
        found = self._found
        if found is None or self._changes != self._roster.changes or found.live.every_pool is not self._pools:
            found = self._find(scope)
        else:
            for pool in self._pools:
                if pool.versions is not None:
                    found = self._find(scope)
                    break
        if found is None or self._take is None:
            return False
        note, answered = FaceNote(self._face), self._answered

        def told(status: int, headers: Headers, body: bytes) -> None:
            tell(*answered(note, status, headers, body))

        return self._take({**scope, **self._members, FACE: note}, body, told)

    def _find(self, scope: Scope) -> FoundModel | None:
        self._changes = self._roster.changes
        found = self._way(scope)
        if found is not None:
            self._pools = found.live.every_pool
        if found is not None and found != self._found:
            self._members = invocation_members(scope, found.live.name, self._headers_for(found))
            self._take = self._runtime.inline({**scope, **self._members, FACE: FaceNote(self._face)})
        self._found = found
        return found
