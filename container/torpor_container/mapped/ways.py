"""Which formats have their models mapped, by the instance's settings."""

from collections.abc import Mapping

from torpor_container.core.devices.asked_device import DeviceKind
from torpor_container.formats.lightgbm.lightgbm_format import LIGHTGBM
from torpor_container.formats.onnx import ONNX
from torpor_container.formats.sklearn.estimators import SCIKIT_LEARN
from torpor_container.formats.xgboost.boosters import XGBOOST
from torpor_container.mapped.mapped_forms import FIRST, PRIVATE, SHARED
from torpor_container.settings import Settings
from torpor_container.trees import walking

TREES = (XGBOOST, SCIKIT_LEARN, LIGHTGBM)
WAYS_OF_TREES = {"library": PRIVATE, "auto": SHARED, "flat": FIRST}


def ways_of(settings: Settings) -> Mapping[str, str]:
    """The way of each format, in the words of `mapped_forms`. Trees need the extension that walks them. Where models
    may predict on a device, the weights of an ONNX model are there."""
    trees = WAYS_OF_TREES[settings.trees] if walking.extension() is not None else PRIVATE
    on_processor = settings.device.kind is DeviceKind.CPU
    return {ONNX: settings.onnx_weights if on_processor else PRIVATE, **dict.fromkeys(TREES, trees)}
