"use strict";
// What a function runs, as a graph: boxes of steps, in order, and lines for the buffers between them.

const STEPS_AT_ONCE = 1000;

const stepWord = (index) => data.words[index];

// A node of the data: its kind, its offset in the bytecode, its first texts and its details.
function stepOf([kind, offset, texts, details = {}]) {
  const ranges = (details.ranges || []).map((each) => each.map(stepWord));
  const [title, about] = texts.map(stepWord);
  return {
    kind: stepWord(kind),
    offset,
    title,
    about,
    ranges,
    buffers: ranges.map(([buffer, start]) => (start === "0" ? buffer : `${buffer}+${start}`)),
    executable: details.executable,
    constants: details.constants || 0,
    callee: details.function,
    place: details.place === undefined ? null : stepWord(details.place),
  };
}

function rangeNames({ kind, ranges }) {
  if (kind === "copy") return ["source", "target"];
  return ranges.map((_, index) => (kind === "fill" ? "target" : `binding ${index}`));
}

function stepFacts(step) {
  return [
    facts([
      ["Workgroups", step.about && h("bdi.code", step.about.slice(1, -1))],
      ["Constants", step.constants > 0 && counted(step.constants, "number") + " of 32 bits"],
      ["Source", step.place !== null && h("bdi.code", step.place)],
    ].filter(([, value]) => value)),
    step.ranges.length > 0 &&
      pairTable(
        "values",
        "Buffers",
        rangeNames(step).map((name, index) => {
          const [buffer, offset, length] = step.ranges[index];
          return [
            h("span.muted", name),
            h("span", buffer, offset !== "0" && ` from ${offset}`),
            h("span.muted", length === "?" ? "length unknown" : `${length} bytes`),
          ];
        }),
      ),
  ];
}

// The graph of a row of the table; `reach` shows an offset in its bytecode.
function graphSection(row, reach) {
  const { dims, nodes, beside, sections, edges } = row.steps;
  const steps = nodes.map(stepOf);
  const joined = new Set(beside);
  const unfolded = new Set();
  const opened = new Set(); // the steps whose details are open
  let capacity = STEPS_AT_ONCE;
  let left = 0; // of the capacity
  let tipped = null; // the step that the pointer is at
  let pointer = "";
  let boxes = []; // of the steps that are drawn
  let heads = []; // of the sections
  let shown = []; // the step that is drawn for each one: of a repeat that is folded, the first

  const picture = svg("svg", { class: "edges", "aria-hidden": "true" });
  const drawn = h("div.drawn");
  const tip = h("div.tip", { role: "tooltip", id: newId(), hidden: true, onpointerleave: hideTip });
  const graph = h("div.graph", { onkeydown: closeTip }, picture, drawn, tip);
  const more = h("button.more", { type: "button", onclick: () => render((capacity = Infinity)) }, "Show all steps");
  const status = h("p.status", { role: "status" });
  const box = steps.length > 8 && searchBox();

  // ------------------------------------------------------------------------------------- boxes

  function render() {
    left = capacity;
    boxes = [];
    heads = [];
    shown = steps.map(() => null);
    hideTip();
    const several = sections.length > 1;
    drawn.replaceChildren(
      ...sections.map(([number, inLoop, first, end, next, repeats], index) => {
        const inside = [];
        place(inside, first, end, repeats, 0);
        if (!several) return h("div", inside);
        heads[index] = h("h4", { tabindex: "-1" }, `Block ${number}`, inLoop === 1 && ", in a loop");
        return h("div.part", heads[index], inside, next.length > 0 && h("p.next", "goes to ", links(next)));
      }),
    );
    more.hidden = left > 0;
    search();
    draw();
  }

  const links = (next) =>
    next.map((to, index) => [index > 0 && " or ", linkButton(`block ${sections[to][0]}`, () => heads[to].focus())]);

  // Append the nodes from `first` to `end`, with what repeats among them, whose indexes are `shift` less.
  function place(inside, first, end, folds, shift) {
    let at = first;
    for (const [start, length, count, nested = []] of folds) {
      placeRows(inside, at, start + shift);
      const key = `${start + shift}:${length}`;
      const open = unfolded.has(key);
      const content = [];
      for (let time = 0; time < (open ? count : 1); time += 1) {
        const part = [];
        const from = start + shift + time * length;
        if (left > 0) place(part, from, from + length, nested, shift + time * length);
        content.push(open ? h("div.time", { role: "group", "aria-label": `${time + 1} of ${count}` }, h("p.turn", `${time + 1} of ${count}`), part) : part);
      }
      if (!open) for (let index = start + shift + length; index < start + shift + length * count; index += 1) shown[index] = shown[index - length];
      inside.push(repeatNode(key, length, count, open, content));
      at = start + shift + length * count;
    }
    placeRows(inside, at, end);
  }

  function repeatNode(key, length, count, open, content) {
    const id = newId();
    const button = h("button.small", { type: "button", "aria-expanded": String(open), "aria-controls": id, "data-key": key, onclick: fold }, open ? "Fold" : "Show each");
    function fold() {
      if (!unfolded.delete(key)) unfolded.add(key);
      render();
      graph.querySelector(`[data-key="${key}"]`).focus();
    }
    return h("div.repeat", { role: "group", "aria-label": `${count} times` }, h("p.times", h("strong", `${grouped(count)} times`), !open && h("span.muted", " the same steps; the buffers are those of the first"), button), h("div", { id }, content));
  }

  function placeRows(inside, first, end) {
    for (let at = first; at < end && left > 0; ) {
      if (steps[at].kind === "barrier") {
        inside.push(h("p.barrier", "barrier"));
        at += 1;
        continue;
      }
      const group = [];
      do {
        group.push(boxOf(at));
        shown[at] = at;
        left -= 1;
        at += 1;
      } while (at < end && joined.has(at));
      inside.push(h("div.row", group));
    }
  }

  function boxOf(index) {
    const step = steps[index];
    const details = h("div.about", { id: newId(), hidden: true });
    const button = h(
      "button.step",
      {
        type: "button",
        "aria-expanded": "false",
        "aria-controls": details.id,
        onclick: () => open(!opened.has(index)),
        onpointermove: (event) => hasMoved(event) && showTip(index),
        onpointerleave: (event) => tip.contains(event.relatedTarget) || hideTip(),
        onfocus: () => button.matches(":focus-visible") && showTip(index),
        onblur: hideTip,
      },
      nameNode(step.title),
      step.about && h("span.muted", step.about),
      step.buffers.length > 0 && h("span.buffers", step.buffers.join(", ")),
    );
    function open(wanted) {
      if (wanted) opened.add(index);
      else opened.delete(index);
      button.setAttribute("aria-expanded", wanted);
      details.hidden = !wanted;
      if (wanted && !details.firstChild) append(details, [stepFacts(step), stepLinks(index)]);
      hideTip();
      if (wanted) mark(index);
      draw();
    }
    boxes[index] = h(`div.node.${step.kind}`, button, details);
    if (opened.has(index)) open(true);
    return boxes[index];
  }

  // --------------------------------------------------------------------------- details and links

  function stepLinks(index) {
    const step = steps[index];
    const before = edges.filter(([source, target, ...buffers]) => target === index && buffers.length > 0);
    const owner = step.callee !== undefined && rows.find((each) => each.ordinal === step.callee);
    const executable = data.needs.executables[step.executable];
    return [
      before.length > 0 &&
        h("p", "Uses what came through ", joinedBy(before.map(([source, , ...buffers]) => [buffers.map(stepWord).join(", "), " of ", linkButton(steps[source].title, () => goTo(source))]))),
      h(
        "p.links",
        owner && linkButton(`Function ${owner.name}`, () => functions.openAnchor(owner.name)),
        executable && linkButton(`Executable ${executable.name || step.executable}`, () => showExecutable(step.executable)),
        step.offset !== null && row.code && linkButton(`Bytecode at ${hexOffset(step.offset)}`, () => reach(step.offset)),
      ),
    ];
  }

  const joinedBy = (parts) => parts.map((part, index) => [index > 0 && "; ", part]);

  function goTo(index) {
    reveal(index);
    const button = boxes[index].querySelector(".step");
    button.focus();
    button.scrollIntoView({ block: "center" });
  }

  // Unfold what hides a step.
  function reveal(index) {
    while (shown[index] !== index) {
      if (left <= 0) capacity = Infinity;
      else {
        const key = folded(sections.find(([, , , end]) => index < end)[5], 0, index);
        if (key === null) return;
        unfolded.add(key);
      }
      render();
    }
  }

  // The key of the outermost folded repeat that hides a step.
  function folded(folds, shift, index) {
    for (const [start, length, count, nested = []] of folds) {
      const from = start + shift;
      if (index < from || index >= from + length * count) continue;
      const time = Math.floor((index - from) / length);
      if (time > 0 && !unfolded.has(`${from}:${length}`)) return `${from}:${length}`;
      return folded(nested, shift + time * length, index);
    }
    return null;
  }

  // Whether a pointer has moved; boxes that are scrolled below it get events too.
  function hasMoved({ pointerType, screenX, screenY }) {
    const now = `${screenX} ${screenY}`;
    const moved = now !== pointer;
    pointer = now;
    return moved && pointerType !== "touch";
  }

  function showTip(index) {
    if (tipped === index) return;
    tipped = index;
    mark(index);
    if (opened.has(index)) return;
    const about = h("div", h("strong", nameNode(steps[index].title)), stepFacts(steps[index]));
    tip.replaceChildren(about);
    tip.hidden = false;
    const bounds = boxes[index].getBoundingClientRect();
    const frame = graph.getBoundingClientRect();
    const { offsetWidth: width, offsetHeight: height } = tip;
    const below = bounds.bottom + height < innerHeight || bounds.top < height;
    tip.style.left = `${Math.max(0, Math.min(bounds.left - frame.left, frame.width - width))}px`;
    tip.style.top = `${below ? bounds.bottom - frame.top : bounds.top - frame.top - height}px`;
    boxes[index].querySelector(".step").setAttribute("aria-describedby", tip.id);
  }

  function hideTip() {
    tipped = null;
    if (tip.hidden) return;
    tip.hidden = true;
    for (const each of graph.querySelectorAll("[aria-describedby]")) each.removeAttribute("aria-describedby");
    mark(null);
  }

  function closeTip(event) {
    if (event.key !== "Escape" || tip.hidden) return;
    event.stopPropagation();
    hideTip();
  }

  function mark(index) {
    for (const each of picture.querySelectorAll("path.edge"))
      each.classList.toggle("on", index !== null && (each.dataset.source === String(index) || each.dataset.target === String(index)));
  }

  // ------------------------------------------------------------------------------------ search

  function searchBox() {
    return h("input", {
      type: "search",
      placeholder: "Search steps",
      "aria-label": "Search steps",
      autocomplete: "off",
      spellcheck: "false",
      oninput: () => search(true),
      onkeydown: (event) => {
        if (event.key === "Escape" && box.value !== "") {
          event.preventDefault();
          event.stopPropagation();
          box.value = "";
          search();
        } else if (event.key === "Enter") {
          event.preventDefault();
          goOn(event.shiftKey ? -1 : 1);
        }
      },
    });
  }

  let matches = [];
  let current = -1;

  function search(typed = false) {
    if (!box) return;
    const words = box.value.toLowerCase().split(/\s+/).filter(Boolean);
    const has = ({ title, about, buffers }) => {
      const text = [title, about || "", buffers.join(", ")].join(" ").toLowerCase();
      return words.every((each) => text.includes(each));
    };
    matches = [];
    if (words.length > 0) steps.forEach((each, index) => each.kind !== "barrier" && has(each) && matches.push(index));
    const found = new Set(matches.map((index) => shown[index]));
    boxes.forEach((each, index) => each.classList.toggle("found", found.has(index)));
    const all = counted(steps.filter(({ kind }) => kind !== "barrier").length, "step");
    status.textContent = words.length > 0 ? `${grouped(matches.length)} of ${all}` : all;
    if (typed) {
      current = -1;
      if (matches.length > 0) goOn(1);
    }
  }

  // Scroll to the next match that has a box of its own; where none has, unfold the first.
  function goOn(by) {
    if (matches.length === 0) return;
    if (!matches.some((index) => shown[index] === index)) reveal(matches[0]);
    const own = matches.filter((index) => shown[index] === index);
    current = (current + by + own.length) % own.length;
    for (const each of drawn.querySelectorAll(".current")) each.classList.remove("current");
    const match = boxes[own[current]];
    match.classList.add("current");
    match.scrollIntoView({ block: "center" });
  }

  // ------------------------------------------------------------------------------------- edges

  const arrow = newId();

  function draw() {
    const frame = graph.getBoundingClientRect();
    if (frame.width === 0) return;
    const [inner, outer] = [drawn.getBoundingClientRect(), frame];
    const margins = [inner.left - outer.left, outer.right - inner.right];
    const at = (element) => {
      const { left: x, top: y, width, height } = element.getBoundingClientRect();
      return { x: x - frame.left + width / 2, top: y - frame.top, end: y - frame.top + height };
    };
    const places = boxes.map(at);
    const tops = [...new Set(places.map(({ top }) => top))].sort((one, other) => one - other);
    const lineOf = new Map(tops.map((top, index) => [top, index]));
    const wanted = new Map();
    for (const [source, target, ...buffers] of edges) {
      const [from, to] = [shown[source], shown[target]];
      if (from === null || to === null) continue;
      const key = `${from} ${to}`;
      wanted.set(key, { from, to, ordered: buffers.length === 0 && (!wanted.has(key) || wanted.get(key).ordered) });
    }
    const near = [];
    const trunks = [new Map(), new Map()]; // of longer edges, on both sides
    for (const each of wanted.values()) {
      const [one, other] = [places[each.from], places[each.to]];
      const back = other.top <= one.top;
      if (!back && lineOf.get(other.top) === lineOf.get(one.top) + 1) near.push(each);
      else {
        const trunk = back ? each.to : each.from;
        const found = trunks[Number(back)].get(trunk) || { low: Infinity, high: -Infinity, all: [] };
        trunks[Number(back)].set(trunk, { low: Math.min(found.low, one.end, other.top), high: Math.max(found.high, one.end, other.top), all: [...found.all, each] });
      }
    }
    sections.forEach(([, , , , next], index) => {
      for (const to of heads.length > 0 ? next : []) {
        const [one, other] = [index, to].map((each) => at(heads[each].parentElement));
        const back = to <= index;
        const trunk = `block ${back ? to : index}`;
        const found = trunks[Number(back)].get(trunk) || { low: Infinity, high: -Infinity, all: [] };
        trunks[Number(back)].set(trunk, { low: Math.min(found.low, one.end, other.top), high: Math.max(found.high, one.end, other.top), all: [...found.all, { one, other, ordered: true }] });
      }
    });
    const paths = near.map((each) => {
      const [one, other] = [places[each.from], places[each.to]];
      const middle = (one.end + other.top) / 2;
      return path(each, `M${one.x} ${one.end}C${one.x} ${middle} ${other.x} ${middle} ${other.x} ${other.top - 1}`);
    });
    trunks.forEach((found, side) => {
      const lanes = Math.max(1, Math.floor((margins[side] - 4) / 6));
      const ends = Array.from({ length: lanes }, () => []);
      const sorted = [...found.values()].sort((one, other) => one.high - one.low - (other.high - other.low));
      for (const { low, high, all } of sorted) {
        const free = ends.findIndex((taken) => taken.every(([from, to]) => to < low || from > high));
        const lane = free < 0 ? lanes - 1 : free;
        ends[lane].push([low, high]);
        const x = side === 0 ? margins[0] - 4 - 6 * lane : outer.width - margins[1] + 4 + 6 * lane;
        for (const each of all) {
          const one = each.one || places[each.from];
          const other = each.other || places[each.to];
          const [out, into] = [one.x, other.x].map((middle) => middle + (side === 0 ? -14 : 14));
          paths.push(path(each, `M${out} ${one.end}V${one.end + 5}H${x}V${other.top - 9}H${into}V${other.top - 1}`));
        }
      }
    });
    picture.setAttribute("width", outer.width);
    picture.setAttribute("height", outer.height);
    picture.replaceChildren(
      svg("defs", {}, svg("marker", { id: arrow, viewBox: "0 0 6 6", refX: 5, refY: 3, markerWidth: 6, markerHeight: 6, markerUnits: "userSpaceOnUse", orient: "auto" }, svg("path", { d: "M0 0L6 3L0 6Z", class: "arrowhead" }))),
      ...paths,
    );
  }

  const path = ({ from, to, ordered }, d) =>
    svg("path", { d, class: ordered ? "edge order" : "edge", "data-source": from, "data-target": to, "marker-end": `url(#${arrow})` });

  render();
  new ResizeObserver(draw).observe(graph);
  return h(
    "section",
    h("h3", "Steps"),
    dims.map((each) => h("p.code", stepWord(each))),
    box && h("div.find", h("div.search", box), status),
    graph,
    more,
  );
}

const hexOffset = (offset) => offset.toString(16).toUpperCase().padStart(4, "0");

const linkButton = (text, onclick) => h("button.link", { type: "button", onclick }, nameNode(text));

// Show an executable among the needs.
function showExecutable(index) {
  shownTabs.show("needs");
  const card = document.getElementById(`executable-${index}`);
  if (!card) return;
  card.focus();
  card.scrollIntoView({ block: "center" });
}
