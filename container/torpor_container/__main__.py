"""`torpor-container serve`: what the image runs, and what SageMaker starts it with."""

import os
import sys
from collections.abc import Mapping

from starlette.types import ASGIApp

from torpor_container.app import Instance
from torpor_container.confinement import confine
from torpor_container.server import Server, ServerOptions
from torpor_container.settings import SETTINGS, BadSetting, Settings
from torpor_container.zygote import ONE_THREAD

USAGE = """usage: torpor-container serve

Serves the SageMaker container contract. Everything is set by environment variables:
"""


def main() -> None:
    """The command. Exits with 2 and a clear line for a bad call or a bad setting."""
    if sys.argv[1:] != ["serve"]:
        wanted = sys.argv[1:] in (["--help"], ["-h"])
        print(_usage(), file=sys.stdout if wanted else sys.stderr)
        raise SystemExit(0 if wanted else 2)
    try:
        settings = Settings.read()
    except BadSetting as error:
        print(f"torpor-container: {error}", file=sys.stderr)
        raise SystemExit(2) from None
    given = dict(os.environ)
    for name, value in ONE_THREAD.items():
        os.environ.setdefault(name, value)  # on all cores XGBoost takes several times as long to load a small model
    sys.argv = sys.argv[:1]  # gunicorn reads the command line too
    bind = f"unix:{settings.socket}" if settings.socket else f"0.0.0.0:{settings.port}"
    Server(lambda: _made(settings, given), ServerOptions(bind=bind)).run()


def _made(settings: Settings, environment: Mapping[str, str]) -> ASGIApp:
    """In the process that serves."""
    if settings.container is None:
        confine(settings.memory_bytes)
    return Instance(settings, environment=environment).app()


def _usage() -> str:
    rows = (f"  {row.variable:34} {row.meaning} [{row.default}]" for row in SETTINGS)
    return USAGE + "\n".join(rows)


if __name__ == "__main__":
    main()
