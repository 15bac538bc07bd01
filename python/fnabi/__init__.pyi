# Written by `python -m tools names` from the table in __init__.py, in its order.
# ruff: noqa: I001, RUF022

from fnabi._base.version import VERSION as __version__
from fnabi import errors as errors
from fnabi.errors import ArgumentTypeError as ArgumentTypeError
from fnabi.errors import ArgumentValueError as ArgumentValueError
from fnabi.errors import CallError as CallError
from fnabi.errors import CatalogError as CatalogError
from fnabi.errors import FnabiError as FnabiError
from fnabi.errors import FormatError as FormatError
from fnabi.errors import LibraryError as LibraryError
from fnabi.errors import MissingAttributeError as MissingAttributeError
from fnabi.errors import MissingFileError as MissingFileError
from fnabi.errors import MissingKeyError as MissingKeyError
from fnabi.errors import MissingPackageError as MissingPackageError
from fnabi.errors import NotFoundError as NotFoundError
from fnabi.errors import RangeError as RangeError
from fnabi.errors import RegisteredError as RegisteredError
from fnabi._base.progress import Progress as Progress
from fnabi import types as types
from fnabi.types import DType as DType
from fnabi.types import Signature as Signature
from fnabi.abi import cconv as cconv
from fnabi.abi import declaration as declaration
from fnabi.abi import iree_abi as iree_abi
from fnabi.abi import raw as raw
from fnabi.abi import signature as signature
from fnabi.abi.signature import Component as Component
from fnabi.abi.signature import ComponentType as ComponentType
from fnabi.abi.signature import SignatureBuilder as SignatureBuilder
from fnabi.abi.signature import SignatureParser as SignatureParser
from fnabi.abi import sip as sip
from fnabi import vmfb as vmfb
from fnabi.vmfb import bytecode as bytecode
from fnabi.vmfb import costs as costs
from fnabi.vmfb import debug as debug
from fnabi.vmfb import example as example
from fnabi.vmfb import extract as extract
from fnabi.vmfb import failures as failures
from fnabi.vmfb import needs as needs
from fnabi.vmfb import parameters as parameters
from fnabi.vmfb import program as program
from fnabi.vmfb import rodata as rodata
from fnabi import compat as compat
from fnabi.compat import baseline as baseline
from fnabi.compat import report as report
from fnabi.run import client as client
from fnabi.run import invoke as invoke
from fnabi.calls import callee as callee
from fnabi.calls.callee import get_include as get_include
from fnabi.calls import function as function
from fnabi.calls.function import Call as Call
from fnabi.calls.function import Error as Error
from fnabi.calls.function import Function as Function
from fnabi.calls import library as library
from fnabi.calls.library import Library as Library
from fnabi.calls.library import load_module as load_module
from fnabi.calls import reflection as reflection
from fnabi.calls.reflection import Instance as Instance
from fnabi.calls.reflection import ObjectType as ObjectType
from fnabi.calls.reflection import get_type as get_type
from fnabi.calls.reflection import list_type_keys as list_type_keys
from fnabi.calls import registry as registry
from fnabi.calls.registry import get_global_func as get_global_func
from fnabi.calls.registry import list_global_func_names as list_global_func_names
from fnabi.calls.registry import register_global_func as register_global_func
from fnabi.calls.registry import remove_global_func as remove_global_func
from fnabi.calls import schema as schema
from fnabi.calls import stream as stream
from fnabi.calls.stream import get_raw_stream as get_raw_stream
from fnabi.calls.stream import use_raw_stream as use_raw_stream
from fnabi.calls.stream import use_tensors as use_tensors
from fnabi.calls.stream import use_torch_stream as use_torch_stream
from fnabi.calls import tensor as tensor
from fnabi.calls.tensor import Device as Device
from fnabi.calls.tensor import Tensor as Tensor
from fnabi.calls.tensor import from_dlpack as from_dlpack
from fnabi.calls._any import Any as Any
from fnabi.calls._any import AnyArray as AnyArray
from fnabi.calls._array import Array as Array
from fnabi.calls._array import List as List
from fnabi.calls._map import Dict as Dict
from fnabi.calls._map import Map as Map
from fnabi.calls._module import Module as Module
from fnabi.calls._object import Object as Object
from fnabi.calls._object import Shape as Shape
from fnabi.many import arrow as arrow
from fnabi.many import catalog as catalog
from fnabi.many.catalog import Catalog as Catalog
from fnabi.many import catalog_diff as catalog_diff
from fnabi.many import columns as columns
from fnabi.many.columns import Columns as Columns
from fnabi.many.columns import decode_columns as decode_columns
from fnabi.many.columns import encode_columns as encode_columns
from fnabi.many.columns import iter_columns as iter_columns
from fnabi.many import pattern as pattern
from fnabi import dask as dask
from fnabi import datafusion as datafusion
from fnabi import duckdb as duckdb
from fnabi import pandas as pandas
from fnabi import polars as polars
from fnabi import ray as ray
from fnabi import spark as spark
from fnabi import dropin as dropin
from fnabi import html as html
from fnabi import stub as stub

__all__ = [
    "__version__",
    "Any",
    "AnyArray",
    "ArgumentTypeError",
    "ArgumentValueError",
    "Array",
    "Call",
    "CallError",
    "Catalog",
    "CatalogError",
    "Columns",
    "Component",
    "ComponentType",
    "DType",
    "Device",
    "Dict",
    "Error",
    "FnabiError",
    "FormatError",
    "Function",
    "Instance",
    "Library",
    "LibraryError",
    "List",
    "Map",
    "MissingAttributeError",
    "MissingFileError",
    "MissingKeyError",
    "MissingPackageError",
    "Module",
    "NotFoundError",
    "Object",
    "ObjectType",
    "Progress",
    "RangeError",
    "RegisteredError",
    "Shape",
    "Signature",
    "SignatureBuilder",
    "SignatureParser",
    "Tensor",
    "arrow",
    "baseline",
    "bytecode",
    "callee",
    "catalog",
    "catalog_diff",
    "cconv",
    "client",
    "columns",
    "compat",
    "costs",
    "dask",
    "datafusion",
    "debug",
    "declaration",
    "decode_columns",
    "dropin",
    "duckdb",
    "encode_columns",
    "errors",
    "example",
    "extract",
    "failures",
    "from_dlpack",
    "function",
    "get_global_func",
    "get_include",
    "get_raw_stream",
    "get_type",
    "html",
    "invoke",
    "iree_abi",
    "iter_columns",
    "library",
    "list_global_func_names",
    "list_type_keys",
    "load_module",
    "needs",
    "pandas",
    "parameters",
    "pattern",
    "polars",
    "program",
    "raw",
    "ray",
    "reflection",
    "register_global_func",
    "registry",
    "remove_global_func",
    "report",
    "rodata",
    "schema",
    "signature",
    "sip",
    "spark",
    "stream",
    "stub",
    "tensor",
    "types",
    "use_raw_stream",
    "use_tensors",
    "use_torch_stream",
    "vmfb",
]
