"""The parameters of a pipeline: which values each type takes."""

from math import inf, nan
from typing import Any

import pytest

from tests.endpoint.core.pipelines.test_pipeline_definition import definition, step
from torpor_endpoint.core.pipelines.pipeline_definition import BadDefinition, PipelineParameter, read_definition


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        *[("String", "a", "a"), ("Integer", "3", 3), ("Float", "0.5", 0.5), ("Float", "2", 2.0)],
        *[("Boolean", "True", True), ("Boolean", "FALSE", False)],
    ],
)
def test_a_parameter_reads_its_type(kind: str, text: str, value: Any) -> None:
    found = PipelineParameter("x", kind, None).read(text)
    assert (found, type(found)) == (value, type(value))


@pytest.mark.parametrize(
    ("parameter", "text", "said"),
    [
        (PipelineParameter("x", "Integer", None), "a", "x must be of type Integer: 'a' is none"),
        (PipelineParameter("x", "Integer", None), "1.0", "x must be of type Integer: '1.0' is none"),
        (PipelineParameter("x", "Boolean", None), "yes", "x must be of type Boolean: 'yes' is none"),
        (PipelineParameter("x", "Float", None), "inf", "x must be of type Float: inf is none"),
        (PipelineParameter("x", "String", None, ("a", "b")), "c", "x must be one of a, b"),
    ],
)
def test_a_parameter_refuses_what_is_not_of_its_type(parameter: PipelineParameter, text: str, said: str) -> None:
    with pytest.raises(BadDefinition, match=said):
        parameter.read(text)


@pytest.mark.parametrize(
    ("kind", "takes", "refuses"),
    [
        ("String", ["", "1"], [1, True]),
        ("Integer", [0, -3], [True, 1.0, "1"]),
        ("Float", [0.5, 1, -2.5], [True, "1", inf, -inf, nan]),
        ("Boolean", [True, False], [0, 1, "true"]),
    ],
)
def test_a_value_is_of_its_parameter_s_type(kind: str, takes: list[Any], refuses: list[Any]) -> None:
    parameter = PipelineParameter("x", kind, None)
    assert [parameter.checked(value) for value in takes] == takes
    for value in refuses:
        with pytest.raises(BadDefinition, match=f"x must be of type {kind}"):
            parameter.checked(value)


def test_the_parameters_of_a_definition_are_read_with_what_they_allow() -> None:
    given = [
        {"Name": "n", "Type": "Integer", "DefaultValue": 1, "EnumValues": [1, 2]},
        {"Name": "f", "Type": "Float"},
    ]
    read = read_definition(definition(step("a", arguments={"x": {"Get": "Parameters.n"}}), Parameters=given))
    assert read.parameters == (PipelineParameter("n", "Integer", 1, (1, 2)), PipelineParameter("f", "Float", None))
    assert read_definition(definition(step("a"), Parameters=None)).parameters == ()


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"Name": "x", "Type": "Date"}, "The parameter x: Type must be one of String, Integer, Float, Boolean."),
        ({"Name": "x y", "Type": "Float"}, "Parameters: the Name 'x y' must be 1 to 64 letters, digits, hyphens"),
        ({"Name": "x", "Type": "Float", "Other": 1}, "The parameter x: Other is not supported by Torpor."),
        ({"Type": "Float"}, "The parameter without a Name: Object missing required field `Name`"),
        (1, "The parameter 1: Expected `object`"),
    ],
)
def test_a_parameter_that_is_not_understood_is_refused_by_name(given: Any, said: str) -> None:
    with pytest.raises(BadDefinition) as refused:
        read_definition(definition(step("a"), Parameters=[given]))
    assert str(refused.value).startswith(said)
