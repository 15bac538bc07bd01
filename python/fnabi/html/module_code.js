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

function codeOf(row) {
  if (!row.code) return false;
  const [offset, length, blocks, numbers, references] = row.code;
  const about = `${counted(length, "byte")} at ${grouped(offset)}, ${counted(blocks, "block")}, ${counted(numbers, "register")} of 32 bits, ${counted(references, "reference register")}`;
  const id = newId();
  const place = h("div", { id });
  const button = h("button.small", { type: "button", "aria-expanded": "false", "aria-controls": id, onclick: show }, "Show");
  async function show() {
    const open = button.getAttribute("aria-expanded") === "false";
    button.setAttribute("aria-expanded", open);
    button.textContent = open ? "Hide" : "Show";
    place.hidden = !open;
    if (open && !place.firstChild) {
      try {
        place.append(await listing(row.ordinal));
      } catch (problem) {
        place.append(h("p.error", `The bytecode cannot be shown: ${problem.message}.`));
      }
    }
  }
  return h("section", h("h3", "Bytecode ", button), h("p.muted", about), place);
}

const LISTED = 2000;

async function listing(ordinal) {
  const firsts = data.code;
  const index = firsts.findLastIndex((first) => first <= ordinal);
  if (index < 0 || index >= firsts.length - 1)
    return h("p.aside", "This page has no capacity for the bytecode of this function.");
  const all = (await block(index))[ordinal - firsts[index]].split("\n");
  const pre = h("pre.listing", { tabindex: "0", "aria-label": "Bytecode" });
  const add = () => append(pre, all.splice(0, LISTED).map((line) => [lineNodes(line), document.createTextNode("\n")]));
  add();
  if (all.length === 0) return pre;
  const more = h("button.more", { type: "button", onclick: next }, "Show more lines");
  function next() {
    add();
    more.hidden = all.length === 0;
  }
  return h("div", pre, more);
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
