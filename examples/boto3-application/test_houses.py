"""The application's tests: the first ten lines are all that a test needs."""

import houses
import pytest


@pytest.fixture
def endpoint(torpor_environment, torpor_s3):
    torpor_s3.create_bucket(Bucket=houses.BUCKET)
    with torpor_environment.served(houses.ENDPOINT, f"s3://{houses.BUCKET}/{houses.PREFIX}/") as served:
        yield served


def test_a_larger_house_costs_more(endpoint):
    houses.publish("Houston_TX", [[size, 3] for size in range(50, 250)], [1000 * size for size in range(50, 250)])
    small, large = houses.estimate("Houston_TX", [[60, 3], [240, 3]])
    assert 50_000 < small < large < 260_000


def test_a_city_without_a_model_is_unknown(endpoint):
    with pytest.raises(houses.UnknownCity):
        houses.estimate("Nowhere", [[100, 3]])
