// Calls every method of fnabi/signature_mangle.hpp for the tests: reads requests from standard
// input and writes what the methods return. Both are sequences of byte strings, "SIZE:BYTES"; a
// request is an operation, the number of its arguments, and these.
#include <cstdio>
#include <cstdlib>
#include <fnabi/signature_mangle.hpp>
#include <iostream>
#include <new>
#include <type_traits>

using namespace iree;

static long left = -1;  // allocations until all others fail; -1: none does

#ifdef __cpp_exceptions
#define APART __attribute__((noinline))  // or GCC takes them for a mistake
APART void* operator new(std::size_t size) {
  void* memory = left == 0 ? nullptr : std::malloc(size);
  left -= left > 0;
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
APART void operator delete(void* memory) noexcept { std::free(memory); }
APART void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}
#endif

static bool Read(std::string* text) {
  std::size_t size;
  if (std::scanf("%zu:", &size) != 1) return false;
  text->resize(size);
  return std::fread(&(*text)[0], 1, size, stdin) == size;
}

static void Write(std::string_view text) {
  std::printf("%zu:", text.size());
  if (!text.empty()) std::fwrite(text.data(), 1, text.size(), stdout);
}

static void Write(long long value) { Write(std::to_string(value)); }

static void WriteError(const std::optional<std::string>& error) {
  Write(error ? "error " + *error : "ok");
}

static void WriteComponent(const SignatureParser& parser) {
  Write(static_cast<int>(parser.type()));
  Write(static_cast<unsigned char>(parser.tag()));
  Write(parser.ival());
  Write(parser.sval());
}

static void Tokens(const std::string& data) {
  SignatureParser parser(data);
  long long count = 0, nested = 0;
  for (; !parser.end_or_error(); parser.Next()) {
    WriteComponent(parser);
    for (SignatureParser inner = parser.nested(); !inner.end_or_error();
         inner.Next())
      nested++;
    count++;
  }
  WriteComponent(parser);
  Write("end");
  Write(count);
  Write(nested);
}

static void Seek(const std::string& data, const std::string& tags) {
  SignatureParser parser(data);
  for (char tag : tags) {
    Write(parser.SeekTag(tag));
    WriteComponent(parser);
  }
}

static void Raw(const std::string& data) {
  for (int side = 0; side < 2; side++) {
    RawSignatureParser parser;
    auto visitor = [](const RawSignatureParser::Description& d) {
      Write(static_cast<int>(d.type));
      Write(static_cast<long long>(d.dims.size()));
      for (int dim : d.dims) Write(dim);
      if (d.type == RawSignatureParser::Type::kBuffer)
        Write(static_cast<unsigned>(d.buffer.scalar_type));
      if (d.type == RawSignatureParser::Type::kScalar)
        Write(static_cast<unsigned>(d.scalar.type));
      std::string text;
      d.ToString(text);
      Write(text);
    };
    side == 0 ? parser.VisitInputs(data, visitor)
              : parser.VisitResults(data, visitor);
    Write("end");
    WriteError(parser.GetError());
  }
  RawSignatureParser parser;
  auto text = parser.FunctionSignatureToString(data);
  Write(text ? "text " + *text : "none");
  WriteError(parser.GetError());
}

struct EventVisitor {
  void IntegerKey(SipSignatureParser&, int k) { Event("k", std::to_string(k)); }
  void StringKey(SipSignatureParser&, std::string_view k) { Event("K", k); }
  void OpenStruct(SipSignatureParser&, SipSignatureParser::StructType type) {
    Event("o", type == SipSignatureParser::StructType::kSequence ? "S" : "D");
  }
  void CloseStruct(SipSignatureParser&) { Event("c", ""); }
  void MapToRawSignatureIndex(SipSignatureParser& parser, int index) {
    Event("r", std::to_string(index));
    if (stops && index == stop_at) parser.SetError("stopped by the visitor");
  }
  void Event(std::string_view kind, std::string_view value) {
    Write(kind);
    Write(value);
  }
  bool stops = false;
  int stop_at = 0;
};

// `stop` is the value at which the visitor sets an error, or empty.
static void Sip(const std::string& data, const std::string& stop) {
  for (int side = 0; side < 2; side++) {
    SipSignatureParser parser, again;
    EventVisitor events;
    events.stops = !stop.empty();
    events.stop_at = std::atoi(stop.c_str());
    SipSignatureParser::ToStringVisitor text;
    if (side == 0) {
      parser.VisitInputs(events, data);
      again.VisitInputs(text, data);
    } else {
      parser.VisitResults(events, data);
      again.VisitResults(text, data);
    }
    Write("end");
    WriteError(parser.GetError());
    Write(text.s());
  }
}

static void Build(const std::vector<std::string>& ops) {
  std::vector<SignatureBuilder> stack(1);
  for (std::size_t i = 0; i < ops.size();) {
    const std::string& op = ops[i++];
    if (op == "i") {
      stack.back().Integer(std::atoi(ops[i].c_str()), ops[i + 1][0]);
      i += 2;
    } else if (op == "s") {
      stack.back().Span(ops[i], ops[i + 1][0]);
      i += 2;
    } else if (op == "n") {
      stack.emplace_back();
    } else {
      SignatureBuilder inner = stack.back();
      stack.pop_back();
      inner.AppendTo(stack.back(), ops[i++][0]);
    }
  }
  Write(stack.back().encoded());
}

static void BuildRaw(const std::vector<std::string>& ops) {
  RawSignatureMangler sides[2];
  int side = 0;
  for (std::size_t i = 0; i < ops.size();) {
    RawSignatureMangler& mangler = sides[side];
    const std::string& op = ops[i++];
    if (op == "results") {
      side = 1;
    } else if (op == "O") {
      mangler.AddAnyReference();
    } else if (op == "U") {
      mangler.AddUnrecognized();
    } else {
      auto type =
          static_cast<AbiConstants::ScalarType>(std::atoi(ops[i++].c_str()));
      if (op == "S") {
        mangler.AddScalar(type);
        continue;
      }
      std::vector<int> dims;
      for (int rank = std::atoi(ops[i++].c_str()); rank > 0; rank--)
        dims.push_back(std::atoi(ops[i++].c_str()));
      mangler.AddShapedNDBuffer(type, dims);
    }
  }
  Write(sides[0].builder().encoded());
  Write(sides[1].builder().encoded());
  Write(RawSignatureMangler::ToFunctionSignature(sides[0], sides[1]).encoded());
}

static void BuildSip(const std::vector<std::string>& ops) {
  SipSignatureMangler sides[2];
  int side = 0;
  for (std::size_t i = 0; i < ops.size();) {
    if (ops[i] == "results") {
      side = 1;
      i++;
      continue;
    }
    int index = std::atoi(ops[i++].c_str());
    std::vector<SipSignatureMangler::Key> path;
    for (int length = std::atoi(ops[i++].c_str()); length > 0;
         length--, i += 2) {
      if (ops[i] == "i")
        path.emplace_back(std::atoi(ops[i + 1].c_str()));
      else
        path.emplace_back(ops[i + 1]);
    }
    Write(sides[side].SetRawSignatureIndex(index, path));
  }
  Write("end");
  for (const SipSignatureMangler& mangler : sides)
    Write(mangler.ToStructureSignature()->encoded());
  Write(
      SipSignatureMangler::ToFunctionSignature(sides[0], sides[1])->encoded());
}

static SipSignatureMangler Mapped(std::string_view key) {
  SipSignatureMangler mangler, other;
  mangler.SetRawSignatureIndex(0, {key, key});
  return other.ToStructureSignature()->encoded().empty() ? std::move(mangler)
                                                         : std::move(other);
}

static void Moved() {
  std::vector<SipSignatureMangler> manglers;
  for (std::string key : {"a", "b"}) manglers.push_back(Mapped(key));
  manglers.front() = std::move(manglers.back());
  manglers.back().SetRawSignatureIndex(1, {});
  manglers.emplace_back(std::move(manglers.back()));
  for (const SipSignatureMangler& mangler : manglers)
    Write(mangler.ToStructureSignature()->encoded());
  Write(std::is_copy_constructible_v<SipSignatureMangler>);
}

// Maps a value where memory ends at each allocation. Writes what the mangler has with the value, and
// how often it had changed without it.
static void Memory() {
  std::string key(100, 'k');
  long long changed = 0;
  for (long fails = 0;; fails++) {
    SipSignatureMangler mangler;
    mangler.SetRawSignatureIndex(0, {"a"});
    std::vector<SipSignatureMangler::Key> path(3, key);
    bool done = false;
    left = fails;
#ifdef __cpp_exceptions
    try {
#endif
      done = mangler.SetRawSignatureIndex(1, path);
#ifdef __cpp_exceptions
    } catch (const std::bad_alloc&) {
    }
#endif
    left = -1;
    if (!done) {
      changed += mangler.ToStructureSignature()->encoded() != "D7!K2!a_0";
      continue;
    }
    Write(mangler.ToStructureSignature()->encoded());
    Write(changed);
    return;
  }
}

// What a request cannot show: lists in braces, constants, and that keys are owned.
static void Others() {
  RawSignatureMangler mangler;
  mangler.AddShapedNDBuffer(AbiConstants::ScalarType::kSint8, {2, -1});
  int dims[] = {3};
  mangler.AddShapedNDBuffer(AbiConstants::ScalarType::kIeeeFloat32, dims);
  Write(mangler.builder().encoded());
  SipSignatureMangler sip;
  {
    std::string key = "a key that is longer than a small string";
    sip.SetRawSignatureIndex(0, {key.c_str(), 0});
  }
  Write(sip.ToStructureSignature()->encoded());
  for (unsigned i = 0;
       i <= static_cast<unsigned>(AbiConstants::ScalarType::kMaxScalarType);
       i++) {
    Write(AbiConstants::kScalarTypeNames[i]);
    Write(static_cast<long long>(AbiConstants::kScalarTypeSize[i]));
  }
}

// What no parser passes to a visitor: calls of other code.
static void Foreign() {
  for (unsigned number : {0u, 11u, 12u, 0xffffffffu}) {
    auto type = static_cast<AbiConstants::ScalarType>(number);
    RawSignatureParser::Description description;
    std::string text;
    description.type = RawSignatureParser::Type::kScalar;
    description.scalar.type = type;
    description.ToString(text);
    description.type = RawSignatureParser::Type::kBuffer;
    description.buffer.scalar_type = type;
    description.ToString(text);
    Write(text);
  }
  SipSignatureParser parser;
  SipSignatureParser::ToStringVisitor visitor;
  visitor.CloseStruct(parser);
  visitor.OpenStruct(parser, SipSignatureParser::StructType::kDict);
  for (int i = 0; i < 2; i++) visitor.CloseStruct(parser);
  Write(visitor.s());
}

int main() {
  std::string op, count;
  while (Read(&op)) {
    if (!Read(&count)) return 1;
    std::vector<std::string> arguments(
        static_cast<std::size_t>(std::atoi(count.c_str())));
    for (std::string& argument : arguments)
      if (!Read(&argument)) return 1;
#ifdef __cpp_exceptions
    try {
#endif
      if (op == "tokens") Tokens(arguments[0]);
      if (op == "seek") Seek(arguments[0], arguments[1]);
      if (op == "raw") Raw(arguments[0]);
      if (op == "sip") Sip(arguments[0], arguments[1]);
      if (op == "build") Build(arguments);
      if (op == "build_raw") BuildRaw(arguments);
      if (op == "build_sip") BuildSip(arguments);
      if (op == "others") Others();
      if (op == "foreign") Foreign();
      if (op == "moved") Moved();
      if (op == "memory") Memory();
#ifdef __cpp_exceptions
    } catch (const std::exception& problem) {
      Write("exception");
    }
#endif
    Write("done");
  }
  return 0;
}
