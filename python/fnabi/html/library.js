"use strict";
// The page about a shared library of TVM-FFI functions.

function typesCell(row) {
  if (row.schema) return h("span.signature", schemaNode(row.schema));
  if (!row.described) return h("span.muted", "no types in the library");
  return h("span.muted", data.loaded ? "malformed" : "not read");
}

function functionDetail(row) {
  const told = (has) => (has ? "in the library" : "none");
  return [
    row.doc && lines("pre.doc", row.doc),
    row.schema && row.schema[0] === "function" && row.schema[1] && parameters(row),
    row.python && h("section", h("h3", "In Python"), h("pre.command", `${row.name}${row.python}`)),
    command(row),
    facts([
      ["Symbol", h("code", `__tvm_ffi_${row.name}`)],
      !data.loaded && ["Types", told(row.described)],
      !data.loaded && ["Documentation", told(row.documented)],
      !data.loaded && ["Names of parameters", told(row.named)],
    ].filter(Boolean)),
  ];
}

const EXAMPLES = { int: "1", float: "1.0", bool: "true", "ffi.String": "text", str: "text" };

// The command for a function whose parameters are numbers, texts and arrays, in a file each.
function command(row) {
  if (!row.schema || row.schema[0] !== "function" || !row.schema[1]) return false;
  if (row.name === "" || row.name.search(UNPRINTABLE) >= 0) return false;
  const names = row.parameters || [];
  const args = row.schema[1].map(([, type], index) => {
    if (type === "ffi.Tensor" || type === "DLTensor*") return shellWord(`@${/^\w+$/.test(names[index] || "") ? names[index] : `arg${index}`}.npy`);
    return EXAMPLES[type];
  });
  if (args.includes(undefined)) return false;
  const file = shellFile(); // a path with a slash, since loading searches for a plain name
  return commandSection([[`fnabi call ${file.includes("/") || file === "FILE" ? file : `./${file}`}`, shellWord(row.name), ...args].join(" ")]);
}

function parameters(row) {
  const [, types, result] = row.schema;
  const rows = types.map((type, index) => [(row.parameters || [])[index] || `arg${index}`, type]);
  return pairTable("values", "Parameters and result", [
    ...rows.map(([name, type]) => [nameNode(name), schemaNode(type)]),
    [h("span.muted", "result"), schemaNode(result)],
  ]);
}

const functions = dataTable({
  label: "Functions",
  noun: ["function", "functions"],
  rows: data.functions,
  columns: [
    { title: "Function", key: (row) => row.name, cell: (row) => nameNode(row.name) },
    { title: "Types", wide: true, key: (row) => (row.schema ? schemaText(row.schema) : ""), cell: typesCell },
    {
      title: "Documentation",
      cell: (row) => (row.doc ? h("span.muted", row.doc.trim().split("\n")[0]) : row.documented && h("span.muted", "in the library")),
    },
  ],
  text: (row) => [row.name, row.schema ? schemaText(row.schema) : "", row.doc || ""].join("\n"),
  detail: functionDetail,
  anchor: (row) => row.name,
});

const runtime = data.to_load
  ? "needed to load the library"
  : data.to_call
    ? "needed before a function is called"
    : data.optional.length > 0
      ? "used where it is loaded"
      : "not needed";

const detailsPanel = () => [
  facts([
    ["Platform", data.platform],
    ["Linked with", data.needed.join(", ")],
    ["Run path", data.runpath],
    ["libtvm_ffi", runtime],
    ["Requires of it", data.required.join(", ")],
    ["May use of it", data.optional.join(", ")],
    ["Registers by name", data.registers.join(" and ")],
    ["Errors", data.error_slot && "kept in its own slot where libtvm_ffi is not loaded"],
  ].filter(([, value]) => value)),
];

const symbolsPanel = () =>
  dataTable({
    label: "Symbols",
    noun: ["symbol", "symbols"],
    rows: data.symbols,
    columns: [
      { title: "Symbol", key: ([name]) => name, cell: ([name]) => nameNode(name) },
      { title: "Kind", key: ([, kind]) => kind, cell: ([, kind]) => kind },
      { title: "Address", numeric: true, key: ([, , value]) => value, cell: ([, , value]) => h("code", `0x${value.toString(16)}`) },
    ],
    text: ([name]) => name,
  }).nodes;

const shownTabs = tabs("Parts of the library", [
  {
    id: "functions",
    title: "Functions",
    count: data.functions.length,
    content: () => [
      !data.loaded &&
        data.functions.some((row) => row.described) &&
        h("p.muted", "The library describes the types of its functions in code, which did not run for this page. fnabi inspect --html --metadata runs it."),
      data.registers.length > 0 &&
        h("p.muted", `The library registers ${data.registers.join(" and ")} by name when it is loaded. fnabi inspect --run lists them.`),
      functions.nodes,
    ],
  },
  { id: "symbols", title: "Symbols", count: data.symbols.length, content: symbolsPanel },
  { id: "details", title: "Details", content: detailsPanel },
]);

showPage(
  `${data.file || data.name} - fnabi`,
  pageHeader(data.is_shared ? "Library of TVM-FFI functions" : "Not a shared library", h("bdi", data.file || data.name), null, [
    ["Functions", grouped(data.functions.length)],
    ["Platform", data.platform],
    ["libtvm_ffi", runtime],
  ]),
  shownTabs.nodes,
);
followAddress(functions, () => shownTabs.show("functions"));
