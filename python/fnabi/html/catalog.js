"use strict";
// The page about a catalog: an overview of many modules, and all their functions.

const functionsOf = data.files.map(() => []);
for (const row of data.functions) functionsOf[row[0]].push(row);

const signatureOf = (row) => data.signatures[row[2]];
const texts = data.signatures.map(signatureText);

// ------------------------------------------------------------------------------------ modules

function modulesPanel() {
  const largest = Math.max(1, ...data.files.map((row) => row.size || 0));
  return modules(largest).nodes;
}

const modules = (largest) =>
  dataTable({
    label: "Modules",
    noun: ["module", "modules"],
    rows: data.files,
    columns: [
      { title: "File", key: (row) => row.file, cell: (row) => [nameNode(row.file), row.is_bad && [" ", badge("error", "breaking")]] },
      { title: "Targets", key: (row) => row.targets.join(), cell: targetsCell },
      { title: "Functions", numeric: true, key: (row) => row.functions, cell: (row) => row.functions !== null && grouped(row.functions) },
      { title: "Bytecode", key: (row) => row.bytecode_version || "", cell: (row) => h("span.muted", row.bytecode_version) },
      { title: "Loads in IREE", key: (row) => row.runs_on || "", cell: (row) => row.runs_on || h("span.muted", row.runs_unknown ? "unknown" : row.is_bad ? "" : "no release") },
      { title: "Size", numeric: true, key: (row) => row.size, cell: (row) => sizeCell(row, largest) },
    ],
    text: (row) =>
      [row.file, row.module || "", row.targets.join(" "), row.bytecode_version || "", row.runs_on || "", row.error || ""].join("\n"),
    filters: [
      { title: "Errors", alarm: true, test: (row) => row.is_bad },
      { title: "With parameters", test: (row) => row.parameters[0] > 0 },
    ],
    detail: moduleDetail,
    anchor: (row) => row.file,
  });

const targetsCell = (row) => (row.is_bad ? h("span.error", row.error) : row.targets.map((each) => h("div", each)));

const sizeCell = (row, largest) =>
  row.size !== null && [bytes(row.size), sizeBar(row.size / largest, "executable")];

function moduleDetail(row) {
  const own = functionsOf[data.files.indexOf(row)];
  const [count, size] = row.parameters;
  return [
    row.error && lines("pre.error", row.error),
    own.length > 0 && pairTable("values", "Functions", own.map((each) => [nameNode(each[1]), signatureNode(signatureOf(each))])),
    facts([
      ["Module", row.module && h("bdi", row.module)],
      ["Unknown in IREE", row.runs_unknown || false],
      ["Registered by the host", row.host_modules.length > 0 && row.host_modules.join(", ")],
      ["Weights inside", row.memory[0] !== null && bytes(row.memory[0])],
      ["Memory of a call", row.memory[1] !== null && `up to ${bytes(row.memory[1])}, where it is known`],
      ["Parameters", count > 0 && `${grouped(count)}, ${size === null ? "of unknown size" : bytes(size)}`],
      ["Bytecode", row.sizes[0] !== null && bytes(row.sizes[0])],
      ["Read-only data", row.sizes[1] !== null && bytes(row.sizes[1])],
    ].filter(([, value]) => value !== false)),
  ];
}

// ---------------------------------------------------------------------------------- functions

const functionsPanel = () => [
  dataTable({
    label: "Functions",
    noun: ["function", "functions"],
    rows: data.functions,
    columns: [
      { title: "Function", key: (row) => row[1], cell: (row) => nameNode(row[1]) },
      { title: "Signature", wide: true, key: (row) => texts[row[2]], cell: (row) => signatureNode(signatureOf(row)) },
      { title: "File", key: (row) => data.files[row[0]].file, cell: (row) => h("span.muted", nameNode(data.files[row[0]].file)) },
    ],
    text: (row) => [row[1], data.files[row[0]].file].join("\n"),
    types: (row) => texts[row[2]],
    signatures: (row) => [signatureOf(row)],
    untold: (row) => row[3] === "bytecode" || row[3] === "cconv",
    filters: [{ title: "Of the runtime", hides: true, test: (row) => row[1].startsWith("__") }],
  }).nodes,
  data.unread > 0 && h("p.muted", `${counted(data.unread, "function")} without a signature that can be read.`),
];

// ----------------------------------------------------------------------------------- overview

// Pairs of key and count, the largest count first.
function tally(keys) {
  const counts = new Map();
  for (const key of keys) counts.set(key, (counts.get(key) || 0) + 1);
  return [...counts].sort((one, other) => other[1] - one[1]);
}

const TALLIED = 12;

function bars(title, noun, pairs, label, largest = pairs.length > 0 && pairs[0][1]) {
  if (pairs.length === 0) return false;
  const rest = pairs.slice(TALLIED);
  return h(
    "section",
    h("h3.part", title),
    pairTable("tally", title, pairs.slice(0, TALLIED).map(([key, count]) => [label(key), counted(count, noun), shareBar(count / largest)])),
    rest.length > 0 && h("p.muted", `and ${counted(rest.length, "other")}`),
  );
}

const shareBar = (share) =>
  svg(
    "svg",
    { viewBox: "0 0 100 8", preserveAspectRatio: "none", class: "share", "aria-hidden": "true" },
    svg("rect", { width: 100 * share, height: 8, class: "part-executable" }),
  );

const overviewPanel = () => [
  data.files.length === 0 && h("p.empty", "No modules."),
  bars("Targets", "module", tally(data.files.flatMap((row) => row.targets)), (key) => h("bdi", key)),
  bars(
    "Versions of the bytecode",
    "module",
    tally(data.files.map((row) => row.bytecode_version).filter(Boolean)),
    (key) => key,
  ),
  bars("Releases of IREE's runtime that load them", "module", data.releases, (key) => key, Math.max(1, data.counts.files)),
  bars(
    "Most frequent signatures",
    "function",
    tally(data.functions.filter((row) => !row[1].startsWith("__")).map((row) => row[2])),
    (key) => signatureNode(data.signatures[key]),
  ),
  bars("Sources of the types", "function", tally(data.functions.map((row) => row[3])), (key) => key),
  bars(
    "Errors",
    "module",
    tally(data.files.filter((row) => row.is_bad).map((row) => row.error)),
    (key) => h("span.error", key),
  ),
];

// ------------------------------------------------------------------------------------ the page

const { files, functions, size, failed } = data.counts;
const shownTabs = tabs("Parts of the catalog", [
  { id: "overview", title: "Overview", content: overviewPanel },
  { id: "modules", title: "Modules", count: files, content: modulesPanel },
  { id: "functions", title: "Functions", count: functions, content: functionsPanel },
]);

showPage(
  `${data.file} - fnabi`,
  pageHeader("Catalog of compiled modules", h("bdi", data.file), null, [
    ["Modules", grouped(files)],
    ["Functions", grouped(functions)],
    ["Size", bytes(size)],
    ["Different signatures", grouped(data.signatures.length)],
    ["Errors", failed > 0 ? h("span.error", grouped(failed)) : h("span.good", "none")],
  ]),
  shownTabs.nodes,
);
