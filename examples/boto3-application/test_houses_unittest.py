"""The same with unittest: `python -m unittest`."""

import unittest

import houses

from torpor.testing import EndpointTestCase, assert_asleep


class HousesTest(EndpointTestCase):
    def setUp(self):
        super().setUp()
        self.torpor.bucket_folder(houses.BUCKET)
        served = self.torpor.served(houses.ENDPOINT, f"s3://{houses.BUCKET}/{houses.PREFIX}/", sleep_after_s=1200)
        self.endpoint = self.enterContext(served)

    def test_a_night_without_calls_costs_nothing(self):
        houses.publish("Houston_TX", [[size, 3] for size in range(50, 250)], range(50, 250))
        houses.estimate("Houston_TX", [[100, 3]])
        self.clock.advance(hours=10)
        assert_asleep(self.endpoint)
        assert houses.estimate("Houston_TX", [[100, 3]])[0] > 0


if __name__ == "__main__":
    unittest.main()
