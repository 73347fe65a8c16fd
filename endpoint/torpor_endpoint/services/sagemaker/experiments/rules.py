"""The rules for inference experiments that AWS's service model lacks. Each message names the member."""

from collections.abc import Mapping
from typing import Any

from torpor_account.core.s3_address import is_s3_url
from torpor_endpoint.core.resource_records import Variant
from torpor_endpoint.services.sagemaker import errors
from torpor_endpoint.services.sagemaker.experiments.lifecycle import Action, ExperimentStatus, Roles, roles
from torpor_endpoint.services.sagemaker.rules import Rules, check

Wire = Mapping[str, Any]
Actions = tuple[Roles, Wire]
"""The variants of an experiment, and the parameters of StopInferenceExperiment."""

# -- the settings: those of CreateInferenceExperiment, and of an update ------------------------------------------------
SETTINGS_RULES: Rules[Wire] = (
    (
        lambda settings: len(_names(settings["ModelVariants"])) != 2 or len(settings["ModelVariants"]) != 2,
        "ModelVariants must have two entries with different VariantNames: the production and the shadow variant.",
    ),
    (
        lambda settings: roles(settings).source not in _names(settings["ModelVariants"]),
        "ShadowModeConfig.SourceModelVariantName must be the VariantName of one of the ModelVariants.",
    ),
    (
        lambda settings: roles(settings).shadow not in _names(settings["ModelVariants"]),
        "ShadowModelVariantName must be the VariantName of one of the ModelVariants.",
    ),
    (
        lambda settings: roles(settings).shadow == roles(settings).source,
        "ShadowModelVariantName and SourceModelVariantName must be different variants.",
    ),
    (lambda settings: roles(settings).percentage < 0, "SamplingPercentage must be from 0 to 100."),
    (
        lambda settings: (
            "DataStorageConfig" in settings and not is_s3_url(settings["DataStorageConfig"]["Destination"])
        ),
        "Destination of DataStorageConfig must be s3://bucket/prefix.",
    ),
)

# -- the endpoint, when the experiment is created and when it starts: a pair of its variants and the settings ----------
ENDPOINT_RULES: Rules[tuple[tuple[Variant, ...], Wire]] = (
    (
        lambda pair: any(variant.for_components for variant in pair[0]),
        "EndpointName: the endpoint must have a model: inference components have no shadow variants.",
    ),
    (
        lambda pair: len(_productions(pair[0])) != 1,
        "EndpointName: the endpoint must have exactly one production variant.",
    ),
    (
        lambda pair: any(variant.serverless for variant in pair[0]),
        "EndpointName: the endpoint must not be serverless: ModelVariants have InstanceType and InstanceCount.",
    ),
    (
        lambda pair: _productions(pair[0])[0].name != roles(pair[1]).source,
        "ShadowModeConfig.SourceModelVariantName must be the endpoint's production variant {production}.",
    ),
    (
        lambda pair: any(not _is_shadow_of(variant, pair[1]) for variant in pair[0] if variant.shadow),
        "EndpointName: the endpoint has a shadow variant that is not the experiment's {shadow} with the same model. "
        "Update the endpoint to a configuration without it first.",
    ),
)

ASYNC_ENDPOINT_RULES: Rules[tuple[Variant, ...]] = (
    (
        lambda variants: any(variant.asynchronous is not None for variant in variants),
        "EndpointName: the endpoint is asynchronous, and such endpoints have no shadow variants.",
    ),
)

STRICT_ENDPOINT_RULES: Rules[tuple[Variant, ...]] = (
    # AWS lists what is incompatible with shadow tests: serverless, async, Marketplace, several containers or models.
    (
        lambda variants: any(variant.multi_model for variant in variants),
        "ModelVariants: multi-model endpoints are not supported with inference experiments.",
    ),
    (
        lambda variants: any(len(variant.containers) > 1 for variant in variants),
        "ModelVariants: models of several containers are not supported with inference experiments.",
    ),
)


def check_endpoint(variants: tuple[Variant, ...], settings: Wire) -> None:
    """Raises ValidationException unless an endpoint with these variants can have the experiment."""
    production = next((variant for variant in variants if not variant.shadow), None)
    check(ASYNC_ENDPOINT_RULES, variants)
    name = production and production.name
    check(ENDPOINT_RULES, (variants, settings), shadow=roles(settings).shadow, production=name)


# -- UpdateInferenceExperiment -----------------------------------------------------------------------------------------
# AWS: "After your test starts, you can only change the description, the traffic sampling percentage for the shadow
# variant, and the end date."
RUNNING_MEMBERS = ("ModelVariants", "DataStorageConfig")


def merged(settings: Wire, params: Wire) -> dict[str, Any]:
    """The settings with the changes of an UpdateInferenceExperiment. Raises ValidationException."""
    present, updated = roles(settings), {**settings, **_described(params)}
    if "ModelVariants" in params:
        for variant in params["ModelVariants"]:
            _check_variant(present, "ModelVariants", variant)
        sent = {variant["VariantName"]: variant for variant in params["ModelVariants"]}
        if len(sent) < len(params["ModelVariants"]):
            raise errors.INVALID("ModelVariants has a VariantName twice.")
        updated["ModelVariants"] = [sent.get(each["VariantName"], each) for each in settings["ModelVariants"]]
    if "ShadowModeConfig" in params:
        now = roles({**settings, "ShadowModeConfig": params["ShadowModeConfig"]})
        if (now.source, now.shadow) != (present.source, present.shadow):
            raise errors.INVALID(
                f"ShadowModeConfig: an update can change SamplingPercentage only, of the variants {present.source} and "
                f"{present.shadow}."
            )
    check(SETTINGS_RULES, updated)
    return updated


def check_while_running(settings: Wire, updated: Wire) -> None:
    """Raises ValidationException for changes that an experiment which has started cannot have."""
    changed = [name for name in RUNNING_MEMBERS if settings.get(name) != updated.get(name)]
    if changed:
        raise errors.INVALID(
            f"{' and '.join(changed)} cannot change after the experiment has started. What can: Description, "
            "SamplingPercentage, and EndTime of Schedule."
        )


def _described(params: Wire) -> dict[str, Any]:
    return {name: params[name] for name in ("Description", "DataStorageConfig", "ShadowModeConfig") if name in params}


# -- StopInferenceExperiment -------------------------------------------------------------------------------------------
STOP_RULES: Rules[Actions] = (
    (
        lambda pair: set(_actions(pair)) != {pair[0].source, pair[0].shadow},
        "ModelVariantActions must have one action for each of {source} and {shadow}, and none for another variant.",
    ),
    (
        lambda pair: _actions(pair)[pair[0].source] == Action.PROMOTE,
        "ModelVariantActions: {source} is the production variant already. Promote is for {shadow}.",
    ),
    # AWS: "This removes your current production variant from production and replaces it with your shadow variant."
    (
        lambda pair: _promotes(pair) and _actions(pair)[pair[0].source] != Action.REMOVE,
        "ModelVariantActions: Promote of {shadow} needs Remove of {source}, which it replaces.",
    ),
    (
        lambda pair: not _promotes(pair) and _actions(pair)[pair[0].source] == Action.REMOVE,
        "ModelVariantActions: Remove of {source} needs Promote of {shadow}, or the endpoint has no production variant.",
    ),
    (
        lambda pair: "DesiredModelVariants" in pair[1] and not _desires_what_stays(pair),
        "DesiredModelVariants must have one entry for each variant that the endpoint keeps: {kept}.",
    ),
)

BEFORE_START_RULES: Rules[Actions] = (
    (
        lambda pair: _promotes(pair),
        "ModelVariantActions: {shadow} cannot be promoted before the experiment has started.",
    ),
    (
        lambda pair: "DesiredModelVariants" in pair[1],
        "DesiredModelVariants cannot be given before the experiment has started: the endpoint stays as it is.",
    ),
    (
        lambda pair: pair[1].get("DesiredState") == ExperimentStatus.COMPLETED,
        "DesiredState must be Cancelled before the experiment has started.",
    ),
)


def check_stop(settings: Wire, params: Wire, *, started: bool) -> None:
    pair = roles(settings), params
    kept = [name for name, action in params["ModelVariantActions"].items() if action != Action.REMOVE]
    check(STOP_RULES, pair, source=pair[0].source, shadow=pair[0].shadow, kept=" and ".join(kept))
    for variant in params.get("DesiredModelVariants", ()):
        _check_variant(pair[0], "DesiredModelVariants", variant)
    if not started:
        check(BEFORE_START_RULES, pair, shadow=pair[0].shadow)


def _check_variant(present: Roles, member: str, variant: Wire) -> None:
    """Raises ValidationException for a ModelVariantConfig that has more to change than the infrastructure."""
    name = variant["VariantName"]
    if name not in present.variants:
        raise errors.INVALID(f"{member}: the experiment has no variant {name}.")
    if variant["ModelName"] != present.variants[name]["ModelName"]:
        raise errors.INVALID(f"{member}: the ModelName of {name} must stay {present.variants[name]['ModelName']}.")


def _actions(pair: Actions) -> Wire:
    actions: Wire = pair[1]["ModelVariantActions"]
    return actions


def _promotes(pair: Actions) -> bool:
    return bool(_actions(pair)[pair[0].shadow] == Action.PROMOTE)


def _desires_what_stays(pair: Actions) -> bool:
    kept = sorted(name for name, action in _actions(pair).items() if action != Action.REMOVE)
    return sorted(variant["VariantName"] for variant in pair[1]["DesiredModelVariants"]) == kept


def _names(variants: list[Wire]) -> set[str]:
    return {variant["VariantName"] for variant in variants}


def _productions(variants: tuple[Variant, ...]) -> list[Variant]:
    return [variant for variant in variants if not variant.shadow]


def _model(settings: Wire, variant: str) -> str:
    return str(roles(settings).variants[variant]["ModelName"])


def _is_shadow_of(variant: Variant, settings: Wire) -> bool:
    shadow = roles(settings).shadow
    return (variant.name, variant.model_name) == (shadow, _model(settings, shadow))
