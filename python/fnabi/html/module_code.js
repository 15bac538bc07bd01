"use strict";
// The bytecode of a function, from the blocks of code.py.

const opened = new Map();

// The texts of the functions of a block.
function block(index) {
  if (!opened.has(index)) opened.set(index, unpacked(document.getElementById(`block-${index}`).textContent));
  return opened.get(index);
}

async function unpacked(text) {
  if (typeof DecompressionStream === "undefined") throw new Error("this browser cannot decompress it");
  const packed = Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
  return JSON.parse(await new Response(stream).text());
}

// The section of a function's bytecode, and a function that shows an offset in it.
function codeOf(row) {
  if (!row.code) return { node: false };
  const [offset, length, blocks, numbers, references] = row.code;
  const about = `${counted(length, "byte")} at ${grouped(offset)}, ${counted(blocks, "block")}, ${counted(numbers, "register")} of 32 bits, ${counted(references, "reference register")}`;
  const id = newId();
  const place = h("div", { id });
  const button = h("button.small", { type: "button", "aria-expanded": "false", "aria-controls": id, onclick: () => show() }, "Show");
  let lineAt = () => null;
  async function show(open = button.getAttribute("aria-expanded") === "false") {
    button.setAttribute("aria-expanded", open);
    button.textContent = open ? "Hide" : "Show";
    place.hidden = !open;
    if (open && !place.firstChild) {
      try {
        const found = await listing(row.ordinal);
        place.replaceChildren(found.node);
        lineAt = found.lineAt;
      } catch (problem) {
        place.append(h("p.error", `The bytecode cannot be shown: ${problem.message}.`));
      }
    }
  }
  async function reach(start) {
    await show(true);
    const line = lineAt(start);
    if (!line) return;
    line.focus();
    line.scrollIntoView({ block: "center" });
  }
  return { node: h("section", h("h3", "Bytecode ", button), h("p.muted", about), place), reach };
}

const LISTED = 2000;

// The bytecode as an element, and a function that returns the line of an offset.
async function listing(ordinal) {
  const firsts = data.code;
  const index = firsts.findLastIndex((first) => first <= ordinal);
  if (index < 0 || index >= firsts.length - 1)
    return { node: h("p.aside", "This page has no capacity for the bytecode of this function."), lineAt: () => null };
  const all = (await block(index))[ordinal - firsts[index]].split("\n");
  const pre = h("pre.listing", { tabindex: "0", "aria-label": "Bytecode" });
  const more = h("button.more", { type: "button", onclick: add }, "Show more lines");
  let added = 0;
  function add() {
    append(pre, all.slice(added, added + LISTED).map((line) => [h("span", { tabindex: "-1" }, lineNodes(line)), document.createTextNode("\n")]));
    added += LISTED;
    more.hidden = added >= all.length;
  }
  function lineAt(offset) {
    const at = all.findIndex((line) => /^ +[0-9A-F]/.test(line) && parseInt(line, 16) === offset);
    while (at >= added) add();
    return at < 0 ? null : pre.children[at];
  }
  add();
  return { node: h("div", pre, more), lineAt };
}

function lineNodes(line) {
  const match = /^( +[0-9A-F]+)(  )(?:(.*?) = )?(\S+)(.*?)( {2}\/\/ .*)?$/.exec(line);
  if (!match) return line.startsWith("  ") ? line : h("span.label", line);
  const [, offset, space, results, opcode, operands, comment] = match;
  return [
    h("span.muted", offset),
    space,
    results && `${results} = `,
    h("span.opcode", opcode),
    operands,
    comment && h("span.muted", comment),
  ];
}
