"use strict";
// What the search field of a table understands: words, types and shapes, regular expressions, and
// the patterns of fnabi find.

// Returns { test(entry), words, problem }: whether a row matches, the words to mark in names, and
// what is wrong with a query, whose words are then looked for.
function searchFor(query, hasSignatures) {
  const text = query.trim();
  const expression = /^\/(.+)\/$/su.exec(text);
  if (expression) {
    try {
      const found = new RegExp(expression[1], "imu");
      return { test: (entry) => found.test(entry.lines), words: [], problem: null };
    } catch {
      return { ...wordSearch(text), problem: "Not a regular expression." };
    }
  }
  if (hasSignatures && /->|\u2192/u.test(text)) {
    try {
      const pattern = parsePattern(text.replaceAll("\u2192", "->").replaceAll("\u00d7", "x"));
      const test = (entry) => entry.signatures.some((each) => matchesPattern(pattern, each, entry.untold));
      return { test, words: [], problem: null };
    } catch (problem) {
      if (!(problem instanceof PatternError)) throw problem;
      return { ...wordSearch(text), problem: `Not a pattern: ${problem.message}.` };
    }
  }
  return { ...wordSearch(text), problem: null };
}

function wordSearch(text) {
  const closed = text.replace(/\[[^\]]*\]?/gu, (shape) => shape.replace(/\s+/gu, ""));
  const words = closed.split(/\s+/u).filter(Boolean);
  const tests = words.map(wordTest);
  return { test: (entry) => tests.every((test) => test(entry)), words: words.map((each) => each.toLowerCase()) };
}

function wordTest(word) {
  const plain = word.toLowerCase();
  const isDtype = DTYPE.test(wholeName(plain));
  const type = typeExpression(isDtype ? plain : word);
  return (entry) =>
    entry.text.includes(plain) ||
    (!isDtype && entry.types.toLowerCase().includes(plain)) ||
    (type !== null && type.test(entry.types));
}

// ------------------------------------------------------------------------------ types in texts

const LONG_NAMES = { f: "float", bf: "bfloat", si: "int", ui: "uint", c: "complex" };
const DTYPE = /^(?:bool|index|handle|(?:b?float|u?int|i|complex)\d+(?:_\w+?)?(?:x\d+)?)$/u;
const CLASSES = { any: "\\w+", float: "b?float\\w+", int: "(?:u?int|i)\\d+", complex: "complex\\d+" };

// The name of a dtype for a short one, such as f32, or MLIR's f8E4M3FN.
function wholeName(word) {
  const mlir = /^(f\d+)(e\d+m\d+[a-z0-9]*)$/iu.exec(word);
  const name = mlir ? `${mlir[1].toLowerCase()}_${mlir[2].toLowerCase()}` : word;
  return name.replace(/^(f|bf|si|ui|c)(?=\d)/u, (short) => LONG_NAMES[short]);
}

const literal = (text) => text.replace(/[.*+?^${}()|[\]\\/]/gu, "\\$&");

const DYNAMIC = "(?:\\?|[A-Z]\\d*)";

// The dims of a word as an expression over texts of signatures, in which "x" is between dims.
function dimsExpression(dims) {
  const parts = dims.match(/\d+|[A-Z]\d*|[x,\u00d7]|./gu) || [];
  return parts
    .map((part) => {
      if (part === "?") return DYNAMIC;
      if (part === "_") return "[^x\\]]+";
      if (part === "*") return "[^\\]]*";
      return part === "," || part === "\u00d7" ? "x" : literal(part);
    })
    .join("");
}

// An expression for a dtype, a type or a shape, as far as it is typed; null for other words.
function typeExpression(word) {
  if (/^[\d?_*A-Z]+(?:[x\u00d7][\d?_*A-Z]+)+$/u.test(word))
    return new RegExp(`(?<![\\w?])${dimsExpression(word)}(?![\\w?])`, "u");
  const found = /^(.*?)([A-Za-z]\w*)(?:\[([^\]]*)(\]?.*))?$/su.exec(word);
  if (found === null) return null;
  const [, before, name, dims, rest] = found;
  const isClass = dims !== undefined && name in CLASSES;
  const whole = isClass ? CLASSES[name] : wholeName(name);
  if (!isClass && !DTYPE.test(whole)) return null;
  const start = `${literal(before)}(?<![A-Za-z_])${whole}`;
  if (dims === undefined) return new RegExp(`${start}(?!\\w)`, "u");
  return new RegExp(`${start}\\[${dimsExpression(dims)}${literal(rest)}`, "u");
}

// ------------------------------------------------------------------------------------ patterns

// What fnabi.pattern documents; a page has no more than this of it: no counts of differences.
class PatternError extends Error {}

const STARS_MAX = 6;
const STAR = { kind: "star" };

function parsePattern(text) {
  let at = 0;
  const space = () => (at += /^\s*/u.exec(text.slice(at))[0].length);
  const peek = () => (space(), text[at] || "");
  const take = (token) => (space(), text.startsWith(token, at) && ((at += token.length), true));
  function match(expression) {
    space();
    const found = new RegExp(`^(?:${expression})`, "u").exec(text.slice(at));
    if (found) at += found[0].length;
    return found && found[0];
  }
  function fail(expected) {
    const rest = text.slice(at).trim();
    throw new PatternError(`expected ${expected}${rest ? ` at "${rest.slice(0, 20)}"` : " at its end"}`);
  }
  const expect = (token) => take(token) || fail(`"${token}"`);

  function quoted() {
    const start = at;
    const found = match('"(?:[^"\\\\]|\\\\.)*"');
    if (found === null) return null;
    try {
      return JSON.parse(found);
    } catch {
      at = start;
      return fail("a JSON string");
    }
  }

  function values(closing) {
    const found = [];
    let comma = false;
    while (!closing || !take(closing)) {
      if (found.length > 0 && !comma) fail(`"," or "${closing}"`);
      found.push(take("*") ? STAR : value());
      comma = take(",");
      if (!closing && !comma) break;
      if (comma && closing && closing !== ")" && peek() === closing) fail("a type");
    }
    if (comma && found.length > 1) fail("a type");
    return [found, comma];
  }

  function value() {
    let name = null;
    for (let found = valueName(); found !== null; found = valueName()) name = found;
    return { kind: "value", name, type: type() };
  }

  function valueName() {
    const start = at;
    let found = match("[\\p{L}\\p{Nl}_][\\p{L}\\p{N}\\p{M}_.$/\\-]*(?=\\s*:)");
    if (found === null) found = quoted();
    if (found !== null && take(":")) return found;
    at = start;
    return null;
  }

  function type() {
    for (const [kind, opening, closing] of [["tuple", "(", ")"], ["list", "[", "]"], ["dict", "{", "}"]])
      if (take(opening)) {
        const [found] = values(closing);
        if (kind === "dict" && found.some((each) => each !== STAR && each.name === null)) fail("a name before each value of a dict");
        return { kind, values: found };
      }
    if (take("?")) return { kind: "unknown" };
    const start = at;
    const word = match("[A-Za-z_](?:[A-Za-z0-9_.$]|-(?!>))*");
    if (word === null) fail("a type");
    if (word === "null" || word === "unknown") return { kind: word };
    if (word === "ref") return reference();
    if (word === "list" || word === "array") {
      expect("<");
      const element = value();
      expect(">");
      return word === "list" ? { kind: "many", element } : { kind: "array", element, dims: dims() };
    }
    const dtype = word in CLASSES ? word : wholeName(word);
    if (!(word in CLASSES) && !DTYPE.test(dtype)) {
      at = start;
      fail("a type");
    }
    if (peek() === "[") return { kind: "buffer", dtype, dims: dims() };
    return dtype === "any" ? { kind: "any" } : { kind: "scalar", dtype };
  }

  function reference() {
    if (!take("<")) return { kind: "ref", whatever: true };
    const name = quoted();
    if (name !== null) {
      expect(">");
      return { kind: "ref", name };
    }
    const start = at;
    for (let depth = 1; depth > 0; at += 1) {
      if (at === text.length) fail('">"');
      depth += (text[at] === "<") - (text[at] === ">");
    }
    const inner = text.slice(start, at - 1).trim();
    if (inner === "") fail("the name of a reference");
    return { kind: "ref", name: inner === "?" ? null : inner };
  }

  function dims() {
    expect("[");
    if (take("]")) return [];
    const found = [dim()];
    while (!take("]")) {
      if (found.at(-1) === STAR || match("x(?=\\s*[?_*A-Z\\d])") === null) expect(",");
      found.push(dim());
    }
    return found;
  }

  function dim() {
    if (take("*")) return STAR;
    if (take("?")) return "?";
    const number = match("\\d+");
    if (number !== null) return Number.isSafeInteger(Number(number)) ? Number(number) : String(BigInt(number));
    const name = match("[A-Z]\\d*(?=x[?_*A-Z\\d])") || match("[A-Za-z][A-Za-z0-9_]*");
    if (name !== null && /^(?:[A-Za-z][A-Za-z0-9]*x[A-Z\d].*|[a-z](?:x[a-z])+)$/u.test(name)) fail('"," between dims');
    if (name !== null) return { name };
    return take("_") ? "_" : fail('a dim: a number, "?", "_", "*" or a variable');
  }

  function side() {
    const start = (space(), at);
    if (take("(")) {
      const [found, comma] = values(")");
      if (!comma && (peek() === "" || peek() === "-")) return found; // as in the text of a signature
      at = start;
    }
    return values("")[0];
  }

  const inputs = side();
  if (!take("->")) fail('"->" or ","');
  const results = side();
  if (peek() !== "") fail('the end or ","');
  if (searchedStars([inputs, results]) > STARS_MAX) fail(`at most ${STARS_MAX} stars to search for`);
  return { inputs, results };
}

// The number of stars whose extent has to be searched for, since another one follows.
function searchedStars(part) {
  if (!Array.isArray(part)) {
    if (part === null || typeof part !== "object" || part === STAR) return 0;
    return Object.values(part).reduce((sum, each) => sum + searchedStars(each), 0);
  }
  const stars = part.filter((each) => each === STAR).length;
  return Math.max(0, stars - 1) + part.reduce((sum, each) => sum + searchedStars(each), 0);
}

// Whether callers of some signature of a pattern can use a function of a signature. `untold` is for
// types from the bytecode, where ref<?> may be any reference.
function matchesPattern(pattern, [inputs, results], untold) {
  const bound = []; // [variable, side, dim]

  function matchValues(values, types, side, rest) {
    if (values.length === 0) return types.length === 0 && rest();
    const [first, ...others] = values;
    if (first === STAR) {
      if (others.every((each) => each === STAR)) return rest();
      return types.some((_, from) => matchValues(others, types.slice(from), side, rest));
    }
    if (types.length === 0) return false;
    return matchValue(first, types[0], side, () => matchValues(others, types.slice(1), side, rest));
  }

  function matchValue({ name, type }, given, side, rest) {
    const isNamed = given[0] === "named";
    if (name !== null && name !== (isNamed ? given[1] : null)) return false;
    return matchType(type, isNamed ? given[2] : given, side, rest);
  }

  function matchType(type, given, side, rest) {
    if (type.kind === "any") return rest();
    const [kind, first, second] = given;
    if (type.kind !== kind) return false;
    switch (kind) {
      case "scalar":
        return fitsDtype(type.dtype, first) && rest();
      case "buffer":
        return fitsDtype(type.dtype, first) && matchDims(type.dims, second, side, rest);
      case "ref":
        return fitsReference(type, first, side) && rest();
      case "many":
        return matchValue(type.element, first, side, rest);
      case "array":
        return matchDims(type.dims, second, side, () => matchValue(type.element, first, side, rest));
      case "list":
      case "tuple":
        return matchValues(type.values, first, side, rest);
      case "dict":
        return matchValues(type.values, first.map(([key, each]) => ["named", key, each]), side, rest);
      default:
        return rest();
    }
  }

  function fitsReference(type, given, side) {
    if (type.whatever) return true;
    if (type.name === null) return side === "results" || given === null;
    return given === type.name || (side === "inputs" && given === null && !untold);
  }

  function matchDims(dims, shape, side, rest) {
    if (dims.length > 0 && dims.every((each) => each === STAR)) return rest();
    if (shape === null) return side === "inputs" && rest(); // any rank is wider
    if (dims.length === 0) return shape.length === 0 && rest();
    const [first, ...others] = dims;
    if (first === STAR) return [...shape, null].some((_, from) => matchDims(others, shape.slice(from), side, rest));
    if (shape.length === 0) return false;
    const dim = isSymbol(shape[0]) ? null : shape[0]; // names of equal dims are dynamic
    const next = () => matchDims(others, shape.slice(1), side, rest);
    if (typeof first === "object") {
      bound.push([first.name, side, dim]);
      const found = next();
      bound.pop();
      return found;
    }
    return fitsDim(first, dim, side) && next();
  }

  function fitsDim(asked, dim, side) {
    if (asked === "_") return true;
    if (asked === "?") return side === "results" || dim === null;
    return dim === asked || (side === "inputs" && dim === null);
  }

  // A variable is one number, or dynamic everywhere; static dims are always equal.
  function agree() {
    return bound.every(([name]) => {
      const own = bound.filter((each) => each[0] === name);
      const statics = new Set(own.map((each) => each[2]).filter((dim) => dim !== null));
      if (statics.size > 1) return false;
      const isDynamic = own.every(([, side, dim]) => side === "results" || dim === null);
      return isDynamic || own.every(([, side, dim]) => side === "inputs" || dim !== null);
    });
  }

  return matchValues(pattern.inputs, inputs, "inputs", () => matchValues(pattern.results, results, "results", agree));
}

function fitsDtype(asked, given) {
  if (asked in CLASSES) return new RegExp(`^${asked === "any" ? ".*" : CLASSES[asked]}$`, "u").test(given);
  if (asked === given || (asked === "i1" && given === "bool")) return true;
  const [one, other] = [asked, given].map((each) => /^(u?int|i)(\d.*)$/u.exec(each));
  // signless on one side: nothing says that they differ
  return Boolean(one && other && one[2] === other[2] && (one[1] === "i") !== (other[1] === "i"));
}
