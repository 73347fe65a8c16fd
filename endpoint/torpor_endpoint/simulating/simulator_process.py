"""Asks a simulator in a process apart, so that no request waits for it.

The simulator is no part of this package: whoever composes the endpoint names its module (`--what-if`).
"""

import asyncio
import json
import sys
from contextlib import suppress
from typing import Any

from torpor_container.waiting.quiet_timeout import patiently
from torpor_endpoint.core.pages import Json

NO_SIMULATOR = "This endpoint has no simulator. `torpor up` brings one, with the extra torpor[simulator]."
ERROR_MAX = 2_000
"""The most characters of a simulator's error that are passed on."""


class CannotSimulate(Exception):
    """The simulator is not there, is busy, or gave up. The message says which."""


async def asked(module: str, question: Json, *arguments: str, within_s: float) -> Any:
    """The answer of the module, which is run by Python's option -m. A caller that leaves ends it. Raises
    CannotSimulate."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", module, *arguments),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        async with patiently(within_s):
            answer, error = await process.communicate(json.dumps(question).encode())
    except TimeoutError:
        raise CannotSimulate(f"The simulation took longer than {within_s:g} s.") from None
    finally:
        if process.returncode is None:  # the caller left, or it took too long
            with suppress(ProcessLookupError):
                process.kill()
            await process.wait()
    if process.returncode:
        raise CannotSimulate(error.decode(errors="replace").strip()[-ERROR_MAX:] or "The simulator failed.")
    return json.loads(answer)
