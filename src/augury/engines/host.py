"""How our own loops run: compiled, over NumPy arrays; or as they are, over lists, which plain Python reads faster."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from augury.engines.compiling import compiled


class Host:
    """Makes arrays and runs kernels in one of the two ways."""

    def __init__(self, *, fast: bool) -> None:
        self.fast = fast

    def run(self, function: Callable[..., Any]) -> Callable[..., Any]:
        return compiled(function) if self.fast else function

    def array(self, dtype: str, length: int) -> Any:
        return np.zeros(length, dtype) if self.fast else [0] * length

    def listed(self, values: npt.NDArray[Any]) -> Any:
        return values if self.fast else values.tolist()

    def longer(self, array: Any, dtype: str, length: int) -> Any:
        if not self.fast:
            return array + [0] * (length - len(array))
        longer = np.zeros(length, dtype)
        longer[: len(array)] = array
        return longer
