"""The page of a caller about itself has the models that it may invoke, and no trace of others."""

import json

from torpor_container import wire
from torpor_container.typed_json import read
from torpor_endpoint.core.pages.own_models import (
    CalledModel,
    OwnEndpoint,
    OwnModel,
    ServedModels,
    own_models,
    own_models_page,
)


def loaded(name: str, size_bytes: int = 10) -> wire.LoadedModel:
    return {"name": name, "size_bytes": size_bytes, "in_flight": 0, "idle_s": 0.0, "format": "xgboost", "hits": 0}


def test_models_in_memory_and_called_ones_are_there_if_they_may_be_invoked() -> None:
    served = [ServedModels("houses", True, [loaded("a/1"), loaded("b/1"), loaded("a/1")])]
    called = [CalledModel("houses", "a/2", 7, 3), CalledModel("houses", "b/2", 9, 9), CalledModel("gone", "a/1", 1, 1)]
    found = own_models(served, called, lambda endpoint, model: model.startswith("a/"))
    assert found == (OwnEndpoint("houses", (OwnModel("a/1", 0, 0, 2, 10), OwnModel("a/2", 7, 3, 0, 0))),)
    page = own_models_page(found)
    assert "b/" not in json.dumps(page)
    assert read(tuple[OwnEndpoint, ...], page["endpoints"]) == found


def test_the_one_model_of_an_endpoint_has_no_name() -> None:
    served = [ServedModels("one", False, [loaded("model")]), ServedModels("asleep", False, [])]
    found = own_models(served, [CalledModel("one", "", 2, 1)], lambda endpoint, model: endpoint != "other")
    assert [(one.name, one.models) for one in found] == [
        ("one", (OwnModel("", 2, 1, 1, 10),)),
        ("asleep", (OwnModel(""),)),
    ]


def test_an_endpoint_without_a_model_of_the_callers_is_not_there() -> None:
    assert own_models([ServedModels("houses", True, [loaded("b/1")])], [], lambda endpoint, model: False) == ()
