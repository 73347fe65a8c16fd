"""The words of a device's tier: readers of journals and of simulations know them."""

from torpor_container.core.devices.tier_actions import ON_DEVICE


def test_a_model_enters_and_leaves_a_device_where_it_is_loaded_and_evicted_in_memory() -> None:
    assert ON_DEVICE == {
        "load": "enter",
        "loaded": "entered",
        "evict": "leave",
        "unloaded": "left",
        "failed": "not-entered",
    }
