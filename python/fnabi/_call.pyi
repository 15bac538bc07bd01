from collections.abc import Buffer, Callable
from typing import TypeVar

from fnabi.errors import FormatError
from fnabi.types import Signature

_S = TypeVar("_S", bound=Signature)
_T = TypeVar("_T")

class Reader:
    def __init__(
        self,
        classes: tuple[type, ...],
        refuse: Callable[[int, int, bytes, str | None, object], FormatError],
        /,
    ) -> None: ...
    def raw(self, data: bytes, signature: type[_S], /) -> _S: ...
    def iree_abi(self, data: bytes | str, signature: type[_S], /) -> _S: ...
    def exports(
        self, data: Buffer, export: type[_T], signature: type[Signature], /
    ) -> tuple[_T, ...]: ...
    def verify(self, data: Buffer, lenient: bool, /) -> None: ...
