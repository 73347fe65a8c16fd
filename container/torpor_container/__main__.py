"""`torpor-container serve`: the command that the image runs, and with which SageMaker starts it.

`torpor-container ping` asks the container that serves with the same settings on this machine whether it is ready.
"""

import os
import sys
import time
from typing import TYPE_CHECKING

from torpor_container.how_to_install import how_to_install
from torpor_container.image import variables
from torpor_container.processes.zygote import LIBRARY_VARIABLES
from torpor_container.settings import SETTINGS, BadSetting, Settings, unknown

if TYPE_CHECKING:
    from starlette.types import ASGIApp

USAGE = """usage: torpor-container serve
       torpor-container ping

`serve` serves the SageMaker container contract. `ping` ends with 0 if the container that serves with these variables on
this machine is ready, and with 1 if it is not. Everything is set by environment variables:
"""

PING_WITHIN_S = 2.0


def main() -> None:
    """Run the command. Exits with 2 and one clear line for a wrong call, a bad setting, or a missing package."""
    if sys.argv[1:] not in (["serve"], ["ping"]):
        help_asked = sys.argv[1:] in (["--help"], ["-h"])
        print(_usage(), file=sys.stdout if help_asked else sys.stderr)
        raise SystemExit(0 if help_asked else 2)
    try:
        settings = Settings.read()
        if fault := unknown(os.environ) or (settings.container is None and variables.fault(os.environ)):
            raise BadSetting(fault)
        if sys.argv[1:] == ["serve"]:
            _check_isolation(settings)
            _check_certificate(settings)
    except BadSetting as error:
        print(f"torpor-container: {error}", file=sys.stderr)
        raise SystemExit(2) from None
    if sys.argv[1:] == ["ping"]:
        raise SystemExit(0 if ready(settings) else 1)
    try:
        serve(settings)
    except ModuleNotFoundError as error:
        print(f"torpor-container needs {error.name}: {how_to_install('container')}", file=sys.stderr)
        raise SystemExit(2) from None


def _check_isolation(settings: Settings) -> None:
    """Print what the machine cannot keep scripts from. Raises BadSetting if it must."""
    from torpor_container.running.script_boxes import ensure_isolation, lacking

    ensure_isolation(settings)
    for lack in lacking(settings):
        print(f"torpor-container: warning: {lack}", file=sys.stderr)


def _check_certificate(settings: Settings) -> None:
    """Raises BadSetting."""
    if settings.peer_tls is not None and (fault := settings.peer_tls.fault(settings.secret, time.time())):
        raise BadSetting(f"TORPOR_PEER_TLS: {fault}")


def serve(settings: Settings) -> None:
    """Serve until a signal stops it. Raises ModuleNotFoundError if a package of the extra `container` is missing."""
    from torpor_container.app import InstanceProcess  # here, so that `--help` works without the extra
    from torpor_container.http.gunicorn_server import GunicornServer
    from torpor_container.http.server import ServerOptions
    from torpor_container.processes.memory import confine
    from torpor_container.processes.memory_budget import MemoryBudget, unlimited
    from torpor_container.transport.peers.peer_tls import PeerTls

    given = dict(os.environ)
    for name, value in LIBRARY_VARIABLES.items():
        os.environ.setdefault(name, value)  # on all cores XGBoost takes several times as long to load a small model
    sys.argv = sys.argv[:1]  # gunicorn reads the command line too

    def make_app() -> "ASGIApp":
        """Runs in the process that serves."""
        limit = confine(settings.memory_bytes) if settings.container is None else unlimited
        memory = MemoryBudget(settings.memory_bytes, limit)
        return InstanceProcess(settings, memory, environment=given, peers=peers).app(chunked=True)

    peers = None if settings.peer_tls is None else PeerTls(settings.peer_tls)
    options = ServerOptions(
        bind=_bind(settings),
        secret=settings.secret,
        peers=peers,
        tickets=settings.tickets,
        shares_artifacts=settings.neighbours_bytes > 0,
    )
    GunicornServer(make_app, options).run()


def _bind(settings: Settings) -> str:
    if settings.listener is not None:
        return f"fd://{settings.listener}"
    return f"unix:{settings.socket}" if settings.socket else f"0.0.0.0:{settings.port}"


def ready(settings: Settings) -> bool:
    """Whether the container that serves with these settings answers a ping."""
    import asyncio

    from torpor_container import wire
    from torpor_container.transport.address import Address, GuardedAddress
    from torpor_container.transport.upstream import Upstream
    from torpor_container.transport.upstream_answers import UpstreamError

    here: Address = settings.socket or ("127.0.0.1", settings.port)
    if settings.secret is not None:
        here = GuardedAddress("127.0.0.1", settings.port, settings.secret)

    async def answers() -> bool:
        try:
            answer = await Upstream(here).send("GET", settings.path_prefix + wire.PING, (), [], PING_WITHIN_S)
            return answer.status == 200
        except UpstreamError:
            return False

    return asyncio.run(answers())


def _usage() -> str:
    rows = (f"  {row.variable:34} {row.meaning} [{row.default}]" for row in SETTINGS)
    return USAGE + "\n".join(rows)


if __name__ == "__main__":
    main()
