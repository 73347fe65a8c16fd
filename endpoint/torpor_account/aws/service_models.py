"""Reads botocore's service models, which are AWS's contract as data. Call these functions in worker threads.

botocore is imported with the first model: it takes some 20 MiB and a third of a second, which an idle endpoint saves.
"""

from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from botocore.model import OperationModel, ServiceModel, Shape
else:  # annotations need only the names
    OperationModel = ServiceModel = Shape = object

__all__ = ["OperationModel", "ServiceModel", "Shape", "known_services", "no_model", "service_model"]


@cache
def known_services() -> frozenset[str]:
    """The names of all AWS services, as botocore has them."""
    from botocore.loaders import Loader

    return frozenset(Loader().list_available_services("service-2"))


@cache
def service_model(name: str) -> ServiceModel:
    """The model of the service that botocore calls `name`. Reading it takes some 20 to 100 ms, once."""
    from botocore import model
    from botocore.loaders import Loader

    return model.ServiceModel(Loader().load_service_model(name, "service-2"), name)


@cache
def no_model() -> ServiceModel:
    """The model of a service without operations and errors."""
    from botocore import model

    return model.ServiceModel({"metadata": {}, "operations": {}, "shapes": {}}, "nobody")
