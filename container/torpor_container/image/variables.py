"""The environment variables that AWS's images read, as a table, and what the built-in container does with each.

CreateModel, or the start, refuses a variable that would change answers and that Torpor does not act on. The instance's
log names other variables without effect once, also those with a prefix of AWS's that no image reads. User scripts see
all variables. Foreign containers get what they are given.

Sources: sagemaker-inference (parameters.py, environment.py, model_server.py), sagemaker-containers (_params.py, _env.py),
multi-model-server (ConfigManager.java), the XGBoost and scikit-learn containers (serving_mms.py, sm_env_constants.py,
Dockerfiles), and the SageMaker SDK's `Model`.
"""

from collections.abc import Mapping
from difflib import get_close_matches
from enum import StrEnum
from typing import Final

from torpor_container.frozen_class import frozen


class Effect(StrEnum):
    """What the built-in container does with a variable."""

    ACTED_ON = "acted on"
    SET = "set by the endpoint"
    NONE = "no effect"
    REFUSED = "refused"


@frozen
class ImageVariable:
    """One row. `like` has values without effect: the images' own defaults. `instead` is what to use with Torpor."""

    name: str
    read_by: str
    effect: Effect
    meaning: str
    instead: str = ""
    like: tuple[str, ...] = ()


TOOLKIT, MMS = "inference toolkit", "Multi Model Server"
XGBOOST, SKLEARN = "XGBoost", "scikit-learn"
BOTH = f"{XGBOOST}, {SKLEARN}"
ALL = f"{TOOLKIT}, {BOTH}"

HANDLERS = (
    "sagemaker_inference.default_handler_service",
    "sagemaker_sklearn_container.handler_service",
    "sagemaker_xgboost_container.handler_service",
    "sagemaker_xgboost_container.algorithm_mode.handler_service",
)
SERVING = ("sagemaker_sklearn_container.serving:main", "sagemaker_xgboost_container.serving:main")
STORES = ("/", "/opt/ml/model", "/opt/ml/models")
WORKERS = "SAGEMAKER_MODEL_SERVER_WORKERS for a user script; else TORPOR_VCPU, and more instances"
TIMEOUT = "TORPOR_INVOCATION_TIMEOUT_SECONDS"
BODY = "TORPOR_BODY_MAX_BYTES"
NO_JAVA = "nothing: there is no Java here"

VARIABLES: Final[tuple[ImageVariable, ...]] = (
    ImageVariable("SAGEMAKER_PROGRAM", ALL, Effect.ACTED_ON, "the user script"),
    ImageVariable("SAGEMAKER_SUBMIT_DIRECTORY", ALL, Effect.ACTED_ON, "where the script's archive or folder is"),
    ImageVariable("SAGEMAKER_DEFAULT_INVOCATIONS_ACCEPT", ALL, Effect.ACTED_ON, "the answer's type where the caller names none"),
    ImageVariable("SAGEMAKER_INFERENCE_OUTPUT", XGBOOST, Effect.ACTED_ON, "which results an answer has"),
    ImageVariable("SAGEMAKER_INFERENCE_INPUT", "AutoML", Effect.ACTED_ON, "which results a request has"),
    ImageVariable("SAGEMAKER_INFERENCE_SUPPORTED", "AutoML", Effect.ACTED_ON, "which results there are"),
    ImageVariable("SAGEMAKER_INFERENCE_ENSEMBLE", XGBOOST, Effect.ACTED_ON, "whether several boosters answer together"),
    ImageVariable("MAX_CONTENT_LENGTH", BOTH, Effect.ACTED_ON, "the largest request body"),
    ImageVariable("SAGEMAKER_BIND_TO_PORT", ALL, Effect.ACTED_ON, "the port of `torpor-container serve`"),
    ImageVariable("SAGEMAKER_BASE_DIR", ALL, Effect.SET, "the folder that stands for `/opt/ml`"),
    ImageVariable("SAGEMAKER_MULTI_MODEL", ALL, Effect.SET, "whether there are many models: the container's Mode says it"),
    ImageVariable("SAGEMAKER_REGION", ALL, Effect.SET, "the region"),
    ImageVariable("AWS_REGION", "AWS's SDKs", Effect.SET, "the region"),
    ImageVariable("AWS_DEFAULT_REGION", "AWS's SDKs", Effect.SET, "the region"),
    ImageVariable("SM_MODEL_DIR", BOTH, Effect.NONE, "the model's folder", "scripts see the right one unless it is given"),
    ImageVariable("SAGEMAKER_CONTAINER_LOG_LEVEL", ALL, Effect.NONE, "how much is logged", "logging in the script", ("20",)),
    ImageVariable("SAGEMAKER_MODEL_SERVER_WORKERS", ALL, Effect.ACTED_ON, "worker processes of each user script"),
    ImageVariable("SAGEMAKER_MODEL_SERVER_TIMEOUT", ALL, Effect.NONE, "how long a prediction may take", TIMEOUT),
    ImageVariable("SAGEMAKER_MODEL_SERVER_TIMEOUT_SECONDS", TOOLKIT, Effect.NONE, "how long a prediction may take", TIMEOUT),
    ImageVariable("SAGEMAKER_MODEL_SERVER_VMARGS", TOOLKIT, Effect.NONE, "arguments of the Java machine", NO_JAVA),
    ImageVariable("SAGEMAKER_STARTUP_TIMEOUT", TOOLKIT, Effect.NONE, "how long the server may start", "TORPOR_LOAD_TIMEOUT_SECONDS"),
    ImageVariable("SAGEMAKER_MAX_PAYLOAD_IN_MB", TOOLKIT, Effect.NONE, "the largest request body", BODY),
    ImageVariable("SAGEMAKER_MAX_REQUEST_SIZE", f"{MMS}, {BOTH}", Effect.NONE, "the largest request body", BODY),
    ImageVariable("SAGEMAKER_MAX_RESPONSE_SIZE", MMS, Effect.NONE, "the largest answer", "nothing: there is no limit"),
    ImageVariable("SAGEMAKER_RESPONSE_TIMEOUT", MMS, Effect.NONE, "how long a prediction may take", TIMEOUT),
    ImageVariable("SAGEMAKER_NUM_MODEL_WORKERS", f"{MMS}, {BOTH}", Effect.NONE, "worker processes for each model", WORKERS),
    ImageVariable("SAGEMAKER_MODEL_JOB_QUEUE_SIZE", BOTH, Effect.NONE, "requests that wait for a model", "nothing: the endpoint's queue is bounded"),
    ImageVariable("SAGEMAKER_MAX_HEAP_SIZE", BOTH, Effect.NONE, "memory of the Java machine", NO_JAVA),
    ImageVariable("SAGEMAKER_MAX_DIRECT_MEMORY_SIZE", BOTH, Effect.NONE, "memory of the Java machine", NO_JAVA),
    ImageVariable("SAGEMAKER_SAFE_PORT_RANGE", ALL, Effect.NONE, "ports that a container may use", "nothing: there are no other containers"),
    ImageVariable("SAGEMAKER_USE_NGINX", SKLEARN, Effect.NONE, "a proxy before the server", "nothing: there is none"),
    ImageVariable("SAGEMAKER_MAX_CONCURRENT_TRANSFORMS", XGBOOST, Effect.SET, "payloads of a transform job at the same time"),
    ImageVariable("SAGEMAKER_BATCH_STRATEGY", XGBOOST, Effect.SET, "whether a payload of a transform job has one record, or many"),
    ImageVariable("SAGEMAKER_ENABLE_CLOUDWATCH_METRICS", "older SDKs", Effect.NONE, "metrics of the container", "the endpoint's own metrics"),
    ImageVariable("SAGEMAKER_JOB_NAME", "older SDKs", Effect.NONE, "a training job's name"),
    ImageVariable("SAGEMAKER_TRAINING_MODULE", BOTH, Effect.NONE, "what trains", "a training job"),
    ImageVariable("SAGEMAKER_BATCH", XGBOOST, Effect.SET, "whether it serves a transform job: CSV is answered in lines in both cases"),
    ImageVariable("SAGEMAKER_HANDLER", f"{TOOLKIT}, {MMS}", Effect.REFUSED, "the handler service", "a user script with model_fn and its like", HANDLERS),
    ImageVariable("SAGEMAKER_SERVING_MODULE", SKLEARN, Effect.REFUSED, "the program that serves", "a user script, or an image of --images", SERVING),
    ImageVariable("SAGEMAKER_MODEL_STORE", MMS, Effect.REFUSED, "where models are", "ModelDataUrl", STORES),
    ImageVariable("SAGEMAKER_MMS_MODEL_STORE", BOTH, Effect.REFUSED, "where models are", "ModelDataUrl", STORES),
    ImageVariable("SAGEMAKER_MMS_LOAD_MODELS", BOTH, Effect.REFUSED, "which models are loaded at the start", "call the model", ("ALL",)),
    ImageVariable("SAGEMAKER_MMS_DEFAULT_HANDLER", BOTH, Effect.REFUSED, "the handler service", "a user script with model_fn and its like", HANDLERS),
    ImageVariable("MMS_DEFAULT_SERVICE_HANDLER", MMS, Effect.REFUSED, "the handler service", "a user script with model_fn and its like", HANDLERS),
    ImageVariable("MMS_CONFIG_FILE", MMS, Effect.REFUSED, "a file of settings", "Torpor's own settings"),
    ImageVariable("MMS_MODEL_STORE", MMS, Effect.REFUSED, "where models are", "ModelDataUrl", STORES),
    ImageVariable("MMS_LOAD_MODELS", MMS, Effect.REFUSED, "which models are loaded at the start", "call the model", ("ALL", "all")),
    ImageVariable("MMS_DECODE_INPUT_REQUEST", MMS, Effect.REFUSED, "whether the server decodes bodies", "input_fn of a user script", ("false",)),
    ImageVariable("MMS_DEFAULT_WORKERS_PER_MODEL", MMS, Effect.NONE, "worker processes for each model", WORKERS),
    ImageVariable("MMS_DEFAULT_RESPONSE_TIMEOUT", MMS, Effect.NONE, "how long a prediction may take", TIMEOUT),
    ImageVariable("MMS_UNREGISTER_MODEL_TIMEOUT", MMS, Effect.NONE, "how long a model may take to unload", "nothing: a second or two"),
    ImageVariable("MMS_MAX_REQUEST_SIZE", MMS, Effect.NONE, "the largest request body", BODY),
    ImageVariable("MMS_MAX_RESPONSE_SIZE", MMS, Effect.NONE, "the largest answer", "nothing: there is no limit"),
    ImageVariable("MMS_JOB_QUEUE_SIZE", MMS, Effect.NONE, "requests that wait for a model", "nothing: the endpoint's queue is bounded"),
    ImageVariable("MMS_NUMBER_OF_NETTY_THREADS", MMS, Effect.NONE, "threads of the Java server", NO_JAVA),
    ImageVariable("MMS_NETTY_CLIENT_THREADS", MMS, Effect.NONE, "threads of the Java server", NO_JAVA),
    ImageVariable("MMS_NUMBER_OF_GPU", MMS, Effect.NONE, "graphics processors in use", "nothing: there are none"),
    ImageVariable("MMS_ASYNC_LOGGING", MMS, Effect.NONE, "how the Java server logs", NO_JAVA),
    ImageVariable("MMS_DEBUG", MMS, Effect.NONE, "how much is logged", "`--log-level`"),
)  # fmt: skip

PREFIXES = ("SAGEMAKER_", "SM_", "MMS_", "TS_")
"""The prefixes of variables of AWS's images. No image that Torpor replaces reads those of TorchServe, TS_."""

BY_NAME: Final[Mapping[str, ImageVariable]] = {variable.name: variable for variable in VARIABLES}


def fault(environment: Mapping[str, str]) -> str | None:
    """Why an environment cannot be served: a variable would change answers, and Torpor does not act on it."""
    for name, value in environment.items():
        known = BY_NAME.get(name)
        if known is not None and known.effect is Effect.REFUSED and _has_effect(known, value):
            return (
                f"{name}={value} sets {known.meaning} in AWS's images ({known.read_by}). Torpor does not act on it, and "
                f"its answers would differ: leave it out. Use instead: {known.instead}."
            )
    return None


def notes(environment: Mapping[str, str]) -> list[str]:
    """The log's notes on variables without effect."""
    noted = (_note(name, value) for name, value in sorted(environment.items()) if name.startswith(PREFIXES))
    return [note for note in noted if note]


def _note(name: str, value: str) -> str | None:
    known = BY_NAME.get(name)
    if known is None:
        near = get_close_matches(name, BY_NAME, n=1, cutoff=0.85)
        hint = f" Did you mean {near[0]}?" if near else ""
        return f"{name} has no effect: no image that Torpor replaces reads it. User scripts see it.{hint}"
    if known.effect is Effect.NONE and _has_effect(known, value):
        hint = f" Use instead: {known.instead}." if known.instead else ""
        return f"{name}={value} has no effect: Torpor does not act on it ({known.meaning}).{hint}"
    return None


def _has_effect(known: ImageVariable, value: str) -> bool:
    return bool(value) and value not in known.like
