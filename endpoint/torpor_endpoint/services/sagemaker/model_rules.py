"""The rules for CreateModel that AWS's service model does not express."""

from collections.abc import Sequence

from torpor_account.core.s3_address import NoS3Address, s3_url
from torpor_container.image import variables
from torpor_container.settings import BY_VARIABLE, unknown
from torpor_endpoint.host.images import Images
from torpor_endpoint.in_service.variant_settings import OF_VARIANT
from torpor_endpoint.services.sagemaker import errors
from torpor_endpoint.services.sagemaker.rules import Rules, Wire, broken
from torpor_endpoint.services.sagemaker.shapes import is_direct

UNSUPPORTED_SOURCE = frozenset({"ManifestS3Uri", "HubAccessConfig", "ETag", "ManifestEtag"})

ENVIRONMENT_ENTRIES = 100
ENVIRONMENT_ENTRY_BYTES = 1024
ENVIRONMENT_BYTES = 32 * 1024

MODEL_RULES: Rules[Wire] = (
    (
        lambda params: bool(params.get("PrimaryContainer")) == bool(params.get("Containers")),
        "Exactly one of PrimaryContainer and Containers must be given.",
    ),
    (
        lambda params: is_direct(params) and len(_containers(params)) < 2,
        "InferenceExecutionConfig.Mode Direct needs Containers with more than one container.",
    ),
    (
        lambda params: is_direct(params) and not all(map(_hostname, _containers(params))),
        "With InferenceExecutionConfig.Mode Direct, every container must have a ContainerHostname: requests name it.",
    ),
    # "If you specify a value for the ContainerHostName for any ContainerDefinition that is part of an inference
    # pipeline, you must specify a value ... of every ContainerDefinition in that pipeline."
    (
        lambda params: any(map(_hostname, _containers(params))) and not all(map(_hostname, _containers(params))),
        "If one of Containers has a ContainerHostname, all must have one.",
    ),
    (
        lambda params: _repeats([_hostname(c) for c in _containers(params) if _hostname(c)]),
        "Containers must not have the same ContainerHostname twice.",
    ),
    (
        lambda params: not is_direct(params) and sum(map(_multi_model, _containers(params))) > 1,
        "Only one container of an inference pipeline can have Mode MultiModel: a request names one TargetModel.",
    ),
)

CONTAINER_RULES: Rules[Wire] = (
    (
        lambda c: "InferenceSpecificationName" in c,
        "InferenceSpecificationName names a part of a model package: give ModelPackageName.",
    ),
    (lambda c: "AdditionalModelDataSources" in c, "AdditionalModelDataSources is not supported by Torpor."),
    (lambda c: not c.get("Image"), "The container must have an Image."),
    # "Currently you cannot use ModelDataSource in conjunction with ... SageMaker multi-model endpoints"
    (
        lambda c: _multi_model(c) and "ModelDataSource" in c,
        "ModelDataSource cannot be used with Mode MultiModel: give ModelDataUrl, the S3 prefix of the models.",
    ),
    (
        lambda c: _multi_model(c) and not c.get("ModelDataUrl"),
        "Mode MultiModel needs ModelDataUrl, the S3 prefix under which the models are.",
    ),
    (
        lambda c: _multi_model(c) and c["ModelDataUrl"].endswith(".tar.gz"),
        "ModelDataUrl must be an S3 prefix with Mode MultiModel, and not the key of one archive.",
    ),
    (
        lambda c: "ModelDataUrl" in c and "ModelDataSource" in c,
        "Only one of ModelDataUrl and ModelDataSource can be given.",
    ),
    (
        lambda c: "ModelDataSource" in c and "S3DataSource" not in c["ModelDataSource"],
        "ModelDataSource must have S3DataSource.",
    ),
    (
        lambda c: bool(UNSUPPORTED_SOURCE & _source(c).keys()),
        "Of ModelDataSource.S3DataSource, ManifestS3Uri, HubAccessConfig, ETag and ManifestEtag are not supported by "
        "Torpor.",
    ),
    (
        lambda c: _source(c).get("S3DataType") == "S3Prefix" and _source(c).get("CompressionType") != "None",
        "S3DataType S3Prefix needs CompressionType None: an archive is one object, S3DataType S3Object.",
    ),
    # "A valid key name prefix identified by S3Uri always ends with a forward slash (/)."
    (
        lambda c: _source(c).get("S3DataType") == "S3Prefix" and not _source(c)["S3Uri"].endswith("/"),
        "S3Uri must end with a forward slash (/) with S3DataType S3Prefix.",
    ),
    (
        lambda c: _source(c).get("S3DataType") == "S3Object" and _source(c)["S3Uri"].endswith("/"),
        "S3Uri must be the key of one object with S3DataType S3Object, and not a prefix.",
    ),
    (
        lambda c: not _multi_model(c) and c.get("Environment", {}).get("TORPOR_REVALIDATE") == "resident",
        "Environment.TORPOR_REVALIDATE=resident is for Mode MultiModel: one model is replaced by UpdateEndpoint.",
    ),
    (
        lambda c: not _multi_model(c) and c.get("Environment", {}).get("TORPOR_UPDATE") == "beside",
        "Environment.TORPOR_UPDATE=beside is for Mode MultiModel: one model is replaced by UpdateEndpoint.",
    ),
    (
        lambda c: not _multi_model(c) and c.get("Environment", {}).get("TORPOR_VERSIONS", "off") != "off",
        "Environment.TORPOR_VERSIONS is for Mode MultiModel: one model is replaced by UpdateEndpoint.",
    ),
    (
        lambda c: not _multi_model(c) and c.get("Environment", {}).get("TORPOR_GROUPS", "false") != "false",
        "Environment.TORPOR_GROUPS is for Mode MultiModel: a group chooses among the models below a prefix.",
    ),
    (
        lambda c: (
            "TORPOR_FED_BY" in c.get("Environment", {}) and c["Environment"].get("TORPOR_VERSIONS", "off") == "off"
        ),
        "Environment.TORPOR_FED_BY needs TORPOR_VERSIONS: latest, all, or specific versions.",
    ),
    (
        lambda c: len(c.get("Environment", {})) > ENVIRONMENT_ENTRIES,
        f"Environment must not have more than {ENVIRONMENT_ENTRIES} entries.",
    ),
    # "The maximum length of each key and value in the Environment map is 1024 bytes. The maximum length of all keys and
    # values in the map, combined, is 32 KB."
    (
        lambda c: max(_environment_bytes(c), default=0) > ENVIRONMENT_ENTRY_BYTES,
        f"Environment must not have a key or value longer than {ENVIRONMENT_ENTRY_BYTES} bytes.",
    ),
    (
        lambda c: sum(_environment_bytes(c)) > ENVIRONMENT_BYTES,
        f"The keys and values of Environment must not be longer than {ENVIRONMENT_BYTES} bytes together.",
    ),
)


def check_container(definition: Wire, number: int | None, images: Images) -> None:
    """Raises ValidationException for one container that breaks a rule. `number` is its place among several, from 1."""
    fault = (
        broken(CONTAINER_RULES, definition)
        or address_fault(definition)
        or setting_fault(definition)
        or variable_fault(definition, images)
    )
    if fault:
        raise errors.INVALID(fault if number is None else f"Container {number} of Containers: {fault}")


def disagreement(definitions: Sequence[Wire]) -> str | None:
    """The setting of the whole variant that two containers give different values, or that one of them cannot have
    beside another; None if there is none."""
    versioned = any(c.get("Environment", {}).get("TORPOR_VERSIONS", "off") != "off" for c in definitions)
    if versioned and sum(map(_multi_model, definitions)) > 1:
        return "Environment.TORPOR_VERSIONS is for one container with Mode MultiModel: two prefixes may disagree."
    grouped = any(c.get("Environment", {}).get("TORPOR_GROUPS", "false") != "false" for c in definitions)
    if grouped and len(definitions) > 1:
        return "Environment.TORPOR_GROUPS is for a model of one container: what others add to a call is not reckoned."
    for variable in OF_VARIANT:
        values = {c["Environment"][variable] for c in definitions if variable in c.get("Environment", {})}
        if len(values) > 1:
            shown = " and ".join(sorted(values))
            return f"Environment.{variable} must be the same in all containers that give it, and not {shown}."
    return None


def address_fault(definition: Wire) -> str | None:
    """Why ModelDataUrl or S3Uri names nothing in S3; None if it names something."""
    places = {"ModelDataUrl": definition.get("ModelDataUrl"), "S3Uri": _source(definition).get("S3Uri")}
    for member, url in places.items():
        try:
            if url is not None:
                s3_url(url)
        except NoS3Address as error:
            return f"{member} {url} does not name data in Amazon S3: {error}."
    return None


def setting_fault(definition: Wire) -> str | None:
    """The fault of a TORPOR_* setting in Environment, with its name; None if there is none."""
    if fault := unknown(definition.get("Environment", {})):
        return f"Environment.{fault}"
    for name, text in definition.get("Environment", {}).items():
        if (setting := BY_VARIABLE.get(name)) is not None:
            try:
                setting.read(text)
            except ValueError as error:
                return f"Environment.{name} is {text!r}: {error}. {setting.meaning}"
    return None


def variable_fault(definition: Wire, images: Images) -> str | None:
    """The fault of a variable that answers depend on and that the built-in container does not support; None if there
    is none. An image with a server of its own may have any variable."""
    image = images.find(definition["Image"])
    if image is None or image.command is not None:
        return None
    fault = variables.fault(definition.get("Environment", {}))
    return fault and f"Environment.{fault}"


def _containers(params: Wire) -> Sequence[Wire]:
    """The members of Containers; empty with PrimaryContainer."""
    found: Sequence[Wire] = params.get("Containers", ())
    return found


def _hostname(definition: Wire) -> str:
    hostname: str = definition.get("ContainerHostname", "")
    return hostname


def _repeats(names: Sequence[str]) -> bool:
    return len(set(names)) < len(names)


def _multi_model(definition: Wire) -> bool:
    return definition.get("Mode") == "MultiModel"


def _source(definition: Wire) -> Wire:
    source: Wire = definition.get("ModelDataSource", {}).get("S3DataSource", {})
    return source


def _environment_bytes(definition: Wire) -> list[int]:
    return [len(text.encode()) for entry in definition.get("Environment", {}).items() for text in entry]
