"""An S3 server, `python s3_server_app.py FD`: a store in the folder that the environment names."""

import os
import resource
import sys
from pathlib import Path

from starlette.types import Receive, Scope, Send

from torpor_account.s3.app import S3App
from torpor_account.s3.object_store import ObjectStore
from torpor_container.http.gunicorn_server import GunicornServer
from torpor_container.http.server import ServerOptions

ACCOUNT = "123456789012"
REGION = "us-east-1"


class Store:
    """The store with the start and the end that a server wants of an application."""

    def __init__(self) -> None:
        if limit := os.environ.get("S3_SERVER_FILE_MAX_BYTES"):  # a disk that is full for any larger file
            resource.setrlimit(resource.RLIMIT_FSIZE, (int(limit), int(limit)))
        self._app = S3App(ObjectStore(Path(os.environ["S3_SERVER_ROOT"])), account=ACCOUNT, region=REGION)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            for moment in ("startup", "shutdown"):
                await receive()
                await send({"type": f"lifespan.{moment}.complete"})
        else:
            await self._app(scope, receive, send)


if __name__ == "__main__":
    options = ServerOptions(bind=f"fd://{sys.argv[1]}", log_level="warning", graceful_s=30)
    sys.argv = sys.argv[:1]
    GunicornServer(Store, options).run()
