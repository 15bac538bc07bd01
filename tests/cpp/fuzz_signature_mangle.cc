/* The C++ classes: components are written to the same bytes that they were read from; values that
 * are mangled again have the same text; a mangler writes the leaves that the parser reads back; and
 * nothing but the documented exceptions is thrown. */
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "install/signature_mangle.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, std::size_t size);

#define CHECK(condition)                                                   \
  do {                                                                     \
    if (!(condition)) {                                                    \
      std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
      std::abort();                                                        \
    }                                                                      \
  } while (0)

namespace {

using Sip = iree::SipSignatureMangler;
using Raw = iree::RawSignatureParser;

// Components written again read as the same ones, and seeking finds each of them.
void CheckComponents(std::string_view text) {
  iree::SignatureBuilder builder;
  iree::SignatureParser parser(text);
  for (; !parser.end_or_error(); parser.Next()) {
    if (parser.type() == iree::SignatureParser::Type::kSpan)
      builder.Span(parser.sval(), parser.tag());
    else
      builder.Integer(parser.ival(), parser.tag());
    iree::SignatureParser same = parser;
    CHECK(same.SeekTag(parser.tag()) && same.sval() == parser.sval());
    CHECK(parser.nested().type() != iree::SignatureParser::Type::kError ||
          !parser.sval().empty());
  }
  iree::SignatureParser first(text), again(builder.encoded());
  for (; !again.end_or_error(); again.Next(), first.Next())
    CHECK(again.type() == first.type() && again.tag() == first.tag() &&
          again.ival() == first.ival() && again.sval() == first.sval());
  CHECK(again.type() == iree::SignatureParser::Type::kEnd);
  CHECK(first.type() == parser.type());
  CHECK(!parser.SeekTag('_'));
}

// Values that are mangled again have the same text.
void CheckRaw(std::string_view text) {
  Raw parser;
  std::optional<std::string> described = parser.FunctionSignatureToString(text);
  CHECK(described.has_value() == !parser.GetError().has_value());
  if (!described) return;
  iree::RawSignatureMangler sides[2];
  for (int i = 0; i < 2; i++) {
    iree::RawSignatureMangler* side = &sides[i];
    auto add = [side](const Raw::Description& d) {
      if (d.type == Raw::Type::kBuffer)
        side->AddShapedNDBuffer(d.buffer.scalar_type, d.dims);
      else if (d.type == Raw::Type::kScalar)
        side->AddScalar(d.scalar.type);
      else if (d.type == Raw::Type::kRefObject)
        side->AddAnyReference();
      else
        side->AddUnrecognized();
    };
    i == 0 ? parser.VisitInputs(text, add) : parser.VisitResults(text, add);
  }
  iree::SignatureBuilder function =
      iree::RawSignatureMangler::ToFunctionSignature(sides[0], sides[1]);
  CHECK(Raw().FunctionSignatureToString(function.encoded()) == described);
}

// Collects the path of each leaf; mixes of positions and keys cannot be mangled.
struct Paths {
  std::vector<Sip::Key> path;
  std::vector<std::pair<std::vector<Sip::Key>, int>> leaves;
  std::size_t depth = 0;

  void Put(Sip::Key key) {
    path.resize(depth, 0);
    if (depth > 0) path.back() = std::move(key);
  }
  void IntegerKey(iree::SipSignatureParser&, int k) { Put(k); }
  void StringKey(iree::SipSignatureParser&, std::string_view k) { Put(k); }
  void OpenStruct(iree::SipSignatureParser&,
                  iree::SipSignatureParser::StructType) {
    depth++;
  }
  void CloseStruct(iree::SipSignatureParser&) {
    CHECK(depth > 0);
    path.resize(--depth, 0);
  }
  void MapToRawSignatureIndex(iree::SipSignatureParser&, int index) {
    path.resize(depth, 0);
    leaves.emplace_back(path, index);
  }
};

std::string Print(std::string_view text) {
  iree::SipSignatureParser parser;
  iree::SipSignatureParser::ToStringVisitor visitor;
  parser.VisitInputs(visitor, text);
  return parser.GetError() ? "" : visitor.s();
}

// Leaves that a mangler accepts are the leaves of what it writes.
void CheckSip(std::string_view text) {
  iree::SipSignatureParser parser;
  Paths paths;
  parser.VisitInputs(paths, text);
  CHECK(paths.depth == 0);
  Print(text);
  if (parser.GetError()) return;
  Sip inputs, results;
  std::size_t taken = 0;
  for (const auto& leaf : paths.leaves) {
    bool good = inputs.SetRawSignatureIndex(leaf.second, leaf.first);
    CHECK(!good || !inputs.SetRawSignatureIndex(leaf.second, leaf.first));
    taken += good;
  }
  std::optional<iree::SignatureBuilder> function =
      Sip::ToFunctionSignature(inputs, results);
  CHECK(function.has_value());
  iree::SipSignatureParser again;
  Paths found;
  again.VisitInputs(found, function->encoded());
  CHECK(!again.GetError() && found.leaves.size() == taken);
  Sip copy;
  for (const auto& leaf : found.leaves)
    CHECK(copy.SetRawSignatureIndex(leaf.second, leaf.first));
  CHECK(copy.ToStructureSignature()->encoded() ==
        inputs.ToStructureSignature()->encoded());
}

}  // namespace

int LLVMFuzzerTestOneInput(const uint8_t* bytes, std::size_t size) {
  std::string_view text(reinterpret_cast<const char*>(bytes), size);
  if (size == 0) text = {};
  try {
    CheckComponents(text);
    CheckRaw(text);
    CheckSip(text);
    if (size > 0) iree::SignatureBuilder().Span(text.substr(1), text[0]);
  } catch (
      const std::invalid_argument&) {  // of the last line: no tag of a span
    CHECK(size > 0 && (text[0] < 'A' || text[0] > 'Z'));
  }
  return 0;
}
