"use strict";
// The changes of a comparison: those of one module, or of many.

const SEVERITIES = ["breaking", "unknown", "widening", "notice"];
const MEANING = {
  breaking: "a caller may fail or misread results",
  unknown: "the modules do not show whether callers are affected",
  widening: "everything that was accepted still is",
  notice: "callers are not affected",
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
    change.function !== undefined && [nameNode(change.function), " "],
    change.path !== "" && [h("bdi.code.path", change.path), " "],
    h("span.muted", change.kind),
    " ",
    one
      ? sideNode(change.old || change.new)
      : [h("del", sideNode(change.old)), " ", h("span.to", h("span.arrow", "\u2192 "), h("ins", sideNode(change.new)))],
  );
}

// The worst changes; all of them are in the detail of the row.
function changesCell(row) {
  const first = [...row.changes]
    .sort((one, other) => SEVERITIES.indexOf(one.severity) - SEVERITIES.indexOf(other.severity))
    .slice(0, SHOWN);
  const more = row.changes.length - first.length;
  return [h("ul.changes", first.map(changeNode)), more > 0 && h("p.muted", `and ${counted(more, "other change")}`)];
}

const titled = (text) => text[0].toUpperCase() + text.slice(1);

// A filter for each severity that occurs.
const severityFilters = SEVERITIES.map((severity) => ({
  title: titled(severity),
  alarm: severity === "breaking",
  test: (row) => row.changes.some((each) => each.severity === severity),
}));

const GRADES = {
  compatible: "widening",
  added: "widening",
  incompatible: "breaking",
  removed: "breaking",
  unreadable: "breaking",
  unknown: "unknown",
};
const verdictBadge = (verdict) => badge(verdict, GRADES[verdict]);
