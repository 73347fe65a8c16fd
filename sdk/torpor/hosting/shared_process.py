"""Serves several multi-model endpoints from one process: beside one another, or one after another."""

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import fields, replace
from inspect import signature
from os import PathLike
from pathlib import Path
from typing import Any, Self

from torpor.errors import EndpointFailed, TorporError
from torpor.hosting.endpoint_deployment import deploy, new_revision, withdraw
from torpor.hosting.endpoint_options import BUCKET, EndpointOptions
from torpor.hosting.endpoint_process import ChildEndpoint, Start
from torpor.hosting.local_endpoint import Local, local
from torpor.hosting.model_copies import copy_models
from torpor.pages import clock
from torpor.pages.observed_endpoint import NamedEndpoint

MINUTE_S = 60.0


class SharedLocal(Local):
    """A `Local` on a process that serves others too: its end deletes the endpoint alone."""

    _own = True
    """Whether the endpoint of its name is this one still."""

    @property
    def is_open(self) -> bool:
        return self._open

    def begin(self, models: "str | PathLike[str] | None", folder: Path) -> None:
        """Put it into service with the models of a folder, and none that an earlier endpoint left in its own."""
        pages = self._s3.get_paginator("list_objects_v2").paginate(Bucket=BUCKET, Prefix=f"{self.name}/")
        for page in pages:
            if keys := [{"Key": found["Key"]} for found in page.get("Contents", ())]:
                self._s3.delete_objects(Bucket=BUCKET, Delete={"Objects": keys, "Quiet": True})
        copy_models(models, folder)
        self.deploy()

    def lose_name(self) -> None:
        """The endpoint of its name is gone, or is another one from now on."""
        self._own = False

    def close(self) -> None:
        self._open = False
        if not self._own:
            return
        try:
            withdraw(self._sagemaker, self.name, self._revisions)
            self._own = False
        finally:
            while self._clients:
                self._process.release(self._clients.pop())


class SharedProcess(ChildEndpoint):
    """An endpoint process that serves several multi-model endpoints, side by side or one after another."""

    def __init__(self, start: Start | None = None) -> None:
        super().__init__(start or Start())
        self._opened: dict[str, SharedLocal] = {}
        """The latest endpoint of each name."""
        self._named: set[str] = set()
        """The names of endpoints that were served here."""

    def reset(self) -> Self:
        """As `ChildEndpoint.reset`: each endpoint that is open is gone, and its `close` does nothing."""
        for endpoint in self._opened.values():
            endpoint.lose_name()
            endpoint.close()
        self._opened.clear()
        self._named.clear()
        return super().reset()

    def _take(self, name: str) -> None:
        """Take the name of a new endpoint. CloudWatch keeps the metrics of an earlier one by the minute: a clock that
        travels moves on to the next minute, so that none counts both."""
        if name in self._named and self._start.travelling_clock:
            clock.advance(self.connection, MINUTE_S - clock.now_s(self.connection) % MINUTE_S)
        self._named.add(name)

    def named(self, name: str) -> NamedEndpoint:
        """An endpoint that somebody else deploys on this process, such as the application under test."""
        return NamedEndpoint(self.connection, name)

    @contextmanager
    def served(self, name: str, model_data_url: str, **options: Any) -> Iterator[NamedEndpoint]:
        """For the block, an endpoint over an S3 prefix that the application writes itself, such as `s3://bucket/models/`.

        Its options are those of `local`. The prefix may be empty so far. Raises EndpointFailed.
        """
        _check(options)
        plan = replace(EndpointOptions(**options).plan(name), model_data_url=model_data_url)
        self._take(name)
        sagemaker, revision = self.client("sagemaker"), new_revision(name)
        try:
            deploy(sagemaker, plan, revision)
            yield self.named(name)
        finally:
            try:
                withdraw(sagemaker, name, [revision])
            finally:
                self.release(sagemaker)

    def local(self, models: "str | PathLike[str] | None" = None, *, name: str = "local", **options: Any) -> Local:
        """As `torpor.local`, with the options that concern the endpoint itself.

        Its models are those of the folder only, and not those of an earlier endpoint of this name. Raises TorporError
        while an endpoint of this name is open, and TypeError for an option that concerns the process.
        """
        from botocore.exceptions import BotoCoreError, ClientError

        if (present := self._opened.get(name)) is not None and present.is_open:
            raise TorporError(f"an endpoint {name!r} is open already: give name=… for another beside it, or close it")
        _check(options)
        if present is not None:
            present.lose_name()
        endpoint = SharedLocal(self, EndpointOptions(**options).plan(name))

        def undone() -> None:
            with suppress(EndpointFailed, BotoCoreError, ClientError):  # the first error says more
                endpoint.close()

        with ExitStack() as unfinished:
            unfinished.callback(undone)
            self._take(name)
            endpoint.begin(models, self.bucket_folder(BUCKET) / name)
            unfinished.pop_all()
        self._opened[name] = endpoint
        return endpoint


def _check(options: Mapping[str, Any]) -> None:
    """Raises TypeError for an option that does not concern the endpoint itself."""
    own, all_of_them = ["name", *(field.name for field in fields(EndpointOptions))], signature(local).parameters
    for option in options:
        if option in all_of_them and option not in own:
            raise TypeError(f"{option} is the process's, which is shared here: torpor.local({option}=…) starts its own")
        if option not in own:
            raise TypeError(f"there is no option {option}: choose of {', '.join(own)}")
