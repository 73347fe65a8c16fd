"""Runs the routers of `torpor up --routers`: processes of this machine, which end with the endpoint.

They listen at the endpoint's own port, of which they inherit the socket, or each at one of its own.
"""

import asyncio
import logging
import os
import sys
from collections.abc import Sequence
from contextlib import suppress

from torpor_account.iam.identities.ids import KeyPair
from torpor_container.http.sharing.shared_port import PortBoard
from torpor_container.processes.inherited_variables import CA_BUNDLE
from torpor_endpoint.options import Options
from torpor_endpoint.routing.protocol.router_variables import CONTROL_KEY, CONTROL_SECRET, OWNED

PAUSE_S = 1.0
"""Before a router that ended is started again. Each end at once doubles it."""
PAUSE_MAX_S = 60.0
DOUBLED_MAX = 16
"""A pause that was doubled so often is the longest one."""
STEADY_S = 10.0
"""A router that ran for less has ended at once."""
STOP_S = 5.0
ENDED = "router %d ended with exit code %d; starting it again"
AGAIN_AND_AGAIN = (
    "router %d ends again and again, now with exit code %d; starting it again after longer and longer "
    f"pauses, of up to {PAUSE_MAX_S:g} s"
)

log = logging.getLogger(__name__)


class RoutersBeside:
    """The routers beside an endpoint, by their numbers from 1."""

    def __init__(self, options: Options, keys: KeyPair | None) -> None:
        """`keys` are those by which routers call the endpoint, where it verifies callers."""
        self._options = options
        signs = {} if keys is None else {CONTROL_KEY: keys.access_key, CONTROL_SECRET: keys.secret}
        trusts = {} if options.ca_bundle is None else {CA_BUNDLE: str(options.ca_bundle)}
        self._environment = {**os.environ, **signs, **trusts, OWNED: "true"}
        self._board = None if options.shared is None else PortBoard(options.shared)

    async def run(self) -> None:
        """Keep all routers running, until cancelled."""
        async with asyncio.TaskGroup() as group:
            for number in range(1, self._options.routers + 1):
                group.create_task(self._kept(number))

    async def _kept(self, number: int) -> None:
        command = [sys.executable, "-P", "-m", "torpor_endpoint.router", *arguments(self._options, number)]
        inherited = () if self._options.shared is None else self._options.shared.inherited
        loop, ends_at_once = asyncio.get_running_loop(), 0
        while True:
            began_s = loop.time()
            # In a session of its own, Ctrl-C does not reach it: the endpoint stops it.
            process = await asyncio.create_subprocess_exec(
                *command, env=self._environment, start_new_session=True, pass_fds=inherited
            )
            try:
                code = await process.wait()
            finally:
                await _stopped(process)
                if self._board is not None:
                    self._board.ended(number)
            ends_at_once = ends_at_once + 1 if loop.time() - began_s < STEADY_S else 0
            if ends_at_once <= 2:
                log.warning(AGAIN_AND_AGAIN if ends_at_once == 2 else ENDED, number, code)
            await asyncio.sleep(pause_s(ends_at_once))


def pause_s(ends_at_once: int) -> float:
    """How long to wait before a router starts again that has ended at once so many times in a row."""
    return min(PAUSE_S * 2.0 ** min(max(ends_at_once - 1, 0), DOUBLED_MAX), PAUSE_MAX_S)


def arguments(options: Options, number: int) -> Sequence[str]:
    """The arguments of a router beside this endpoint."""
    shared, hosts = options.shared, options.allow_hosts
    if shared is None:
        place = [f"--port={options.port + number}"]
    else:
        place = [f"--port={options.port}", f"--descriptor={shared.listener}", f"--shared-port={shared.text(number)}"]
        hosts = options.called_as
    lists = (("--allow-host", hosts), ("--allow-origin", options.allow_origins))
    files = (("--tls-cert", options.tls_cert), ("--tls-key", options.tls_key))
    return (
        f"--control={options.url}",
        *place,
        f"--host={options.host}",
        f"--log-level={options.log_level}",
        f"--log-format={options.log_format}",
        f"--connections-per-client={options.connections_per_client}",
        *(f"{flag}={path}" for flag, path in files if path is not None),
        *(["--insecure-allow-anyone"] if options.insecure else []),
        *(["--otel"] if options.otel else []),
        *(f"{flag}={value}" for flag, values in lists for value in values),
    )


async def _stopped(process: asyncio.subprocess.Process) -> None:
    with suppress(ProcessLookupError):
        process.terminate()
    try:
        async with asyncio.timeout(STOP_S):
            await process.wait()
    except TimeoutError:
        with suppress(ProcessLookupError):
            process.kill()
