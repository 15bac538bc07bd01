"use strict";
// The page about the differences of two modules.

const SEVERITIES = ["breaking", "unknown", "widening", "notice"];
const MEANING = {
  breaking: "a caller may fail or misread results",
  unknown: "the modules do not show whether callers are affected",
  widening: "everything that was accepted still is",
  notice: "callers are not affected",
};
const VERDICTS = {
  compatible: "Callers of the old module can use the new one.",
  incompatible: "Callers of the old module cannot use the new one.",
  unknown: "The modules do not show whether callers of the old one can use the new one.",
};
const SHOWN = 4;

const worst = (changes) => SEVERITIES.find((severity) => changes.some((each) => each.severity === severity));

function sideNode(side) {
  if (side === null) return h("span.muted", "nothing");
  const [kind, value] = side;
  if (kind === "signature") return signatureNode(value);
  if (kind === "type") return typeNode(value);
  return h("bdi.code", value);
}

function changeNode(change) {
  const one = change.kind === "added" || change.kind === "removed";
  return h(
    "li.change",
    badge(change.severity, change.severity, MEANING[change.severity]),
    " ",
    change.path !== "" && [h("bdi.code.path", change.path), " "],
    h("span.muted", change.kind),
    " ",
    one
      ? sideNode(change.old || change.new)
      : [h("del", sideNode(change.old)), h("span.arrow", { "aria-label": "became" }, " \u2192 "), h("ins", sideNode(change.new))],
  );
}

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
    h("tr", h("th", { scope: "row" }, title), h("td", signature ? signatureNode(signature, changed) : h("span.muted", "none"))),
  );
  return [
    h("table.values", h("caption.hidden", "Old and new signature"), h("tbody", sides)),
    row.changes.length > SHOWN && h("ul.changes", row.changes.map(changeNode)), // else in the row
  ];
}

function changesCell(row) {
  const first = [...row.changes]
    .sort((one, other) => SEVERITIES.indexOf(one.severity) - SEVERITIES.indexOf(other.severity))
    .slice(0, SHOWN);
  const more = row.changes.length - first.length;
  return [h("ul.changes", first.map(changeNode)), more > 0 && h("p.muted", `and ${counted(more, "other change")}`)];
}

const functions = dataTable({
  label: "Changed functions",
  noun: ["changed function", "changed functions"],
  rows: data.changed,
  columns: [
    { title: "Function", key: (row) => row.name, cell: (row) => nameNode(row.name) },
    {
      title: "Changes",
      start: true,
      key: (row) => SEVERITIES.indexOf(worst(row.changes)),
      cell: changesCell,
    },
  ],
  text: (row) =>
    [row.name, ...[row.old, row.new].filter(Boolean).map(signatureText), ...row.changes.map((each) => `${each.severity} ${each.path}`)].join("\n"),
  filters: SEVERITIES.map((severity) => ({
    title: severity[0].toUpperCase() + severity.slice(1),
    alarm: severity === "breaking",
    test: (row) => row.changes.some((each) => each.severity === severity),
  })),
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
    ["Loads in", (side) => side.loaded_by],
    ["Requires", (side) => side.features.join(", ") || "nothing"],
    ["Depends on", (side) => side.dependencies.map(([name, version]) => `${name} ${version}`).join(", ") || "nothing"],
    ["Functions", (side) => grouped(side.functions[0])],
    ["File", (side) => bytes(side.file_size)],
  ];
  return [
    data.own.length > 0 && h("ul.changes", data.own.map(changeNode)),
    h(
      "table.data.sides",
      h("caption.hidden", "Both modules"),
      h("thead", h("tr", ["Module", "Old", "New"].map((title) => h("th", { scope: "col" }, title)))),
      facts.map(([title, of]) => {
        const sides = [of(data.old), of(data.new)];
        const kind = sides[0] === sides[1] ? "bdi" : "bdi.changed";
        const cells = sides.map((text, index) => h("td", { "data-title": index ? "New" : "Old" }, h(kind, text)));
        return h("tbody", h("tr", h("th", { scope: "row" }, title), cells));
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
    [badge(data.verdict, { compatible: "widening", incompatible: "breaking", unknown: "unknown" }[data.verdict]), " ", VERDICTS[data.verdict]],
    counts.map(([severity, count]) => [severity[0].toUpperCase() + severity.slice(1), h("span", { title: MEANING[severity] }, grouped(count))]),
  ),
  shownTabs.nodes,
);
if (remembered() !== "" && functions.openAnchor(remembered())) shownTabs.show("functions");
