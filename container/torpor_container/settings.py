"""Defines every setting of a variant once, in one table: its variable, its default, and the function that reads it.

SageMaker's own variables keep SageMaker's names; what Torpor adds is `TORPOR_*`. On an endpoint the settings are in the
container's `Environment`. An instance reads all of them (`Settings`). Others read the few that they act on into a
record of their own with the same field names (`read_settings`), or take a default from `DEFAULTS`.
"""

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from difflib import get_close_matches
from math import inf, isfinite
from typing import TYPE_CHECKING, Any, Final, TypeVar

from torpor_container.core.devices.asked_device import AskedDevice, asked_device
from torpor_container.core.eviction import POLICIES, policy
from torpor_container.core.keepalive import keep_alive
from torpor_container.core.versions.group_feeds import group_feeds
from torpor_container.core.versions.version_policies import VersionPolicy, version_policy
from torpor_container.image.aws_images import IMAGES, selected
from torpor_container.image.server_command import ServerCommand

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

    from torpor_container.transport.peers.credential import PeerCredential

Record = TypeVar("Record", bound="DataclassInstance")
T = TypeVar("T")
MIB = 1024 * 1024

SCRIPT_NETWORKS = ("allow", "endpoint", "refuse")
"""What a script in its box may connect to: everything, its endpoint, nothing."""

ARTIFACTS_OWN = ("/opt/ml/model", "/opt/ml/model/code")
"""The values of SAGEMAKER_SUBMIT_DIRECTORY that mean the artifact itself."""


def _bool(text: str) -> bool:
    if text.lower() not in ("true", "false", "1", "0"):
        raise ValueError("is neither true nor false")
    return text.lower() in ("true", "1")


def _mib(text: str) -> int:
    size_bytes = int(_amount(text) * MIB)
    if not size_bytes:
        raise ValueError("must be one byte at least")
    return size_bytes


def _port(text: str) -> int:
    if not (text.isdecimal() and int(text) < 65536):
        raise ValueError("must be a port, from 0 to 65535")
    return int(text)


def _count(text: str) -> int:
    try:
        return int(_more_than_0(int(text)))
    except ValueError:
        raise ValueError("must be a whole number more than 0") from None


def _amount(text: str) -> float:
    try:
        return _more_than_0(float(text))
    except ValueError:
        raise ValueError("must be a number more than 0") from None


def _more_than_0(number: float) -> float:
    if not 0 < number < inf:  # NaN is not either
        raise ValueError("must be a number more than 0")
    return number


def _policy(text: str) -> str:
    policy(text)
    return text


def _keep_alive(text: str) -> str:
    keep_alive(text, 1.0)
    return text


def _one_of(*values: str) -> Callable[[str], str]:
    def read(text: str) -> str:
        if text not in values:
            raise ValueError(f"must be one of {', '.join(values)}")
        return text

    return read


def _revalidate(text: str) -> str:
    if text.lower() in ("true", "false", "1", "0"):
        raise ValueError("is neither true nor false, but `off`, `disk` or `resident`")
    return _one_of("off", "disk", "resident")(text)


def _program(text: str) -> str:
    if text.startswith("/") or ".." in text.split("/"):
        raise ValueError("must be a path below the artifact's code/ folder, such as serve.py or src/serve.py")
    return text


def _submit_directory(text: str) -> str:
    text = text.rstrip("/")
    if text and not text.startswith(("s3://", "file:///", "/")):
        raise ValueError("must be s3://bucket/key, or an absolute path")
    return text


def _form(pattern: str, words: str) -> Callable[[str], str]:
    def read(text: str) -> str:
        if text and not re.fullmatch(pattern, text):
            raise ValueError(words)
        return text

    return read


def _paths(text: str) -> tuple[str, ...]:
    paths = tuple(filter(None, text.split(os.pathsep)))
    if not all(map(os.path.isabs, paths)):
        raise ValueError("must be absolute paths with colons between them")
    return paths


def _ports(text: str) -> tuple[int, ...]:
    return tuple(map(_port, filter(None, text.split(","))))


def _permission(text: str) -> bool:
    return _one_of("allow", "refuse")(text) == "allow"


def _optional(read: Callable[[str], T]) -> Callable[[str], T | None]:
    return lambda text: read(text) if text else None


def _secret(text: str) -> bytes | None:
    if text and not re.fullmatch("[0-9a-f]{64}", text):
        raise ValueError("must be 64 hexadecimal digits")
    return bytes.fromhex(text) if text else None


def _peer_tls(text: str) -> "PeerCredential":
    from torpor_container.transport.peers.credential import PeerCredential  # most instances have none

    return PeerCredential.read(text)


def _delay(text: str) -> float:
    return _amount(text) / 1000 if float(text) else 0.0


def _optional_number(text: str) -> float | None:
    if text and not isfinite(float(text)):
        raise ValueError("must be a number of seconds")
    return float(text) if text else None


def _selected(text: str) -> str:
    selected(text)
    return text


def _image(text: str) -> str:
    if text not in ("", *IMAGES):
        raise ValueError(f"must be one of {', '.join(IMAGES)}, or empty")
    return text


@dataclass(frozen=True)
class Setting:
    """One row of the table: the variable, the field that it fills, its reader, its default and its meaning."""

    variable: str
    field: str
    read: Callable[[str], Any]
    default: str
    meaning: str


SETTINGS: tuple[Setting, ...] = (
    Setting("SAGEMAKER_MULTI_MODEL", "multi_model", _bool, "false", "Serve many models by name instead of one."),
    Setting("SAGEMAKER_BIND_TO_PORT", "port", _port, "8080", "The port of `torpor-container serve`."),
    Setting("SAGEMAKER_BASE_DIR", "base_dir", str, "/opt/ml", "The folder of `model/` (one model) and `models/` (the disk tier)."),
    Setting("SAGEMAKER_PROGRAM", "program", _program, "", "The user script: a file or a module, in `code/` or at the top of the artifact. Every artifact must have it. Empty: `inference.py`, if the artifact has one."),
    Setting("SAGEMAKER_SUBMIT_DIRECTORY", "submit_directory", _submit_directory, "", "The archive that holds the script of every model: `s3://bucket/key`, or a path of this machine, which may be a folder. Empty, or `/opt/ml/model/code`: each artifact holds its own script."),
    Setting("SAGEMAKER_DEFAULT_INVOCATIONS_ACCEPT", "default_accept", str, "", "The type of the answer if the request names none."),
    Setting("TORPOR_TRUST", "trust", _one_of("code", "data"), "code", "`data`: the instance loads only files that run no code as they load: XGBoost's JSON and UBJSON, LightGBM's text, ONNX, and skops files of types that skops knows. It refuses pickles, joblib files, XGBoost's old binary format, formats that packages add, and scripts."),
    Setting("TORPOR_REQUIRE_DIGESTS", "require_digests", _bool, "false", "`true`: the instance loads only artifacts whose SHA-256 is in a list, `SHA256SUMS` beside them, as `sha256sum` writes it."),
    Setting("TORPOR_DIGEST_LIST", "digest_list", _form("s3://[^/]+/.*[^/]", "must be s3://bucket/key"), "", "The list itself, `s3://bucket/key`, where it does not lie beside the artifacts. With a value, digests are required."),
    Setting("TORPOR_DIGEST_KEY", "digest_key", _form("RW[A-Za-z0-9+/]{54}", "must be a public key of minisign, as `minisign.pub` has it: RW and 54 characters"), "", "The public key of minisign that must have signed the list: `minisign -S` puts the signature beside the list, as `SHA256SUMS.minisig`. With a value, digests are required."),
    Setting("TORPOR_PICKLES", "pickles", _permission, "allow", "`refuse`: the instance loads no pickle and no joblib file, because these run code while they load. A script may still load its own."),
    Setting("TORPOR_SCRIPTS", "scripts", _permission, "allow", "`refuse`: the instance runs no user script, and refuses a model that has one."),
    Setting("SAGEMAKER_MODEL_SERVER_WORKERS", "script_workers", lambda text: _count(text) if text else 1, "1", "The processes of each user script, of which each answers one request at a time. Each loads the model, and takes its memory again."),
    Setting("TORPOR_SCRIPT_BOX", "script_box", _bool, "true", "`true`: each script's process is in a box (`docs/explanation/isolation.md`). `false`: it has the rights of the user who started the endpoint."),
    Setting("TORPOR_SCRIPT_NETWORK", "script_network", _one_of(*SCRIPT_NETWORKS), "allow", "What a script in its box may connect to. `allow`: whatever this machine reaches. `endpoint`: only the ports of TORPOR_SCRIPT_PORTS, by TCP; it listens on none. It needs Linux 6.7, and is the default of instances on the machine of an endpoint with `--auth`, if that machine has it. `refuse`: nothing, not even this endpoint."),
    Setting("TORPOR_SCRIPT_PORTS", "script_ports", _ports, "", "The ports for `TORPOR_SCRIPT_NETWORK=endpoint`, with commas between them. The endpoint sets it: its own port."),
    Setting("TORPOR_SCRIPT_READS", "script_reads", _paths, "", "Further files and folders that scripts may read, as absolute paths with colons between them."),
    Setting("TORPOR_SCRIPT_WRITES", "script_writes", _paths, "", "Further folders that scripts may write, likewise."),
    Setting("TORPOR_SCRIPT_PROCESSES", "script_processes", _count, "256", "The most processes and threads that one script may have together."),
    Setting("TORPOR_SCRIPT_DISK_MIB", "script_disk_bytes", _mib, "1024", "The most that one script may write into its folders. Within a second of more, its process is ended."),
    Setting("TORPOR_SCRIPT_FILES", "script_files", _count, "10000", "The most files and folders that one script may make in its folders. Within a second of more, its process is ended."),
    Setting("TORPOR_SCRIPT_HIDDEN", "script_hidden", _paths, "", "Folders of which scripts see nothing but their own models. The endpoint sets it: its data folder."),
    Setting("TORPOR_REQUIRE_ISOLATION", "require_isolation", _bool, "false", "`true`: the instance does not start where the machine cannot hold a script to its whole box, or where the container's Environment widens it. The endpoint sets it for `--require-isolation`."),
    Setting("TORPOR_REQUIREMENTS", "requirements", _one_of("refuse", "install"), "refuse", "A script's `requirements.txt`. `refuse`: the instance refuses a model whose requirements are not met. `install`: it installs them beside the model."),
    Setting("SAGEMAKER_INFERENCE_ENSEMBLE", "ensemble", _bool, "true", "`true`: all XGBoost boosters of an artifact answer together (`docs/reference/xgboost.md`). `false`: the first one answers alone."),
    Setting("SAGEMAKER_INFERENCE_OUTPUT", "inference_output", _selected, "", "The values that an XGBoost model gives for each prediction, as keys with commas between them, such as `predicted_label,probability` (`docs/reference/xgboost.md`). Empty: the prediction alone."),
    Setting("MAX_CONTENT_LENGTH", "content_max_bytes", _optional(_count), "", "The largest request body for AWS's XGBoost image, in bytes, up to 20 MiB. TORPOR_BODY_MAX_BYTES holds if it is smaller."),
    Setting("TORPOR_SOCKET", "socket", str, "", "Serve on this Unix socket in place of a port."),
    Setting("TORPOR_LISTENER", "listener", _optional(_count), "", "Serve on this inherited descriptor of a listening socket in place of a port. A host of another machine sets it."),
    Setting("TORPOR_INSTANCE_SECRET", "secret", _secret, "", "64 hexadecimal digits. The container takes connections only from routers that prove that they know them. The endpoint sets it for an instance on another machine. Empty: it takes every connection."),
    Setting("TORPOR_PEER_TLS", "peer_tls", _optional(_peer_tls), "", "The key, the certificate and the authority by which the container proves itself to control and routers, and knows them, as JSON. It then speaks TLS with whoever is on another machine. The endpoint sets it for an instance on another machine (`docs/how-to/internal-tls.md`)."),
    Setting("TORPOR_TICKETS", "tickets", _bool, "false", "`true`: an instance on another machine also takes requests of a gateway, by HTTP on the same port, each with a router's ticket (`docs/how-to/gateway.md`)."),
    Setting("TORPOR_PATH_PREFIX", "path_prefix", str, "", "Serve every path under this prefix, such as `/v1`."),
    Setting("TORPOR_CONTAINER", "container", ServerCommand.read, "", "The command that starts a foreign container, as JSON (adapter mode). The endpoint sets it for an image of `--images`."),
    Setting("TORPOR_MODEL_SOURCE", "model_source", str, "", "The `s3://bucket/prefix` of the models (kept mode), or of the one artifact."),
    Setting("TORPOR_MODEL_COMPRESSION", "compression", _one_of("gzip", "none"), "gzip", "`none`: S3 holds the files of the one model uncompressed (ModelDataSource), below TORPOR_MODEL_SOURCE if that ends with a slash. The endpoint sets it."),
    Setting("TORPOR_S3_ENDPOINT", "s3_endpoint", str, "", "The S3 endpoint that holds the models. Empty: AWS. The instance does not use `AWS_ENDPOINT_URL`."),
    Setting("TORPOR_S3_FOLDER", "s3_folder", str, "", "The folder of the embedded object store. The instance reads artifacts in place there."),
    Setting("TORPOR_MODEL_CACHE", "model_cache", _bool, "true", "`false`: the instance unloads a model after each call and deletes it from disk (ModelCacheSetting Disabled)."),
    Setting("TORPOR_REVALIDATE", "revalidate", _revalidate, "off", "When the instance asks S3 for a newer version of a model that it holds. `off`: never, as on AWS. `disk`: before it loads the model from disk. `resident`: also before the model answers from memory. It asks an S3 on another machine at most once a second for each model."),
    Setting("TORPOR_UPDATE", "update", _one_of("replace", "beside"), "replace", "How a model that is overwritten in S3 is brought up to date, for a container of many models. `replace`: by a reload, or as TORPOR_REVALIDATE says; calls wait for the load. `beside`: the newer version is loaded beside the older one, which answers meanwhile, as soon as the embedded S3 has it, and with TORPOR_REVALIDATE=resident once a call has found it (`docs/how-to/overwrite-a-model.md`). The endpoint acts on it, too."),
    Setting("TORPOR_POLICY", "policy", _policy, "LRU", f"The rule that decides which model leaves first under memory pressure: {', '.join(POLICIES)}."),
    Setting("TORPOR_MEMORY_MIB", "memory_bytes", _mib, "1024", "The memory of the instance: its own process, the models and their scripts. Without an endpoint, a container has no other way to know its limit. On an endpoint, the default is the instance's memory. Several containers of one instance share it: one with its own value keeps that, and the shares of the others move to where they are needed."),
    Setting("TORPOR_DISK_MIB", "disk_bytes", _mib, "5120", "The disk space for unpacked artifacts."),
    Setting("TORPOR_NEIGHBOURS_MIB", "neighbours_bytes", lambda text: 0 if text == "0" else _mib(text), "0", "The disk space, beside TORPOR_DISK_MIB, for artifacts as they came from S3: an instance of many models that loads one asks others of its variant that have its artifact before it reads S3, and gives out its own (`docs/how-to/share-artifacts.md`). 0: it asks nobody, and keeps none. Artifacts that are read in place are not shared. The endpoint acts on it, too."),
    Setting("TORPOR_MAPPED_FOLDER", "mapped_folder", str, "", "The folder of the files that instances map, which those of one variant on one machine share. It has as much room as TORPOR_DISK_MIB again. Empty: `mapped` in SAGEMAKER_BASE_DIR. The endpoint sets it."),
    Setting("TORPOR_VERDICTS_FOLDER", "verdicts_folder", str, "", "The folder of the verdicts of trials, which all instances of one machine share. Empty: `verdicts` in SAGEMAKER_BASE_DIR. The endpoint sets it."),
    Setting("TORPOR_ONNX_WEIGHTS", "onnx_weights", _one_of("auto", "shared", "private"), "auto", "Whose the weights of an ONNX model are. `shared`: a file that all instances of the variant on one machine map (`docs/explanation/residency.md`). `private`: each instance has a copy, as ONNX Runtime makes it. `auto`: shared until the model is hot, then private if there is room. Models with less than 256 KiB of weights are always private."),
    Setting("TORPOR_TREES", "trees", _one_of("auto", "library", "flat"), "auto", "What answers for models of trees (XGBoost, scikit-learn; LightGBM's text models always answer by flat trees). `auto`: their library, until flat trees of the model are made and proved to answer alike (`docs/explanation/flat-trees.md`). `library`: always their library. `flat`: as `auto`, and the first answer waits for the flat trees. A model that flat trees do not cover stays with its library, as do all where Torpor was installed without a C compiler."),
    Setting("TORPOR_VCPU", "vcpu", _count, "1", "The number of processors: of threads that predict, and of turns that they share with user scripts (`docs/reference/models.md`)."),
    Setting("TORPOR_DEVICE", "device", asked_device, "cpu", "What models predict on. `cpu`: the processor. `cuda` or `cuda:N`: an NVIDIA GPU, without which the endpoint is refused. `auto`: a GPU where one is found, else the processor, as `torpor why` says. An instance type with a GPU means `cuda`, unless this or the endpoint's `--device` says otherwise (`docs/how-to/gpu.md`)."),
    Setting("TORPOR_DEVICE_MEMORY_MIB", "device_bytes", _optional(_mib), "", "The memory of the device that the instance may use. Empty: nine tenths of what is free when it starts. Give each its part where several instances share a device."),
    Setting("TORPOR_MODEL_CONCURRENCY", "model_concurrency", _optional(_count), "", "The number of threads that may predict for one model at once. Empty: all. With any value, models that wait for a thread get equal shares of the threads' time."),
    Setting("TORPOR_BATCH_SIZE", "batch_size", _optional(_count), "", "The most requests for one model that are predicted together. It holds for models whose answers stay the same to the bit: XGBoost, and scikit-learn's trees and forests. Empty: 32 if the prediction needs no thread, else 1."),
    Setting("TORPOR_BATCH_DELAY_MS", "batch_delay_s", _delay, "0", "How long a batch waits for more requests if it is smaller than the model's last batch, in milliseconds."),
    Setting("TORPOR_LOADS_MAX", "loads_max", _count, "4", "The number of models that may download and load at the same time."),
    Setting("TORPOR_TRIALS", "trials", _bool, "true", "`true`: a process of its own, under limits, loads each version of an artifact once before the instance loads it."),
    Setting("TORPOR_READY_WAIT_SECONDS", "ready_wait_s", _amount, "60", "How long a request waits for its model before ModelNotReadyException. The load goes on."),
    Setting("TORPOR_LOAD_TIMEOUT_SECONDS", "load_timeout_s", _amount, "360", "The longest time for the download and the load of a model together."),
    Setting("TORPOR_INVOCATION_TIMEOUT_SECONDS", "invocation_timeout_s", _amount, "60", "The longest time for one prediction."),
    Setting("TORPOR_BODY_MAX_BYTES", "body_max_bytes", _count, "6291456", "The largest request body."),
    Setting("TORPOR_UNPACK_MAX_MIB", "unpack_max_bytes", _mib, "10240", "The largest artifact when unpacked."),
    Setting("TORPOR_UNPACK_MAX_RATIO", "unpack_max_ratio", _amount, "200", "The largest ratio of unpacked to packed bytes."),
    Setting("TORPOR_UNPACK_MAX_ENTRIES", "unpack_max_entries", _count, "10000", "The most files in one artifact."),
    Setting("TORPOR_IDLE_SECONDS", "idle_s", _amount, "1200", "How long a variant that may sleep stays awake without a request. The endpoint acts on it."),
    Setting("TORPOR_KEEP_ALIVE", "keep_alive", _keep_alive, "fixed", "`fixed`: the variant sleeps after TORPOR_IDLE_SECONDS. `histogram`: it learns when calls come, and sleeps until shortly before the next one. The endpoint acts on it."),
    Setting("TORPOR_ROLLOUT_WARM", "rollout_warm", _bool, "false", "`true`: before the new instances of a rollout get traffic, they load the models that the old ones have in memory. It is that of the new configuration, for containers of many models. The endpoint acts on it."),
    Setting("TORPOR_VERSIONS", "versions", version_policy, "off", "Which versions of a model may answer, for a container of many models. `latest` (or `latest:N`): the newest one (or N), and those that have a label. `all`: every version. `specific:N,N…`: these, and those that have a label. `off`: every target is a key, as on AWS (`docs/how-to/versions.md`). The endpoint acts on it."),
    Setting("TORPOR_GROUPS", "groups", _bool, "false", "`true`: a file `NAME.group.json` below the prefix of a container of many models groups models that do the same task, and a request that names the group says what it needs (`docs/how-to/choose-by-need.md`). The endpoint acts on it."),
    Setting("TORPOR_FED_BY", "fed_by", group_feeds, "", "Names below the prefix whose versions are the approved packages of a model package group, as `NAME=GROUP,NAME=GROUP…`; it needs TORPOR_VERSIONS (`docs/how-to/versions.md`). The endpoint acts on it."),
    Setting("TORPOR_VERSIONS_POLL_SECONDS", "versions_poll_s", _amount, "30", "How often the endpoint lists the prefix of a container with TORPOR_VERSIONS or TORPOR_GROUPS. The embedded S3 also tells it of each object at once. The endpoint acts on it."),
    # Placement never makes a second copy of a model while an instance has fewer in flight (`core.placement.BUSY_MIN`).
    Setting("TORPOR_CONCURRENCY", "concurrency", _count, "8", "The requests that an instance should have in flight, for a variant that Torpor scales. More of them for 6 s start another instance. The endpoint acts on it."),
    Setting("TORPOR_MODEL_IDLE_SECONDS", "model_idle_s", _optional(_amount), "", "Unload a model that had no call for this long. Empty: a model leaves only for lack of room, as on AWS."),
    Setting("TORPOR_MODEL_KEEP_ALIVE", "model_keep_alive", _keep_alive, "fixed", "It needs TORPOR_MODEL_IDLE_SECONDS. `fixed`: a model leaves after that time. `histogram`: the instance also learns when calls come, and loads the model again before the next one."),
    Setting("TORPOR_IMAGE", "image", _image, "", "The image of AWS whose conventions this container follows: `xgboost` or `scikit-learn`. The endpoint sets it."),
    Setting("TORPOR_AWS_STRICT", "strict", _bool, "false", "`true`: the container does as AWS's image does, even where that image gives a surprising answer. The endpoint sets it for `--aws-strict`."),
    Setting("TORPOR_CLOCK_AHEAD_SECONDS", "clock_ahead_s", _optional_number, "", "How far the instance's dates and idle times are ahead of real time, to begin with. The endpoint sets it for `--travelling-clock`, and moves the clock later. Empty: the clock is real."),
    Setting("TORPOR_FAULTS", "faults", _bool, "false", "`true`: the endpoint may have the next loads of the instance find no memory. The endpoint sets it for `--faults`."),
    Setting("TORPOR_WARM_PARENT", "zygote", str, "", "The socket of the zygote that the instance was forked from. The endpoint sets it. Without it, the container starts a zygote when a trial or a script needs one."),
    Setting("TORPOR_WHOLE_PARENT", "whole_zygote", str, "", "The socket of the zygote that has all libraries imported, for scripts and for trials of pickles. The endpoint sets it. Empty: that of `TORPOR_WARM_PARENT`."),
)  # fmt: skip

BY_VARIABLE: Final[Mapping[str, Setting]] = {row.variable: row for row in SETTINGS}
BY_FIELD: Final[Mapping[str, Setting]] = {row.field: row for row in SETTINGS}


class BadSetting(Exception):
    """A setting cannot be read. The message names the variable."""


@dataclass(frozen=True)
class Settings:
    """The values of all rows. Sizes are in bytes, times in seconds."""

    multi_model: bool
    port: int
    base_dir: str
    program: str
    submit_directory: str
    default_accept: str
    trust: str
    require_digests: bool
    digest_list: str
    digest_key: str
    pickles: bool
    scripts: bool
    script_workers: int
    script_box: bool
    script_network: str
    script_ports: tuple[int, ...]
    script_reads: tuple[str, ...]
    script_writes: tuple[str, ...]
    script_processes: int
    script_disk_bytes: int
    script_files: int
    script_hidden: tuple[str, ...]
    require_isolation: bool
    requirements: str
    ensemble: bool
    inference_output: str
    content_max_bytes: int | None
    socket: str
    listener: int | None
    secret: bytes | None = field(repr=False)
    peer_tls: "PeerCredential | None" = field(repr=False)
    tickets: bool
    path_prefix: str
    container: ServerCommand | None
    model_source: str
    compression: str
    s3_endpoint: str
    s3_folder: str
    model_cache: bool
    revalidate: str
    update: str
    policy: str
    memory_bytes: int
    disk_bytes: int
    neighbours_bytes: int
    mapped_folder: str
    verdicts_folder: str
    onnx_weights: str
    trees: str
    vcpu: int
    device: AskedDevice
    device_bytes: int | None
    model_concurrency: int | None
    batch_size: int | None
    batch_delay_s: float
    loads_max: int
    trials: bool
    ready_wait_s: float
    load_timeout_s: float
    invocation_timeout_s: float
    body_max_bytes: int
    unpack_max_bytes: int
    unpack_max_ratio: float
    unpack_max_entries: int
    idle_s: float
    keep_alive: str
    rollout_warm: bool
    versions: VersionPolicy | None
    groups: bool
    fed_by: Mapping[str, str]
    versions_poll_s: float
    concurrency: int
    model_idle_s: float | None
    model_keep_alive: str
    image: str
    strict: bool
    clock_ahead_s: float | None
    faults: bool
    zygote: str
    whole_zygote: str

    @classmethod
    def read(cls, environment: Mapping[str, str] = os.environ) -> "Settings":
        """Read every setting. Raises BadSetting."""
        return read_settings(cls, environment)


def read_settings(record: type[Record], environment: Mapping[str, str]) -> Record:
    """Fill a dataclass whose fields are some of the table's, from the environment and the defaults.

    Raises BadSetting for a value that cannot be read. It ignores the variables of other fields.
    """
    return record(**{one.name: _value(BY_FIELD[one.name], environment) for one in fields(record)})


def _value(setting: Setting, environment: Mapping[str, str]) -> Any:
    text = environment.get(setting.variable, setting.default)
    try:
        return setting.read(text)
    except ValueError as error:
        shown = "…" if setting.field in ("secret", "peer_tls") else repr(text)
        raise BadSetting(f"{setting.variable}={shown}: {error}. {setting.meaning}") from error


DEFAULTS: Final = Settings.read({})
"""The settings of an empty environment."""


def unknown(environment: Mapping[str, str]) -> str | None:
    """A complaint about the first `TORPOR_` variable that is no setting; None if there is none."""
    for name in environment:
        if name.startswith("TORPOR_") and name not in BY_VARIABLE:
            near = get_close_matches(name, BY_VARIABLE, n=1)
            return f"{name} is not a setting of Torpor: {f'did you mean {near[0]}?' if near else 'docs/reference/settings.md lists all.'}"
    return None
