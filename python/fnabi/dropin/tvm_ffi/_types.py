"""What libraries record of their types, with the names of the original."""

from __future__ import annotations

import json
from typing import Any

from fnabi._base import lane
from fnabi.calls.reflection import TypeRecord
from fnabi.dropin.tvm_ffi._dialect import Object, object_classes
from fnabi.dropin.tvm_ffi._type_schema import TypeSchema


class _Member:
    """A field or a method of a type."""

    __slots__ = ("_member",)

    def __init__(self, member: Any) -> None:
        self._member = member

    @property
    def name(self) -> str:
        """Its name."""
        return self._member.name  # type: ignore[no-any-return]

    @property
    def doc(self) -> str | None:
        """What the library says of it."""
        return self._member.__doc__  # type: ignore[no-any-return]

    @property
    def metadata(self) -> dict[str, Any]:
        """What the library has recorded of it, such as ``type_schema``."""
        text = self._member.metadata
        return json.loads(text) if text else {}

    def __repr__(self) -> str:
        return f"{type(self).__name__}(name={self.name!r})"


declared: dict[tuple[str, str], Any] = {}
"""What classes declare fields as, by the key of the type and the name."""

_HEADER = 24  # the size of an object without fields

_STRUCTURAL = {8: "ignore", 16: "def-pattern", 4096: "def-simple"}


class TypeField(_Member):
    """A field of a type."""

    __slots__ = ()

    @property
    def offset(self) -> int:
        """Where it is, in bytes from the start of the object."""
        return self._member.offset  # type: ignore[no-any-return]

    @property
    def frozen(self) -> bool:
        """Whether it is read-only."""
        field = self.dataclass_field
        return not self._member.writable or (field is not None and field.frozen)

    @property
    def size(self) -> int:
        """Its size in bytes."""
        return self._member.size  # type: ignore[no-any-return]

    @property
    def dataclass_field(self) -> Any:
        """What a class in Python declares it as, or None."""
        return declared.get((self._member.owner, self.name))

    @property
    def ty(self) -> TypeSchema | None:
        """Its type."""
        text = self.metadata.get("type_schema")
        return None if text is None else TypeSchema.from_json_str(text)

    @property
    def c_has_default(self) -> bool:
        """Whether an initialiser does without a value for it."""
        return self._member.has_default  # type: ignore[no-any-return]

    @property
    def c_default(self) -> Any:
        """The value where none is given."""
        return self._member.default

    @property
    def c_init(self) -> bool:
        """Whether an initialiser sets it."""
        return not self._member.flags & 512

    @property
    def c_kw_only(self) -> bool:
        """Whether an initialiser accepts it by name only."""
        return bool(self._member.flags & 1024)

    @property
    def c_repr(self) -> bool:
        """Whether a repr shows it."""
        return not self._member.flags & 64

    @property
    def c_compare(self) -> bool:
        """Whether it counts in comparisons."""
        return not self._member.flags & 128

    @property
    def c_hash(self) -> bool:
        """Whether it counts in the hash."""
        return not self._member.flags & 256

    @property
    def c_structural_eq(self) -> str | None:
        """How it counts in comparisons by structure; None: as others."""
        flags = self._member.flags
        return next((name for bit, name in _STRUCTURAL.items() if flags & bit), None)

    def getter(self, obj: Any) -> Any:
        """Return its value in an object."""
        return self._member.__get__(obj)

    def setter(self, obj: Any, value: Any) -> None:
        """Set its value in an object."""
        self._member.__set__(obj, value)

    def as_property(self, cls: type) -> Any:
        """Return the descriptor."""
        return self._member


class TypeMethod(_Member):
    """A method of a type."""

    __slots__ = ()

    @property
    def func(self) -> Any:
        """The function."""
        return self._member.function

    @property
    def is_static(self) -> bool:
        """Whether it does without an object."""
        return self._member.static  # type: ignore[no-any-return]

    def as_callable(self, cls: type) -> Any:
        """Return the descriptor."""
        return staticmethod(self.func) if self.is_static else self._member


def _bases(record: TypeRecord) -> list[TypeRecord]:
    return [object_classes.record(lane.type_info(index)[0], index) for index in record.ancestors]


def end_of_bases(record: TypeRecord) -> int:
    """Return where the fields of the types end that a type derives from."""
    return _end_of(_bases(record))


def _end_of(records: list[TypeRecord]) -> int:
    ends = [field.offset + field.size for each in records for field in each.fields]
    return max([_HEADER, *ends])


class TypeInfo:
    """What the table of types has of one.

    Attributes:
        type_index: Its index in this process.
        type_key: Its key.
        type_ancestors: The indexes of the types that it derives from.
        fields: Its own fields.
        methods: Its own methods.

    """

    __slots__ = ("_record", "fields", "methods", "type_ancestors", "type_index", "type_key")

    def __init__(self, record: TypeRecord) -> None:
        self._record = record
        self.type_index = record.index
        self.type_key = record.key
        self.type_ancestors = list(record.ancestors)
        self.fields = [TypeField(each) for each in record.fields]
        self.methods = [TypeMethod(each) for each in record.methods]

    @property
    def type_cls(self) -> Any:
        """The class of its objects."""
        return _classes.get(self.type_index) or object_classes.class_of(self.type_index)

    @property
    def total_size(self) -> int:
        """The size of an object in bytes."""
        if self._record.size:
            return self._record.size
        return -(-_end_of([*_bases(self._record), self._record]) // 8) * 8

    @property
    def parent_type_info(self) -> TypeInfo | None:
        """The type that it derives from."""
        if not self.type_ancestors:
            return None
        return _type_index_to_type_info(self.type_ancestors[-1])

    def __repr__(self) -> str:
        return f"TypeInfo(type_key={self.type_key!r}, type_index={self.type_index})"


_classes: dict[int, Any] = {}
"""The classes of values that are no instances of `Object`, by type index."""

_infos: dict[int, TypeInfo] = {}


def know(index: int, cls: Any) -> None:
    """Record the class of values that are no instances of `Object`."""
    _classes[index] = cls


def info_of(record: TypeRecord) -> TypeInfo:
    """Return what is known of a type."""
    info = _infos.get(record.index)
    if info is None or info._record is not record:
        info = _infos[record.index] = TypeInfo(record)
    return info


type(Object).describe = staticmethod(info_of)


def _type_index_to_type_info(type_index: int) -> TypeInfo | None:
    if type_index in _classes:
        info = _infos.get(type_index)
        return info or info_of(object_classes.record(lane.type_info(type_index)[0], type_index))
    cls = object_classes.class_of(type_index)
    return None if cls is None else info_of(cls.__fnabi_type__)


def _type_cls_to_type_info(type_cls: Any) -> TypeInfo | None:
    for index, cls in _classes.items():
        if cls is type_cls:
            return _type_index_to_type_info(index)
    if not issubclass(type_cls, Object):
        return None
    info: TypeInfo = type_cls.__tvm_ffi_type_info__
    return info


def _lookup_type_attr(type_index: int, attr_key: str, ancestor: bool = False) -> Any:
    """Return what a library has registered for a type under a name, or None."""
    indexes = [type_index]
    if ancestor:
        indexes += reversed(lane.type_info(type_index)[1])
    for each in indexes:
        found = object_classes.in_dialect(lane.type_attribute, each, attr_key)
        if found is not None:
            return found
    return None


def _object_type_key_to_index(type_key: str) -> int | None:
    return lane.type_index_of(type_key)
