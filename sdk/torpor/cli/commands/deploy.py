"""`torpor deploy` and `torpor undeploy`: an endpoint over a prefix of models, in one line, and its end."""

import hashlib
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from torpor.calling.connection import EndpointConnection
from torpor.cli import completion
from torpor.cli.asked_endpoint import Url, connected, known
from torpor.cli.exit_codes import UsageRefused
from torpor.cli.progress_bar import waiting
from torpor.cli.uploading import NoCheck, tell, uploaded
from torpor.hosting import endpoint_deployment
from torpor.hosting.endpoint_deployment import EndpointChange, EndpointPlan
from torpor.hosting.endpoint_options import MAX_CONCURRENCY
from torpor.pages.model_retiring import retire
from torpor.uploads import artifact_sources, storing
from torpor.uploads.storing import BUCKET, SCHEME, PlannedUpload, Stored, UploadPlace
from torpor_endpoint.core.pages import PageName

PREFIX = "s3://bucket/prefix/ of the models, or local files to upload first: a folder, a model file, an artifact."
CAPTURE = "Record requests and answers below this place, as s3://bucket/captured or s3://bucket/captured,25 for 25 %."
SINGLE_KEY = "model.tar.gz"
DIGITS = 12
"""Of the hash in the key of a single model: another model has another key, so that an update starts new instances."""


def deploy(
    prefix: Annotated[str, typer.Argument(help=PREFIX, metavar="PREFIX")],
    name: Annotated[str, typer.Option(help="The endpoint's name.", metavar="NAME")],
    serverless: Annotated[
        int | None, typer.Option(help="Serverless, with so much memory in MiB, as 1024.", metavar="MEMORY_MIB")
    ] = None,
    max_concurrency: Annotated[
        int | None, typer.Option(help=f"The most requests at once, if serverless; else {MAX_CONCURRENCY}.", min=1)
    ] = None,
    instance_type: Annotated[
        str | None, typer.Option(help=f"The instances' type; else {EndpointPlan.instance_type}.", metavar="TYPE")
    ] = None,
    instances: Annotated[int | None, typer.Option(help="How many instances; else one.", min=1)] = None,
    least: Annotated[
        int | None, typer.Option("--min", help="Scale down to so many instances; 0 lets them sleep.", min=0)
    ] = None,
    most: Annotated[int | None, typer.Option("--max", help="Scale up to so many instances.", min=1)] = None,
    single: Annotated[bool, typer.Option("--single", help="PREFIX is one model, which needs no name to call.")] = False,
    image: Annotated[str, typer.Option(help="The container's Image.")] = EndpointPlan.image,
    env: Annotated[list[str] | None, typer.Option(help="For the container; repeat it.", metavar="K=V")] = None,
    capture: Annotated[str | None, typer.Option(help=CAPTURE, metavar="S3_URL[,PERCENT]")] = None,
    wait: Annotated[bool, typer.Option(help="Wait until the endpoint serves.")] = True,
    no_check: NoCheck = False,
    url: Url = None,
) -> None:
    """Serve the models of a prefix: upload them if they are local, and create the endpoint, or update the one there is.

    It makes model, endpoint configuration and endpoint, and deletes those of its last update.
    """
    fixed = {"--instance-type": instance_type, "--instances": instances, "--min": least, "--max": most}
    refuse_mixed(serverless, max_concurrency, fixed)
    settings: dict[str, Any] = {
        "environment": dict(map(pair, env or ())),
        "image": image,
        "instances_min": least,
        "instances_max": most,
        "multi_model": not single,
        "capture": None if capture is None else capture_config(capture),
        "serverless": serverless
        and {"MemorySizeInMB": serverless, "MaxConcurrency": max_concurrency or MAX_CONCURRENCY},
        "instance_type": instance_type or EndpointPlan.instance_type,
        "instance_count": instances or EndpointPlan.instance_count,
    }
    connection = connected(url)
    before = endpoint_deployment.revision_of(connection.client("sagemaker"), name)  # a name that is refused ends here
    model_data_url, uploads = located(connection, prefix, name, single=single, check=not no_check)
    put(connection, EndpointPlan(name, model_data_url, **settings), uploads, before, wait)


def undeploy(
    name: Annotated[
        str, typer.Argument(help="The endpoint's name.", metavar="NAME", autocompletion=completion.endpoints)
    ],
    url: Url = None,
) -> None:
    """Delete an endpoint, with the model and the configuration that `torpor deploy` made. The models stay in S3."""
    connection = connected(url)
    sagemaker = connection.client("sagemaker")
    with known(connection, name):
        sagemaker.describe_endpoint(EndpointName=name)
    revision = endpoint_deployment.revision_of(sagemaker, name)
    with waiting(f"stopping {name}"):
        endpoint_deployment.withdraw(sagemaker, name, [] if revision is None else [revision])
    kept = "" if revision else "; its endpoint configuration and model were made by others, and stay"
    typer.echo(f"deleted {name}{kept}")


# -- the parts of a deployment -------------------------------------------------------------------------------------
def put(
    connection: EndpointConnection,
    plan: EndpointPlan,
    uploads: Iterable[PlannedUpload],
    before: str | None,
    wait: bool,
) -> None:
    """Create or update the endpoint, and say so. `before` is its revision until now. Raises ClientError,
    EndpointFailed."""
    sagemaker, began_s = connection.client("sagemaker"), time.monotonic()
    revision = endpoint_deployment.new_revision(plan.name)
    with waiting(f"deploying {plan.name}"):
        change = endpoint_deployment.put(sagemaker, plan, revision)
        if wait:
            endpoint_deployment.until_in_service(sagemaker, plan.name, revision)
    if wait and before is not None:
        endpoint_deployment.discard(sagemaker, before)
    if wait and change is EndpointChange.UPDATED:
        for one in uploads:
            if one.does is Stored.REPLACED:
                retire(connection, plan.name, one.key, PageName.RELOAD)
    standing = f"in service after {time.monotonic() - began_s:.1f} s" if wait else "`torpor ls` shows when it serves"
    typer.echo(f"{change} {plan.name}: {described(plan)} · {standing}")
    if change is EndpointChange.UPDATED and before is None:
        typer.echo("torpor: its endpoint configuration and model until now were made by others, and stay", err=True)
    if wait:
        typer.echo(f"torpor: call it with `{call(connection, plan)}`", err=True)


def described(plan: EndpointPlan) -> str:
    """`2 x ml.m5.large · the models of s3://models/houses/`"""
    if plan.serverless is not None:
        size = f"serverless, {plan.serverless['MemorySizeInMB']} MiB"
    else:
        scaling = plan.capacity.get("ManagedInstanceScaling")
        count = f"{scaling['MinInstanceCount']} to {scaling['MaxInstanceCount']}" if scaling else plan.instance_count
        size = f"{count} x {plan.instance_type}"
    return f"{size} · {'the models of' if plan.multi_model else 'the model'} {plan.model_data_url}"


def call(connection: EndpointConnection, plan: EndpointPlan) -> str:
    """The command that calls it."""
    place = UploadPlace.of(plan.model_data_url)
    models = (_listed(connection, place) if plan.multi_model else None) or []
    target = f" --target-model {models[0] if models else 'MODEL'}" if plan.multi_model else ""
    return f"torpor invoke {plan.name}{target} --body ROW"


def located(
    connection: EndpointConnection, prefix: str, name: str, *, single: bool, check: bool
) -> tuple[str, list[PlannedUpload]]:
    """The ModelDataUrl, and what was uploaded for it. Raises TorporError, UsageRefused."""
    if prefix.startswith(SCHEME):
        if single and prefix.endswith("/"):
            raise UsageRefused(f"{prefix} is a prefix of models: with --single, name one artifact")
        if not single and prefix.endswith(artifact_sources.ARCHIVE_SUFFIXES):
            raise UsageRefused(f"{prefix} is one artifact: add --single, or name the prefix above it")
        if not single and _listed(connection, UploadPlace.of(prefix)) == []:
            typer.echo(f"torpor: {prefix} has no model yet: `torpor cp MODEL {prefix}` adds one", err=True)
        return prefix if single else UploadPlace.of(prefix).url(), []
    place = UploadPlace(BUCKET, f"{name}/")
    found = artifact_sources.find([Path(prefix)], SINGLE_KEY if single else None)
    if single:
        place = UploadPlace(BUCKET, f"{name}/{content_hash(found.artifacts[0].path)}/")
    done = uploaded(connection, found, place, force=True, check=check)
    tell(place, done)
    return place.url(SINGLE_KEY if single else ""), done


def _listed(connection: EndpointConnection, place: UploadPlace) -> list[str] | None:
    """The first key below the place, for a hint; None if S3 does not list it, which is no reason to stop."""
    from botocore.exceptions import BotoCoreError, ClientError

    try:
        return storing.keys(connection.client("s3"), place)
    except (BotoCoreError, ClientError):
        return None


def content_hash(path: Path) -> str:
    """Some digits of a hash of a file, or of all files of a folder."""
    files = sorted(one for one in path.rglob("*") if one.is_file()) if path.is_dir() else [path]
    found = hashlib.sha256()
    for one in files:
        found.update(one.name.encode() + b"\0" + one.read_bytes())
    return found.hexdigest()[:DIGITS]


# -- options -------------------------------------------------------------------------------------------------------
def refuse_mixed(serverless: int | None, max_concurrency: int | None, fixed: Mapping[str, Any]) -> None:
    """Raises UsageRefused for options that do not go together."""
    given = [option for option, value in fixed.items() if value is not None]
    if serverless is not None and given:
        raise UsageRefused(f"--serverless has no instances: leave out {', '.join(given)}")
    if serverless is None and max_concurrency is not None:
        raise UsageRefused("--max-concurrency is for --serverless MEMORY_MIB")
    low, high = fixed["--min"], fixed["--max"]
    if low is not None and high is not None and low > high:
        raise UsageRefused(f"--min {low} is more than --max {high}")


def pair(text: str) -> tuple[str, str]:
    """The name and the value of `--env`. Raises UsageRefused."""
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise UsageRefused(f"--env is NAME=VALUE, as TORPOR_POLICY=GDSF, not {text!r}")
    return name, value


def capture_config(text: str) -> dict[str, Any]:
    """The DataCaptureConfig of `--capture`. Raises UsageRefused, ValueRefused."""
    place, comma, share = text.partition(",")
    UploadPlace.of(place)
    if comma and not (share.isdecimal() and 0 <= int(share) <= 100):
        raise UsageRefused(f"--capture takes a percentage from 0 to 100 after the comma, not {share!r}")
    return {
        "EnableCapture": True,
        "InitialSamplingPercentage": int(share) if comma else 100,
        "DestinationS3Uri": place,
        "CaptureOptions": [{"CaptureMode": "Input"}, {"CaptureMode": "Output"}],
        "CaptureContentTypeHeader": {"CsvContentTypes": ["text/csv"], "JsonContentTypes": ["application/json"]},
    }
