"use strict";
// The sizes of the parts of a module, as a picture and as a table.

const PARTS = {
  executable: "Executables",
  constant: "Constants",
  splat: "Constants of equal elements",
  text: "Texts",
  bytecode: "Bytecode",
  tables: "Tables of the module",
  rest: "Alignment and ZIP directory",
};

const PART_OF = { elf: "executable", "spir-v": "executable", flatbuffer: "executable", splat: "splat", "string table": "text" };
const partOf = (segment) => PART_OF[segment.kind] || "constant";

const DRAWN = 80;

// One bar: the largest segments one by one, the others together.
function picture(segments, parts) {
  const boxes = [...segments]
    .sort((one, other) => other.size - one.size)
    .map((each) => ({ part: partOf(each), size: each.size, title: each.name || `segment ${each.index}` }));
  const small = new Map();
  for (const each of boxes.splice(DRAWN)) small.set(each.part, (small.get(each.part) || 0) + each.size);
  for (const [part, size] of small) boxes.push({ part, size, title: `other ${PARTS[part].toLowerCase()}` });
  boxes.push({ part: "constant", size: parts.left_out, title: "segments that this page leaves out" });
  for (const part of ["bytecode", "tables", "rest"]) boxes.push({ part, size: parts[part], title: PARTS[part] });
  const order = Object.keys(PARTS);
  const shown = boxes.filter((each) => each.size > 0).sort((one, other) => order.indexOf(one.part) - order.indexOf(other.part));
  const all = shown.reduce((sum, each) => sum + each.size, 0);
  const sums = new Map();
  let x = 0;
  const rectangles = shown.map((each) => {
    const width = (each.size / all) * 1000;
    const gap = Math.min(1, width / 4);
    const box = svg(
      "rect",
      { x, y: 0, width: Math.max(width - gap, 0.2), height: 40, class: `part-${each.part}` },
      svg("title", {}, `${each.title}: ${bytes(each.size)}`),
    );
    x += width;
    sums.set(each.part, (sums.get(each.part) || 0) + each.size);
    return box;
  });
  const told = [...sums].map(([part, size]) => `${PARTS[part]} ${bytes(size)}`).join(", ");
  return h(
    "figure.picture",
    svg("svg", { viewBox: "0 0 1000 40", preserveAspectRatio: "none", role: "img", "aria-label": told }, rectangles),
    h(
      "figcaption",
      [...sums].map(([part, size]) =>
        h("span.legend", swatch(part), PARTS[part], " ", h("strong", bytes(size)), h("span.muted", ` ${percent(size / all)}`)),
      ),
    ),
  );
}

const swatch = (part) =>
  svg("svg", { viewBox: "0 0 10 10", class: "swatch", "aria-hidden": "true" }, svg("rect", { width: 10, height: 10, rx: 2, class: `part-${part}` }));

const percent = (share) => (share < 0.001 ? "<0.1%" : `${(100 * share).toFixed(share < 0.1 ? 1 : 0)}%`);

function storagePanel() {
  const { segments, parts, zeroed } = data.storage;
  const largest = Math.max(1, ...segments.map((each) => each.size));
  const zeroes = zeroed.reduce((sum, each) => sum + each, 0);
  return [
    picture(segments, parts),
    facts([
      ["Zeroed memory wanted", zeroed.length > 0 && `${bytes(zeroes)} in ${counted(zeroed.length, "segment")}`],
      ["State of each context", data.state && `${counted(data.state[0], "byte")}, ${counted(data.state[1], "reference")}`],
    ].filter(([, value]) => value)),
    segments.length > 0 &&
      dataTable({
        label: "Segments of read-only data",
        noun: ["segment", "segments"],
        rows: segments,
        columns: [
          { title: "Segment", key: (row) => row.name || String(row.index), cell: (row) => [h("span.muted", `${row.index} `), row.name && nameNode(row.name)] },
          { title: "Kind", key: (row) => row.kind || "", cell: kindCell },
          { title: "Offset", numeric: true, key: (row) => row.offset ?? null, cell: (row) => row.offset !== undefined && grouped(row.offset) },
          { title: "Size", numeric: true, key: (row) => row.size, cell: (row) => [bytes(row.size), sizeBar(row.size / largest, partOf(row))] },
        ],
        text: segments.length > 10 && ((row) => `${row.index} ${row.name} ${row.kind} ${row.detail}`),
      }).nodes,
  ];
}

function kindCell(row) {
  if (row.problem) return h("span.error", row.problem);
  const about = [row.detail, row.external ? "" : "in the tables", row.compression ? `compression ${row.compression}` : ""];
  return [swatch(partOf(row)), row.kind, h("span.muted", ` ${about.filter(Boolean).join(", ")}`)];
}
