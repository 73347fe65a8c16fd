"""`python whole_zygote.py N STEP`: what `python -m torpor_container.processes.zygote N STEP` is, as a forked program."""

import os

from torpor_container.processes import zygote

if __name__ == "__main__":
    os.environ.update(zygote.ONE_THREAD)
    zygote.main()
