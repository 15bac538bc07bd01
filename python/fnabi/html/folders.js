"use strict";
// The page about the differences of the modules of two folders.

const VERDICTS = ["incompatible", "removed", "unreadable", "unknown", "added", "compatible"];
const counts = VERDICTS.map((verdict) => [verdict, data.files.filter((row) => row.verdict === verdict).length]);

function fileCell(row) {
  if (row.problem) return h("span.error", row.problem);
  if (row.verdict === "removed") return h("span.error", "Only the old side has this file.");
  if (row.verdict === "added") return h("span.muted", "Only the new side has this file.");
  return row.changes.length === 0 ? h("span.muted", "no changes") : changesCell(row);
}

const filesTable = dataTable({
  label: "Files",
  noun: ["file", "files"],
  rows: data.files,
  columns: [
    { title: "File", key: (row) => row.file, cell: (row) => [nameNode(row.file), " ", verdictBadge(row.verdict)] },
    { title: "Changes", wide: true, key: (row) => VERDICTS.indexOf(row.verdict), cell: fileCell },
  ],
  text: (row) => [row.file, row.verdict, ...row.changes.map((each) => `${each.function || ""} ${each.path}`)].join("\n"),
  filters: VERDICTS.map((verdict) => ({
    title: titled(verdict),
    alarm: GRADES[verdict] === "breaking",
    test: (row) => row.verdict === verdict,
  })),
  detail: (row) =>
    row.changes.length > 0 ? h("ul.changes", row.changes.map(changeNode)) : h("p.muted", "There is nothing to compare."),
  anchor: (row) => row.file,
});

showPage(
  `${data.verdict}: ${data.file} - fnabi`,
  pageHeader(
    "Comparison of many modules for callers",
    h("bdi", data.file),
    verdictBadge(data.verdict),
    counts.map(([verdict, count]) => [titled(verdict), grouped(count)]),
  ),
  h("div.panel", h("h2.hidden", "Files"), filesTable.nodes),
);
followAddress(filesTable, () => {});
