"""`python -m torpor_container.devices cuda:0`: looks for a device in a process of its own.

It prints nothing and ends with 0 if the device is there; else it prints what was looked for, and ends with 1.
"""

import sys

from torpor_container.core.devices.asked_device import asked_device
from torpor_container.devices.device import DeviceMissing
from torpor_container.devices.found_device import found_device

if __name__ == "__main__":
    try:
        found_device(asked_device(sys.argv[1]))
    except DeviceMissing as missing:
        print(missing)
        sys.exit(1)
