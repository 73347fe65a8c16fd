"""`python light_zygote.py N`: a zygote without frameworks, for instances that load no framework's model.

It starts in a fraction of the time, and is a full zygote otherwise.
"""

import os

from torpor_container.processes import zygote

FRAMEWORKS = ("xgboost", "sklearn")

if __name__ == "__main__":
    os.environ.update(zygote.ONE_THREAD)
    zygote.PRELOAD = tuple(name for name in zygote.PRELOAD if name.partition(".")[0] not in FRAMEWORKS)
    zygote.PREPARE = "gc:collect"
    zygote.main()
