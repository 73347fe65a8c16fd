"""`python light_zygote.py N STEP`: a zygote without frameworks, for instances that load no framework's model.

It starts in a fraction of the time, and is a full zygote otherwise: a child that needs a framework imports it.
"""

import os

from torpor_container.processes import zygote

if __name__ == "__main__":
    os.environ.update(zygote.LIBRARY_VARIABLES)
    zygote.main(lambda step: None)
