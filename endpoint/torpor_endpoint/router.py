"""`python -m torpor_endpoint.router` runs a router in the foreground. It needs only this package."""

import os
import signal
import sys

from torpor_container.processes.process_tree import end_with_parent
from torpor_endpoint.__main__ import option_parser
from torpor_endpoint.routing.protocol.router_variables import OWNED
from torpor_endpoint.routing.router.router_options import ROUTER_OPTIONS, RouterOptions
from torpor_endpoint.routing.router.start import run
from torpor_endpoint.starting.cannot_start import CannotStart, end


def main() -> None:
    if os.environ.pop(OWNED, ""):
        end_with_parent(signal.SIGTERM)
    parser = option_parser("python -m torpor_endpoint.router", ROUTER_OPTIONS)
    options = RouterOptions(**vars(parser.parse_args()))
    sys.argv = sys.argv[:1]  # gunicorn reads the command line too
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # until gunicorn has its own way, Ctrl-C ends this process at once
    try:
        run(options)
    except CannotStart as error:
        end(options, error)


if __name__ == "__main__":
    main()
