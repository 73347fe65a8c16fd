"""CreateModel, DescribeModel, ListModels, DeleteModel. A model is a record: they fetch and load nothing."""

from typing import Any

from torpor_endpoint.aws.calls import Call
from torpor_endpoint.core.records import ModelRecord
from torpor_endpoint.services.sagemaker import errors, model_rules, shapes
from torpor_endpoint.services.sagemaker.context import Control
from torpor_endpoint.services.sagemaker.errors import Resource
from torpor_endpoint.services.sagemaker.listing import found, page
from torpor_endpoint.services.sagemaker.members.checking import check_known
from torpor_endpoint.services.sagemaker.rules import check
from torpor_endpoint.services.sagemaker.tags import first_tags


def create_model(control: Control, call: Call) -> dict[str, Any]:
    check_known("CreateModelInput", call.params)
    check(model_rules.MODEL_RULES, call.params)
    definition = shapes.container_definition(call.params)
    check(model_rules.CONTAINER_RULES, definition)
    if fault := (
        model_rules.address_fault(definition)
        or model_rules.setting_fault(definition)
        or model_rules.variable_fault(definition, control.images)
    ):
        raise errors.INVALID(fault)
    name = call.params["ModelName"]
    arn = Resource.MODEL.arn(call, name)
    model = ModelRecord(name, arn, control.clock(), shapes.container(definition), shapes.without_tags(call.params))
    if not control.store.add_model(model, first_tags(call)):
        raise errors.EXISTS(noun=Resource.MODEL.noun, arn=arn)
    return {"ModelArn": arn}


def describe_model(control: Control, call: Call) -> dict[str, Any]:
    return shapes.model_description(found_model(control, call, call.params["ModelName"]))


def list_models(control: Control, call: Call) -> dict[str, Any]:
    cards, token = page(control.store.model_cards(), call.params)
    models = found(cards, control.store.model)
    return {"Models": list(map(shapes.model_summary, models)), "NextToken": token}


def delete_model(control: Control, call: Call) -> dict[str, Any]:
    """Delete the record. Endpoints that serve the model go on: they have a copy of its container."""
    if not control.store.remove_model(call.params["ModelName"]):
        raise errors.NOT_FOUND(noun=Resource.MODEL.noun, arn=Resource.MODEL.arn(call, call.params["ModelName"]))
    return {}


def found_model(control: Control, call: Call, name: str) -> ModelRecord:
    model = control.store.model(name)
    if model is None:
        raise errors.NOT_FOUND(noun=Resource.MODEL.noun, arn=Resource.MODEL.arn(call, name))
    return model
