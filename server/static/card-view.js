// `$` and `_` for a card's display script: a small, bounded part of what authors know (spec/mvu.md §0.17). Joined with
// card-dom.js and card-worker.js into one Worker by card-runtime.js.
"use strict";

function createView({ body, listenFor, report }) {
  const handlers = new Map(); // element key -> type -> [{handler, selector}]
  const byKey = new Map();
  const listened = new Set();
  let ready = false;
  let readyHandlers = [];

  function whenReady(handler) {
    if (typeof handler !== "function") throw new TypeError("Expected a function.");
    if (ready) guarded(handler, [$], report, "ready");
    else readyHandlers.push(handler);
  }

  function find(what) {
    if (what instanceof View) return what.nodes;
    if (what === document_ || what === undefined) return [body];
    if (typeof what !== "string") throw new TypeError("Expected a selector or a function.");
    return select(body, what);
  }

  class View {
    nodes;
    constructor(nodes) { this.nodes = nodes; }
    get length() { return this.nodes.length; }
    ready(handler) { whenReady(handler); return this; }
    empty() { this.nodes.forEach(emptyNode); return this; }
    text(value) {
      if (value === undefined) return this.nodes.map(textOf).join("");
      const text = value === null ? "" : String(value);
      for (const node of this.nodes) { emptyNode(node); if (text !== "") appendChild(node, text); }
      return this;
    }
    html(value) {
      if (value === undefined) return this.nodes.length ? innerHtml(this.nodes[0]) : undefined;
      for (const node of this.nodes) { emptyNode(node); parseInto(node, String(value)); }
      return this;
    }
    val(value) {
      const first = this.nodes[0];
      if (value === undefined) {
        if (first?.tag === "textarea") return first.attrs.value ?? textOf(first);
        if (first?.tag === "select") return first.attrs.value ?? selectedOption(first);
        return first?.attrs.value;
      }
      for (const node of this.nodes) node.attrs.value = String(value);
      return this;
    }
    css(name, value) {
      if (typeof name === "string" && value === undefined) return this.nodes.length ? styleOf(this.nodes[0]).get(name) : undefined;
      const pairs = typeof name === "string" ? [[name, value]] : Object.entries(name);
      for (const node of this.nodes) for (const [key, item] of pairs) setStyle(node, key, item);
      return this;
    }
    show() { for (const node of this.nodes) { delete node.attrs.hidden; if (styleOf(node).get("display") === "none") setStyle(node, "display", ""); } return this; }
    hide() { for (const node of this.nodes) node.attrs.hidden = ""; return this; }
    addClass(names) { return this.#classes((set, name) => set.add(name), names); }
    removeClass(names) { return this.#classes((set, name) => set.delete(name), names); }
    on(types, selector, handler) {
      const callback = typeof selector === "function" ? selector : handler;
      if (typeof callback !== "function") throw new TypeError("Expected a function.");
      const filter = typeof selector === "string" ? selector : null;
      if (filter !== null) parseSelector(filter);
      for (const type of String(types).split(/\s+/).filter(Boolean)) {
        if (!listened.has(type)) { listened.add(type); listenFor(type); }
        for (const node of this.nodes) addHandler(node, type, callback, filter);
      }
      return this;
    }
    #classes(change, names) {
      for (const node of this.nodes) {
        const set = new Set(classesOf(node));
        for (const name of String(names).split(/\s+/).filter(Boolean)) change(set, name);
        if (set.size) node.attrs.class = [...set].join(" ");
        else delete node.attrs.class;
      }
      return this;
    }
  }

  function addHandler(node, type, handler, selector) {
    byKey.set(node.key, node);
    const types = handlers.get(node.key) ?? new Map();
    handlers.set(node.key, types);
    types.set(type, [...(types.get(type) ?? []), { handler, selector }]);
  }

  function selectedOption(node) {
    const options = [...descendants(node)].filter((child) => child.tag === "option");
    const chosen = options.find((option) => "selected" in option.attrs) ?? options[0];
    return chosen?.attrs.value ?? (chosen ? textOf(chosen) : undefined);
  }

  function nodeOf(key) {
    if (body.key === key) return body;
    for (const node of descendants(body)) if (node.key === key) return node;
    return null;
  }

  function dispatch({ key, type, value, checked }) {
    const target = nodeOf(key);
    if (!target) return;
    if (typeof value === "string") target.attrs.value = value;
    if (checked === true) target.attrs.checked = "";
    else if (checked === false) delete target.attrs.checked;
    const event = {
      type,
      target: Object.freeze({ id: target.attrs.id ?? "", value: target.attrs.value, checked: "checked" in target.attrs, dataset: datasetOf(target) }),
      preventDefault() {},
      stopPropagation() { event.stopped = true; },
      stopped: false,
    };
    for (let node = target; node && !event.stopped; node = node.parent) {
      for (const { handler, selector } of [...(handlers.get(node.key)?.get(type) ?? [])]) {
        if (selector === null || closest(target, node, selector)) guarded(handler, [event], report, type, new View([node]));
      }
    }
  }

  function closest(from, upTo, selector) {
    for (let node = from; node && node !== upTo; node = node.parent) if (matchesSelector(node, selector)) return node;
    return null;
  }

  function datasetOf(node) {
    const data = Object.create(null);
    for (const name of Object.keys(node.attrs)) {
      if (name.startsWith("data-")) data[name.slice(5).replace(/-([a-z])/g, (_, c) => c.toUpperCase())] = node.attrs[name];
    }
    return Object.freeze(data);
  }

  let document_ = null;
  function $(what) {
    if (typeof what === "function") { whenReady(what); return new View([body]); }
    return new View(find(what));
  }
  return {
    $,
    dispatch,
    setDocument(value) { document_ = value; },
    becomeReady() {
      ready = true;
      const list = readyHandlers;
      readyHandlers = [];
      for (const handler of list) guarded(handler, [$], report, "ready");
    },
  };
}

function getPath(value, path, fallback) {
  const parts = Array.isArray(path) ? path.map(String) : String(path).match(/[^.[\]]+/g) ?? [];
  let here = value;
  for (const part of parts) {
    const key = /^(["']).*\1$/.test(part) ? part.slice(1, -1) : part;
    if (here === null || here === undefined || !Object.hasOwn(Object(here), key)) return fallback;
    here = here[key];
  }
  return here === undefined ? fallback : here;
}

function isEmpty(value) {
  if (value === null || value === undefined) return true;
  if (typeof value === "string" || Array.isArray(value)) return value.length === 0;
  return typeof value !== "object" || Object.keys(value).length === 0;
}
