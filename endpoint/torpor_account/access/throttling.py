"""Holds callers to the limits of `--rate-limit`, by real time. Every refusal is in the audit log."""

import logging
import time
from collections.abc import Callable

from torpor_account.access.problems import throttled
from torpor_account.aws.wire.asgi import Scope, TakeInline, Tell
from torpor_account.core.access.principals import Principal
from torpor_account.core.access.rates import CallKind, CallLimit, CallRates
from torpor_account.log_lines import about

NO_LIMITS = CallRates({})

audit = logging.getLogger("torpor_endpoint.audit")


class Throttle:
    """The limits of one endpoint. `clock` is in seconds, and never goes back."""

    def __init__(self, rates: CallRates = NO_LIMITS, clock: Callable[[], float] = time.monotonic) -> None:
        self._rates = rates
        self._clock = clock

    @property
    def invocations(self) -> CallLimit | None:
        return self._rates.of(CallKind.INVOCATIONS)

    def count(self, kind: CallKind, principal: Principal) -> None:
        """Let one call through. Raises NotAuthentic with THROTTLED if the principal has made too many."""
        limit = self._rates.of(kind)
        if limit is None or limit.take(principal.counted_as, self._clock()):
            return
        text = "throttled: User: %s has made more than %g calls per second of the kind %s"
        caller = principal.arn or "anonymous"
        audit.info(text, caller, limit.rate, kind.value, extra=about(caller=caller))
        raise throttled()

    def inline(
        self, limit: CallLimit, principal: Principal, take_inline: TakeInline, scope: Scope, body: bytes, tell: Tell
    ) -> bool:
        """As `take_inline`. A call that it does not take is not counted: it comes again by ASGI, and `count` has it."""
        name, now_s = principal.counted_as, self._clock()
        if not limit.allows(name, now_s) or not take_inline(scope, body, tell):
            return False
        limit.take(name, now_s)
        return True


UNLIMITED = Throttle()
