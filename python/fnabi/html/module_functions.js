"use strict";
// The functions of a module: their table, and what opens under a row.

const rows = [...data.exports, ...data.internal.map((each) => ({ ...each, internal: true }))];
const hasTypes = (row) => Array.isArray(row.signature);

function shownSignature(row) {
  if (hasTypes(row)) return signatureNode(row.signature);
  if (row.problem) return h("span.error", row.problem.split("\n")[0]);
  return h("span.muted", row.registers);
}

// Whether ref<?> may be any reference: nothing else says what it is to.
const isUntold = (row) => row.source === "bytecode" || row.source === "cconv";

function functionTable() {
  return dataTable({
    label: "Functions",
    noun: ["function", "functions"],
    rows,
    columns: [
      { title: "Function", key: (row) => row.name, cell: (row) => nameCell(row) },
      { title: "Signature", wide: true, cell: shownSignature },
      { title: "Types from", key: (row) => row.source || "", cell: sourceCell },
      {
        title: "Bytecode",
        numeric: true,
        key: (row) => (row.code ? row.code[1] : null),
        cell: (row) => row.code && bytes(row.code[1]),
      },
    ],
    text: (row) =>
      [
        row.name,
        hasTypes(row) ? "" : row.registers,
        row.source || "",
        row.place || "",
        row.async ? "async" : "",
      ].join("\n"),
    types: (row) => (hasTypes(row) ? signatureText(row.signature) : ""),
    signatures: (row) => (hasTypes(row) ? [row.signature] : []),
    untold: isUntold,
    filters: [
      { title: "Errors", alarm: true, test: hasError },
      { title: "Notices", test: (row) => (row.notes || []).length > 0 },
      { title: "Async", test: (row) => row.async },
      { title: "Internal", hides: true, test: (row) => row.internal },
    ],
    detail: functionDetail,
    anchor: (row) => row.name,
  });
}

function signlessNote() {
  return h(
    "p.muted",
    h("code", "i8"), " is a signless integer, as in MLIR: the text does not say whether it is signed. ",
    h("code", "int8"), " is signed, ", h("code", "uint8"), " unsigned.",
  );
}

// Of an internal function only the bytecode has types; it is no error where they are unknown.
const hasError = (row) =>
  Boolean(row.problem) || (row.source === null && !row.internal) || row.attrs.some(([key, , error]) => error && key !== "iree.abi.declaration");

function nameCell(row) {
  return [
    nameNode(row.name),
    row.async && [" ", badge("async", "plain", "asynchronous: its last two arguments are fences")],
    hasError(row) && [" ", badge("error", "breaking")],
    (row.notes || []).length > 0 && [" ", badge(counted(row.notes.length, "notice"), "unknown")],
    row.internal && [" ", badge("internal", "plain", "not exported")],
  ];
}

const SOURCES = {
  "iree.abi": "the attribute iree.abi",
  "iree.abi.declaration": "the declaration that the compiler wrote for people",
  f: "the raw function ABI",
  bytecode: "what the bytecode proves",
  cconv: "the calling convention, which has registers only",
};

const sourceCell = (row) =>
  h("span.muted", { title: SOURCES[row.source] || null }, row.source === "iree.abi.declaration" ? "declaration" : row.source || "-");

function functionDetail(row) {
  const code = codeOf(row);
  return [
    row.problem && lines("pre.error", row.problem),
    (row.notes || []).length > 0 && h("ul.notes", row.notes.map((note) => h("li", note))),
    hasTypes(row) && valueTable(row),
    row.proven && h("section", h("h3", "In the bytecode"), h("p", signatureNode(row.proven))),
    structures(row),
    facts([
      ["Source", row.place && h("bdi.code", row.place)],
      ["Calling convention", h("span", h("code", row.convention), h("br"), h("span.muted", row.registers))],
      ["Buffers of a call", row.sizes && bufferSizes(row.sizes)],
      ["Memory of the caller", row.transients],
      ["Memory of a call", row.memory],
      ["Requires", (row.features || []).join(", ")],
    ]),
    row.attrs.length > 0 && attributeList("Attributes", row.attrs),
    row.steps && graphSection(row, code.reach),
    command(row),
    code.node,
  ];
}

const bufferSizes = ([inputs, results, spans]) =>
  `${counted(inputs, "byte")} of arguments${spans ? " and more for each element of a span" : ""},` +
  ` ${counted(results, "byte")} of results`;

function valueTable(row) {
  const sides = [["inputs", row.signature[0]], ["results", row.signature[1]]];
  const values = sides.flatMap(([side, types]) =>
    types.map((type, index) => {
      const [name, inner] = type[0] === "named" ? [type[1], type[2]] : ["", type];
      const size = sizeOf(inner);
      return [
        [h("span.muted", `${side}[${index}] `), name && nameNode(name)],
        [typeNode(inner), aliasOf(row, side, index)],
        size !== null && h("span.muted", bytes(size)),
      ];
    }),
  );
  if (values.length === 0) return h("p.muted", "No arguments and no results.");
  return pairTable("values", "Arguments and results", values);
}

function aliasOf(row, side, index) {
  const alias = side === "results" && (row.aliases || [])[index];
  if (alias)
    return h("span.muted", alias[1] === "storage" ? ` shares the storage of inputs[${alias[0]}]` : ` is inputs[${alias[0]}]`);
  const stored = side === "inputs" && (row.storage || []).find(([argument]) => argument === index);
  return stored && h("span.muted", ` receives results[${stored[1]}]`);
}

// The size of a value in bytes, where all its dims are known. Compilers store elements of odd widths,
// such as i3 and i24, in more bits, and the runtime counts them in yet another way.
function sizeOf([kind, dtype, shape]) {
  if (kind !== "buffer" || shape === null || shape.some((dim) => typeof dim !== "number")) return null;
  const match = /^(bool|[a-z]+(\d+)(?:_\w+?)?)(?:x(\d+))?$/.exec(dtype);
  if (!match) return null;
  const bits = match[2] ? Number(match[2]) : 8;
  if (bits < 2 || !Number.isInteger(Math.log2(bits))) return null;
  return Math.ceil((shape.reduce((product, dim) => product * dim, 1) * bits * Number(match[3] || 1)) / 8);
}

function structures(row) {
  const trees = [];
  for (const [side, types] of hasTypes(row) ? [["inputs", row.signature[0]], ["results", row.signature[1]]] : [])
    types.forEach((type, index) => {
      if (isNested(type)) trees.push(h("div", h("h4", `${side}[${index}]`), typeTree(type)));
    });
  if (row.sip)
    ["inputs", "results"].forEach((side, index) => {
      trees.push(h("div", h("h4", `${side}, by index of the flat list`), sipTree(row.sip[index])));
    });
  return trees.length > 0 && h("section", h("h3", "Structure"), h("div.trees", trees));
}

function attributeList(title, attrs) {
  const shown = attrs.map(([key, value, error]) =>
    h("div", h("dt", h("bdi", key)), h("dd", h("bdi.code", value), error && lines("pre.error", error))),
  );
  return h("section", h("h3", title), h("dl.attributes", shown));
}

// The flags of inputs are words of a shell already.
function command(row) {
  if (!row.run || row.internal || row.name.startsWith("__")) return false;
  if (row.run.length < row.signature[0].length) return false;
  const [opened, ending] = data.runner;
  return commandSection([`iree-run-module ${opened}`, shellWord(`--function=${row.name}`), ...row.run, ...(ending ? [ending] : [])]);
}
