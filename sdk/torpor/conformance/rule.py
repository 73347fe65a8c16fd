"""A rule of the contract: its level, AWS's sentence, what mends a container that breaks it, and its check."""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from enum import Enum, StrEnum

from torpor.conformance.container import CheckedContainer, UseCase

Check = Callable[[CheckedContainer], None]
GUIDE = "https://docs.aws.amazon.com/sagemaker/latest/dg/"
API = "https://docs.aws.amazon.com/sagemaker/latest/APIReference/"
OIP = "https://github.com/kserve/open-inference-protocol/blob/main/"
TRITON = "https://github.com/triton-inference-server/server/blob/main/docs/protocol/"
SERVED = frozenset({UseCase.SINGLE, UseCase.MULTI})
MULTI = frozenset({UseCase.MULTI})
STREAMING = frozenset({UseCase.STREAMING})
PIPELINE = frozenset({UseCase.PIPELINE})
BATCH = frozenset({UseCase.BATCH})
LISTENS = "listens"
"""The rule without which no other one can be judged."""


class Level(StrEnum):
    """How much a rule weighs. The exit code counts only what a container must do."""

    MUST = "must"  # SageMaker fails, or misunderstands the container
    SHOULD = "should"  # it works, and callers or operators suffer
    MAY = "may"  # AWS's own containers differ, and SageMaker avoids the case


class Source(Enum):
    """Where the sentence of a rule stands. `value` is its name and address."""

    HOSTING = ("your-algorithms-inference-code", f"{GUIDE}your-algorithms-inference-code.html")
    MULTI_MODEL = ("mms-container-apis", f"{GUIDE}mms-container-apis.html")
    MULTI_MODEL_INVOKE = ("invoke-multi-model-endpoint", f"{GUIDE}invoke-multi-model-endpoint.html")
    BATCH = ("your-algorithms-batch-code", f"{GUIDE}your-algorithms-batch-code.html")
    PIPELINE = ("inference-pipeline-real-time", f"{GUIDE}inference-pipeline-real-time.html")
    PIPELINE_TROUBLE = ("inference-pipeline-troubleshoot", f"{GUIDE}inference-pipeline-troubleshoot.html")
    INVOKE = ("InvokeEndpoint", f"{API}API_runtime_InvokeEndpoint.html")
    STREAM = ("InvokeEndpointWithResponseStream", f"{API}API_runtime_InvokeEndpointWithResponseStream.html")
    HTTP = ("RFC 9110", "https://www.rfc-editor.org/rfc/rfc9110.html")
    HTTP_1 = ("RFC 9112", "https://www.rfc-editor.org/rfc/rfc9112.html")
    PING_LISTS = ("pytorch/serve#1028", "https://github.com/pytorch/serve/issues/1028")
    ASYNC_LENGTH = ("deepjavalibrary/djl-serving#2567", "https://github.com/deepjavalibrary/djl-serving/issues/2567")
    OPEN_INFERENCE = ("Open Inference Protocol, REST", f"{OIP}specification/protocol/inference_rest.md")
    BINARY_TENSORS = ("binary tensor data extension", f"{TRITON}extension_binary_data.md")
    MODEL_REPOSITORY = ("model repository extension", f"{TRITON}extension_model_repository.md")
    STATISTICS = ("statistics extension", f"{TRITON}extension_statistics.md")
    TFS_REST = ("TensorFlow Serving, RESTful API", "https://www.tensorflow.org/tfx/serving/api_rest")
    TORPOR = ("Torpor", "")  # no sentence of AWS: the text says what is known

    @property
    def label(self) -> str:
        return self.value[0]

    @property
    def url(self) -> str:
        return self.value[1]


@dataclass(frozen=True)
class Rule:
    """One rule. `check` returns if the container keeps it; see the package's docstring."""

    id: str
    level: Level
    says: str
    """What the source says, close to its words."""
    source: Source
    mend: str
    """What to change in a container that breaks the rule."""
    check: Check
    uses: frozenset[UseCase]
    """The rule applies to a container that is used for one of them."""
    needs: tuple[str, ...]
    """Rules that must be kept before this one can be judged."""
    needs_command: bool
    """Whether it can be judged only if the container was started by a command."""

    @property
    def group(self) -> str:
        """The module that holds the check."""
        return self.check.__module__.rpartition(".")[2]

    def applies_to(self, container: CheckedContainer) -> bool:
        return bool(self.uses & container.uses) and (container.process is not None or not self.needs_command)


def rule(
    id: str,
    level: Level,
    *,
    says: str,
    source: Source,
    mend: str,
    uses: Collection[UseCase] = SERVED,
    needs: Collection[str] = (),
    needs_command: bool = False,
) -> Callable[[Check], Rule]:
    """Makes the function below it the check of a rule."""

    def made(check: Check) -> Rule:
        needed = tuple(dict.fromkeys((*(() if id == LISTENS or needs_command else (LISTENS,)), *needs)))
        return Rule(id, level, says, source, mend, check, frozenset(uses), needed, needs_command)

    return made
