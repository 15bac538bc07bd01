"use strict";
// Elements, texts and the frame of the page. All text is inserted as text nodes.

const data = JSON.parse(document.getElementById("data").textContent);

// Unassigned, control, format and surrogate characters, and separators other than a space.
const UNPRINTABLE = /[\p{C}\p{Zl}\p{Zp}]|(?! )\p{Zs}/gu;

const NAMED = { "\n": "\\n", "\t": "\\t", "\r": "\\r" };

function escapeOf(character) {
  const code = character.codePointAt(0);
  if (code >= 0xdc80 && code <= 0xdcff) return "\\x" + (code - 0xdc00).toString(16); // a byte
  if (character in NAMED) return NAMED[character];
  if (code < 0x100) return "\\x" + code.toString(16).padStart(2, "0");
  if (code < 0x10000) return "\\u" + code.toString(16).padStart(4, "0");
  return "\\U" + code.toString(16).padStart(8, "0");
}

// The text of attributes and of the title.
const escaped = (text) => text.replace(UNPRINTABLE, escapeOf);

// Nodes of a text, in which escapes are marked.
function textNodes(text) {
  text = String(text);
  const nodes = [];
  let start = 0;
  for (const match of text.matchAll(UNPRINTABLE)) {
    if (match.index > start) nodes.push(document.createTextNode(text.slice(start, match.index)));
    const mark = document.createElement("span");
    mark.className = "escape";
    mark.textContent = escapeOf(match[0]);
    nodes.push(mark);
    start = match.index + match[0].length;
  }
  if (start < text.length) nodes.push(document.createTextNode(text.slice(start)));
  return nodes;
}

// h("button.toggle", { onclick: f, "aria-expanded": "false" }, child, ...)
function h(name, ...rest) {
  const [tag, ...classes] = name.split(".");
  const element = document.createElement(tag);
  if (classes.length) element.className = classes.join(" ");
  if (rest.length && isAttributes(rest[0])) setAttributes(element, rest.shift());
  append(element, rest);
  return element;
}

function svg(tag, attributes, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  setAttributes(element, attributes);
  append(element, children);
  return element;
}

const isAttributes = (value) =>
  value !== null && typeof value === "object" && !(value instanceof Node) && !Array.isArray(value);

function setAttributes(element, attributes) {
  for (const [key, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else element.setAttribute(key, value === true ? "" : escaped(String(value)));
  }
}

function append(element, children) {
  for (const child of children.flat(Infinity)) {
    if (child === null || child === undefined || child === false) continue;
    element.append(...(child instanceof Node ? [child] : textNodes(child)));
  }
}

// Longer names are cut, where their row is not open.
const LONG = 200;

// A name, which a narrow column breaks between its words.
const nameNode = (name) =>
  h(
    name === "" ? "bdi.name.none" : name.length > LONG ? "bdi.name.long" : "bdi.name",
    name === "" && "(no name)",
    name
      .split(/(?<=[._:/$-])(?=\w)/)
      .map((part, index) => [index > 0 && document.createElement("wbr"), part]),
  );

// A text of several lines: errors, bytecode.
const lines = (name, text) =>
  h(name, text.split("\n").map((line, index) => (index ? [document.createTextNode("\n"), line] : line)));

// ----------------------------------------------------------------------------------- commands

const shellWord = (text) => (/^[\w.,=@%+:/-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`);
const shellFile = () => (data.file.search(UNPRINTABLE) >= 0 || data.file === "" ? "FILE" : shellWord(data.file));

// The command that calls a function, one part on a line, and a button that copies it.
function commandSection(parts) {
  const text = parts.join(" \\\n  ");
  const shown = lines("pre.command", text);
  const copy = h("button.small", { type: "button", onclick: copied }, "Copy");
  function copied() {
    navigator.clipboard.writeText(text).then(
      () => (copy.textContent = "Copied"),
      () => getSelection().selectAllChildren(shown),
    );
  }
  return h("section", h("h3", "Call with example values ", copy), shown);
}

// ------------------------------------------------------------------------------------ numbers

const grouped = (number) => number.toLocaleString("en-US");
const counted = (number, noun, plural = noun + "s") =>
  `${grouped(number)} ${number === 1 ? noun : plural}`;

function bytes(size) {
  const units = ["bytes", "KiB", "MiB", "GiB", "TiB"];
  let unit = 0;
  let value = size;
  while (value >= 1024 && unit < 4) {
    value /= 1024;
    unit += 1;
  }
  if (unit === 0) return counted(size, "byte");
  return `${value >= 100 ? Math.round(value) : value.toPrecision(3)} ${units[unit]}`;
}

// A bar for a share of the largest size, below a number, where it ends like the numbers.
function sizeBar(share, part) {
  const width = Math.max(0.5, 100 * share);
  return svg(
    "svg",
    { viewBox: "0 0 100 4", preserveAspectRatio: "none", class: "bar", "aria-hidden": "true" },
    svg("rect", { x: 100 - width, width, height: 4, class: `part-${part}` }),
  );
}

// ---------------------------------------------------------------------------------- the frame

let serial = 0;
const newId = () => `id-${(serial += 1)}`;

const badge = (text, kind, title) => h(`span.badge.${kind}`, { title: title || null }, text);

// A small table whose rows begin with their head. Its roles are named for the same reason as those
// of dataTable.
function pairTable(name, caption, rows) {
  return h(
    `table.${name}`,
    { role: "table" },
    h("caption.hidden", caption),
    h(
      "tbody",
      { role: "rowgroup" },
      rows.map(([head, ...cells]) =>
        h("tr", { role: "row" }, h("th", { scope: "row", role: "rowheader" }, head), cells.map((cell) => h("td", { role: "cell" }, cell))),
      ),
    ),
  );
}

// Pairs of a term and its description, as a list; empty ones are left out.
function facts(pairs) {
  const shown = pairs.filter(([, value]) => value !== null && value !== undefined && value !== "");
  return h("dl.facts", shown.map(([term, value]) => h("div", h("dt", term), h("dd", value))));
}

function themeButton() {
  const themes = ["auto", "light", "dark"];
  let theme = "auto";
  try {
    theme = localStorage.getItem("fnabi-theme") || "auto";
  } catch {
    // Pages from files may have no storage.
  }
  const label = h("span");
  const button = h("button.theme", { type: "button", onclick: next }, label);
  function next() {
    theme = themes[(themes.indexOf(theme) + 1) % 3];
    try {
      localStorage.setItem("fnabi-theme", theme);
    } catch {
      // The choice lasts as long as the page.
    }
    apply();
  }
  function apply() {
    if (theme === "auto") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = theme;
    label.textContent = `Theme: ${theme}`;
  }
  apply();
  return button;
}

// The head of the page: what it is about, its name, its facts.
function pageHeader(kind, name, about, pairs) {
  return h(
    "header.page",
    h("div.top", h("p.kind", kind), themeButton()),
    h("h1", name),
    about && h("p.about", about),
    facts(pairs),
    data.left_out.length > 0 &&
      h(
        "div.aside",
        { role: "note", "aria-label": "Left out of this page" },
        h("strong", "Left out of this page"),
        h("ul", data.left_out.map((each) => h("li", each))),
      ),
  );
}

const pageFooter = () =>
  h(
    "footer.page",
    h("p", `Made by fnabi ${data.version}. This page is complete: it loads nothing.`),
    h(
      "p.keys",
      [["/", "search"], ["\u2191 \u2193", "rows"], ["Enter", "open"], ["Esc", "close"]].map(([key, what]) =>
        h("span", h("kbd", key), " ", what),
      ),
    ),
  );

// Tabs, as the pattern of WAI-ARIA describes them; those without content are left out.
function tabs(label, panels) {
  const shown = panels.filter(Boolean);
  const list = h("div.tabs", { role: "tablist", "aria-label": label, onkeydown: move });
  const parts = shown.map(({ id, title, count, alarm, content }) => {
    const number = count !== undefined && h(`span.count${alarm ? ".alarm" : ""}`, grouped(count));
    const tab = h(
      "button",
      { type: "button", role: "tab", id: `tab-${id}`, "aria-controls": id, onclick: () => show(id) },
      title,
      number && [" ", number],
    );
    const panel = h("section.panel", { role: "tabpanel", id, "aria-labelledby": `tab-${id}` }, h("h2.hidden", title));
    list.append(tab);
    return { id, tab, panel, content };
  });

  function show(id) {
    for (const part of parts) {
      const chosen = part.id === id;
      part.tab.setAttribute("aria-selected", chosen);
      part.tab.tabIndex = chosen ? 0 : -1;
      part.panel.hidden = !chosen;
      if (chosen && part.content) {
        append(part.panel, [part.content()]); // made when it is first shown
        part.content = null;
      }
    }
  }

  function move(event) {
    const at = parts.findIndex((part) => part.tab === document.activeElement);
    const moves = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: parts.length - 1 };
    if (at < 0 || !(event.key in moves)) return;
    const to = parts[(moves[event.key] + parts.length) % parts.length];
    event.preventDefault();
    show(to.id);
    to.tab.focus();
  }

  show(shown[0].id);
  return { show, nodes: [list, parts.map((part) => part.panel)] };
}

// Show the page, with "/" as the key of the search in view.
function showPage(title, header, main) {
  document.title = escaped(title);
  const contents = h("main", { id: "main", tabindex: "-1" }, main);
  function skip(event) {
    event.preventDefault(); // the address is for functions, and one may be named main
    contents.focus();
  }
  document.body.append(
    h("a.skip", { href: "#main", onclick: skip }, "Skip to the contents"),
    header,
    contents,
    pageFooter(),
  );
  document.addEventListener("keydown", (event) => {
    if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target instanceof HTMLInputElement) return;
    const boxes = [...document.querySelectorAll("input[type=search]")];
    const box = boxes.find((each) => each.offsetParent !== null);
    if (!box) return;
    event.preventDefault();
    box.focus();
    box.select();
  });
  document.addEventListener("keydown", (event) => {
    if (!["ArrowDown", "ArrowUp"].includes(event.key) || event.ctrlKey || event.metaKey || event.altKey || event.shiftKey) return;
    if (!event.target.matches("html, body, main, [role=tab]")) return;
    const row = firstRow();
    if (!row) return;
    event.preventDefault();
    row.focus({ preventScroll: true });
    row.scrollIntoView({ block: "nearest" });
  });
}

// The first row in view that opens, from which the arrow keys go on.
function firstRow() {
  const rows = [...document.querySelectorAll(".toggle")].filter((each) => each.offsetParent !== null);
  const top = parseFloat(getComputedStyle(document.documentElement).getPropertyValue("--cover")) || 0;
  return rows.find((each) => each.getBoundingClientRect().top >= top) || rows[0];
}
