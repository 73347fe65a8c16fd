"""The calls of a hot ONNX model on a device: the session's inputs and outputs stay bound between them.

What is bound changes no answer: a model's first bound call is compared with a usual one, and a model whose answers
differ is never bound again. A bound call that fails by no fault of the device is made again in the usual way, whose
errors say whose fault it is: ONNX Runtime raises the same one for all failures of a bound call.
"""

import logging
from typing import Any, Final

import numpy as np

from torpor_container.core.devices.device_faults import fault_in
from torpor_container.devices.bound_session import BoundSession
from torpor_container.devices.device import Device
from torpor_container.formats.onnx import DTYPES, SessionCall

TOLERANCE: Final = 1e-3
"""Relative: some kernels add in another order each time."""
log = logging.getLogger(__name__)


class BoundCalls:
    """One model's calls while it is hot."""

    def __init__(self, name: str, device: Device) -> None:
        """`name` is how the log calls the model."""
        self._name = name
        self._device = device
        self._bound: BoundSession | None = None
        self._may: bool | None = None  # unknown until the first call

    def __bool__(self) -> bool:
        """Whether inputs and outputs are bound."""
        return self._bound is not None

    def run(self, session: Any, asked: SessionCall) -> list[Any] | None:
        """The outputs; None if the call must be made in the usual way. Raises what ONNX Runtime raises where the device
        is full or lost; nothing is bound then."""
        if self._may is False or len(set(asked.outputs)) < len(asked.outputs):
            return None
        if self._may is None and not _all_numbers(session):
            self._may = False
            return None
        bound, self._bound = self._bound or self._device.bound(session), None
        try:
            values = bound.run(asked.outputs, asked.feed)
        except RuntimeError as error:
            if fault_in(str(error)) is not None:
                raise
            self._bound = bound  # it knows by now whether it can keep the outputs
            return None
        if self._may is None and not self._proved(session, asked, bound, values):
            return None
        self._bound = bound
        return values

    def release(self) -> None:
        """Give back the memory of all that is bound; the session may then be freed."""
        bound, self._bound = self._bound, None
        if bound is not None:
            bound.release()

    def _proved(self, session: Any, asked: SessionCall, bound: BoundSession, values: list[Any]) -> bool:
        bound.release()  # so that the usual call finds as much memory as ever
        usual = self._device.run(session, asked.outputs, asked.feed, shrink=False)
        self._may = all(map(_alike, values, usual))
        if not self._may:
            log.warning("%s answers otherwise when its inputs and outputs are bound: they are not", self._name)
        return self._may


def _all_numbers(session: Any) -> bool:
    """Whether no input or output is text, a sequence or a map, which are not bound."""
    return all(
        one.type in DTYPES and DTYPES[one.type] is not np.object_
        for one in (*session.get_inputs(), *session.get_outputs())
    )


def _alike(bound: Any, usual: Any) -> bool:
    return bound.shape == usual.shape and np.allclose(bound, usual, rtol=TOLERANCE, atol=1e-6, equal_nan=True)
