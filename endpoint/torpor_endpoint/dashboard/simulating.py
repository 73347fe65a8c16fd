"""Has a simulator answer "what if" in a process apart, so that no request waits for it. One simulation at a time.

The simulator is no part of this package: whoever composes the endpoint names its module (`--what-if`).
"""

import asyncio
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from torpor_container.typed_json import read, written
from torpor_endpoint.core.pages.what_if import WhatIfAnswer, WhatIfQuestion
from torpor_endpoint.core.variant_setup import setup_of
from torpor_endpoint.fleet.instance_pool import InstancePool
from torpor_endpoint.simulating.simulator_process import NO_SIMULATOR, CannotSimulate, asked

LAST_S = 24 * 3600.0
WITHIN_S = 120.0


@dataclass(frozen=True)
class Simulating:
    """`module` is run by Python's option -m; None where no simulator is installed. `ledger` gives a file with the
    ledger, for the time of a block: any thread may enter it."""

    module: str | None
    ledger: Callable[[], AbstractContextManager[Path]]
    within_s: float = WITHIN_S
    _one: asyncio.Lock = field(default_factory=asyncio.Lock)

    @property
    def unavailable(self) -> str:
        """Why there is no simulator; empty if there is one."""
        return NO_SIMULATOR if self.module is None else ""

    async def answer(self, question: Callable[[Path], WhatIfQuestion]) -> WhatIfAnswer:
        """What the simulator says to a question about the ledger in a file. Raises CannotSimulate, DatabaseFault."""
        if self.module is None:
            raise CannotSimulate(NO_SIMULATOR)
        if self._one.locked():
            raise CannotSimulate("Another simulation runs: try again when it is over.")
        async with self._one:
            with ExitStack() as kept:
                path = await asyncio.to_thread(kept.enter_context, self.ledger())
                return read(WhatIfAnswer, await asked(self.module, written(question(path)), within_s=self.within_s))


def question_of(pool: InstancePool, ledger: Path) -> WhatIfQuestion:
    """The question about a variant as it is now."""
    variant = pool.variant
    return WhatIfQuestion(str(ledger), pool.endpoint, variant.name, LAST_S, setup_of(variant))
