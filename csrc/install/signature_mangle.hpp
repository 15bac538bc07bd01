// signature_mangle.hpp - the C++ classes of iree/base/signature_mangle.h, over fnabi's C core.
//
// Code that was written for the original header compiles when it includes
// <fnabi/signature_mangle.hpp> instead and links with the library `fnabi`. Classes, methods and
// arguments are those of the original, in namespace iree. What differs:
//
// - Texts are std::string_view, optional values std::optional, lists of dims and keys anything
//   with data() and size(), or a list in braces: Abseil's types convert to these.
// - Nothing loops, reads outside its input or overflows on hostile input. Where the original
//   hangs after an error or loses it, SeekTag returns false and GetError returns it. Structures
//   nest up to FNABI_SIP_EVENT_DEPTH_MAX levels.
// - The builders throw std::invalid_argument for a tag of the wrong kind, an unknown scalar type or
//   a structure that nests deeper, and std::length_error for a span of 2 GiB, where the original
//   writes what it cannot read. Compiled with -fno-exceptions, they write the error to stderr and
//   call std::abort instead.
// - A mangler owns its keys, and refuses to map a leaf twice and to put children below a leaf. It
//   can be moved, which empties it, and not copied.
// - Visitors see "U", the type that AddUnrecognized writes, as Type::kUnrecognized. The original
//   fails there.
//
// Requires C++17, and neither exceptions nor RTTI.
#ifndef FNABI_SIGNATURE_MANGLE_HPP
#define FNABI_SIGNATURE_MANGLE_HPP

#include <fnabi/fnabi.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <initializer_list>
#include <iterator>
#include <map>
#include <memory>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace iree {

namespace internal {

/* Throws an error of a builder; without exceptions, ends the program. */
[[noreturn]] inline void Refuse(int32_t code) {
#if defined(__cpp_exceptions) || defined(_CPPUNWIND)
  if (code == FNABI_MEMORY) throw std::bad_alloc();
  if (code == FNABI_INT32) throw std::length_error(fnabi_code_text(code));
  throw std::invalid_argument(fnabi_code_text(code));
#else
  std::fprintf(stderr, "fnabi: %s\n", fnabi_code_text(code));
  std::abort();
#endif
}

/* Calls a function of the core for its size, then for its result. */
template <typename Call>
std::string Fill(Call call) {
  fnabi_error error = {};
  std::string out(256, '\0');
  for (;;) {
    int64_t size =
        call(reinterpret_cast<uint8_t*>(&out[0]), out.size(), &error);
    if (size < 0) Refuse(error.code);
    bool whole = static_cast<uint64_t>(size) <= out.size();
    out.resize(static_cast<std::size_t>(size));
    if (whole) return out;
  }
}

/* Reads the part of MessagePack that the core's messages of visits consist of. They come from the
 * core, so they are well-formed. */
class Message {
 public:
  explicit Message(std::string_view bytes) : at_(bytes.data()) {}

  std::size_t Array() {
    unsigned head = Byte();
    return head < 0xA0 ? head & 0x0F : Big(head == 0xDC ? 2 : 4);
  }

  bool IsInteger() const {
    auto head = static_cast<unsigned char>(*at_);
    return head < 0x80 || head >= 0xE0 || (head >= 0xCC && head <= 0xD3);
  }

  void Skip() { at_ += 1; }  // a nil

  int64_t Integer() {
    unsigned head = Byte();
    if (head < 0x80) return head;
    if (head >= 0xE0) return static_cast<int64_t>(head) - 0x100;
    unsigned width = 1u << ((head - 0xCC) & 3);
    uint64_t value = Big(width);
    if (head >= 0xD0 && width < 8 && (value >> (8 * width - 1)) != 0)
      value |= ~uint64_t{0} << (8 * width);
    return static_cast<int64_t>(value);
  }

  std::string_view Text() {  // a string, or a binary where it is not UTF-8
    unsigned head = Byte();
    std::size_t size = head & 0x1F;
    if (head >= 0xC4 && head <= 0xC6) size = Big(1u << (head - 0xC4));
    if (head >= 0xD9 && head <= 0xDB) size = Big(1u << (head - 0xD9));
    std::string_view text(at_, size);
    at_ += size;
    return text;
  }

 private:
  unsigned Byte() { return static_cast<unsigned char>(*at_++); }

  std::size_t Big(unsigned width) {
    uint64_t value = 0;
    for (unsigned i = 0; i < width; i++) value = value << 8 | Byte();
    return static_cast<std::size_t>(value);
  }

  const char* at_;
};

/* Writes the part of MessagePack that fnabi_sip_mangle reads. */
class MessageWriter {
 public:
  void Array(std::size_t size) { Head(0xDD, size); }
  void Integer(int value) {
    bytes_ += static_cast<char>(0xD2);
    Big(static_cast<uint32_t>(value));
  }
  void Nil() { bytes_ += static_cast<char>(0xC0); }
  void Text(std::string_view text) {
    Head(0xC6, text.size());  // a binary: any bytes
    bytes_ += text;
  }
  const std::string& bytes() const { return bytes_; }

 private:
  void Head(unsigned head, std::size_t size) {
    bytes_ += static_cast<char>(head);
    Big(static_cast<uint32_t>(size));
  }
  void Big(uint32_t value) {
    for (int shift = 24; shift >= 0; shift -= 8)
      bytes_ += static_cast<char>(value >> shift);
  }

  std::string bytes_;
};

/* A view of consecutive elements: of a vector, an array, a list in braces, or a span. */
template <typename T>
class View {
 public:
  View() = default;
  View(std::initializer_list<T> list) : size_(list.size()) {
    data_ = list.begin();
  }
  template <typename Container,
            typename = decltype(std::data(std::declval<const Container&>()))>
  View(const Container& container)
      : data_(std::data(container)), size_(std::size(container)) {}

  const T* begin() const { return data_; }
  const T* end() const { return data_ + size_; }
  const T* data() const { return data_; }
  std::size_t size() const { return size_; }

 private:
  const T* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace internal

namespace AbiConstants {

enum class ScalarType : unsigned {
  kIeeeFloat32 = 0,
  kIeeeFloat16 = 1,
  kIeeeFloat64 = 2,
  kGoogleBfloat16 = 3,
  kSint8 = 4,
  kSint16 = 5,
  kSint32 = 6,
  kSint64 = 7,
  kUint8 = 8,
  kUint16 = 9,
  kUint32 = 10,
  kUint64 = 11,
  kMaxScalarType = 11,
};

/* Sizes in bytes, and names, by the number of the scalar type. */
inline const std::array<std::size_t, FNABI_SCALAR_TYPE_COUNT> kScalarTypeSize =
    [] {
      std::array<std::size_t, FNABI_SCALAR_TYPE_COUNT> sizes{};
      for (int32_t i = 0; i < FNABI_SCALAR_TYPE_COUNT; i++)
        sizes[static_cast<std::size_t>(i)] = fnabi_raw_scalar_size(i);
      return sizes;
    }();

inline const std::array<const char*, FNABI_SCALAR_TYPE_COUNT> kScalarTypeNames =
    [] {
      std::array<const char*, FNABI_SCALAR_TYPE_COUNT> names{};
      for (int32_t i = 0; i < FNABI_SCALAR_TYPE_COUNT; i++)
        names[static_cast<std::size_t>(i)] = fnabi_raw_scalar_name(i);
      return names;
    }();

}  // namespace AbiConstants

class SignatureBuilder {
 public:
  std::string& encoded() { return encoded_; }
  const std::string& encoded() const { return encoded_; }

  SignatureBuilder& Integer(int value, char tag = '_') {
    encoded_ += internal::Fill([&](uint8_t* out, std::size_t capacity,
                                   fnabi_error* error) {
      return fnabi_signature_integer(value, Byte(tag), out, capacity, error);
    });
    return *this;
  }

  SignatureBuilder& Span(std::string_view contents, char tag) {
    encoded_ += internal::Fill(
        [&](uint8_t* out, std::size_t capacity, fnabi_error* error) {
          return fnabi_signature_span(contents.data(), contents.size(),
                                      Byte(tag), out, capacity, error);
        });
    return *this;
  }

  const SignatureBuilder& AppendTo(SignatureBuilder& other, char tag) const {
    other.Span(encoded_, tag);
    return *this;
  }

 private:
  static int32_t Byte(char tag) { return static_cast<unsigned char>(tag); }

  std::string encoded_;
};

class SignatureParser {
 public:
  enum class Type { kEnd, kInteger, kSpan, kError };

  explicit SignatureParser(std::string_view encoded) : encoded_(encoded) {
    Read(0);
  }

  Type Next() {
    if (!end_or_error()) Read(current_.end);
    return type();
  }

  /* Goes to the next component with the tag, which may be the current one. Returns whether there
   * is one; if not, the parser is at the end or at an error. */
  bool SeekTag(char tag) {
    return fnabi_signature_seek(encoded_.data(), encoded_.size(),
                                static_cast<std::size_t>(current_.offset),
                                static_cast<unsigned char>(tag), &current_);
  }

  bool end_or_error() const {
    return type() == Type::kEnd || type() == Type::kError;
  }
  Type type() const { return static_cast<Type>(current_.type); }
  char tag() const { return static_cast<char>(current_.tag); }
  int ival() const { return current_.ival; }
  std::string_view sval() const {
    if (type() != Type::kSpan) return {};
    return encoded_.substr(
        static_cast<std::size_t>(current_.begin),
        static_cast<std::size_t>(current_.end - current_.begin));
  }
  SignatureParser nested() const { return SignatureParser(sval()); }

 private:
  void Read(uint64_t offset) {
    fnabi_signature_read(encoded_.data(), encoded_.size(),
                         static_cast<std::size_t>(offset), &current_);
  }

  std::string_view encoded_;
  fnabi_component current_;
};

class RawSignatureMangler {
 public:
  static SignatureBuilder ToFunctionSignature(const SignatureBuilder& inputs,
                                              const SignatureBuilder& results) {
    SignatureBuilder function;
    inputs.AppendTo(function, 'I');
    results.AppendTo(function, 'R');
    return function;
  }

  static SignatureBuilder ToFunctionSignature(
      const RawSignatureMangler& inputs, const RawSignatureMangler& results) {
    return ToFunctionSignature(inputs.builder_, results.builder_);
  }

  void AddUnrecognized() { builder_.Span({}, 'U'); }
  void AddAnyReference() { builder_.Span({}, 'O'); }

  /* A dynamic dim is -1. */
  void AddShapedNDBuffer(AbiConstants::ScalarType element_type,
                         internal::View<int> shape) {
    builder_.encoded() += internal::Fill([&](uint8_t* out, std::size_t capacity,
                                             fnabi_error* error) {
      return fnabi_raw_buffer(static_cast<int32_t>(element_type), shape.data(),
                              shape.size(), out, capacity, error);
    });
  }

  void AddScalar(AbiConstants::ScalarType type) {
    builder_.encoded() += internal::Fill([&](uint8_t* out, std::size_t capacity,
                                             fnabi_error* error) {
      return fnabi_raw_scalar(static_cast<int32_t>(type), out, capacity, error);
    });
  }

  const SignatureBuilder& builder() const { return builder_; }

 private:
  SignatureBuilder builder_;
};

namespace internal {

/* What both parsers do with errors: the first one stays. */
class ErrorHolder {
 public:
  const std::optional<std::string>& GetError() const { return error_; }
  void SetError(std::string error) {
    if (!error_) error_ = std::move(error);
  }

 protected:
  void SetCode(int64_t code) {
    if (code != FNABI_OK) SetError(fnabi_code_text(static_cast<int32_t>(code)));
  }

 private:
  std::optional<std::string> error_;
};

}  // namespace internal

class RawSignatureParser : public internal::ErrorHolder {
 public:
  using DimVector = std::vector<int>;

  enum class Type {
    kBuffer = 0,
    kRefObject = 1,
    kScalar = 2,
    kUnrecognized = 3
  };

  struct Description {
    struct Buffer {
      AbiConstants::ScalarType scalar_type;
    };
    struct Scalar {
      AbiConstants::ScalarType type;
    };

    Type type = Type::kUnrecognized;
    DimVector dims;  // of a buffer; any negative dim is dynamic
    union {
      Buffer buffer = {};
      Scalar scalar;
    };

    void ToString(std::string& s) const {
      if (type == Type::kRefObject) {
        s += "RefObject<?>";
      } else if (type == Type::kScalar) {
        s += Name(scalar.type);
      } else if (type == Type::kUnrecognized) {
        s += "!UNKNOWN!";
      } else {
        s += "Buffer<";
        s += Name(buffer.scalar_type);
        s += '[';
        for (std::size_t i = 0; i < dims.size(); i++) {
          if (i != 0) s += 'x';
          s += dims[i] < 0 ? "?" : std::to_string(dims[i]);
        }
        s += "]>";
      }
    }

   private:
    /* A description that is made by hand may have any number. */
    static const char* Name(AbiConstants::ScalarType type) {
      return type <= AbiConstants::ScalarType::kMaxScalarType
                 ? AbiConstants::kScalarTypeNames[static_cast<unsigned>(type)]
                 : "!BADTYPE!";
    }
  };

  using Visitor = std::function<void(const Description&)>;

  void VisitInputs(std::string_view signature, Visitor visitor) {
    Visit(signature, 'I', visitor);
  }
  void VisitResults(std::string_view signature, Visitor visitor) {
    Visit(signature, 'R', visitor);
  }

  /* Returns the text of a function, or nothing where there is an error. */
  std::optional<std::string> FunctionSignatureToString(
      std::string_view signature) {
    std::string text = "(", separator;
    auto append = [&](const Description& description) {
      text += separator;
      description.ToString(text);
      separator = ", ";
    };
    VisitInputs(signature, append);
    text += ") -> (";
    separator.clear();
    VisitResults(signature, append);
    if (GetError()) return std::nullopt;
    return text + ")";
  }

 private:
  void Visit(std::string_view signature, char side, const Visitor& visitor) {
    if (GetError()) return;
    std::string bytes =
        internal::Fill([&](uint8_t* out, std::size_t capacity, fnabi_error*) {
          return fnabi_raw_visit(signature.data(), signature.size(), side, out,
                                 capacity);
        });
    internal::Message message(bytes);
    message.Array();
    for (std::size_t count = message.Array(); count != 0; count--) {
      Description description;
      message.Array();
      switch (message.Integer()) {
        case FNABI_TYPE_BUFFER:
          description.type = Type::kBuffer;
          break;
        case FNABI_TYPE_SCALAR:
          description.type = Type::kScalar;
          break;
        case FNABI_TYPE_REF:
          description.type = Type::kRefObject;
          break;
        default:
          break;
      }
      for (std::size_t rank = message.Array(); rank != 0; rank--)
        description.dims.push_back(static_cast<int>(message.Integer()));
      auto scalar_type =
          static_cast<AbiConstants::ScalarType>(message.Integer());
      if (description.type == Type::kScalar)
        description.scalar.type = scalar_type;
      else
        description.buffer.scalar_type = scalar_type;
      visitor(description);
      if (GetError()) return;
    }
    SetCode(message.Integer());
  }
};

class SipSignatureMangler {
 public:
  enum class IndexMode { kNone, kSequence, kDict };

  /* The position of a value in a sequence, or its key in a dict. */
  class Key {
   public:
    Key(int ikey) : ikey_(ikey), integer_(true) {}
    Key(std::string_view skey) : skey_(skey) {}
    Key(const char* skey) : skey_(skey) {}
    Key(const std::string& skey) : skey_(skey) {}

    bool is_integer_key() const { return integer_; }
    bool is_string_key() const { return !integer_; }
    IndexMode index_mode() const {
      return integer_ ? IndexMode::kSequence : IndexMode::kDict;
    }
    int ikey() const { return ikey_; }
    std::string_view skey() const { return skey_; }

    bool operator==(const Key& other) const {
      return integer_ == other.integer_ && ikey_ == other.ikey_ &&
             skey_ == other.skey_;
    }
    bool operator<(const Key& other) const {
      return ikey_ != other.ikey_ ? ikey_ < other.ikey_ : skey_ < other.skey_;
    }

   private:
    std::string skey_;
    int ikey_ = -1;
    bool integer_ = false;
  };

  /* Maps a value of the raw signature to the end of the path. Returns false, and changes nothing,
   * when a number is negative, the position is taken, the path leads through a value, or it would
   * mix positions and keys in one structure. */
  bool SetRawSignatureIndex(int raw_signature_index, internal::View<Key> path) {
    if (raw_signature_index < 0) return false;
    for (const Key& key : path)
      if (key.is_integer_key() && key.ikey() < 0) return false;
    Level* level = &root_;
    const Key* key = path.begin();
    for (; key != path.end(); ++key) {
      auto child = level->children.find(*key);
      if (child == level->children.end()) break;
      level = child->second.get();
    }
    if (level->index >= 0) return false;
    if (!level->children.empty() &&
        (key == path.end() ||
         key->index_mode() != level->children.begin()->first.index_mode()))
      return false;
    if (key == path.end()) {
      level->index = raw_signature_index;
      return true;
    }
    // From the inside out, so that nothing has changed where there is no memory.
    auto made = std::make_unique<Level>();
    made->index = raw_signature_index;
    for (const Key* last = path.end() - 1; last != key; --last) {
      auto outer = std::make_unique<Level>();
      outer->children.emplace(*last, std::move(made));
      made = std::move(outer);
    }
    level->children.emplace(*key, std::move(made));
    return true;
  }

  /* Encodes the structure; nothing where no value was mapped. */
  std::optional<SignatureBuilder> ToStructureSignature() const {
    internal::MessageWriter message;
    message.Array(Count());
    Write(&message);
    SignatureBuilder builder;
    builder.encoded() = internal::Fill(
        [&](uint8_t* out, std::size_t capacity, fnabi_error* error) {
          return fnabi_sip_mangle(
              reinterpret_cast<const uint8_t*>(message.bytes().data()),
              message.bytes().size(), out, capacity, error);
        });
    return builder;
  }

  static std::optional<SignatureBuilder> ToFunctionSignature(
      const SipSignatureMangler& inputs_struct,
      const SipSignatureMangler& results_struct) {
    SignatureBuilder function;
    inputs_struct.ToStructureSignature()->AppendTo(function, 'I');
    results_struct.ToStructureSignature()->AppendTo(function, 'R');
    return function;
  }

 private:
  struct Level {
    int index = -1;
    std::map<Key, std::unique_ptr<Level>> children;
    std::unique_ptr<Level> next;  // while it is freed

    Level() = default;
    Level(Level&& other) noexcept : index(std::exchange(other.index, -1)) {
      children.swap(other.children);
    }
    Level& operator=(Level&& other) noexcept {
      Level taken(std::move(other));
      std::swap(index, taken.index);
      children.swap(taken.children);
      return *this;
    }

    /* Paths may be long, so children are freed without recursion, and without memory. */
    ~Level() {
      std::unique_ptr<Level> rest;
      auto take = [&rest](Level* level) {
        for (auto& child : level->children) {
          child.second->next = std::move(rest);
          rest = std::move(child.second);
        }
        level->children.clear();
      };
      take(this);
      while (rest != nullptr) {
        std::unique_ptr<Level> last = std::move(rest);
        rest = std::move(last->next);
        take(last.get());
      }
    }
  };

  /* Calls a function for each event of the structure, in preorder, without recursion. */
  template <typename Event>
  void Walk(Event event) const {
    struct Step {
      const Key* key;
      const Level* level;  // null: the end of a structure
    };
    std::vector<Step> steps{{nullptr, &root_}};
    while (!steps.empty()) {
      Step step = steps.back();
      steps.pop_back();
      if (step.level == nullptr) {
        event(FNABI_SIP_CLOSE, nullptr, nullptr);
        continue;
      }
      if (step.key != nullptr)
        event(step.key->is_integer_key() ? FNABI_SIP_INTEGER_KEY
                                         : FNABI_SIP_STRING_KEY,
              step.key, nullptr);
      const auto& children = step.level->children;
      if (step.level->index >= 0) {
        event(FNABI_SIP_INDEX, nullptr, step.level);
      } else if (!children.empty()) {
        event(children.begin()->first.is_integer_key() ? FNABI_SIP_OPEN_SEQUENCE
                                                       : FNABI_SIP_OPEN_DICT,
              nullptr, nullptr);
        steps.push_back({nullptr, nullptr});
        for (auto child = children.rbegin(); child != children.rend(); ++child)
          steps.push_back({&child->first, child->second.get()});
      }
    }
  }

  std::size_t Count() const {
    std::size_t count = 0;
    Walk([&count](fnabi_sip_event, const Key*, const Level*) { count++; });
    return count;
  }

  void Write(internal::MessageWriter* message) const {
    Walk([message](fnabi_sip_event event, const Key* key, const Level* level) {
      message->Array(2);
      message->Integer(event);
      if (event == FNABI_SIP_INTEGER_KEY)
        message->Integer(key->ikey());
      else if (event == FNABI_SIP_STRING_KEY)
        message->Text(key->skey());
      else if (event == FNABI_SIP_INDEX)
        message->Integer(level->index);
      else
        message->Nil();
    });
  }

  Level root_;
};

class SipSignatureParser : public internal::ErrorHolder {
 public:
  enum class StructType { kSequence, kDict };

  /* A visitor that collects the text of a structure. */
  class ToStringVisitor {
   public:
    void IntegerKey(SipSignatureParser&, int k) {
      s_ += indent_ + std::to_string(k);
    }
    void StringKey(SipSignatureParser&, std::string_view k) {
      s_ += indent_;
      s_ += k;
    }
    void OpenStruct(SipSignatureParser&, StructType struct_type) {
      bool sequence = struct_type == StructType::kSequence;
      s_ += sequence ? ":[\n" : ":{\n";
      indent_ += "  ";
      closers_ += sequence ? ']' : '}';
    }
    void CloseStruct(SipSignatureParser&) {
      if (closers_.empty()) return;
      indent_.resize(indent_.size() - 2);
      s_ += indent_;
      s_ += closers_.back();
      s_ += ",\n";
      closers_.pop_back();
    }
    void MapToRawSignatureIndex(SipSignatureParser&, int index) {
      s_ += "=raw(" + std::to_string(index) + "),\n";
    }

    std::string& s() { return s_; }

   private:
    std::string s_, indent_, closers_;
  };

  /* A visitor has the five methods of ToStringVisitor. CloseStruct is called for every structure
   * that was opened, also after an error. */
  template <typename Visitor>
  void VisitInputs(Visitor& v, std::string_view signature) {
    Visit(v, signature, 'I');
  }
  template <typename Visitor>
  void VisitResults(Visitor& v, std::string_view signature) {
    Visit(v, signature, 'R');
  }

 private:
  template <typename Visitor>
  void Visit(Visitor& v, std::string_view signature, char side) {
    if (GetError()) return;
    std::string bytes = internal::Fill(
        [&](uint8_t* out, std::size_t capacity, fnabi_error* error) {
          return fnabi_sip_visit(signature.data(), signature.size(), side, out,
                                 capacity, error);
        });
    internal::Message message(bytes);
    message.Array();
    std::size_t depth = 0;
    for (std::size_t count = message.Array(); count != 0; count--) {
      if (GetError()) {  // of the visitor: only close what is open
        for (; depth != 0; depth--) v.CloseStruct(*this);
        return;
      }
      message.Array();
      switch (message.Integer()) {
        case FNABI_SIP_OPEN_SEQUENCE:
          message.Skip();
          depth++;
          v.OpenStruct(*this, StructType::kSequence);
          break;
        case FNABI_SIP_OPEN_DICT:
          message.Skip();
          depth++;
          v.OpenStruct(*this, StructType::kDict);
          break;
        case FNABI_SIP_INTEGER_KEY:
          v.IntegerKey(*this, static_cast<int>(message.Integer()));
          break;
        case FNABI_SIP_STRING_KEY:
          v.StringKey(*this, message.Text());
          break;
        case FNABI_SIP_INDEX:
          v.MapToRawSignatureIndex(*this, static_cast<int>(message.Integer()));
          break;
        default:
          message.Skip();
          depth--;
          v.CloseStruct(*this);
          break;
      }
    }
    SetCode(message.Integer());
  }
};

}  // namespace iree

#endif  // FNABI_SIGNATURE_MANGLE_HPP
