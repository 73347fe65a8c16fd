"""`python -m torpor_endpoint` runs an endpoint in the foreground. It needs only this package."""

import argparse
import signal
import sys
from typing import Any

from torpor_endpoint.options import OPTIONS, Option, Options
from torpor_endpoint.starting.cannot_start import CannotStart, end
from torpor_endpoint.up import run


def main() -> None:
    parser = option_parser()
    options = Options(**vars(parser.parse_args()))
    sys.argv = sys.argv[:1]  # gunicorn reads the command line too
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # until gunicorn has its own way, Ctrl-C ends this process at once
    try:
        run(options)
    except CannotStart as error:
        end(options, error)


class Each(argparse.Action):
    """Collects the values of an option that may be given more than once, as a tuple."""

    def __call__(
        self, parser: object, namespace: argparse.Namespace, values: Any, option_string: object = None
    ) -> None:
        setattr(namespace, self.dest, (*getattr(namespace, self.dest), values))


def option_parser(
    program: str = "python -m torpor_endpoint", options: tuple[Option, ...] = OPTIONS
) -> argparse.ArgumentParser:
    """The parser of what `options.command_line` writes."""
    parser = argparse.ArgumentParser(prog=program, description=__doc__)
    for option in options:
        parser.add_argument(option.flag, dest=option.field, help=option.meaning, **_kind(option))
    return parser


def _kind(option: Option) -> dict[str, Any]:
    if option.read is None:
        return {"action": "store_true"}
    if option.many:
        return {"action": Each, "type": option.read, "default": option.default}
    return {"type": option.read, "default": option.default}


if __name__ == "__main__":
    main()
