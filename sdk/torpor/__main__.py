"""The `torpor` command: checks that its packages are installed, and starts it."""

import sys

from torpor.errors import MissingExtra
from torpor.extras import require


def main() -> None:
    try:
        require("the torpor command", "cli")
    except MissingExtra as missing:
        sys.exit(str(missing))
    from torpor.cli import app

    app(prog_name="torpor")


if __name__ == "__main__":
    main()
