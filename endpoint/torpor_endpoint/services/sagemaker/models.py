"""CreateModel, DescribeModel, ListModels, DeleteModel. A model is a record: they fetch and load nothing."""

from typing import Any

from torpor_account.aws.calls import Call
from torpor_endpoint.core.resource_records import ModelRecord
from torpor_endpoint.services.sagemaker import errors, model_rules, shapes
from torpor_endpoint.services.sagemaker.context import Control
from torpor_endpoint.services.sagemaker.errors import Resource
from torpor_endpoint.services.sagemaker.listing import found, page
from torpor_endpoint.services.sagemaker.members.checking import check_known
from torpor_endpoint.services.sagemaker.registry.packaged_containers import with_packages
from torpor_endpoint.services.sagemaker.rules import check
from torpor_endpoint.services.sagemaker.tag_operations import first_tags


def create_model(control: Control, call: Call) -> dict[str, Any]:
    check_known("CreateModelInput", call.params)
    check(model_rules.MODEL_RULES, call.params)
    params = with_packages(control, call)
    definitions = shapes.container_definitions(params)
    for number, definition in enumerate(definitions, start=1):
        model_rules.check_container(definition, number if len(definitions) > 1 else None, control.images)
    if fault := model_rules.disagreement(definitions):
        raise errors.INVALID(fault)
    name = call.params["ModelName"]
    arn = Resource.MODEL.arn(call, name)
    containers, request = shapes.containers(params), shapes.without_tags(call.params)
    if control.feeding is not None and (fault := control.feeding.other_group(containers)):
        raise errors.INVALID(f"Environment.TORPOR_FED_BY: {fault}.")
    model = ModelRecord(name, arn, control.clock(), containers, request, shapes.is_direct(call.params))
    if control.model_data is not None:
        control.model_data.check(model)
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
    """Delete the record. Endpoints that serve the model go on: they have copies of its containers."""
    if not control.store.remove_model(call.params["ModelName"]):
        raise errors.NOT_FOUND(noun=Resource.MODEL.noun, arn=Resource.MODEL.arn(call, call.params["ModelName"]))
    return {}


def found_model(control: Control, call: Call, name: str) -> ModelRecord:
    model = control.store.model(name)
    if model is None:
        raise errors.NOT_FOUND(noun=Resource.MODEL.noun, arn=Resource.MODEL.arn(call, name))
    return model
