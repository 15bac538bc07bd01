"use strict";
// The page about the differences of two modules.

const VERDICTS = {
  compatible: "Callers of the old module can use the new one.",
  incompatible: "Callers of the old module cannot use the new one.",
  unknown: "The modules do not show whether callers of the old one can use the new one.",
};

// The indexes of the inputs and results that changed.
function changedIndexes(row) {
  const found = [new Set(), new Set()];
  for (const { path } of row.changes) {
    const match = /^(inputs|results)\[(\d+)\]/.exec(path);
    if (match) found[match[1] === "results" ? 1 : 0].add(Number(match[2]));
  }
  return found;
}

function functionDetail(row) {
  const changed = changedIndexes(row);
  const sides = [["Old", row.old], ["New", row.new]].map(([title, signature]) =>
    [title, signature ? signatureNode(signature, changed) : h("span.muted", "none")],
  );
  return [
    pairTable("values", "Old and new signature", sides),
    row.changes.length > SHOWN && h("ul.changes", row.changes.map(changeNode)), // else in the row
  ];
}

const functions = dataTable({
  label: "Changed functions",
  noun: ["changed function", "changed functions"],
  rows: data.changed,
  columns: [
    { title: "Function", key: (row) => row.name, cell: (row) => nameNode(row.name) },
    {
      title: "Changes",
      wide: true,
      key: (row) => SEVERITIES.indexOf(worst(row.changes)),
      cell: changesCell,
    },
  ],
  text: (row) =>
    [row.name, ...row.changes.map((each) => `${each.severity} ${each.path}`)].join("\n"),
  types: (row) => [row.old, row.new].filter(Boolean).map(signatureText).join("\n"),
  signatures: (row) => [row.old, row.new].filter(Boolean),
  filters: severityFilters,
  detail: functionDetail,
  anchor: (row) => row.name,
});

const unchangedPanel = () =>
  dataTable({
    label: "Unchanged functions",
    noun: ["function", "functions"],
    rows: data.unchanged,
    columns: [{ title: "Function", key: (name) => name, cell: (name) => nameNode(name) }],
    text: (name) => name,
  }).nodes;

function modulePanel() {
  const facts = [
    ["Name", (side) => side.name],
    ["Version", (side) => String(side.module_version)],
    ["Bytecode", (side) => side.bytecode_version],
    ["Requires", (side) => side.features.join(", ") || "nothing"],
    ["Depends on", (side) => side.dependencies.map(([name, version]) => `${name} ${version}`).join(", ") || "nothing"],
    ["Functions", (side) => grouped(side.functions[0])],
    ["File", (side) => bytes(side.file_size)],
  ];
  return [
    data.own.length > 0 && h("ul.changes", data.own.map(changeNode)),
    h(
      "table.data.sides",
      { role: "table" },
      h("caption.hidden", "Both modules"),
      h(
        "thead",
        { role: "rowgroup" },
        h("tr", { role: "row" }, ["Fact", "Old", "New"].map((title) => h("th", { scope: "col", role: "columnheader" }, title))),
      ),
      facts.map(([title, of]) => {
        const sides = [of(data.old), of(data.new)];
        const kind = sides[0] === sides[1] ? "bdi" : "bdi.changed";
        const cells = sides.map((text, index) => h("td", { role: "cell", "data-title": index ? "New" : "Old" }, h(kind, text)));
        return h("tbody", { role: "rowgroup" }, h("tr", { role: "row" }, h("th", { scope: "row", role: "rowheader" }, title), cells));
      }),
    ),
  ];
}

const all = [...data.own, ...data.changed.flatMap((row) => row.changes)];
const counts = SEVERITIES.map((severity) => [severity, all.filter((each) => each.severity === severity).length]);

const shownTabs = tabs("Parts of the comparison", [
  { id: "functions", title: "Functions", count: data.changed.length, content: () => functions.nodes },
  { id: "module", title: "Module", count: data.own.length, content: modulePanel },
  data.unchanged.length > 0 && { id: "unchanged", title: "Unchanged", count: data.unchanged.length, content: unchangedPanel },
]);

showPage(
  `${data.verdict}: ${data.file} - fnabi`,
  pageHeader(
    "Comparison for callers",
    h("bdi", data.file),
    [verdictBadge(data.verdict), " ", VERDICTS[data.verdict]],
    counts.map(([severity, count]) => [titled(severity), h("span", { title: MEANING[severity] }, grouped(count))]),
  ),
  shownTabs.nodes,
);
followAddress(functions, () => shownTabs.show("functions"));
