"""The toolkit's modules under their public names."""

import sys

from sagemaker_containers import (
    _content_types as content_types,
)
from sagemaker_containers import (
    _encoders as encoders,
)
from sagemaker_containers import (
    _env as env,
)
from sagemaker_containers import (
    _errors as errors,
)
from sagemaker_containers import (
    _files as files,
)
from sagemaker_containers import (
    _logging as logging,
)
from sagemaker_containers import (
    _mapping as mapping,
)
from sagemaker_containers import (
    _modules as modules,
)
from sagemaker_containers import (
    _params as params,
)
from sagemaker_containers import (
    _transformer as transformer,
)
from sagemaker_containers import (
    _worker as worker,
)
from sagemaker_containers import (
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
