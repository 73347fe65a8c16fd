"""Keeps the inputs and outputs of a session of ONNX Runtime bound.

Each input goes once from the request's array to where its first operator reads it, and each output once from where it
is made to the answer's array. Outputs keep their memory as long as the shapes of the inputs stay; inputs keep none.
"""

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from typing import Any

Shapes = tuple[tuple[int, ...], ...]


class BoundSession:
    """One session, which one thread uses. While this lives, so does the session."""

    def __init__(self, session: Any, places: Mapping[str, Any]) -> None:
        """`places` are the devices, as ONNX Runtime knows them, on which the outputs are made, by name."""
        from onnxruntime.capi.onnxruntime_pybind11_state import SessionIOBinding

        self._session = session
        self._places = places
        self._binding = SessionIOBinding(session._sess)
        self._bound_for: tuple[Sequence[str], Shapes] | None = None
        self._keeps = True  # until values are seen to decide about the shape of an output

    def run(self, outputs: Sequence[str], feed: Mapping[str, Any]) -> list[Any]:
        """The outputs, which have different names, in arrays of their own. Raises RuntimeError whatever fails; nothing
        is bound then."""
        binding, called_for = self._binding, (outputs, tuple(rows.shape for rows in feed.values()))
        kept = self._keeps and called_for == self._bound_for
        with ExitStack() as unless_answered:
            unless_answered.callback(self._failed, kept)
            if not kept:
                self._bind_outputs(outputs)
                self._bound_for = called_for
            for name, rows in feed.items():
                binding.bind_input(name, rows)
            binding.synchronize_inputs()
            self._session._sess.run_with_iobinding(binding, None)
            binding.synchronize_outputs()
            values: list[Any] = binding.copy_outputs_to_cpu()
            unless_answered.pop_all()
        binding.clear_binding_inputs()
        return values

    def release(self) -> None:
        """Give back the memory of all that is bound."""
        self._binding.clear_binding_inputs()
        self._binding.clear_binding_outputs()
        self._bound_for = None

    def _failed(self, kept: bool) -> None:
        """Outputs that were kept may have had another shape now, and would have again."""
        self._keeps = self._keeps and not kept
        self.release()

    def _bind_outputs(self, outputs: Sequence[str]) -> None:
        self._binding.clear_binding_outputs()
        for name in outputs:
            self._binding.bind_output(name, self._places[name])


def places_of_outputs(session: Any, number: int) -> dict[str, Any]:
    """For each output, the device on which its last operator makes it: the processor, or CUDA's device of this number.

    Before 1.23, ONNX Runtime does not tell: it then brings each output to the processor within the run.
    """
    from onnxruntime import OrtDevice

    told = hasattr(session, "get_output_memory_infos")
    kinds = [one.name for one in session.get_output_memory_infos()] if told else []
    processor, device = (OrtDevice.make(*place)._get_c_device() for place in (("cpu", 0), ("cuda", number)))
    names = [output.name for output in session.get_outputs()]
    return dict.fromkeys(names, processor) | {
        name: device for name, kind in zip(names, kinds, strict=False) if kind == "Cuda"
    }
