"""Provides `torpor.local`: a whole endpoint in a with-statement, with calls that take and return Python values."""

import uuid
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from torpor.calling.bodies import decode, encode
from torpor.calling.connection import EndpointConnection
from torpor.calling.streamed_answer import parts_of
from torpor.calling.target_model import with_target_model
from torpor.errors import TorporError
from torpor.hosting.async_call import AsyncCall
from torpor.hosting.endpoint_deployment import IMAGE, EndpointPlan, deploy, new_revision
from torpor.hosting.endpoint_options import ASYNC, BUCKET, EndpointOptions
from torpor.hosting.endpoint_process import ChildEndpoint, Start
from torpor.hosting.model_copies import copy_models
from torpor.pages import clock, data_frames, ledger, model_retiring, model_story, printed_lists, state
from torpor.pages.printed_lists import Listing
from torpor.pages.versions import version_labels
from torpor_endpoint.core.pages import PageName
from torpor_endpoint.core.pages.model_origins import ModelOrigin
from torpor_endpoint.core.pages.model_versions import ModelVersions
from torpor_endpoint.core.pages.state import EndpointState, InstanceState, ResidentModel, RetiredModel
from torpor_endpoint.core.pages.story import Story

if TYPE_CHECKING:
    from torpor.calling.caller import Caller

INLINE_MAX_BYTES = 128_000
"""The largest body of InvokeEndpointAsync."""


class Local:
    """A multi-model endpoint on this machine, ready to be called. Use it in a with-statement, or `close` it."""

    def __init__(self, process: ChildEndpoint, plan: EndpointPlan) -> None:
        self._process = process
        self._plan = plan
        self._open = True
        self._clients: list[Any] = []
        self._revisions: list[str] = []
        self._sagemaker = self.client("sagemaker")
        self._runtime = self.client("sagemaker-runtime")
        self._s3 = self.client("s3")

    def __enter__(self) -> "Local":
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<torpor.Local {self.name!r} at {self.url}>"

    @property
    def name(self) -> str:
        """The endpoint's name in SageMaker's API."""
        return self._plan.name

    @property
    def variant(self) -> str:
        """The name of its one production variant."""
        return self._plan.variant

    @property
    def connection(self) -> EndpointConnection:
        """The connection to the endpoint's process, for `torpor.testing`."""
        return self._process.connection

    @property
    def url(self) -> str:
        """The address of the endpoint's port."""
        return self._process.url

    @property
    def pid(self) -> int:
        """The id of the endpoint's process."""
        return self._process.pid

    @property
    def data_dir(self) -> Path:
        """The data folder of the endpoint's process."""
        return self._process.data_dir

    @property
    def environment(self) -> dict[str, str]:
        """The variables that lead boto3, the AWS CLI and the SageMaker SDK in another process to this endpoint."""
        return self._process.environment

    @property
    def model_data_url(self) -> str:
        """The S3 prefix of the endpoint's models."""
        return self._plan.model_data_url

    def client(self, service: str, **options: Any) -> Any:
        """A boto3 client of any service that calls this endpoint. `close` closes it too."""
        made = self._process.client(service, **options)
        self._clients.append(made)
        return made

    def caller(self, **options: Any) -> "Caller":
        """A `torpor.Caller` for code that calls often. `close` closes it too. `options` are those of Caller."""
        made = self._process.caller(**options)
        self._clients.append(made)
        return made

    # -- calling ---------------------------------------------------------------------------------------------------
    def invoke(
        self, target: str, payload: Any, *, content_type: str | None = None, accept: str | None = None, **more: Any
    ) -> Any:
        """The prediction of the model `target` for rows (lists, arrays, a data frame), an object, text or bytes.

        Rows are sent as JSON by default, a data frame with the names of its columns. A JSON answer is returned as its
        value, CSV as numbers, npy as an array, and any other as bytes. Raises botocore's ClientError, with the errors
        of AWS's own endpoint.
        """
        answer = self.invoke_raw(target, payload, content_type=content_type, accept=accept, **more)
        return decode(answer["Body"].read(), answer.get("ContentType", ""))

    def invoke_raw(
        self, target: str, payload: Any, *, content_type: str | None = None, accept: str | None = None, **more: Any
    ) -> dict[str, Any]:
        """As `invoke`, but return boto3's own response. `more` are further parameters of InvokeEndpoint."""
        members = self._members(target, payload, content_type, accept)
        answer: dict[str, Any] = self._runtime.invoke_endpoint(**(members | more))
        return answer

    def stream(
        self, target: str, payload: Any, *, content_type: str | None = None, accept: str | None = None, **more: Any
    ) -> Iterator[bytes]:
        """The parts of the answer of the model `target`, as its script makes them. Arguments are as of `invoke`.

        Close the iterator to end the answer early. Raises ClientError before the first part as `invoke`; so does the
        iterator if the model fails between two parts.
        """
        members = self._members(target, payload, content_type, accept)
        client = with_target_model(self._runtime)
        return parts_of(client.invoke_endpoint_with_response_stream(**(members | more)))

    def invoke_async(
        self, target: str, payload: Any, *, content_type: str | None = None, accept: str | None = None, **more: Any
    ) -> AsyncCall:
        """Have the model `target` answer later: `.result()` waits for it. The endpoint must be `asynchronous`.

        Arguments are as of `invoke`, and `more` are further parameters of InvokeEndpointAsync. A payload that is too
        large for a request is an object of the endpoint's bucket.
        """
        members = self._members(target, payload, content_type, accept)
        if len(members["Body"]) > INLINE_MAX_BYTES:
            key = f"{ASYNC}/{self.name}/in/{uuid.uuid4()}"
            self._s3.put_object(Bucket=BUCKET, Key=key, Body=members.pop("Body"))
            members["InputLocation"] = f"s3://{BUCKET}/{key}"
        answer = with_target_model(self._runtime).invoke_endpoint_async(**(members | more))
        return AsyncCall(self._process.connection, self._s3, answer)

    def _members(self, target: str, payload: Any, content_type: str | None, accept: str | None) -> dict[str, Any]:
        """The members of a call. Raises TorporError for a closed endpoint."""
        self._check_open()
        body, kind = encode(payload, content_type)
        accepted = {} if accept is None else {"Accept": accept}
        return {"EndpointName": self.name, "TargetModel": target, "Body": body, "ContentType": kind, **accepted}

    def _check_open(self) -> None:
        if not self._open:
            raise TorporError("this endpoint is closed: call it inside its with-block, or open another")

    # -- its models ------------------------------------------------------------------------------------------------
    def put(self, artifact: "str | PathLike[str] | bytes", key: str | None = None) -> str:
        """Add or replace an artifact, and return its TargetModel: `key`, or the file's own name.

        Each call that begins after `put` has returned gets the new artifact. Calls in flight end on the old one.
        """
        self._check_open()
        if isinstance(artifact, bytes):
            if key is None:
                raise TypeError("bytes have no name: put(…, key='City.tar.gz')")
            name = key
            self._s3.put_object(Bucket=BUCKET, Key=f"{self.name}/{name}", Body=artifact)
        else:
            name = key or Path(artifact).name
            self._s3.upload_file(str(artifact), BUCKET, f"{self.name}/{name}")
        self.reload(f"/{name}" if name.startswith("/") else name)
        return name

    def reload(self, model: str) -> list[RetiredModel]:
        """Have each call that begins after `reload` has returned use the version of the model that S3 has then.

        Returns the model's state on each instance. Raises EndpointRefused for an endpoint that is not in service.
        """
        self._check_open()
        return model_retiring.retire(self._process.connection, self.name, model, PageName.RELOAD)

    def unload(self, model: str) -> list[RetiredModel]:
        """Unload the model when no call uses it. It stays on disk, and the next call loads it again."""
        self._check_open()
        return model_retiring.retire(self._process.connection, self.name, model, PageName.UNLOAD)

    def versions(self, model: str = "") -> Listing[ModelVersions]:
        """The versions of one model, or of every model that has some: a list that prints as a table. The endpoint needs
        TORPOR_VERSIONS in its `environment`."""
        return printed_lists.versions(version_labels.versions(self._process.connection, self.name, model))

    def label(self, model: str, label: str, version: int | None) -> Listing[ModelVersions]:
        """Point a label to a version, or, with None, remove it. The label `default` says what answers calls without a
        version. It returns once the version answers. Raises EndpointRefused, and then nothing has changed."""
        moved = version_labels.move(self._process.connection, self.name, model, label, version)
        return printed_lists.versions(moved)

    def label_back(self, model: str, label: str) -> Listing[ModelVersions]:
        """Point a label to the version that it had before its last move. Raises as `label`."""
        return printed_lists.versions(version_labels.back(self._process.connection, self.name, model, label))

    def models(self) -> Listing[ResidentModel]:
        """The models in memory now, by name: a list that prints as a table."""
        return printed_lists.models(model for instance in self.instances() for model in instance.models)

    def instances(self) -> Listing[InstanceState]:
        """The instances that are ready now, each with its models and its memory: a list that prints as a table."""
        return printed_lists.instances(self._seen().instances)

    def _seen(self) -> EndpointState:
        """The endpoint's current state, without variants if it is not in service."""
        present = (found for found in state.endpoints(self._process.connection) if found.name == self.name)
        return next(present, EndpointState(self.name, ()))

    def why(self, model: str) -> Story:
        """The decisions about a model, with their reasons. Print the story to read it."""
        return model_story.story(self._process.connection, self._seen(), model)

    def origin(self, model: str) -> tuple[ModelOrigin, ...]:
        """The model's object in S3, its digest and who made it: of each instance that has the model in memory."""
        return model_story.origins(self._process.connection, self.name, model)

    # -- its ledger ------------------------------------------------------------------------------------------------
    def cold_starts(self, model: str | None = None, *, last_s: float | None = None) -> Any:
        """A pandas DataFrame of the cold starts: one row for each, with the seconds of every step and the reason.

        It covers the last `last_s` seconds, or everything that the ledger keeps.
        """
        found = ledger.cold_starts(self._process.connection, self._which(last_s), model, ledger.ALL)
        return data_frames.cold_starts_frame(found)

    def costs(self, by: str = "variant", *, last_s: float | None = None) -> Any:
        """A pandas DataFrame of the costs at AWS's prices, by `variant`, by `model`, or by `alternative`.

        An alternative is another way to serve the same traffic on AWS. The costs are of the last `last_s` seconds, or
        of the last day.
        """
        return data_frames.costs_frame(ledger.costs(self._process.connection, self._which(last_s)), by)

    def _which(self, last_s: float | None) -> ledger.Which:
        return ledger.Which(self.name, None if last_s is None else max(0.0, clock.now_s(self.connection) - last_s))

    # -- its life --------------------------------------------------------------------------------------------------
    def deploy(self, *, memory_mib: float | None = None, environment: Mapping[str, str] | None = None) -> None:
        """Put the endpoint into service, or change it while it serves. Settings that are not given stay as they are.

        Raises EndpointFailed with the FailureReason. After a failed update, the endpoint serves as before.
        """
        self._check_open()
        changes = EndpointOptions(environment, memory_mib).settings
        changed = replace(self._plan, environment={**self._plan.environment, **changes})
        self._revisions.append(new_revision(self.name))
        deploy(self._sagemaker, changed, self._revisions[-1])
        self._plan = changed

    def close(self) -> None:
        """Stop everything that it started. On a shared process, delete the endpoint only. It cannot be opened again."""
        self._open = False
        self._process.close()


def local(
    models: "str | PathLike[str] | None" = None,
    *,
    name: str = "local",
    environment: Mapping[str, str] | None = None,
    memory_mib: float | None = None,
    instance_count: int = 1,
    instance_type: str = "ml.m5.large",
    serverless: Mapping[str, int] | int | None = None,
    sleep_after_s: float | None = None,
    image: str = IMAGE,
    asynchronous: bool = False,
    images: "str | PathLike[str] | None" = None,
    unknown_images: str = "refuse",
    data_dir: "str | PathLike[str] | None" = None,
    strict: bool = False,
    tls_self_signed: bool = False,
    log_level: str = "warning",
) -> Local:
    """Start a multi-model endpoint over a folder of artifacts, and return it when it is in service.

    `models` is a folder; the files in it, at any depth, are copied, and their paths below it are the names to call.
    `memory_mib` is the memory of an instance: with less of it, models are evicted earlier. `environment` is the
    container's, as in CreateModel. `serverless` is a ServerlessConfig, or its MemorySizeInMB, in place of instances.
    After `sleep_after_s` seconds without a request, no instance runs until the next request. `image` is the
    container's Image. With `asynchronous`, the endpoint takes `invoke_async` and no other call. The TOML file `images`
    says what serves an image that is not built in, as for `torpor up --images`; with `unknown_images="built-in"` the
    built-in container does. `data_dir` is a folder that keeps everything for the next start; without it, nothing is
    kept. With `tls_self_signed` the endpoint serves HTTPS, as for `torpor up`. Raises EndpointFailed with the
    FailureReason.
    """
    options = EndpointOptions(
        environment, memory_mib, instance_count, instance_type, serverless, sleep_after_s, image, asynchronous
    )
    start = Start(
        Path(data_dir) if data_dir else None,
        strict,
        images=Path(images) if images else None,
        unknown_images=unknown_images,
        log_level=log_level,
        tls_self_signed=tls_self_signed,
    )
    with ExitStack() as unfinished:
        process = unfinished.enter_context(ChildEndpoint(start))
        copy_models(models, process.bucket_folder(BUCKET) / name)
        endpoint = Local(process, options.plan(name))  # it makes its clients while the process starts
        process.until_ready()
        endpoint.deploy()
        unfinished.pop_all()
    return endpoint
