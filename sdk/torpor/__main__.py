"""The `torpor` command: checks that its packages are installed, and starts it."""

import sys
from contextlib import suppress

from torpor.errors import MissingExtra
from torpor.extras import require

INTERRUPTED = 130
"""The exit code that a shell expects after Ctrl-C."""


def main() -> None:
    for stream in (sys.stdout, sys.stderr):
        with suppress(AttributeError):  # closed, or not a file's
            stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]  # a terminal may lack letters
    try:
        require("the torpor command", "cli")
        from torpor.cli import app
    except MissingExtra as missing:
        sys.exit(str(missing))
    except KeyboardInterrupt:  # during the imports, which take a second
        sys.exit(INTERRUPTED)
    app(prog_name="torpor")


if __name__ == "__main__":
    main()
