"""`python -m torpor_endpoint`: an endpoint in the foreground, with no more than this package installed."""

import argparse
import sys
from pathlib import Path

from torpor_endpoint.options import PORT, Options
from torpor_endpoint.up import run


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m torpor_endpoint", description=__doc__)
    parser.add_argument("--port", type=int, default=PORT, help="the one port of all services")
    parser.add_argument("--host", default="127.0.0.1", help="the address to listen on")
    parser.add_argument("--descriptor", type=int, help="an inherited listening socket, instead of host and port")
    parser.add_argument("--data-dir", type=Path, default=Path(".torpor"), help="what must survive a restart is here")
    parser.add_argument("--aws-strict", action="store_true", dest="strict", help="refuse what AWS refuses")
    parser.add_argument("--s3-endpoint", help="another S3 for artifacts, instead of the embedded one")
    parser.add_argument("--region", default="us-east-1")
    parser.add_argument("--account", default="123456789012")
    parser.add_argument("--log-level", default="warning")
    options = Options(**vars(parser.parse_args()))
    sys.argv = sys.argv[:1]  # gunicorn reads the command line too
    run(options)


if __name__ == "__main__":
    main()
