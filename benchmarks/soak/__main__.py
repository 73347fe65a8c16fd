"""`python -m benchmarks.soak [--minutes 10] [--seed N] [--short]`: many small disturbances, and every answer checked.

Endpoints sleep and wake at random while models are added, overwritten and deleted in S3, instances and the zygote
are killed, and endpoints are updated. It ends with 1 if an answer was wrong, a request lost, or anything left behind.
"""

import random
import sys
import tempfile
from pathlib import Path

from rich.console import Console

from benchmarks.command import command, keep
from benchmarks.soak import report
from benchmarks.soak.soaking import soak


def main() -> None:
    parser = command("soak", __doc__)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument(
        "--seed", type=int, default=None, help="of what is tried; when it happens depends on the machine"
    )
    parser.add_argument("--short", action="store_true", help="the same as --minutes 0.5")
    told = parser.parse_args()
    seed = told.seed if told.seed is not None else random.randrange(10**6)
    console = Console(width=160)
    console.print(f"seed {seed}")
    with tempfile.TemporaryDirectory(prefix="soak-") as folder:
        soaked = soak(Path(folder), seed, 60.0 * (0.5 if told.short else told.minutes))
    report.show(console, soaked)
    keep(told.results, "soak", report.as_json(soaked))
    sys.exit(bool(soaked.faults))


if __name__ == "__main__":
    main()
