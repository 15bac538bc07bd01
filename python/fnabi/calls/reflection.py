r"""Types that libraries register: their classes, with fields, methods and initialisers.

A library of TVM-FFI registers its types by name. `get_type` gives the class of one; objects that a
function returns are instances of it::

    >>> lib = fnabi.load_module("libxgrammar_bindings.so")
    >>> Grammar = fnabi.get_type("xgrammar.tvm_ffi_binding.Grammar")
    >>> grammar = Grammar.from_ebnf('root ::= "a" | "b"', "root")
    >>> grammar.type_key
    'xgrammar.tvm_ffi_binding.Grammar'
    >>> grammar.to_string()
    'root ::= (("a") | ("b"))\n'

Fields are attributes, which the library's own functions get and set; methods are methods. The class
itself has ``type_key``, ``type_index``, ``fields``, ``methods`` and ``ancestors``, which do not
hide fields of these names. Called, it makes an object where the library has registered an
initialiser.

A subclass adds methods. With ``register=True`` objects of the type come as its instances from then
on::

    >>> class MyGrammar(Grammar, register=True):
    ...     def __len__(self):
    ...         return len(self.to_string())

A subclass has no attributes of its own: an object is memory of its library, and several Python
objects may stand for it.

Two instances are equal as the type declares it:

* by the type's own comparison, where it has one (``__ffi_eq__``, with ``__ffi_hash__``);
* by structure, where the type declares that as a tree, a DAG or a constant tree;
* otherwise, when they stand for the same object.

The types are in a table of ``libtvm_ffi``, or in fnabi's own: there are those of libraries that
were loaded before ``libtvm_ffi``, or without it (`_stand_in`), and they stay there.
"""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable, Iterator, Mapping
from functools import cache, lru_cache
from importlib import import_module
from inspect import Parameter, Signature
from types import MappingProxyType
from typing import Any, ClassVar, Final

from fnabi._base import lane
from fnabi._base.text import did_you_mean, quoted
from fnabi.calls import schema
from fnabi.calls._array import Array, List
from fnabi.calls._map import Dict, Map
from fnabi.calls._object import Object, Shape
from fnabi.calls.registry import builtin_function, runtime_function
from fnabi.errors import ArgumentTypeError, CallError, FnabiError, FormatError, NotFoundError

__all__ = ["Instance", "ObjectType", "get_type", "list_type_keys"]


def __dir__() -> list[str]:
    return __all__


_FIRST: Final = 64
"""The type index of the first type of objects, which is that of ``ffi.Object``."""

_INITIALISER = "__ffi_init__"
_NO_INIT, _BY_NAME = 512, 1024
_TREE, _DAG, _CONST_TREE = 1, 3, 4
_REPR_DEPTH = 16

_OWN: Final[dict[str, type]] = {
    "ffi.Object": Object,
    "ffi.String": str,
    "ffi.Bytes": bytes,
    "ffi.Error": lane.Error,
    "ffi.Function": lane.Function,
    "ffi.Shape": Shape,
    "ffi.Tensor": lane.Tensor,
    "ffi.Array": Array,
    "ffi.Map": Map,
    "ffi.List": List,
    "ffi.Dict": Dict,
    "ffi.BigInt": int,
}
"""The types whose objects have classes of this package, or of Python."""

_OF_ONE_TYPE: Final = (lane.Error, lane.Tensor, Array, Map, List, Dict)
"""The classes whose methods read objects of one type; a `Dialect` has them by name."""

_WRITTEN: Final = {"ffi.Module": ("fnabi.calls._module", "Module")}
"""The types that have a class with methods of its own in this package, by module and name."""

_OF_CLASSES = "class", "dict", "weakref", "slots", "new", "init", "del", "doc", "module", "qualname"
_OWN_NAMES = frozenset(f"__{name}__" for name in _OF_CLASSES)


class TypeRecord:
    """What the table says of a type, in the classes of fnabi or of a dialect."""

    __slots__ = (
        "ancestors",
        "classes",
        "doc",
        "equality",
        "fields",
        "in_dialect",
        "index",
        "initialiser",
        "key",
        "methods",
        "size",
    )

    def __init__(
        self, key: str, index: int, in_dialect: Callable[..., Any] = lane.without_dialect
    ) -> None:
        self.key = key
        self.index = index
        self.in_dialect = in_dialect
        self.doc: str | None = None
        self.ancestors: tuple[int, ...] = ()
        self.equality = 0
        self.size = 0
        self.fields: tuple[lane.Field, ...] = ()
        self.methods: tuple[lane.Method, ...] = ()
        self.initialiser: tuple[lane.Function, bool] | None = None
        if lane.type_index_of(key) == index:
            self.read()

    def read(self) -> None:
        found = self.in_dialect(lane.type_info, self.index)
        _, self.ancestors, self.doc, self.equality, self.fields, self.methods, self.size = found

    def find_initialiser(self) -> tuple[lane.Function, bool]:
        """Return the function that makes an object, and whether it accepts names."""
        if self.initialiser is None:
            own = [each for each in self.methods if each.name == _INITIALISER]
            function = own[-1].function if own else self.attribute(_INITIALISER)
            if function is None:
                raise ArgumentTypeError(
                    f"{self.key}: the library registered no initialiser; objects of this type come"
                    " from its functions"
                )
            self.initialiser = function, not own
        return self.initialiser

    def attribute(self, name: str) -> lane.Function | None:
        """Return the function that a library has registered for the type under a name."""
        value = self.in_dialect(lane.type_attribute, self.index, name)
        return value if isinstance(value, lane.Function) else None

    def make(self, args: tuple[Any, ...], named: Mapping[str, Any]) -> Any:
        """Make an object with the initialiser that the library registered.

        Raises:
            CallError: There is no initialiser, or it accepts no names.

        """
        function, by_name = self.find_initialiser()
        if not named:
            return function(*args)
        if by_name:
            marker = _named_marker(self.index >= lane.OWN_TYPES)
            flat = [part for pair in named.items() for part in pair]
            return function(*args, marker, *flat)
        raise ArgumentTypeError(
            f"{self.key}: the initialiser accepts arguments by position only, got"
            f" {next(iter(named))!r} by name"
        )


@cache
def _named_marker(is_own: bool) -> Any:
    """Return the object after which arguments are pairs of name and value, for a table."""
    return lane.initialiser_marker() if is_own else runtime_function("ffi.GetKwargsObject")()


def _lines_of(cls: Any) -> Iterator[TypeRecord]:
    """Yield the records of a class and those that it derives from, ``ffi.Object`` first."""
    for index in cls.__fnabi_type__.ancestors:
        yield cls.__fnabi_classes__.of_index(index).__fnabi_type__
    yield cls.__fnabi_type__


def fields_of(cls: Any) -> Mapping[str, lane.Field]:
    """Return the fields by name, those of the ancestors first."""
    return MappingProxyType({each.name: each for line in _lines_of(cls) for each in line.fields})


class _OfClasses(property):
    """A property of the classes of a metaclass, which the metaclass itself lacks.

    Where `inspect.signature` finds a property instead of a signature, completion at a prompt ends.
    """

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        if instance is None:
            raise AttributeError
        return super().__get__(instance, owner)


class ObjectType(type):
    """The class of the classes that represent types of libraries.

    A class has no attributes for its instances: they are memory of the library.

    Example:
        >>> import fnabi
        >>> module = fnabi.get_type("ffi.Module")
        >>> module.type_key, module.ancestors
        ('ffi.Module', (<class Object of ffi.Object>,))

    """

    __fnabi_type__: TypeRecord
    __fnabi_classes__: ObjectClasses

    has_attributes: ClassVar[bool] = False
    """Whether classes may have attributes for their instances all the same."""

    def __new__(  # noqa: D102
        mcs,
        name: str,
        bases: tuple[type, ...],
        namespace: dict[str, Any],
        *,
        register: bool = False,
    ) -> ObjectType:
        namespace.setdefault("__slots__", ())
        made = super().__new__(mcs, name, bases, namespace)
        is_plain = made.__basicsize__ == Object.__basicsize__ and not made.__dictoffset__
        if not (is_plain or mcs.has_attributes):
            raise ArgumentTypeError(
                f"{name}: expected a class without attributes of its own and without bases that"
                " have some: objects hold their fields in memory of the library"
            )
        if not is_plain:
            _give_attributes(made)
        if register:
            made.__fnabi_classes__.adopt(made.__fnabi_type__.index, made)
        return made

    def __init__(cls, *args: Any, register: bool = False) -> None:
        super().__init__(*args)

    @property
    def type_key(cls) -> str:
        """The key under which the library registered the type."""
        return cls.__fnabi_type__.key

    @property
    def type_index(cls) -> int:
        """The index of the type in this process; it may be another one in the next."""
        return cls.__fnabi_type__.index

    @property
    def ancestors(cls) -> tuple[ObjectType, ...]:
        """The types that it derives from, ``ffi.Object`` first."""
        object_classes = cls.__fnabi_classes__
        return tuple(object_classes.of_index(index) for index in cls.__fnabi_type__.ancestors)

    @property
    def fields(cls) -> Mapping[str, lane.Field]:
        """The fields by name, those of the ancestors first."""
        return fields_of(cls)

    @property
    def methods(cls) -> Mapping[str, lane.Method]:
        """The methods by name, those of the ancestors first."""
        found = {each.name: each for line in _lines_of(cls) for each in line.methods}
        return MappingProxyType(found)

    @_OfClasses
    def __signature__(cls) -> Signature:
        own = cls.__mro__[: cls.__mro__.index(cls.__fnabi_classes__.root)]
        if any("__new__" in vars(each) or "__init__" in vars(each) for each in own):
            raise AttributeError  # a subclass has its own
        return _initialiser_signature(cls)

    def __repr__(cls) -> str:
        return f"<class {cls.__name__} of {cls.__fnabi_type__.key}>"


def _give_attributes(cls: type) -> None:
    """Let instances of a class keep their attributes as long as a library has the object."""
    slots = {name for each in cls.__mro__ for name in vars(each).get("__slots__", ())}
    lane.give_attributes(cls, bool(slots - {"__dict__", "__weakref__"}))
    own: Any = vars(cls).get("__del__")
    if own is not None or not hasattr(cls, "__del__"):

        def __del__(self: Any) -> None:
            if own is not None and not lane.is_empty(self):
                own(self)
            lane.outlive(self)

        cls.__del__ = __del__  # type: ignore[attr-defined]
    if _sweep not in gc.callbacks:
        gc.callbacks.append(_sweep)


def _sweep(phase: str, info: Mapping[str, int]) -> None:
    if phase == "start":
        lane.sweep_kept()


class _OwnType(ObjectType):
    """A type whose objects have a class of this package; it makes and recognises them."""

    def __call__(cls, *args: Any, **named: Any) -> Any:
        own = _OWN[cls.__fnabi_type__.key]
        if own is Object:
            raise ArgumentTypeError("ffi.Object: the type has no initialiser")
        return own(*args, **named)

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, _OWN[cls.__fnabi_type__.key])


class Instance(Object, metaclass=ObjectType):
    """The base class of objects whose type a library has registered.

    Example:
        >>> import fnabi
        >>> module = fnabi.Module.load("build/kernels.so")
        >>> isinstance(module, fnabi.Instance), module.type_key
        (True, 'ffi.Module')

    """

    __fnabi_type__ = TypeRecord("ffi.Object", _FIRST)

    def __new__(cls, *args: Any, **named: Any) -> Any:
        """Make an object with the initialiser that the library registered.

        Raises:
            CallError: There is no initialiser, or it accepts no names.

        """
        made = cls.__fnabi_type__.make(args, named)
        if type(made) is cls or not isinstance(made, Object):
            return made
        return lane.as_class(made, cls)

    def __repr__(self) -> str:
        return _repr(self)

    def __copy__(self) -> Any:
        copy = type(self).__fnabi_type__.attribute("__ffi_shallow_copy__")
        if copy is None:
            raise ArgumentTypeError(
                f"{type(self).__fnabi_type__.key}: the library registered no way to copy an object"
            )
        return copy(self)

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        copy = type(self).__fnabi_classes__.function("ffi.DeepCopy")(self)
        memo[id(self)] = copy
        return copy

    def __reduce__(self) -> tuple[Any, ...]:
        return _from_json, (runtime_function("ffi.ToJSONGraphString")(self, None),)


def get_type(type_key: str) -> ObjectType:
    """Return the class of a type by its key, such as ``"ffi.Module"``.

    Raises:
        NotFoundError: No loaded library has registered the key. It is a `LookupError`.
        CallError: `type_key` is not a str.

    Example:
        >>> import fnabi
        >>> fnabi.get_type("ffi.Module") is fnabi.Module
        True

    """
    if not isinstance(type_key, str):
        raise ArgumentTypeError(f"get_type: type_key: expected str, got {type(type_key).__name__}")
    try:
        index = lane.type_index_of(type_key)
    except UnicodeEncodeError:
        index = None
    if index is None or index < _FIRST:
        hint = did_you_mean(type_key, list_type_keys())
        raise NotFoundError(f"get_type: type_key: no type has the key {quoted(type_key)}{hint}")
    return _classes_of_fnabi.refreshed(index)


def list_type_keys() -> list[str]:
    """Return the keys of all registered types of objects, in the order of their indexes.

    Example:
        >>> import fnabi
        >>> {"ffi.Array", "ffi.Map", "ffi.Module"} <= {*fnabi.list_type_keys()}
        True

    """
    return [key for key in _all_keys() if (lane.type_index_of(key) or 0) >= _FIRST]


def _all_keys() -> list[str]:
    """Return the keys of libtvm_ffi's types and then those of fnabi's own table."""
    keys = lane.global_function("ffi.GetRegisteredTypeKeys")
    theirs = list(keys()) if keys is not None else []
    return list(dict.fromkeys([*theirs, *lane.own_type_keys()]))


# --------------------------------------------------------------------------------- classes

_making = threading.RLock()
"""Held while a class is made: there is one for each type, in fnabi and in each dialect."""

_known: set[int] = set()
"""The type indexes that are in a table: libtvm_ffi ends the process for any other."""


def _is_known(index: int) -> bool:
    if index not in _known:
        _known.update(at for key in _all_keys() if (at := lane.type_index_of(key)) is not None)
    return index in _known


def _value_of(function: lane.Function) -> lane.Function:
    """Return the same function as a value of the dialect."""
    value: lane.Function = lane.Any(function).value
    return value


class ObjectClasses:
    """One class for each type: those of this package, or those of a dialect.

    Args:
        root: The class that they derive from.
        dialect: That of a package with the names of another one, or None.

    """

    def __init__(self, root: type[Instance], dialect: lane.Dialect | None = None) -> None:
        self.root = root
        self.dialect = dialect
        self.in_dialect: Callable[..., Any] = dialect or lane.without_dialect
        self._functions: dict[str, lane.Function] = {}
        self._classes: dict[int, ObjectType] = {}

    def record(self, key: str, index: int) -> TypeRecord:
        """Return what the table says of a type."""
        return TypeRecord(key, index, self.in_dialect)

    def function(self, name: str) -> lane.Function:
        """Return a function of libtvm_ffi itself, whose results are in the dialect."""
        found = self._functions.get(name)
        if found is None:
            found = builtin_function(name)
            if self.dialect is not None:
                found = self.in_dialect(_value_of, found)
            if lane.runtime_loaded():
                self._functions[name] = found
        return found

    def class_of(self, index: int) -> ObjectType | None:
        """Return the class for objects with a type index, or None for one not registered."""
        if not _is_known(index):
            return None
        try:
            return self.of_index(index)
        except FnabiError:
            return None  # get_type says why

    def of_index(self, index: int) -> ObjectType:
        """Return the class of a type, which is made when it is first needed."""
        found = self._classes.get(index)
        if found is not None:
            return found
        with _making:
            found = self._classes.get(index)
            if found is None:
                found = self._make(index)
                if isinstance(found, _OwnType):
                    self._classes[index] = found
                else:
                    self.adopt(index, found)
        return found

    def adopt(self, index: int, cls: ObjectType) -> None:
        """Make a class that of the objects of a type from now on."""
        self._classes[index] = cls
        if not issubclass(cls, _OF_ONE_TYPE):
            lane.set_class(index, cls, self.dialect)

    def refreshed(self, index: int) -> ObjectType:
        """Return the class of a type, with what was registered after it was made."""
        found = self.of_index(index)
        record = found.__fnabi_type__
        if lane.type_size(record.index) != (len(record.fields), len(record.methods)):
            record.read()
            if not isinstance(found, _OwnType):
                _add(found)
        return found

    def _make(self, index: int) -> ObjectType:
        key = lane.type_info(index)[0]
        record = self.record(key, index)
        if key in _WRITTEN and self.dialect is None:
            module, name = _WRITTEN[key]
            written: ObjectType = getattr(import_module(module), name)
            written.__fnabi_type__ = record
            _add(written)
            return written
        base: type = self.root
        for ancestor in record.ancestors:
            each = self.of_index(ancestor)
            base = base if isinstance(each, _OwnType) else each
        prefix, _, name = key.rpartition(".")
        namespace: dict[str, Any] = {
            "__doc__": record.doc or f"Objects of type {key}.",
            "__module__": prefix or "fnabi",
            "__fnabi_type__": record,
        }
        if key in _OWN and self.dialect is None:
            return _OwnType(name, (self.root,), namespace)
        return self._finish(name, base, namespace, record)

    def _finish(
        self, name: str, base: type, namespace: dict[str, Any], record: TypeRecord
    ) -> ObjectType:
        namespace["__eq__"], namespace["__hash__"] = _comparison(record)
        namespace |= _namespace(record)
        return type(base)(name, (base,), namespace)  # type: ignore[return-value]


_classes_of_fnabi = ObjectClasses(Instance)
Instance.__fnabi_classes__ = _classes_of_fnabi

class_of = _classes_of_fnabi.class_of  # for the lane


def _namespace(record: TypeRecord) -> dict[str, Any]:
    """Return the attributes of a class that fields and methods are."""
    found: dict[str, Any] = {}
    for field in record.fields:
        found[field.name] = field
    for method in record.methods:
        if method.static:
            function = method.function
            function.__doc__ = method.__doc__
            function.schema = method.schema
            function.__signature__ = method.__signature__
            found[method.name] = staticmethod(function)
        else:
            found[method.name] = method
    return {
        name: value
        for name, value in found.items()
        if name not in _OWN_NAMES and not name.startswith("__ffi_")
    }


def _add(cls: ObjectType) -> None:
    for name, value in _namespace(cls.__fnabi_type__).items():
        if name not in vars(cls):
            setattr(cls, name, value)


# -------------------------------------------------------------------- equality, hash, repr


def _comparison(record: TypeRecord) -> tuple[Callable[..., Any], Callable[..., Any] | None]:
    if record.attribute("__ffi_eq__") is not None:
        has_hash = record.attribute("__ffi_hash__") is not None
        return _equal_by_type, _hash_by_type if has_hash else None
    if record.equality in (_TREE, _DAG, _CONST_TREE):
        return _equal_by_structure, _hash_by_structure
    return Object.__eq__, Object.__hash__


def _equal_by_type(self: Object, other: object) -> Any:
    if not isinstance(other, Instance):
        return NotImplemented
    if lane.address_of(self) == lane.address_of(other):
        return True
    return runtime_function("ffi.RecursiveEq")(self, other)


def _hash_by_type(self: Object) -> int:
    return hash(runtime_function("ffi.RecursiveHash")(self))


def _equal_by_structure(self: Object, other: object) -> Any:
    if not isinstance(other, Instance):
        return NotImplemented
    if lane.address_of(self) == lane.address_of(other):
        return True
    return runtime_function("ffi.StructuralEqual")(self, other, False, False)


def _hash_by_structure(self: Object) -> int:
    return hash(runtime_function("ffi.StructuralHash")(self, False, False))


class _Shown(threading.local):
    """The objects whose repr is being made, from the outermost in."""

    def __init__(self) -> None:
        self.addresses: list[int] = []


_shown = _Shown()


def _repr(self: Instance) -> str:
    key = type(self).__fnabi_type__.key
    own = type(self).__fnabi_type__.attribute("__ffi_repr__")
    if own is not None:
        try:
            text = builtin_function("ffi.ReprPrint")(self)
        except Exception:  # the library's own code; a repr should not fail
            text = None
        if isinstance(text, str):
            return text
    fields = [field for field in fields_of(type(self)).values() if not field.hidden]
    address = lane.address_of(self)
    if not fields:
        return f"<{key} at {address:#x}>"
    shown = _shown.addresses
    if address in shown or len(shown) >= _REPR_DEPTH:
        return f"{key}(...)"
    shown.append(address)
    try:
        parts = [f"{field.name}={_field_repr(field, self)}" for field in fields]
    finally:
        shown.pop()
    return f"{key}({', '.join(parts)})"


def _field_repr(field: lane.Field, instance: Instance) -> str:
    try:
        return repr(field.__get__(instance))
    except Exception as problem:  # a getter that fails is no reason to show nothing
        return f"<{type(problem).__name__}>"


def _from_json(text: str) -> Any:
    """Make an object again that was pickled."""
    return runtime_function("ffi.FromJSONGraphString")(text)


# -------------------------------------------------------------------------------- metadata


@lru_cache(maxsize=4096)
def member_schema(metadata: str) -> schema.Schema | None:
    """Return the type of a field or method from its metadata, or None where that has none."""
    if not metadata:
        return None
    try:
        return schema.parse(metadata).schema
    except FormatError:
        return None


def _initialiser_signature(cls: ObjectType) -> Signature:
    """Return the signature of a class, by its initialiser or by the fields that one sets."""
    try:
        function, by_name = cls.__fnabi_type__.find_initialiser()
    except CallError as problem:
        raise AttributeError(str(problem)) from None
    if not by_name:
        found = function.__dict__.get("__signature__")
        if isinstance(found, Signature):
            return found.replace(return_annotation=Signature.empty)
        raise AttributeError
    try:
        return Signature([_parameter(field) for field in _accepted_fields(cls)])
    except ValueError as problem:  # a field is named as a keyword of Python
        raise AttributeError(str(problem)) from None


def _accepted_fields(cls: ObjectType) -> list[lane.Field]:
    """Return the fields that an initialiser sets: those by position first, those by name last."""
    fields = [each for each in fields_of(cls).values() if not each.flags & _NO_INIT]
    fields.sort(key=lambda each: (is_by_name(each), each.has_default))
    return fields


def initialiser_fields(cls: ObjectType) -> list[lane.Field] | None:
    """Return the parameters of an initialiser that accepts fields by name, or None without one."""
    try:
        _, by_name = cls.__fnabi_type__.find_initialiser()
    except CallError:
        return None
    return _accepted_fields(cls) if by_name else None


def is_by_name(field: lane.Field) -> bool:
    """Return whether an initialiser accepts a field by name only."""
    return bool(field.flags & _BY_NAME)


def _parameter(field: lane.Field) -> Parameter:
    return Parameter(
        field.name,
        Parameter.KEYWORD_ONLY if is_by_name(field) else Parameter.POSITIONAL_OR_KEYWORD,
        default=field.default if field.has_default else Parameter.empty,
        annotation=field.schema.hint() if field.schema else Parameter.empty,
    )


def method_signature(method: lane.Method) -> Signature:
    """Return the signature of a method; the object is the parameter ``self``."""
    described = method.schema
    found = schema.signature(described or schema.TypeSchema("ffi.Function"))
    parameters = list(found.parameters.values())
    if method.static or not parameters:
        return found
    first = Parameter("self", Parameter.POSITIONAL_ONLY)
    if parameters[0].kind is Parameter.VAR_POSITIONAL:
        return found.replace(parameters=[first, *parameters])
    rest = [each.replace(name=f"arg{at}") for at, each in enumerate(parameters[1:])]
    return found.replace(parameters=[first, *rest])
