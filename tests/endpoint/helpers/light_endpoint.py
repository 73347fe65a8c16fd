"""`python light_endpoint.py OPTIONS` is `python -m torpor_endpoint OPTIONS` with light zygotes, for models without
frameworks. An instance, a trial or a script that needs one all the same imports it itself.
"""

import sys
from functools import partial
from pathlib import Path

from torpor_container.processes.zygote_client import OwnedZygote
from torpor_endpoint.__main__ import main

LIGHT = sys.executable, "-P", str(Path(__file__).parents[2] / "helpers" / "light_zygote.py")

if __name__ == "__main__":
    OwnedZygote.start = partial(OwnedZygote.start, command=LIGHT)  # type: ignore[method-assign]
    main()
