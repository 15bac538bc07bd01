"""What libraries record of their types, with the names of the original."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable
from typing import Any, ClassVar

from fnabi._base import lane
from fnabi.calls.reflection import TypeRecord
from fnabi.dropin.tvm_ffi._dialect import MISSING, Object, object_classes
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

    def _schema(self) -> TypeSchema | None:
        """Return its type, which is JSON in the metadata, or a text of JSON."""
        found = self.metadata.get("type_schema")
        if isinstance(found, str):
            return TypeSchema.from_json_str(found)
        return None if found is None else TypeSchema.from_json_obj(found)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(name={self.name!r})"


_HEADER = 24  # the size of an object without fields

_FACTORY = 32
_STRUCTURAL = {8: "ignore", 16: "def-pattern", 4096: "def-simple"}


class FFIProperty:
    """A field as an attribute of a class that sets it in another way than its library.

    Args:
        field: The field.
        frozen: Whether the attribute cannot be set.
        convert: Returns the value to set, or None where the library converts it.

    """

    __slots__ = ("_field", "_frozen", "convert")

    def __init__(self, field: lane.Field, frozen: bool, convert: Any = None) -> None:
        self._field = field
        self._frozen = frozen
        self.convert = convert

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else self._field.__get__(instance)

    def __set__(self, instance: Any, value: Any) -> None:
        if self._frozen:
            owner, name = self._field.owner, self._field.name
            raise AttributeError(f"{owner}.{name}: the field is read-only")
        self.set(instance, value)

    def set(self, instance: Any, value: Any) -> None:
        """Set the field, even where it is frozen."""
        self._field.set(instance, value if self.convert is None else self.convert(value))

    @property
    def fget(self) -> Any:
        """The function that returns the value of the field in an object."""
        return self._field.__get__

    @property
    def fset(self) -> Any:
        """The function that sets it, or None where it is frozen."""
        return None if self._frozen else self.set

    @property
    def __doc__(self) -> str | None:  # type: ignore[override]
        return self._field.__doc__


payload_enums: dict[str, Any] = {}
"""The enums whose members have an int or a text as value, by the key of the type."""


class TypeField(_Member):
    """A field of a type.

    Attributes:
        dataclass_field: What a class in Python declares it as, or None.
        frozen: Whether it is read-only.
        ty: Its type, or None.

    """

    __slots__ = ("_type", "dataclass_field", "frozen")

    def __init__(self, member: Any) -> None:
        super().__init__(member)
        self.dataclass_field: Any = None
        self.frozen = not member.writable

    @property
    def offset(self) -> int:
        """Where it is, in bytes from the start of the object."""
        return self._member.offset  # type: ignore[no-any-return]

    @property
    def size(self) -> int:
        """Its size in bytes."""
        return self._member.size  # type: ignore[no-any-return]

    @property
    def alignment(self) -> int:
        """Its alignment in bytes."""
        return self._member.alignment  # type: ignore[no-any-return]

    @property
    def ty(self) -> TypeSchema | None:
        """Its type."""
        if not hasattr(self, "_type"):
            self._type = self._schema()
        return self._type

    @property
    def c_has_default(self) -> bool:
        """Whether an initialiser does without a value for it."""
        return self._member.has_default  # type: ignore[no-any-return]

    @property
    def c_default(self) -> Any:
        """The value where none is given, or `MISSING`."""
        given = self.c_has_default and not self._member.flags & _FACTORY
        return self._member.default if given else MISSING

    @property
    def c_default_factory(self) -> Any:
        """The function that makes the value where none is given, or `MISSING`."""
        given = self.c_has_default and self._member.flags & _FACTORY
        return self._member.default if given else MISSING

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

    def normalize_value(self, value: Any) -> Any:
        """Return the member of an enum for its value; another value as it is."""
        enum = self._enum()
        return value if enum is None else enum(value)

    def _enum(self) -> Any:
        """Return the function that finds a member of the enum of this field, or None."""
        text = self._member.metadata or ""
        if not any(key in text for key in payload_enums) or self.ty is None:
            return None
        if self.ty.origin not in payload_enums:
            return None
        return TypeInfo._definition.storage_of(self.ty).convert

    def as_property(self, cls: type) -> Any:
        """Return the descriptor."""
        enum = self._enum()
        if enum is None and (not self.frozen or not self._member.writable):
            return self._member
        return FFIProperty(self._member, self.frozen, enum)


class TypeMethod(_Member):
    """A method of a type."""

    __slots__ = ()

    @property
    def func(self) -> Any:
        """The function."""
        return self._member.function

    @property
    def ty(self) -> TypeSchema:
        """Its type."""
        return self._schema() or TypeSchema("Callable")

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
        fields: Its own fields; None while a class in Python is not completely defined.
        methods: Its own methods.

    """

    __slots__ = (
        "_decorator_args",
        "_record",
        "fields",
        "methods",
        "type_ancestors",
        "type_index",
        "type_key",
    )

    _definition: ClassVar[Any]
    """The module `_definition`, which needs all classes of values."""

    fields: list[TypeField]
    _decorator_args: dict[str, Any]
    """The options of a class that is defined in Python."""

    def __init__(self, record: TypeRecord) -> None:
        self.type_index = record.index
        self.type_key = record.key
        self.fields = []
        self._read(record)

    def _read(self, record: TypeRecord) -> None:
        """Take over what the table has now; fields keep what classes declare them as."""
        known = {each.name: each for each in self.fields or ()}
        self._record = record
        self.type_ancestors = list(record.ancestors)
        self.fields = [TypeField(each) for each in record.fields]
        self.methods = [TypeMethod(each) for each in record.methods]
        for each in self.fields:
            if each.name in known:
                each.dataclass_field = known[each.name].dataclass_field
                each.frozen = known[each.name].frozen

    def _register_fields(self, fields: Iterable[Any], structure_kind: int | None = None) -> None:
        """Register the fields of a type that is defined in Python."""
        self._definition.define_fields(self, fields, structure_kind)

    def _register_py_methods(
        self, py_methods: Iterable[Any] | None = None, type_attr_names: Collection[str] = ()
    ) -> None:
        """Register the methods of a type that is defined in Python."""
        self._definition.define_methods(self, py_methods or (), type_attr_names)

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
    def _has_type_metadata(self) -> bool:
        """Whether the library has registered the size of objects."""
        return bool(self._record.size)

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
    if info is None:
        info = _infos[record.index] = TypeInfo(record)
    elif info._record is not record:
        info._read(record)
    return info


type(Object).describe = staticmethod(info_of)


def _type_index_to_type_info(type_index: int) -> TypeInfo | None:
    if type_index in _classes:
        info = _infos.get(type_index)
        return info or info_of(object_classes.record(lane.type_info(type_index)[0], type_index))
    cls = object_classes.class_of(type_index)
    if cls is None:
        return None
    record = cls.__fnabi_type__
    failed = record.index != type_index  # the definition of its class in Python
    return _infos.get(type_index) if failed else info_of(record)


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


def _lookup_or_register_type_info_from_type_key(type_key: str) -> TypeInfo:
    """Return what the table has of a type, whose objects have a class from then on."""
    index = lane.type_index_of(type_key)
    info = None if index is None else _type_index_to_type_info(index)
    if info is None:
        raise ValueError(f"Cannot find type info for {type_key}")
    return info


def _object_type_key_to_index(type_key: str) -> int | None:
    return lane.type_index_of(type_key)
