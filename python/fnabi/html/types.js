"use strict";
// Types, signatures and structures of values.py: as coloured text, as plain text, as trees.

const DTYPES = [
  [/^b?float/, "float"],
  [/^uint/, "uint"],
  [/^int/, "int"],
  [/^i\d/, "bits"],
  [/^bool/, "bool"],
  [/^complex/, "complex"],
];

function dtypeNode(dtype) {
  const found = DTYPES.find(([pattern]) => pattern.test(dtype));
  return h(`span.dtype.${found ? found[1] : "other"}`, dtype);
}

// A letter that equal dims share; dims that are no exact numbers here are digits.
const isSymbol = (dim) => typeof dim === "string" && !/^\d/.test(dim);

function dimNode(dim) {
  if (dim === null) return h("span.dim.dynamic", { title: "a dynamic dim" }, "?");
  if (isSymbol(dim))
    return h("span.dim.symbol", { title: `a dynamic dim, equal to every other ${dim}` }, dim);
  return h("span.dim", dim);
}

function shapeNodes(shape) {
  if (shape === null) return mark(["[", h("span.dim.dynamic", { title: "any rank" }, "*"), "]"]);
  const dims = shape.map((dim, index) => [index > 0 && h("span.by", "\u00d7"), dimNode(dim)]);
  return mark(["[", dims, "]"]);
}

const mark = (nodes) => h("span.shape", nodes);
const symbol = (text) => h("span.punctuation", text);
const word = (text) => h("span.word", text);
const joined = (parts) => parts.map((part, index) => [index > 0 && ", ", part]);

const SHORT = 34;

const keyNode = (key) => h(key.length > LONG ? "bdi.key.long" : "bdi.key", key);

// A short type is kept in one line.
function typeNode(type) {
  const node = h(`span.${type[0]}`, typeParts(type));
  if (escaped(typeText(type)).length <= SHORT) node.classList.add("short");
  return node;
}

function typeParts([kind, first, second]) {
  switch (kind) {
    case "scalar":
      return dtypeNode(first);
    case "buffer":
      return [dtypeNode(first), shapeNodes(second)];
    case "ref":
      return ["ref<", first === null ? "?" : first, ">"];
    case "array":
      return [word("array<"), typeNode(first), word(">"), shapeNodes(second)];
    case "list":
      return [symbol("["), joined(first.map(typeNode)), symbol("]")];
    case "tuple":
      return [symbol("("), joined(first.map(typeNode)), first.length === 1 && ",", symbol(")")];
    case "dict":
      return [
        symbol("{"),
        joined(first.map(([key, each]) => [keyNode(key), ": ", typeNode(each)])),
        symbol("}"),
      ];
    case "many":
      return [word("list<"), typeNode(first), word(">")];
    case "named":
      return [keyNode(first), ": ", typeNode(second)];
    case "null":
      return "null";
    default:
      return h("span", { title: "a type that the text leaves out" }, "?");
  }
}

// `changed` has the indexes of the types to emphasize.
function sideNodes(start, types, changed) {
  const parts = types.map((type, index) => {
    const node = typeNode(type);
    if (changed && changed.has(index)) node.classList.add("changed");
    return node;
  });
  return [h("span.punctuation.short", start), joined(parts), symbol(")")];
}

function signatureNode(signature, changed = [null, null]) {
  const [inputs, results] = signature;
  return h("span.signature", sideNodes("(", inputs, changed[0]), " ", sideNodes("\u2192 (", results, changed[1]));
}

// ----------------------------------------------------------------------------- as plain text

function typeText(type) {
  const [kind, first, second] = type;
  const all = (types) => types.map(typeText).join(", ");
  const shape = (dims) => (dims === null ? "*" : dims.map((dim) => (dim === null ? "?" : dim)).join("x"));
  switch (kind) {
    case "scalar":
      return first;
    case "buffer":
      return `${first}[${shape(second)}]`;
    case "ref":
      return `ref<${first === null ? "?" : first}>`;
    case "array":
      return `array<${typeText(first)}>[${shape(second)}]`;
    case "list":
      return `[${all(first)}]`;
    case "tuple":
      return `(${all(first)}${first.length === 1 ? "," : ""})`;
    case "dict":
      return `{${first.map(([key, each]) => `${key}: ${typeText(each)}`).join(", ")}}`;
    case "many":
      return `list<${typeText(first)}>`;
    case "named":
      return `${first}: ${typeText(second)}`;
    case "null":
      return "null";
    default:
      return "?";
  }
}

const signatureText = ([inputs, results]) =>
  `(${inputs.map(typeText).join(", ")}) -> (${results.map(typeText).join(", ")})`;

// ---------------------------------------------------------------------------------- as trees

const isNested = (type) =>
  type[0] === "named" ? isNested(type[2]) : ["list", "tuple", "dict", "many", "array"].includes(type[0]);

// The children of a type with structure: pairs of label and type.
function childrenOf(type) {
  const [kind, first] = type;
  if (kind === "list" || kind === "tuple") return first.map((each, index) => [`[${index}]`, each]);
  if (kind === "dict") return first.map(([key, each]) => [key, each]);
  return [["each", first]];
}

const KINDS = { list: "list", tuple: "tuple", dict: "dict", many: "list of any length", array: "array" };

function typeTree(type) {
  if (type[0] === "named") return typeTree(type[2]);
  const children = childrenOf(type);
  return h(
    "ul.tree",
    children.map(([label, each]) => {
      const inner = each[0] === "named" ? each[2] : each;
      const nested = isNested(inner);
      const shown = nested ? h("span.muted", KINDS[inner[0]]) : typeNode(inner);
      return h("li", h("bdi.key", label), " ", shown, nested && typeTree(inner));
    }),
    children.length === 0 && h("li.muted", "empty"),
  );
}

function sipTree(node) {
  if (node === null) return h("span.muted", "nothing");
  if (node[0] === "leaf") return `$${node[1]}`;
  return h(
    "ul.tree",
    node[1].map(([key, each]) =>
      h(
        "li",
        h("bdi.key", node[0] === "sequence" ? `[${key}]` : key),
        " ",
        each[0] === "leaf" ? `$${each[1]}` : [h("span.muted", each[0]), sipTree(each)],
      ),
    ),
    node[1].length === 0 && h("li.muted", "empty"),
  );
}

// -------------------------------------------------------------- the types of TVM-FFI libraries

const SCHEMAS = [
  [/^(int|ffi\.BigInt)$/, "int"],
  [/^float$/, "float"],
  [/^bool$/, "bool"],
  [/Tensor|DLTensor|Shape|DataType|Device/, "complex"],
  [/^(None|Any|void\*|ffi\.Object)$/, "other"],
  [/[Ss]tr|Bytes|char/, "bits"],
];

function schemaNode(schema) {
  if (typeof schema === "number") return h("span.dim", schema);
  const [kind, first, second] = schema;
  if (kind === "function") {
    const params = first === null ? "\u2026" : joined(first.map(schemaNode));
    return h("span", symbol("("), params, symbol(")"), " ", h("span.arrow", "\u2192"), " ", schemaNode(second));
  }
  if (kind === "group") return h("span", h("bdi.key", first), ": [", joined(second.map(schemaNode)), "]");
  const found = SCHEMAS.find(([pattern]) => pattern.test(first));
  const name = h(`span.dtype.${found ? found[1] : "ref"}`, first);
  if (second.length === 0) return name;
  return h("span", name, symbol("<"), joined(second.map(schemaNode)), symbol(">"));
}

function schemaText(schema) {
  if (typeof schema === "number") return String(schema);
  const [kind, first, second] = schema;
  if (kind === "function") {
    const params = first === null ? "..." : first.map(schemaText).join(", ");
    return `(${params}) -> ${schemaText(second)}`;
  }
  if (kind === "group") return `${first}: [${second.map(schemaText).join(", ")}]`;
  return second.length === 0 ? first : `${first}<${second.map(schemaText).join(", ")}>`;
}
