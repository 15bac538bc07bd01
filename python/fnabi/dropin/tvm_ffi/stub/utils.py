"""What is known of functions and objects, whatever language it is written in."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from fnabi.dropin.tvm_ffi.core import MISSING, TypeField, TypeInfo, TypeSchema, _lookup_type_attr


@dataclass
class InitConfig:
    """What new files are written for.

    Attributes:
        pkg: The distribution that has the library.
        shared_target: The name of the library, without ``lib`` and the suffix.
        prefix: What the names of functions and types begin with.

    """

    pkg: str
    shared_target: str
    prefix: str


@dataclass
class Options:
    """The arguments of the command."""

    imports: list[str] = field(default_factory=list)
    dlls: list[str] = field(default_factory=list)
    init: InitConfig | None = None
    indent: int = 4
    files: list[str] = field(default_factory=list)
    verbose: bool = False
    dry_run: bool = False
    check: bool = False
    target: str = "python"
    coverage_out: str | None = None


class NamedTypeSchema(TypeSchema):
    """The type of a function or a field, with its name.

    Attributes:
        name: The name.
        size: The size of a field in bytes; None, as all that follow, where it is no field.
        alignment: Its alignment in bytes.
        offset: Where it is in an object, in bytes.
        default: Its default value, or the function that makes it; `MISSING` without one.
        default_is_factory: Whether `default` makes the value.
        structural_eq: How it counts in comparisons by structure.
        frozen: Whether it is read-only.

    """

    __slots__ = (
        "alignment",
        "default",
        "default_is_factory",
        "frozen",
        "name",
        "offset",
        "size",
        "structural_eq",
    )

    def __init__(
        self,
        name: str,
        schema: TypeSchema,
        *,
        size: int | None = None,
        alignment: int | None = None,
        offset: int | None = None,
        default: Any = MISSING,
        default_is_factory: bool = False,
        structural_eq: str | None = None,
        frozen: bool = False,
    ) -> None:
        self.become(schema)
        self.name = name
        self.size = size
        self.alignment = alignment
        self.offset = offset
        self.default = default
        self.default_is_factory = default_is_factory
        self.structural_eq = structural_eq
        self.frozen = frozen

    @staticmethod
    def from_type_field(field: TypeField) -> NamedTypeSchema:
        """Return the type of a field that is registered."""
        made = field.c_default_factory
        return NamedTypeSchema(
            field.name,
            field.ty or TypeSchema("Any"),
            size=field.size,
            alignment=field.alignment,
            offset=field.offset,
            default=field.c_default if made is MISSING else made,
            default_is_factory=made is not MISSING,
            structural_eq=field.c_structural_eq,
            frozen=field.frozen,
        )


@dataclass
class FuncInfo:
    """A function.

    Attributes:
        schema: Its name and type.
        is_member: Whether its first parameter is an object that it is a method of.

    """

    schema: NamedTypeSchema
    is_member: bool

    @staticmethod
    def from_schema(name: str, schema: TypeSchema, *, is_member: bool = False) -> FuncInfo:
        """Return the function of a name and a type."""
        return FuncInfo(NamedTypeSchema(name, schema), is_member)


@dataclass
class InitFieldInfo:
    """A parameter of the initialiser that fields have."""

    name: str
    schema: NamedTypeSchema
    kw_only: bool
    has_default: bool


@dataclass
class ObjectInfo:
    """A type of objects.

    Attributes:
        fields: Its own fields.
        methods: Its own methods; those of one name are overloads.
        type_key: Its key.
        parent_type_key: The key of the type that it derives from.
        init_fields: The parameters of its initialiser, those of the types it derives from first.
        has_init: Whether there is an initialiser.
        ancestors: The keys of the types that it derives from, ``ffi.Object`` first.
        total_size: The size of an object in bytes; None where the library does not tell it.
        is_final: Whether no type derives from it; None where the library does not tell it.

    """

    fields: list[NamedTypeSchema]
    methods: list[FuncInfo]
    type_key: str | None = None
    parent_type_key: str | None = None
    init_fields: list[InitFieldInfo] = field(default_factory=list)
    has_init: bool = False
    ancestors: list[str] = field(default_factory=list)
    total_size: int | None = None
    is_final: bool | None = None

    def has_overloaded_methods(self) -> bool:
        """Return whether several methods have one name."""
        names = [(each.schema.name, each.is_member) for each in self.methods]
        return len(set(names)) < len(names)

    @staticmethod
    def from_type_info(type_info: TypeInfo) -> ObjectInfo:
        """Return what the table of types has of one."""
        lines, line = [type_info], type_info.parent_type_info
        while line is not None:
            lines.insert(0, line)
            line = line.parent_type_info
        has_init = (
            any(each.name == "__ffi_init__" for each in type_info.methods)
            or _lookup_type_attr(type_info.type_index, "__ffi_init__") is not None
        )
        ancestors = [each.type_key for each in lines[:-1]]
        return ObjectInfo(
            fields=[NamedTypeSchema.from_type_field(each) for each in type_info.fields or ()],
            methods=[
                FuncInfo.from_schema(each.name, each.ty, is_member=not each.is_static)
                for each in type_info.methods
            ],
            type_key=type_info.type_key,
            parent_type_key=ancestors[-1] if ancestors else None,
            init_fields=[
                InitFieldInfo(
                    each.name,
                    NamedTypeSchema.from_type_field(each),
                    each.c_kw_only,
                    each.c_has_default,
                )
                for line in lines
                for each in line.fields or ()
                if has_init and each.c_init
            ],
            has_init=has_init,
            ancestors=ancestors,
            total_size=type_info.total_size if type_info._has_type_metadata else None,
            is_final=_lookup_type_attr(type_info.type_index, "__ffi_type_final__"),
        )
