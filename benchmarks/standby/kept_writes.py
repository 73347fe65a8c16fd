"""Makes models, one after another, as callers of the control do, and remembers which of them were accepted."""

import threading
import time
from dataclasses import dataclass, field
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from benchmarks.standby.control_pair import WayByName

PAUSE_S = 0.2
EXISTS = "already exist"


@dataclass
class Accepted:
    """`asked_again` counts the calls that failed. A model that is found there already was made by a call whose answer
    was lost."""

    names: list[str] = field(default_factory=list)
    asked_again: int = 0
    faults: list[str] = field(default_factory=list)


class KeptWrites:
    """A thread that makes a model again and again until it is accepted, and then the next. `began` is the number of
    the call that is made now, and `accepted_call` that of the last one that was accepted."""

    def __init__(self, name: WayByName) -> None:
        self.accepted = Accepted()
        self.began = self.accepted_call = 0
        self._client = name.client("sagemaker")
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def stop(self) -> None:
        self._over.set()
        self._thread.join()

    def missing(self) -> list[str]:
        """The accepted models that are not there."""
        pages = self._client.get_paginator("list_models").paginate()
        found = {model["ModelName"] for page in pages for model in page["Models"]}
        return [name for name in self.accepted.names if name not in found]

    def _run(self) -> None:
        while not self._over.is_set():
            name = f"kept-{len(self.accepted.names)}"
            self.began += 1
            try:
                self._make(name)
            except ClientError as error:
                self._refused(name, error)
            except BotoCoreError:
                self.accepted.asked_again += 1
            else:
                self._accept(name)
            time.sleep(PAUSE_S)

    def _refused(self, name: str, error: ClientError) -> None:
        said: dict[str, Any] = error.response
        if EXISTS in str(error):
            self._accept(name)
        elif said["ResponseMetadata"]["HTTPStatusCode"] >= 500:
            self.accepted.asked_again += 1
        else:
            self.accepted.faults.append(f"{name}: {error}")

    def _accept(self, name: str) -> None:
        self.accepted.names.append(name)
        self.accepted_call = self.began

    def _make(self, name: str) -> None:
        container = {"Image": "torpor", "ModelDataUrl": "s3://benchmark/"}
        self._client.create_model(ModelName=name, PrimaryContainer={**container, "Mode": "MultiModel"})
