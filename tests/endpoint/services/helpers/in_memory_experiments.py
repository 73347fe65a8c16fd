"""Inference experiments over a database in memory, called through boto3 without a port. The test plays the controller:
an endpoint takes each update at once, unless `holds` or `fails` says otherwise."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from torpor_account.aws.calls import bound
from torpor_account.aws.in_process import client
from torpor_account.storage.databases.sqlite_file import SqliteFile
from torpor_endpoint.core.lifecycle import EndpointEvent, after
from torpor_endpoint.core.resource_records import EndpointStatus
from torpor_endpoint.services.sagemaker.context import Control
from torpor_endpoint.services.sagemaker.experiments.context import Experimenting
from torpor_endpoint.services.sagemaker.experiments.experiment_records import Experiments
from torpor_endpoint.services.sagemaker.experiments.operations import OPERATIONS
from torpor_endpoint.services.sagemaker.experiments.runner import ExperimentRunner
from torpor_endpoint.services.sagemaker.service import service
from torpor_endpoint.storage.schema import RECORDS
from torpor_endpoint.storage.store import Store

ACCOUNT = "123456789012"
NOON_S = 1_790_000_000.0
HOUR_S, DAY_S = 3600.0, 86400.0
ROLE = f"arn:aws:iam::{ACCOUNT}:role/experiments"


class InMemoryExperiments:
    """One endpoint process after another over the same database: `restart` makes the next one."""

    def __init__(self, path: Path | str = ":memory:", *, strict: bool = False) -> None:
        self.now_s = NOON_S
        self.holds = False
        self.fails: str | None = None
        self.scaled: set[str] = set()
        self._strict = strict
        self._database = SqliteFile(path, RECORDS)
        self.restart()

    def restart(self) -> None:
        self.store = Store(self._database, self.clock)
        experiments = Experiments(self._database)
        self.control = Control(
            self.store, self.clock, self._strict, self, self._changed, experiments.has, scaled=lambda _: self.scaled
        )
        context = Experimenting(self.control, experiments)
        self.runner = ExperimentRunner(context)
        self.client: Any = client(service(self.control, account=ACCOUNT, more=bound(OPERATIONS, context)))

    def clock(self) -> float:
        return self.now_s

    def type_counts(self, endpoint_name: str) -> dict[str, dict[str, int]]:
        return {}

    def green_counts(self, endpoint_name: str) -> dict[str, int]:
        return {}

    def instance_counts(self, endpoint_name: str) -> dict[str, int]:
        return {}

    def close(self) -> None:
        self._database.close()

    def clear(self) -> None:
        """Forget everything but the models."""
        for table in ("inference_experiments", "endpoints", "endpoints_before", "endpoint_configs", "tags"):
            self._database.changed(f"DELETE FROM {table}")
        self.now_s, self.holds, self.fails, self.scaled = NOON_S, False, None, set()

    # -- the controller ----------------------------------------------------------------------------------------------
    def _changed(self, name: str) -> None:
        if not self.holds:
            self.settle(name)

    def settle(self, name: str = "houses") -> None:
        """The endpoint becomes what it is asked to be, or fails to."""
        while (endpoint := self.store.endpoint(name)) and endpoint.status not in {"InService", "Failed"}:
            if endpoint.status is EndpointStatus.DELETING:
                self.store.remove_endpoint(name)
                return
            rolls_back = endpoint.status is EndpointStatus.ROLLING_BACK
            event = EndpointEvent.ROLLED_BACK if rolls_back else EndpointEvent.READY
            event = EndpointEvent.FAILED if self.fails and not rolls_back else event
            done = after(endpoint, event, self.fails if event is EndpointEvent.FAILED else None)
            assert self.store.replace_endpoint(done, expected_status=endpoint.status)

    # -- stories -----------------------------------------------------------------------------------------------------
    def look(self, after_s: float = 0.0) -> None:
        """So much time passes, and the runner looks until nothing is due."""
        self.now_s += after_s
        while self.runner.look() - self.now_s < 0.5:
            self.now_s += 0.1

    def models(self) -> None:
        for name in ("old", "new"):
            self.client.create_model(ModelName=name, PrimaryContainer={"Image": "torpor"})

    def deploy(self, *variants: dict[str, Any], name: str = "houses", **config: Any) -> None:
        self.client.create_endpoint_config(
            EndpointConfigName=f"{name}-plain", ProductionVariants=list(variants or [production()]), **config
        )
        self.client.create_endpoint(EndpointName=name, EndpointConfigName=f"{name}-plain")

    def create(self, **members: Any) -> str:
        arn: str = self.client.create_inference_experiment(**experiment(**members))["InferenceExperimentArn"]
        return arn

    def running(self, **members: Any) -> None:
        self.create(**members)
        self.look()
        assert self.described()["Status"] == "Running"

    def described(self, name: str = "trial") -> dict[str, Any]:
        described: dict[str, Any] = self.client.describe_inference_experiment(Name=name)
        return described

    def endpoint(self, name: str = "houses") -> dict[str, Any]:
        described: dict[str, Any] = self.client.describe_endpoint(EndpointName=name)
        return described

    def serves(self) -> dict[str, list[str]]:
        """The names of the endpoint's production and shadow variants."""
        described = self.endpoint()
        lists = {"production": "ProductionVariants", "shadow": "ShadowProductionVariants"}
        return {kind: [v["VariantName"] for v in described.get(member, [])] for kind, member in lists.items()}

    def stop(self, source: str, shadow: str, **members: Any) -> None:
        actions = {"Old": source, "New": shadow}
        self.client.stop_inference_experiment(Name="trial", ModelVariantActions=actions, **members)
        self.look()


def production(name: str = "Old", model: str = "old", **members: Any) -> dict[str, Any]:
    """A ProductionVariant."""
    sizes = {} if "ServerlessConfig" in members else {"InstanceType": "ml.m5.large", "InitialInstanceCount": 1}
    return {"VariantName": name, "ModelName": model, **sizes, **members}


def variant(name: str, model: str, count: int = 1, instance_type: str = "ml.m5.large") -> dict[str, Any]:
    """A ModelVariantConfig."""
    real_time = {"InstanceType": instance_type, "InstanceCount": count}
    infrastructure = {"InfrastructureType": "RealTimeInference", "RealTimeInferenceConfig": real_time}
    return {"VariantName": name, "ModelName": model, "InfrastructureConfig": infrastructure}


OLD, NEW = variant("Old", "old"), variant("New", "new")


def sampled(percentage: int, shadow: str = "New", source: str = "Old") -> dict[str, Any]:
    """A ShadowModeConfig."""
    shadows = [{"ShadowModelVariantName": shadow, "SamplingPercentage": percentage}]
    return {"SourceModelVariantName": source, "ShadowModelVariants": shadows}


def experiment(**members: Any) -> dict[str, Any]:
    """The parameters of CreateInferenceExperiment: New beside Old, with half of the requests, at once."""
    return {
        "Name": "trial",
        "Type": "ShadowMode",
        "RoleArn": ROLE,
        "EndpointName": "houses",
        "ModelVariants": [OLD, NEW],
        "ShadowModeConfig": sampled(50),
        **members,
    }


def at(epoch_s: float) -> datetime:
    return datetime.fromtimestamp(epoch_s, UTC)
