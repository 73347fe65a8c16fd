"""The toolkit's modules under their public names."""

import sys

from ... import (
    _content_types as content_types,
)
from ... import (
    _encoders as encoders,
)
from ... import (
    _env as env,
)
from ... import (
    _errors as errors,
)
from ... import (
    _files as files,
)
from ... import (
    _logging as logging,
)
from ... import (
    _mapping as mapping,
)
from ... import (
    _modules as modules,
)
from ... import (
    _params as params,
)
from ... import (
    _transformer as transformer,
)
from ... import (
    _worker as worker,
)
from ... import (
    entry_point,
    training_env,
)

__all__ = [
    "content_types",
    "encoders",
    "entry_point",
    "env",
    "errors",
    "files",
    "logging",
    "mapping",
    "modules",
    "params",
    "training_env",
    "transformer",
    "worker",
]

for _name in __all__:
    if _name != "training_env":  # `import sagemaker_containers.beta.framework.worker` too
        sys.modules[f"{__name__}.{_name}"] = globals()[_name]
