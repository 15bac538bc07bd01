"use strict";
// Tables to search, sort, filter and open by row, with the mouse and the keyboard.

const CHUNK = 100;

// So many rows are added by and by, while nothing else is to do; further ones where they are near.
const IDLE_ROWS = 5000;
const IDLE_CHUNK = 400; // with each, the browser lays the table out again

const whenIdle = window.requestIdleCallback || ((work) => setTimeout(work, 1));

// The bar of tools covers the top of the window. What is scrolled into view stays below it, whatever
// its height: it has several lines in a narrow window, and none where its tab is hidden.
function cover() {
  const shown = [...document.querySelectorAll(".tools, .tools > .search")];
  const heights = shown.filter((each) => getComputedStyle(each).position === "sticky").map((each) => each.offsetHeight);
  const height = Math.max(0, ...heights);
  document.documentElement.style.scrollPaddingTop = `${height + 8}px`;
  document.documentElement.style.setProperty("--cover", `${height}px`); // for what is sticky below it
}
const covering = new ResizeObserver(cover);

// A table of `rows`. Its elements have their roles by name, since a narrow screen shows them as
// blocks, which takes the roles away.
//
// columns   { title, cell(row), key(row), numeric, wide }; `key` makes a column sortable, the
//           first column is the head of its row, a wide one has a line of its own on a phone
// text      (row) => the text that the search looks into; without it there is no search
// types     (row) => the text of its types, for types and shapes in the search
// signatures (row) => its signatures, for patterns in the search; `untold` for those from bytecode
// filters   { title, test(row), alarm }, as buttons that limit the rows; `hides` for one whose
//           rows are hidden unless it is pressed
// detail    (row) => the content that opens under a row
// anchor    (row) => the text in the address of an open row
function dataTable({ label, noun, rows, columns, text, types, signatures, untold, filters = [], detail, anchor }) {
  const entries = rows.map((row, index) => ({ row, index, text: null, body: null }));
  let order = null; // the column and the direction of sorting
  let found = entries;
  let wanted = searchFor("", false); // what the search asks for
  let rendered = 0;

  const table = h("table", { class: detail ? "data opens" : "data", role: "table" });
  const caption = h("caption.hidden", label);
  const head = h("tr", { role: "row" });
  const status = h("p.status", { role: "status" });
  const more = h("p.more");
  const empty = h("p.empty");
  table.append(caption, h("thead", { role: "rowgroup" }, head));

  const heads = columns.map((column) => {
    const title = column.key
      ? h("button", { type: "button", onclick: () => sortBy(column) }, column.title, h("span.order"))
      : column.title;
    const cell = h("th", { scope: "col", role: "columnheader", class: column.numeric ? "numeric" : null }, title);
    if (column.key) cell.setAttribute("aria-sort", "none");
    head.append(cell);
    return cell;
  });

  const hidden = filters.filter((filter) => filter.hides);
  const pressed = new Set();
  const buttons = filters.map((filter) => {
    const count = rows.filter(filter.test).length;
    const button = h(
      `button.filter${filter.alarm ? ".alarm" : ""}`,
      { type: "button", "aria-pressed": "false", onclick: press },
      filter.title,
      " ",
      h("span.count", grouped(count)),
    );
    function press() {
      if (!pressed.delete(filter)) pressed.add(filter);
      button.setAttribute("aria-pressed", pressed.has(filter));
      update();
    }
    return count > 0 && button;
  });

  const hint = h("p.hint", { id: newId() });
  const usual = types && `Words, f32, f32[64x10], ?\u00d764, /a regular expression/${signatures ? ", or a pattern: f32[?,64] -> *" : ""}`;
  const box = text && searchBox();

  function searchBox() {
    return h("input", {
      type: "search",
      "aria-describedby": hint.id,
      placeholder: `Search ${noun[1]}`,
      "aria-label": `Search ${noun[1]}`,
      autocomplete: "off",
      spellcheck: "false",
      oninput: update,
      onkeydown: (event) => {
        if (event.key === "Escape") {
          event.preventDefault();
          if (box.value === "") box.blur();
          box.value = "";
          update();
        } else if (event.key === "ArrowDown" || event.key === "Enter") {
          const first = table.querySelector(".toggle");
          if (!first) return;
          event.preventDefault();
          first.focus();
          if (event.key === "Enter" && first.getAttribute("aria-expanded") === "false") first.click();
        }
      },
    });
  }

  function sortBy(column) {
    const first = Boolean(column.numeric); // the largest number first
    if (!order || order.column !== column) order = { column, down: first };
    else if (order.down === first) order = { column, down: !first };
    else order = null;
    for (const [index, each] of columns.entries())
      if (each.key)
        heads[index].setAttribute(
          "aria-sort",
          order && order.column === each ? (order.down ? "descending" : "ascending") : "none",
        );
    update();
  }

  function compare(one, other) {
    const a = order.column.key(one.row);
    const b = order.column.key(other.row);
    const missing = (a === null) - (b === null); // always last
    const less = typeof a === "string" ? a.localeCompare(b, "en", { numeric: true }) : a - b;
    return missing || (order.down ? -less : less) || one.index - other.index;
  }

  function matches(entry) {
    if (entry.text === null) {
      const { row } = entry;
      entry.types = types ? types(row) : "";
      entry.lines = `${text(row)}\n${entry.types}`;
      entry.text = text(row).toLowerCase();
      entry.signatures = signatures ? signatures(row) : [];
      entry.untold = Boolean(untold && untold(row));
    }
    return wanted.test(entry);
  }

  function update() {
    wanted = searchFor(box ? box.value : "", Boolean(signatures));
    hint.textContent = wanted.problem || usual || "";
    hint.hidden = hint.textContent === "";
    hint.classList.toggle("error", wanted.problem !== null);
    const chosen = [...pressed].filter((filter) => !filter.hides);
    const off = hidden.filter((filter) => !pressed.has(filter));
    const shownAtAll = entries.filter(({ row }) => !off.some((filter) => filter.test(row)));
    found = shownAtAll.filter(
      (entry) =>
        (chosen.length === 0 || chosen.some((filter) => filter.test(entry.row))) &&
        (!box || box.value.trim() === "" || matches(entry)),
    );
    if (order) found = [...found].sort(compare);
    for (const body of [...table.tBodies]) body.remove();
    if (typeof Highlight !== "undefined") CSS.highlights.delete("search");
    rendered = 0;
    render(CHUNK);
    renderLater(found);
    const all = counted(shownAtAll.length, ...noun);
    status.textContent = found.length === shownAtAll.length ? all : `${grouped(found.length)} of ${all}`;
  }

  function render(count) {
    const bodies = found.slice(rendered, rendered + count).map(bodyOf);
    table.append(...bodies);
    rendered += bodies.length;
    const left = found.length - rendered;
    more.hidden = left === 0;
    table.hidden = found.length === 0;
    empty.hidden = found.length > 0;
    empty.textContent = entries.length === 0 ? `No ${noun[1]}.` : `No ${noun[0]} matches. Esc in the search clears it.`;
    more.textContent = `${grouped(left)} more below`;
    highlight(bodies);
  }

  // The browser's own search finds what is in the page, and so rows do not wait for a click.
  function renderLater(rows) {
    whenIdle(() => {
      if (rows !== found || rendered >= Math.min(found.length, IDLE_ROWS)) return;
      render(IDLE_CHUNK);
      renderLater(rows);
    });
  }
  const nearing = new IntersectionObserver(
    ([{ isIntersecting }]) => {
      if (!isIntersecting || rendered >= found.length) return;
      render(CHUNK);
      nearing.unobserve(more); // to be told again, if it is still near
      nearing.observe(more);
    },
    { rootMargin: "1200px" },
  );
  nearing.observe(more);

  function bodyOf(entry) {
    if (entry.body) return entry.body;
    const { row } = entry;
    const cells = columns.map((column, index) => {
      const content = column.cell(row);
      const attributes = { class: column.numeric ? "numeric" : column.wide ? "wide" : null, "data-title": column.title };
      if (index > 0) return h("td", { role: "cell", ...attributes }, content);
      return h("th", { scope: "row", role: "rowheader", ...attributes }, detail ? toggleOf(entry, content) : content);
    });
    const onclick = detail && ((event) => openByClick(event, entry));
    entry.body = h("tbody", { role: "rowgroup", onclick }, h("tr", { role: "row" }, cells));
    return entry.body;
  }

  function toggleOf(entry, content) {
    entry.toggle = h(
      "button.toggle",
      { type: "button", "aria-expanded": "false", onclick: () => toggle(entry), onkeydown: move },
      content,
    );
    return entry.toggle;
  }

  function openByClick(event, entry) {
    if (event.target.closest("button, a, input, .detail") || String(getSelection()) !== "") return;
    toggle(entry);
  }

  function toggle(entry, open = entry.toggle.getAttribute("aria-expanded") === "false") {
    entry.toggle.setAttribute("aria-expanded", open);
    entry.body.classList.toggle("open", open);
    if (open && !entry.opened) {
      const name = entry.toggle.textContent;
      const id = newId();
      entry.toggle.setAttribute("aria-controls", id);
      entry.opened = h(
        "tr.detail",
        { id, role: "row", onkeydown: (event) => closeByKey(event, entry) },
        h("td", { colspan: columns.length, role: "cell" }, h("div.detail", { role: "group", "aria-label": name }, detail(entry.row))),
      );
      entry.body.append(entry.opened);
    }
    if (entry.opened) entry.opened.hidden = !open;
    if (anchor) remember(open ? anchor(entry.row) : "");
  }

  function closeByKey(event, entry) {
    if (event.key !== "Escape") return;
    event.preventDefault();
    toggle(entry, false);
    entry.toggle.focus();
  }

  function move(event) {
    const all = [...table.querySelectorAll(".toggle")];
    const at = all.indexOf(event.currentTarget);
    if (event.key === "Escape") {
      event.preventDefault();
      if (event.currentTarget.getAttribute("aria-expanded") === "true") event.currentTarget.click();
      else if (box) box.focus();
      return;
    }
    const moves = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: all.length - 1 };
    if (!(event.key in moves) || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    if (event.key === "ArrowUp" && at === 0 && box) {
      box.focus();
      return;
    }
    if (moves[event.key] >= all.length && rendered < found.length) {
      render(CHUNK);
      table.querySelectorAll(".toggle")[at + 1].focus();
      return;
    }
    const next = all[Math.max(0, Math.min(all.length - 1, moves[event.key]))];
    next.focus();
    next.scrollIntoView({ block: "nearest" });
  }

  // Open and focus the row with an anchor, if there is one; `show` is called before.
  function openAnchor(name, show) {
    const entry = entries.find((each) => anchor(each.row) === name);
    if (!entry) return;
    if (show) show();
    if (!found.includes(entry)) {
      for (const filter of hidden) pressed.add(filter);
      for (const button of buttons) if (button) button.setAttribute("aria-pressed", "true");
      update();
    }
    while (!entry.body || !entry.body.isConnected) render(CHUNK);
    toggle(entry, true);
    cover(); // the observer is called later
    entry.toggle.focus();
    entry.body.scrollIntoView({ block: "start" });
  }

  // Mark the words in the heads of rows, where the browser can.
  function highlight(bodies) {
    if (wanted.words.length === 0 || typeof Highlight === "undefined") return;
    const marks = CSS.highlights.get("search") || new Highlight();
    for (const body of bodies)
      for (const name of body.querySelectorAll("th .name"))
        for (const word of wanted.words) {
          const range = rangeOf(name, word);
          if (range) marks.add(range);
        }
    CSS.highlights.set("search", marks);
  }

  update();
  addEventListener("beforeprint", () => table.offsetParent && render(found.length));
  const shownButtons = buttons.filter(Boolean);
  const tools = (box || shownButtons.length > 0) && h(
    "div.tools",
    box && h("div.search", { role: "search" }, h("div.field", box, h("kbd", { "aria-hidden": "true" }, "/")), hint),
    shownButtons.length > 0 && h("div.filters", { role: "group", "aria-label": "Filters" }, shownButtons),
    status,
  );
  if (tools) for (const each of [tools, ...tools.children]) covering.observe(each);
  return { nodes: [tools || status, table, empty, more], openAnchor };
}

// The first place of a word in an element, whose text may be in several nodes.
function rangeOf(element, word) {
  const whole = element.textContent;
  const start = whole.toLowerCase().indexOf(word);
  if (start < 0 || whole.toLowerCase().length !== whole.length) return null;
  const range = new Range();
  const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
  let at = 0;
  while (walker.nextNode()) {
    const node = walker.currentNode;
    const end = at + node.data.length;
    if (at <= start && start < end) range.setStart(node, start - at);
    if (start + word.length <= end) {
      range.setEnd(node, start + word.length - at);
      return range;
    }
    at = end;
  }
  return null;
}

// Keep the open row in the address, so that a link shows it.
function remember(name) {
  try {
    const hash = name === "" ? "" : `#${encodeURIComponent(name)}`; // not of a name that is no text
    history.replaceState(null, "", hash || location.pathname + location.search);
  } catch {
    // Some browsers refuse this for pages from files. Links then open the page itself.
  }
}

function remembered() {
  try {
    return decodeURIComponent(location.hash.slice(1));
  } catch {
    return "";
  }
}

// Open the row that the address names, now and where a link or an edit changes it.
function followAddress(table, show) {
  const open = () => remembered() !== "" && table.openAnchor(remembered(), show);
  open();
  addEventListener("hashchange", open);
}
