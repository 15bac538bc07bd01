from collections.abc import Callable
from typing import Any, Generic, TypeVar

from typing_extensions import Buffer

from fnabi.errors import FormatError
from fnabi.types import Signature

_S = TypeVar("_S", bound=Signature)
_T = TypeVar("_T")

class _Record(Generic[_T]): ...

def record(struct: type[_T], /) -> _Record[_T]: ...

class Reader:
    def __init__(
        self,
        types: tuple[type[Any], ...],
        refuse: Callable[[int, int, bytes, str | None, object], FormatError],
        /,
    ) -> None: ...
    def raw(self, data: bytes, signature: _Record[_S], /) -> _S: ...
    def iree_abi(self, data: bytes | str, signature: _Record[_S], /) -> _S: ...
    def exports(
        self,
        data: Buffer,
        export: _Record[_T],
        signature: _Record[_S],
        unreadable: type[_T],
        /,
    ) -> tuple[_T, ...]: ...
    def verify(self, data: Buffer, lenient: bool, /) -> None: ...
