"""`whole_zygote.py N STEP` is `python -m torpor_container.processes.zygote N STEP` as a program that can be forked."""

import os

from torpor_container.processes import zygote

if __name__ == "__main__":
    os.environ.update(zygote.LIBRARY_VARIABLES)
    zygote.main()
