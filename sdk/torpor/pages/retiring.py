"""Asks an endpoint to let a model go, or to take what S3 has of it now, on every instance that serves it."""

from dataclasses import dataclass

from torpor.calling.connection import EndpointConnection

RELOAD = "reload"
UNLOAD = "unload"
"""The pages that do it."""


@dataclass(frozen=True)
class RetiredModel:
    """What became of the model on one instance. `was` is `resident`, `loading` or `absent`; calls in flight end on the
    old copy."""

    endpoint: str
    variant: str
    instance: str
    was: str
    in_flight: int

    def __str__(self) -> str:
        busy = f", {self.in_flight} in flight end on the old copy" if self.in_flight else ""
        return f"{self.endpoint}/{self.variant}/{self.instance}  {self.was}{busy}"


def retire(connection: EndpointConnection, endpoint: str, model: str, page: str) -> list[RetiredModel]:
    """Raises EndpointRefused with the endpoint's reason, EndpointUnreachable."""
    told = connection.json_page(page, {"endpoint": endpoint, "model": model}, "POST")
    return [
        RetiredModel(one["endpoint"], one["variant"], one["id"], one["was"], one["in_flight"])
        for one in told["instances"]
    ]
