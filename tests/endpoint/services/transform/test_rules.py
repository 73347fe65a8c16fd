"""What strict mode refuses beside what is always refused."""

from dataclasses import replace

from torpor_endpoint.core.records import Container, ModelRecord
from torpor_endpoint.services.sagemaker.rules import broken
from torpor_endpoint.services.transform.rules import MODEL_RULES, STRICT_MODEL_RULES

ONE = ModelRecord("one", "arn", 0.0, (Container("torpor", "s3://bucket/model.tar.gz"),), {})
MANY = replace(ONE, containers=(replace(ONE.containers[0], multi_model=True),))


def test_models_of_many_models_are_refused_in_strict_mode_alone() -> None:
    assert [broken(MODEL_RULES, model) for model in (ONE, MANY)] == [None, None]
    assert broken(STRICT_MODEL_RULES, ONE) is None
    assert broken(STRICT_MODEL_RULES, MANY) == "A transform job with a model of mode MultiModel is not supported."


def test_direct_models_are_refused_always() -> None:
    assert "Serial mode" in str(broken(MODEL_RULES, replace(ONE, direct=True)))
