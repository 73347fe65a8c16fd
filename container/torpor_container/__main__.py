"""`torpor-container serve`: the command that the image runs, and with which SageMaker starts it."""

import os
import sys
from typing import TYPE_CHECKING

from torpor_container.extras import how_to_install
from torpor_container.image import variables
from torpor_container.processes.zygote import ONE_THREAD
from torpor_container.settings import SETTINGS, BadSetting, Settings, unknown

if TYPE_CHECKING:
    from starlette.types import ASGIApp

USAGE = """usage: torpor-container serve

Serves the SageMaker container contract. Everything is set by environment variables:
"""


def main() -> None:
    """Run the command. Exits with 2 and one clear line for a wrong call, a bad setting, or a missing package."""
    if sys.argv[1:] != ["serve"]:
        help_asked = sys.argv[1:] in (["--help"], ["-h"])
        print(_usage(), file=sys.stdout if help_asked else sys.stderr)
        raise SystemExit(0 if help_asked else 2)
    try:
        settings = Settings.read()
        if fault := unknown(os.environ) or (settings.container is None and variables.fault(os.environ)):
            raise BadSetting(fault)
    except BadSetting as error:
        print(f"torpor-container: {error}", file=sys.stderr)
        raise SystemExit(2) from None
    try:
        serve(settings)
    except ModuleNotFoundError as error:
        print(f"torpor-container needs {error.name}: {how_to_install('container')}", file=sys.stderr)
        raise SystemExit(2) from None


def serve(settings: Settings) -> None:
    """Serve until a signal stops it. Raises ModuleNotFoundError if a package of the extra `container` is missing."""
    from torpor_container.app import InstanceProcess  # here, so that `--help` works without the extra
    from torpor_container.http.server import Server, ServerOptions
    from torpor_container.processes.memory import confine
    from torpor_container.processes.memory_budget import MemoryBudget, unlimited

    given = dict(os.environ)
    for name, value in ONE_THREAD.items():
        os.environ.setdefault(name, value)  # on all cores XGBoost takes several times as long to load a small model
    sys.argv = sys.argv[:1]  # gunicorn reads the command line too
    bind = f"unix:{settings.socket}" if settings.socket else f"0.0.0.0:{settings.port}"

    def make_app() -> "ASGIApp":
        """Runs in the process that serves."""
        limit = confine(settings.memory_bytes) if settings.container is None else unlimited
        memory = MemoryBudget(settings.memory_bytes, limit)
        return InstanceProcess(settings, memory, environment=given).app(chunked=True)

    Server(make_app, ServerOptions(bind=bind)).run()


def _usage() -> str:
    rows = (f"  {row.variable:34} {row.meaning} [{row.default}]" for row in SETTINGS)
    return USAGE + "\n".join(rows)


if __name__ == "__main__":
    main()
