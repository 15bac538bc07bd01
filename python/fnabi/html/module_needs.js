"use strict";
// What a module needs, what the checks found, and its other facts.

function needsPanel() {
  const { problem, runtime, host_modules, targets, executables, parameters, parameter_sizes, transients } = data.needs;
  return [
    problem && h("p.error", problem),
    runtime && h("section", h("h3.part", "Releases of IREE's runtime"), pairTable("values", "Releases of IREE's runtime", releaseRows(runtime))),
    host_modules.length > 0 && h("section", h("h3.part", "Modules registered by the host"), chips(host_modules)),
    targets.length > 0 && h("section", h("h3.part", "Targets"), targets.map(targetCard)),
    executables.length > 0 &&
      h(
        "section",
        h("h3.part", "Executables"),
        executables.map((each, index) =>
          h(
            "div.card",
            { id: `executable-${index}`, tabindex: "-1" },
            h("h4", each.name ? nameNode(each.name) : each.format || "unknown format"),
            facts([
              ["Format", each.format],
              ["Size", each.size !== null && bytes(each.size)],
              ["Instruction set", each.isa],
              ["Triple", each.triple],
              ["Processor", each.cpu],
              ["Features", each.features.length > 0 && chips(each.features)],
              ["Entry points", each.entry_points.length > 0 && chips(each.entry_points)],
            ].filter(([, value]) => value)),
          ),
        ),
      ),
    parameters.length > 0 &&
      h(
        "section",
        h("h3.part", "Parameters"),
        h("ul", parameter_sizes.map(([scope, size]) => h("li", bytes(size), scope !== "" && [" in ", h("bdi.code", scope)]))),
        parameterTable(parameters),
      ),
    transients.length > 0 &&
      h("section", h("h3.part", "Memory of the caller"), h("ul", transients.map((each) => h("li", each.text)))),
  ];
}

// Which releases load the module; the others with the reason.
const releaseRows = ({ loads, miscalls, refuses, unknown }) => [
  [loads || "none", h("span.good", "loads")],
  ...miscalls.map(([releases, cause]) => [releases, [h("span.unknown", "calls functions wrongly: "), cause]]),
  ...unknown.map(([releases, cause]) => [releases, [h("span.unknown", "unknown: "), cause]]),
  ...refuses.map(([releases, cause]) => [releases, [h("span.error", "does not load: "), cause]]),
];

const chips = (texts) => h("span.chips", texts.map((text) => h("bdi.chip", text)));

function targetCard(target) {
  const name = target.name === "" ? target.device : `${target.name}: ${target.device}`;
  return h(
    "div.card",
    h("h4", nameNode(name)),
    target.executables.map((each) =>
      h(
        "div",
        h("p", h("strong", each.format), each.backend && h("span.muted", ` by ${each.backend}`)),
        each.config.length > 0 &&
          h(
            "dl.attributes",
            each.config.map(([key, value]) => h("div", h("dt", key), h("dd", h("bdi.code", value)))),
          ),
      ),
    ),
  );
}

const parameterTable = (parameters) =>
  dataTable({
    label: "Parameters",
    noun: ["use of a parameter", "uses of parameters"],
    rows: parameters,
    columns: [
      { title: "Parameter", key: (row) => row.name, cell: (row) => nameNode(row.name) },
      { title: "Use", key: (row) => row.access, cell: (row) => row.access },
      { title: "Offset", numeric: true, key: (row) => row.offset, cell: (row) => (row.offset === null ? "?" : grouped(row.offset)) },
      { title: "Size", numeric: true, key: (row) => row.size, cell: (row) => (row.size === null ? "?" : bytes(row.size)) },
    ],
    text: (row) => `${row.name} ${row.access}`,
  }).nodes;

// ------------------------------------------------------------------------------------- others

const importsPanel = () => [
  data.dependencies.length > 0 &&
    facts(
      data.dependencies.map(([name, version, flags]) => [
        `Module ${name}`,
        `version ${version} or newer${flags.join() === "required" ? "" : `, ${flags.join(", ") || "no flags"}`}`,
      ]),
    ),
  dataTable({
    label: "Imports",
    noun: ["import", "imports"],
    rows: data.imports,
    columns: [
      { title: "Import", key: (row) => row.name, cell: (row) => [nameNode(row.name), row.flags.includes("optional") && [" ", badge("optional", "plain")]] },
      { title: "Registers", wide: true, cell: (row) => h("bdi.code", row.registers) },
      { title: "Convention", key: (row) => row.convention, cell: (row) => h("code.muted", row.convention) },
    ],
    text: (row) => `${row.name} ${row.registers}`,
  }).nodes,
];

const SEVERITY = { error: "breaking", unsafe: "breaking", notice: "notice", skipped: "unknown" };

const checksPanel = () =>
  data.checks.length === 0
    ? h("p.good", "No faults found: the structure, the ordinals, the texts and the bytecode are as they should be.")
    : dataTable({
        label: "Findings",
        noun: ["finding", "findings"],
        rows: data.checks,
        columns: [
          { title: "Finding", wide: true, cell: ([, , text]) => h("bdi.code", text) },
          { title: "Severity", key: ([severity]) => severity, cell: ([severity]) => badge(severity, SEVERITY[severity]) },
          { title: "Code", key: ([, code]) => code, cell: ([, code]) => h("code.muted", code) },
        ],
        text: (row) => row.join(" "),
      }).nodes;

const detailsPanel = () => [
  facts([
    ["Name", h("bdi", data.name)],
    ["Version", data.module_version],
    ["Bytecode", data.bytecode_version],
    ["Requires", data.features.join(", ")],
    ["Functions", `${grouped(data.functions[0])} exported, ${grouped(data.functions[1])} in all`],
    ["Debug database", data.debug ? "yes" : "stripped"],
  ]),
  data.attrs.length > 0 && attributeList("Attributes of the module", data.attrs.map((pair) => [...pair, null])),
  data.types.length > 0 && h("section", h("h3", "Types that it uses"), chips(data.types)),
];
