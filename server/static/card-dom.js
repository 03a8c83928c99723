// The small document that a card's display script draws on inside the Worker (spec/mvu.md §0.17).
// card-runtime.js joins this file with card-worker.js into one Worker; it touches nothing but its own objects. The frame
// decides once more, with its own list, what of this tree becomes real elements.
"use strict";

const DOM_MAX_NODES = 5000;
const DOM_MAX_TEXT = 500_000;
const VOID_TAGS = new Set(["area", "base", "br", "col", "hr", "img", "input", "link", "meta", "source", "track", "wbr"]);
const RAW_TAGS = new Set(["script", "style", "textarea", "title", "noscript", "iframe", "template"]);
const DROPPED_TAGS = new Set(["script", "iframe", "object", "embed", "template", "noscript", "link", "meta", "base", "title"]);
const CLOSED_BY_SIBLING = { li: ["li"], dt: ["dt", "dd"], dd: ["dt", "dd"], tr: ["tr", "td", "th"], td: ["td", "th"], th: ["td", "th"], option: ["option"], p: ["p"] };
const ENTITIES = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'", nbsp: "\u00a0", middot: "·", times: "×", hellip: "…", mdash: "—", ndash: "–", bull: "•", larr: "←", rarr: "→" };

let nextKey = 1;

function makeElement(tag) {
  const key = nextKey;
  nextKey += 1;
  return { key, tag, attrs: Object.create(null), children: [], parent: null };
}

function appendChild(parent, child) {
  if (typeof child !== "string") child.parent = parent;
  parent.children.push(child);
}

function decodeEntities(text) {
  return text.replace(/&(#x[0-9a-f]{1,6}|#[0-9]{1,7}|[a-z]{2,8});/gi, (whole, name) => {
    if (name[0] !== "#") return ENTITIES[name.toLowerCase()] ?? whole;
    const code = name[1] === "x" || name[1] === "X" ? parseInt(name.slice(2), 16) : parseInt(name.slice(1), 10);
    return code > 0 && code <= 0x10ffff && !(code >= 0xd800 && code <= 0xdfff) ? String.fromCodePoint(code) : "\ufffd";
  });
}

/** Parses HTML into children of `parent`; never throws on broken markup, only on too much of it. */
function parseInto(parent, html) {
  if (html.length > DOM_MAX_TEXT) throw new RangeError(`Expected at most ${DOM_MAX_TEXT} characters of HTML, found ${html.length}.`);
  const stack = [parent];
  let nodes = 0;
  let at = 0;
  const top = () => stack[stack.length - 1];
  const count = () => {
    nodes += 1;
    if (nodes > DOM_MAX_NODES) throw new RangeError(`Expected at most ${DOM_MAX_NODES} elements and texts.`);
  };
  const addText = (text) => {
    if (text === "") return;
    count();
    appendChild(top(), decodeEntities(text));
  };
  while (at < html.length) {
    const open = html.indexOf("<", at);
    if (open < 0) { addText(html.slice(at)); break; }
    addText(html.slice(at, open));
    if (html.startsWith("<!--", open)) {
      const end = html.indexOf("-->", open + 4);
      at = end < 0 ? html.length : end + 3;
      continue;
    }
    const tag = readTag(html, open);
    if (!tag) {
      addText("<");
      at = open + 1;
      continue;
    }
    at = tag.end;
    if (tag.closing) {
      const index = stack.findLastIndex((node) => node.tag === tag.name);
      if (index > 0) stack.length = index;
      continue;
    }
    const closes = CLOSED_BY_SIBLING[tag.name];
    while (closes && stack.length > 1 && closes.includes(top().tag)) stack.pop();
    count();
    const element = makeElement(tag.name);
    Object.assign(element.attrs, tag.attrs);
    if (RAW_TAGS.has(tag.name)) {
      const end = html.toLowerCase().indexOf(`</${tag.name}`, at);
      const text = html.slice(at, end < 0 ? html.length : end);
      const close = end < 0 ? -1 : html.indexOf(">", end);
      at = close < 0 ? html.length : close + 1;
      if (text !== "") appendChild(element, tag.name === "textarea" ? decodeEntities(text) : text);
      if (!DROPPED_TAGS.has(tag.name)) appendChild(top(), element);
      continue;
    }
    if (!DROPPED_TAGS.has(tag.name)) appendChild(top(), element);
    if (!VOID_TAGS.has(tag.name) && !tag.selfClosing) {
      if (stack.length > 200) throw new RangeError("Expected at most 200 levels of HTML.");
      stack.push(element);
    }
  }
}

const TAG_NAME = /\/?[a-z][a-z0-9-]*/iy;
const ATTRIBUTE = /\s*([^\s=>"'/]+)(?:\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s>"']+)))?/y;

function readTag(html, open) {
  if (html[open + 1] === "!" || html[open + 1] === "?") {
    const end = html.indexOf(">", open);
    return { closing: true, name: "", end: end < 0 ? html.length : end + 1 };
  }
  TAG_NAME.lastIndex = open + 1;
  const match = TAG_NAME.exec(html);
  if (!match) return null;
  const closing = match[0][0] === "/";
  const name = match[0].slice(closing ? 1 : 0).toLowerCase();
  const attrs = Object.create(null);
  let at = TAG_NAME.lastIndex;
  for (;;) {
    while (at < html.length && /[\s/]/.test(html[at])) at += 1;
    if (at >= html.length || html[at] === ">") break;
    ATTRIBUTE.lastIndex = at;
    const found = ATTRIBUTE.exec(html);
    if (!found) { at += 1; continue; }
    at = ATTRIBUTE.lastIndex;
    const key = found[1].toLowerCase();
    if (!(key in attrs)) attrs[key] = decodeEntities(found[2] ?? found[3] ?? found[4] ?? "");
  }
  return { closing, name, attrs, end: Math.min(html.length, at + 1), selfClosing: html[at - 1] === "/" };
}

function escapeText(text) {
  return text.replace(/[&<>]/g, (c) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;" })[c]);
}

function innerHtml(node) {
  return node.children
    .map((child) => {
      if (typeof child === "string") return RAW_TAGS.has(node.tag) ? child : escapeText(child);
      const attrs = Object.keys(child.attrs)
        .map((name) => ` ${name}="${escapeText(String(child.attrs[name])).replace(/"/g, "&quot;")}"`)
        .join("");
      const start = `<${child.tag}${attrs}>`;
      return VOID_TAGS.has(child.tag) ? start : `${start}${innerHtml(child)}</${child.tag}>`;
    })
    .join("");
}

function textOf(node) {
  return node.children.map((child) => (typeof child === "string" ? child : textOf(child))).join("");
}

function emptyNode(node) {
  for (const child of node.children) if (typeof child !== "string") child.parent = null;
  node.children = [];
}

function* descendants(node) {
  for (const child of node.children) {
    if (typeof child === "string") continue;
    yield child;
    yield* descendants(child);
  }
}

const elementChildren = (node) => node.children.filter((child) => typeof child !== "string");
const classesOf = (node) => (node.attrs.class ?? "").split(/\s+/).filter(Boolean);

// --- selectors: tag, #id, .class, [name], [name="value"], :first-child, :last-child, :nth-child(n), ' ' and '>', lists

const SIMPLE = /#((?:\\.|[\p{L}\p{N}_-])+)|\.((?:\\.|[\p{L}\p{N}_-])+)|\[\s*([\w-]+)\s*(?:=\s*(?:"([^"]*)"|'([^']*)'|([^\]\s]+))\s*)?\]|:(first-child|last-child)|:nth-child\(\s*(\d+)\s*\)|(\*|[a-z][a-z0-9-]*)/giuy;

function parseSelector(text) {
  return text.split(",").map((part) => {
    const steps = [];
    let at = 0;
    let combinator = " ";
    const source = part.trim();
    if (source === "") throw new SyntaxError(`Expected a selector, found '${text}'.`);
    let tests = [];
    while (at < source.length) {
      const gap = /\s*>\s*|\s+/y;
      gap.lastIndex = at;
      const space = gap.exec(source);
      if (space && tests.length > 0) {
        steps.push({ combinator, tests });
        combinator = space[0].includes(">") ? ">" : " ";
        tests = [];
        at = gap.lastIndex;
        continue;
      }
      SIMPLE.lastIndex = at;
      const found = SIMPLE.exec(source);
      if (!found) throw new SyntaxError(`Expected a selector, found '${source.slice(at)}' in '${text}'.`);
      tests.push(simpleTest(found));
      at = SIMPLE.lastIndex;
    }
    if (tests.length === 0) throw new SyntaxError(`Expected a selector after '${combinator}' in '${text}'.`);
    steps.push({ combinator, tests });
    return steps;
  });
}

function simpleTest([, id, name, attribute, double, single, bare, edge, nth, tag]) {
  const plain = (value) => value.replace(/\\(.)/g, "$1");
  if (id !== undefined) return (node) => node.attrs.id === plain(id);
  if (name !== undefined) return (node) => classesOf(node).includes(plain(name));
  if (attribute !== undefined) {
    const value = double ?? single ?? bare;
    return (node) => attribute in node.attrs && (value === undefined || node.attrs[attribute] === value);
  }
  if (edge !== undefined) {
    return (node) => node.parent !== null && elementChildren(node.parent).at(edge === "first-child" ? 0 : -1) === node;
  }
  if (nth !== undefined) return (node) => node.parent !== null && elementChildren(node.parent)[Number(nth) - 1] === node;
  return (node) => tag === "*" || node.tag === tag.toLowerCase();
}

function matches(node, steps, last = steps.length - 1) {
  const { combinator, tests } = steps[last];
  if (!tests.every((test) => test(node))) return false;
  if (last === 0) return true;
  for (let above = node.parent; above; above = above.parent) {
    if (matches(above, steps, last - 1)) return true;
    if (combinator === ">") return false;
  }
  return false;
}

function select(root, text) {
  const lists = parseSelector(text);
  const found = [];
  if (lists.some((steps) => matches(root, steps))) found.push(root);
  for (const node of descendants(root)) if (lists.some((steps) => matches(node, steps))) found.push(node);
  return found;
}

function matchesSelector(node, text) {
  return parseSelector(text).some((steps) => matches(node, steps));
}

// --- style --------------------------------------------------------------------------------------------------------

function styleOf(node) {
  const style = new Map();
  for (const part of (node.attrs.style ?? "").split(";")) {
    const colon = part.indexOf(":");
    if (colon > 0) style.set(part.slice(0, colon).trim().toLowerCase(), part.slice(colon + 1).trim());
  }
  return style;
}

function setStyle(node, name, value) {
  const style = styleOf(node);
  const key = name.replace(/[A-Z]/g, (c) => `-${c.toLowerCase()}`);
  const text = value === null || value === undefined ? "" : String(value);
  if (text === "" || text.includes(";")) style.delete(key);
  else style.set(key, text);
  if (style.size === 0) delete node.attrs.style;
  else node.attrs.style = [...style].map(([k, v]) => `${k}: ${v}`).join("; ");
}

/** The tree as plain data for the frame: `[key, tag, attributes, children]`, texts as strings. */
function serialise(node, budget = { nodes: 0, text: 0 }) {
  const children = node.children.map((child) => {
    budget.nodes += 1;
    if (typeof child === "string") budget.text += child.length;
    if (budget.nodes > DOM_MAX_NODES || budget.text > DOM_MAX_TEXT) {
      throw new RangeError(`Expected at most ${DOM_MAX_NODES} nodes and ${DOM_MAX_TEXT} characters on display.`);
    }
    return typeof child === "string" ? child : serialise(child, budget);
  });
  return [node.key, node.tag, { ...node.attrs }, children];
}
