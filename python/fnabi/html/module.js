"use strict";
// The page about a compiled module.

const functions = functionTable();
const targets = data.needs.targets.flatMap((each) => each.executables.map((one) => `${each.device} ${one.format}`));
const scopes = new Set(data.needs.parameters.map((each) => each.name));
const needed =
  data.needs.host_modules.length +
  targets.length +
  data.needs.executables.length +
  scopes.size +
  data.needs.transients.length;

const shownTabs = tabs("Parts of the module", [
  { id: "functions", title: "Functions", count: data.functions[0], content: () => [functions.nodes, signlessNote()] },
  { id: "storage", title: "Storage", count: data.storage.segments.length, content: storagePanel },
  (needed > 0 || data.needs.problem || data.needs.runtime) && { id: "needs", title: "Needs", count: needed, content: needsPanel },
  data.imports.length > 0 && { id: "imports", title: "Imports", count: data.imports.length, content: importsPanel },
  { id: "checks", title: "Checks", count: data.checks.length, alarm: data.errors > 0, content: checksPanel },
  { id: "details", title: "Details", content: detailsPanel },
]);

showPage(
  `${data.file || data.name} - fnabi`,
  pageHeader("Compiled module", h("bdi", data.file || data.name), null, [
    ["Functions", grouped(data.functions[0])],
    ["File", bytes(data.file_size)],
    ["Targets", targets.length > 0 && [...new Set(targets)].map((each) => h("div", each))],
    ["Weights inside", data.needs.weights[0] > 0 && bytes(data.needs.weights[1])],
    ["Parameters", scopes.size > 0 && grouped(scopes.size)],
    ["Bytecode", data.bytecode_version],
    ["Loads in IREE", data.needs.runtime && (data.needs.runtime.loads || h("span.muted", data.needs.runtime.unknown.length > 0 ? "unknown" : "no release"))],
    ["Checks", data.errors > 0 ? h("span.error", counted(data.errors, "error")) : h("span.good", "no errors")],
  ].filter(([, value]) => value !== false && value !== null)),
  shownTabs.nodes,
);
followAddress(functions, () => shownTabs.show("functions"));
