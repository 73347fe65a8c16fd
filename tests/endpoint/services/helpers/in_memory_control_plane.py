"""SageMaker's control plane over a database in memory; the test plays the controller."""

from collections.abc import Callable, Mapping
from typing import Any

from torpor_account.aws.calls import Call
from torpor_account.aws.errors import AwsError
from torpor_account.storage.databases.sqlite_file import SqliteFile
from torpor_endpoint.core.components.component_lifecycle import ComponentEvent, component_after
from torpor_endpoint.core.lifecycle import EndpointEvent, after
from torpor_endpoint.core.resource_records import EndpointRecord
from torpor_endpoint.services.sagemaker.context import Control
from torpor_endpoint.services.sagemaker.service import OPERATIONS
from torpor_endpoint.storage.schema import RECORDS
from torpor_endpoint.storage.store import Store, nobody

ARN = "arn:aws:sagemaker:us-east-1:123456789012"
MULTI_MODEL = {"Image": "torpor", "Mode": "MultiModel", "ModelDataUrl": "s3://bucket/models"}


class InMemoryControlPlane:
    """A Control whose clock, running instances, scalable targets, alarms and changes are plain attributes."""

    def __init__(self, *, strict: bool = False) -> None:
        self.now_s = 1000.0
        self.ready: dict[str, int] = {}
        self.green: dict[str, int] = {}
        self.types: dict[str, dict[str, int]] = {}
        self.scaled: dict[str, set[str]] = {}
        self.copies: dict[str, dict[str, int]] = {}
        self.changes: list[str] = []
        self.alarms: set[str] = set()
        self.told: Callable[[EndpointRecord], None] = nobody
        self._database = SqliteFile(":memory:", RECORDS)
        self.store = Store(self._database, lambda: self.now_s, lambda endpoint: self.told(endpoint))
        self.control = Control(
            self.store,
            lambda: self.now_s,
            strict,
            self,
            self.changes.append,
            scaled=lambda endpoint: self.scaled.get(endpoint, ()),
            has_alarm=self.alarms.__contains__,
            copy_counts=lambda component: self.copies.get(component.name, {}),
            component_changed=self.changes.append,
        )

    def instance_counts(self, endpoint_name: str) -> Mapping[str, int]:
        return self.ready

    def type_counts(self, endpoint_name: str) -> Mapping[str, Mapping[str, int]]:
        return self.types

    def green_counts(self, endpoint_name: str) -> Mapping[str, int]:
        return self.green

    def close(self) -> None:
        self._database.close()

    def __call__(self, operation: str, **params: Any) -> dict[str, Any]:
        return OPERATIONS[operation](self.control, Call(operation, params, "us-east-1", "123456789012", "id"))

    def refusal(self, operation: str, **params: Any) -> tuple[str, int, str]:
        """The error of a refused call: code, status and message."""
        try:
            self(operation, **params)
        except AwsError as error:
            return error.code, error.status, error.message
        raise AssertionError(f"{operation} was not refused")

    def settle(self, name: str, event: EndpointEvent = EndpointEvent.READY, reason: str | None = None) -> None:
        """Ends the current operation, as the controller does."""
        endpoint = self.store.endpoint(name)
        assert endpoint is not None
        assert self.store.replace_endpoint(after(endpoint, event, reason), expected_status=endpoint.status)

    def settle_component(
        self, name: str, event: ComponentEvent = ComponentEvent.READY, reason: str | None = None
    ) -> None:
        """Ends the current operation on a component, as the fleet does."""
        component = self.store.component(name)
        assert component is not None
        after_it = component_after(component, event, reason)
        assert self.store.replace_component(after_it, expected_status=component.status)

    def create(self, name: str = "ep", **variant: Any) -> None:
        """A model, a config and an endpoint, each of this name."""
        self("CreateModel", ModelName=name, PrimaryContainer=MULTI_MODEL)
        self.configure(name, production(ModelName=name, **variant))
        self("CreateEndpoint", EndpointName=name, EndpointConfigName=name)

    def configure(self, name: str, *variants: dict[str, Any]) -> None:
        self("CreateEndpointConfig", EndpointConfigName=name, ProductionVariants=list(variants))

    def describe(self, name: str = "ep") -> dict[str, Any]:
        return self("DescribeEndpoint", EndpointName=name)


def production(**members: Any) -> dict[str, Any]:
    """A ProductionVariant on an instance, unless its members say ServerlessConfig."""
    sizes = {} if "ServerlessConfig" in members else {"InstanceType": "ml.m5.large", "InitialInstanceCount": 1}
    return {"VariantName": "AllTraffic", "ModelName": "ep", **sizes, **members}


def serverless(memory_mib: int = 2048, concurrency: int = 5, **members: int) -> dict[str, int]:
    return {"MemorySizeInMB": memory_mib, "MaxConcurrency": concurrency, **members}
