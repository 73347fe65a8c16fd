from typing import Any, Self

from numpy.typing import NDArray

VERSION: int

class Trees:
    def __new__(
        cls,
        nodes: Any,
        roots: Any,
        groups: Any,
        pairs: Any,
        base: Any,
        leaves: Any,
        columns: int,
        wide: bool,
        owner: Any,
    ) -> Self: ...
    def predict(self, rows: NDArray[Any], out: NDArray[Any], /) -> None: ...

class MappedBytes:
    def __new__(cls, descriptor: int) -> Self: ...
    def __buffer__(self, flags: int, /) -> memoryview: ...

def sigmoid(values: NDArray[Any], /) -> None: ...
def exp(values: NDArray[Any], /) -> None: ...
def double_exp(values: NDArray[Any], /) -> None: ...
def softmax(values: NDArray[Any], width: int, /) -> None: ...
def any_infinite(rows: NDArray[Any], /) -> bool: ...
