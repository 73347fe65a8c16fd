"""`torpor-container serve`: what the image runs, and what SageMaker starts it with."""

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
    """The command. Exits with 2 and a clear line for a bad call, a bad setting, or a package that is not installed."""
    if sys.argv[1:] != ["serve"]:
        wanted = sys.argv[1:] in (["--help"], ["-h"])
        print(_usage(), file=sys.stdout if wanted else sys.stderr)
        raise SystemExit(0 if wanted else 2)
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
    """Serve until told to stop. Raises ModuleNotFoundError where a package of the extra `container` is missing."""
    from torpor_container.app import InstanceProcess  # here, so that `--help` works without the extra
    from torpor_container.http.server import Server, ServerOptions
    from torpor_container.processes.confinement import confine

    given = dict(os.environ)
    for name, value in ONE_THREAD.items():
        os.environ.setdefault(name, value)  # on all cores XGBoost takes several times as long to load a small model
    sys.argv = sys.argv[:1]  # gunicorn reads the command line too
    bind = f"unix:{settings.socket}" if settings.socket else f"0.0.0.0:{settings.port}"

    def made() -> "ASGIApp":
        """In the process that serves."""
        if settings.container is None:
            confine(settings.memory_bytes)
        return InstanceProcess(settings, environment=given).app()

    Server(made, ServerOptions(bind=bind)).run()


def _usage() -> str:
    rows = (f"  {row.variable:34} {row.meaning} [{row.default}]" for row in SETTINGS)
    return USAGE + "\n".join(rows)


if __name__ == "__main__":
    main()
