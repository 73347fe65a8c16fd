"""Finds a running variant that has a model: its requests are in the ledger, and with them the model's times."""

from torpor_endpoint.core.resource_records import EndpointRecord, Variant
from torpor_endpoint.services.sagemaker.lineage.model_makers import urls_of
from torpor_endpoint.services.sagemaker.rules import Wire
from torpor_endpoint.storage.store import Store


class NotMeasured(Exception):
    """No endpoint has the model. The text says what to do."""


class MeasuredVariants:
    """Looks into the records of endpoints and packages. Its methods block."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def found(self, given: Wire) -> tuple[EndpointRecord, Variant]:
        """The newest endpoint with the model of this InputConfig, and the variant. Raises NotMeasured."""
        named = {one["EndpointName"] for one in given.get("Endpoints", ())}
        candidates = [
            (endpoint, variant)
            for endpoint in self._store.endpoints()
            if not named or endpoint.name in named
            for variant in endpoint.variants
            if self._has(variant, given)
        ]
        if not candidates:
            what = given.get("ModelName") or given["ModelPackageVersionArn"]
            where = f"endpoint {min(named)}" if named else "any endpoint"
            raise NotMeasured(
                f"{what} is not on {where}. Torpor recommends from the times that it measured: deploy the model, call "
                "it, wait a minute, and create the job again."
            )
        return max(candidates, key=lambda one: one[0].created_s)

    def _has(self, variant: Variant, given: Wire) -> bool:
        if "ModelName" in given:
            return variant.model_name == str(given["ModelName"])
        package = self._store.packages.package(given["ModelPackageVersionArn"].rpartition(":model-package/")[2])
        has = {one.model_data_url for one in variant.containers}
        return package is not None and any(url in has for url in urls_of(package))
