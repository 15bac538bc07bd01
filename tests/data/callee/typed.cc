// A library with types of its own, compiled against the headers of TVM-FFI for C++: what it asks of
// libtvm_ffi are functions of C.
#include <tvm/ffi/big_int.h>
#include <tvm/ffi/container/map.h>
#include <tvm/ffi/extra/c_env_api.h>
#include <tvm/ffi/reflection/registry.h>
#include <tvm/ffi/tvm_ffi.h>

#include <cstdio>
#include <cstdlib>
#include <string>

namespace ffi = tvm::ffi;
namespace refl = tvm::ffi::reflection;

class PairObj : public ffi::Object {
 public:
  int64_t first = 0;
  ffi::String name;
  ffi::Array<int64_t> rest;

  static constexpr bool _type_mutable = true;
  static constexpr uint32_t _type_child_slots = 2;
  TVM_FFI_DECLARE_OBJECT_INFO("typed.Pair", PairObj, ffi::Object);
};

class Pair : public ffi::ObjectRef {
 public:
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NULLABLE(Pair, ffi::ObjectRef, PairObj);
};

class TripleObj : public PairObj {
 public:
  double last = 1;

  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("typed.Triple", TripleObj, PairObj);
};

class Triple : public Pair {
 public:
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NULLABLE(Triple, Pair, TripleObj);
};

class CounterObj : public ffi::Object {
 public:
  int64_t count;

  explicit CounterObj(int64_t start) : count(start) {}
  int64_t Add(int64_t by) { return count += by; }

  static constexpr bool _type_mutable = true;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("typed.Counter", CounterObj, ffi::Object);
};

class MarkObj : public ffi::Object {
 public:
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("typed.Mark", MarkObj, ffi::Object);
};

class ShownObj : public ffi::Object {
 public:
  int64_t value;

  explicit ShownObj(int64_t given) : value(given) {}
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("typed.Shown", ShownObj, ffi::Object);
};

// Its default is made by a function, which returns the same array each time.
class SharingObj : public ffi::Object {
 public:
  ffi::Array<int64_t> shared;

  static ffi::Array<int64_t> Default() {
    static ffi::Array<int64_t> made = {1, 2};
    return made;
  }

  static constexpr bool _type_mutable = true;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("typed.Sharing", SharingObj, ffi::Object);
};

// Its names are none in Python, or have a meaning there.
class OddObj : public ffi::Object {
 public:
  int64_t a = 1, b = 2, c = 3, d = 4;

  int64_t Sum() { return a + b + c + d; }

  static constexpr bool _type_mutable = true;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("typed.Odd", OddObj, ffi::Object);
};

// The names of its fields are those that a class of Python uses itself.
class OwnObj : public ffi::Object {
 public:
  int64_t number = 1;
  Pair pair;

  Pair Same(Pair of) { return of; }

  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("typed.Own", OwnObj, ffi::Object);
};

static int64_t Sum(Pair pair) {
  int64_t sum = pair->first;
  for (int64_t each : pair->rest) sum += each;
  return sum;
}

static ffi::Array<ffi::String> GlobalNames() {
  ffi::Array<ffi::String> names;
  for (const ffi::String& each : ffi::Function::ListGlobalNames())
    if (std::string(each).find("typed.") == 0) names.push_back(each);
  return names;
}

static ffi::String ReadDtype(ffi::String text) {
  DLDataType read = ffi::StringToDLDataType(text);
  std::string numbers = std::to_string(read.code) + " " +
                        std::to_string(read.bits) + " " +
                        std::to_string(static_cast<int16_t>(read.lanes));
  return numbers + " " + std::string(ffi::DLDataTypeToString(read));
}

static ffi::String WriteDtype(int64_t code, int64_t bits, int64_t lanes) {
  DLDataType dtype{static_cast<uint8_t>(code), static_cast<uint8_t>(bits),
                   static_cast<uint16_t>(lanes)};
  return ffi::DLDataTypeToString(dtype);
}

static ffi::Map<ffi::String, int64_t> Numbered(int64_t count) {
  ffi::Map<ffi::String, int64_t> made;
  for (int64_t i = 0; i < count; i++)
    made.Set("the key " + std::to_string(i), i);
  return made;
}

static ffi::Tensor Row(ffi::Tensor of, int64_t row) {
  int64_t shape = of.size(1);
  int64_t stride = 1;
  DLTensor like = *of.GetDLTensorPtr();
  like.ndim = 1;
  like.shape = &shape;
  like.strides = &stride;
  like.data =
      static_cast<char*>(like.data) + row * shape * (like.dtype.bits / 8);
  TVMFFIObjectHandle made;
  TVM_FFI_CHECK_SAFE_CALL(TVMFFITensorCreateUnsafeView(
      ffi::detail::ObjectUnsafe::TVMFFIObjectPtrFromObjectRef(of), &like,
      &made));
  return ffi::Tensor(
      ffi::detail::ObjectUnsafe::ObjectPtrFromOwned<ffi::TensorObj>(
          static_cast<TVMFFIObject*>(made)));
}

static ffi::String Version() {
  TVMFFIVersion version;
  TVMFFIGetVersion(&version);
  return std::to_string(version.major) + "." + std::to_string(version.minor);
}

static int64_t Allocated() {
  TVMFFICustomAllocator* allocator = TVMFFIGetCustomAllocator();
  if (TVMFFISetCustomAllocator(allocator) != 0 ||
      TVMFFIGetCustomAllocator() != allocator)
    return 0;
  void* object = allocator->allocate(64, 8, ffi::TypeIndex::kTVMFFIObject,
                                     allocator->context);
  TVMFFIObjectAllocHeader* header =
      static_cast<TVMFFIObjectAllocHeader*>(object) - 1;
  header->delete_space(object);
  return 64;
}

static int64_t Released() {
  static int64_t released;
  released = 0;
  TVMFFIObjectHandle made;
  auto release = [](void* handle) { *static_cast<int64_t*>(handle) += 1; };
  TVM_FFI_CHECK_SAFE_CALL(TVMFFIObjectCreateOpaque(
      &released, ffi::TypeIndex::kTVMFFIOpaquePyObject, release, &made));
  TVMFFIObjectDecRef(made);
  return released;
}

static int Answer(void*, const TVMFFIAny*, int32_t, TVMFFIAny* result) {
  result->type_index = ffi::TypeIndex::kTVMFFIInt;
  result->v_int64 = 42;
  return 0;
}

static int64_t Registered() {
  int64_t failed = 0;
  failed += TVMFFIEnvRegisterCAPI("PyErr_CheckSignals", nullptr) != 0 ? 1 : 0;
  failed += TVMFFIEnvModRegisterContextSymbol("__typed_context", &failed) != 0
                ? 2
                : 0;
  failed += TVMFFIEnvModRegisterSystemLibSymbol(
                "__tvm_ffi_answer", reinterpret_cast<void*>(Answer)) != 0
                ? 4
                : 0;
  return failed;
}

static ffi::Any Negated(ffi::BigInt value) { return -value; }

static void CheckAtExit() {
  std::atexit([] { std::printf("at exit: %d\n", TVMFFIEnvCheckSignals()); });
}

// Registers a function whose metadata are no JSON.
static void Undescribed() {
  ffi::Function five =
      ffi::Function::FromTyped([](int64_t x) { return x + 5; });
  TVMFFIMethodInfo info{};
  info.name = TVMFFIByteArray{"typed.undescribed", 17};
  info.metadata = TVMFFIByteArray{"{", 1};
  info.method = ffi::AnyView(five).CopyToTVMFFIAny();
  TVMFFIFunctionSetGlobalFromMethodInfo(&info, 0);
}

TVM_FFI_STATIC_INIT_BLOCK() {
  refl::ObjectDef<PairObj>()
      .def_rw("first", &PairObj::first, "The first number.")
      .def_rw("name", &PairObj::name, "It is \"called\"",
              refl::default_value("none"))
      .def_rw("rest", &PairObj::rest, refl::kw_only(true));
  refl::ObjectDef<TripleObj>().def_ro("last", &TripleObj::last);
  refl::ObjectDef<CounterObj>()
      .def(refl::init<int64_t>())
      .def_ro("count", &CounterObj::count)
      .def("add", &CounterObj::Add, "Count further.");
  refl::ObjectDef<MarkObj>().def(refl::init<>());
  refl::ObjectDef<ShownObj>()
      .def(refl::init<int64_t>())
      .def_ro("value", &ShownObj::value);
  refl::TypeAttrDef<ShownObj>().def(
      "__ffi_repr__", [](const ShownObj* of, ffi::Function shown) {
        if (of->value < 0) TVM_FFI_THROW(ValueError) << "below zero";
        return ffi::String("<") + shown(of->value).cast<ffi::String>() + ">";
      });
  refl::ObjectDef<SharingObj>().def_rw(
      "shared", &SharingObj::shared,
      refl::default_factory(ffi::Function::FromTyped(SharingObj::Default)));
  refl::ObjectDef<OddObj>()
      .def_rw("class", &OddObj::a, refl::default_value(7))
      .def_rw("two words", &OddObj::b, refl::default_value(7))
      .def_rw("Sequence", &OddObj::c, refl::default_value(7))
      .def_rw("__doc__", &OddObj::d, refl::default_value(7))
      .def("in", &OddObj::Sum);
  refl::ObjectDef<OwnObj>()
      .def_ro("self", &OwnObj::number)
      .def_ro("Pair", &OwnObj::pair)
      .def("same", &OwnObj::Same);
  Undescribed();
  refl::GlobalDef()
      .def(
          "typed.add", [](int64_t x, int64_t y) { return x + y; },
          "Add two numbers.")
      .def("typed.sum", Sum)
      .def("typed.last", [](Triple of) { return of->last; })
      .def("typed.key",
           [](ffi::Any of) { return ffi::String(of.GetTypeKey()); })
      .def("typed.is_pair",
           [](ffi::Any of) { return of.as<PairObj>() != nullptr; })
      .def("typed.names", GlobalNames)
      .def("typed.fail",
           [](ffi::String why) { TVM_FFI_THROW(ValueError) << "bad " << why; })
      .def("typed.apply",
           [](ffi::Function run, ffi::Any with) { return run(with); })
      .def("typed.total",
           [](ffi::Map<ffi::String, int64_t> of) {
             int64_t sum = 0;
             for (const auto& each : of) sum += each.second;
             return sum;
           })
      .def("typed.numbered", Numbered)
      .def("typed.read_dtype", ReadDtype)
      .def("typed.write_dtype", WriteDtype)
      .def("typed.negated", Negated)
      .def("typed.owners", [] { return SharingObj::Default().use_count() - 1; })
      .def("typed.row", Row)
      .def("typed.version", Version)
      .def("typed.allocated", Allocated)
      .def("typed.released", Released)
      .def("typed.registered", Registered)
      .def("typed.at_exit", CheckAtExit)
      .def("typed.remove",
           [](ffi::String name) { ffi::Function::RemoveGlobal(name); });
}
