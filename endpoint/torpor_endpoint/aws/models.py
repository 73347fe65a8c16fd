"""botocore's service models: AWS's contract as data. botocore is imported when one is first read, and not before.

It takes some 20 MiB and a third of a second, which an endpoint that nobody calls does without. For worker threads.
"""

from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from botocore.model import OperationModel, ServiceModel, Shape
else:  # annotations need no more than the names
    OperationModel = ServiceModel = Shape = object

__all__ = ["OperationModel", "ServiceModel", "Shape", "known_services", "no_model", "service_model"]


@cache
def known_services() -> frozenset[str]:
    """Every service of AWS, by botocore's name."""
    from botocore.loaders import Loader

    return frozenset(Loader().list_available_services("service-2"))


def service_model(name: str) -> ServiceModel:
    """The model of the service that botocore calls `name`."""
    from botocore import model
    from botocore.loaders import Loader

    return model.ServiceModel(Loader().load_service_model(name, "service-2"), name)


@cache
def no_model() -> ServiceModel:
    """The model of a service that has no operations, and no errors of its own."""
    from botocore import model

    return model.ServiceModel({"metadata": {}, "operations": {}, "shapes": {}}, "nobody")
