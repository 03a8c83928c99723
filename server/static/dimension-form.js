// A form made from a dimension's schema. Every text is inserted as text; deep values are edited as JSON.
import { blank, check, typesOf } from "./dimension-check.js";
import { el } from "./page.js";

const DEEPEST = 3;
let fields = 0;

const labelOf = (schema, name) => (typeof schema.title === "string" && schema.title) || name;
const enumText = (schema, member) => schema["x-enumLabels"]?.[member === null ? "null" : String(member)] ?? (typeof member === "string" ? member : JSON.stringify(member));

/** A control for `value` under `schema`: `{node, read, path}`; `read` gives the value or throws. */
function control(schema, value, name, depth) {
  const names = typesOf(schema);
  if (schema.enum) return choice(schema, value, name);
  if (names.length === 1 && names[0] === "boolean") return toggle(schema, value, name);
  if (names.length === 1 && ["integer", "number"].includes(names[0])) return figure(schema, value, name);
  if (names.length === 1 && names[0] === "string") return text(schema, value, name);
  if (depth < DEEPEST && names.length === 1 && names[0] === "object" && schema.properties) return record(schema, value, name, depth);
  if (depth < DEEPEST && names.length === 1 && names[0] === "object" && typeof schema.additionalProperties === "object") return record(schema, value, name, depth);
  if (depth < DEEPEST && names.length === 1 && names[0] === "array" && schema.items) return rows(schema, value, name, depth);
  return json(schema, value, name);
}

function labelled(schema, name, input) {
  input.id = `dimension-field-${++fields}`;
  const problem = el("p", { class: "problem", id: `${input.id}-problem`, hidden: true });
  input.setAttribute("aria-describedby", problem.id);
  const notes = [];
  if (schema.description) notes.push(el("p", { class: "hint" }, schema.description));
  if (schema["x-derive"]) notes.push(el("p", { class: "hint" }, "Computed from the world clock: an edit is overwritten when the clock moves."));
  const node = el("div", { class: "field" }, el("label", { for: input.id }, labelOf(schema, name)), input, ...notes, problem);
  const show = (message) => {
    problem.textContent = message ?? "";
    problem.hidden = !message;
    if (message) input.setAttribute("aria-invalid", "true");
    else input.removeAttribute("aria-invalid");
  };
  return { node, show, children: [] };
}

function choice(schema, value, name) {
  const select = el("select", {}, ...schema.enum.map((member, index) => el("option", { value: index }, enumText(schema, member))));
  const found = schema.enum.findIndex((member) => JSON.stringify(member) === JSON.stringify(value));
  select.selectedIndex = Math.max(found, 0);
  return { ...labelled(schema, name, select), read: () => schema.enum[select.selectedIndex] };
}

function toggle(schema, value, name) {
  const input = el("input", { type: "checkbox", checked: value === true });
  input.checked = value === true;
  return { ...labelled(schema, name, input), read: () => input.checked };
}

function figure(schema, value, name) {
  const step = schema.type === "integer" ? 1 : "any";
  const input = el("input", { type: "number", step, min: schema.minimum, max: schema.maximum });
  input.value = value ?? "";
  return { ...labelled(schema, name, input), read: () => (input.value === "" ? undefined : Number(input.value)) };
}

function text(schema, value, name) {
  const long = (schema.maxLength ?? 200) > 80 || String(value ?? "").length > 60;
  const input = long ? el("textarea", { rows: 3 }) : el("input", { type: "text" });
  input.value = value ?? "";
  return { ...labelled(schema, name, input), read: () => input.value };
}

function json(schema, value, name) {
  const input = el("textarea", { spellcheck: "false", rows: 6 });
  input.value = JSON.stringify(value ?? null, null, 2);
  const made = labelled(schema, `${labelOf(schema, name)} (JSON)`, input);
  return { ...made, read: () => JSON.parse(input.value) };
}

/** Named parts: the declared properties, and further ones where the schema allows them. */
function record(schema, value, name, depth) {
  const entries = new Map();
  const holder = el("fieldset", {}, el("legend", {}, labelOf(schema, name)));
  const list = el("div", { class: "stack" });
  const others = schema.additionalProperties;
  const add = (key, part, child, removable) => {
    const made = control(child, part, key, depth + 1);
    const entry = removable ? el("div", { class: "entry" }, made.node, remove(() => { entries.delete(key); entry.remove(); }, key)) : made.node;
    entries.set(key, made);
    list.append(entry);
  };
  for (const [key, child] of Object.entries(schema.properties ?? {})) {
    const present = Object.hasOwn(value ?? {}, key);
    if (present || (schema.required ?? []).includes(key)) add(key, present ? value[key] : blank(child), child, present && !(schema.required ?? []).includes(key));
  }
  for (const [key, part] of Object.entries(value ?? {})) {
    if (!Object.hasOwn(schema.properties ?? {}, key)) add(key, part, typeof others === "object" ? others : {}, true);
  }
  holder.append(list);
  const missing = () => Object.keys(schema.properties ?? {}).filter((key) => !entries.has(key));
  if (missing().length || typeof others === "object") {
    const key = el("input", { type: "text", "aria-label": `New entry of ${labelOf(schema, name)}`, placeholder: missing()[0] ?? "name" });
    const more = el("button", { type: "button", class: "small", onclick: () => {
      const chosen = key.value.trim() || missing()[0];
      const child = Object.hasOwn(schema.properties ?? {}, chosen ?? "") ? schema.properties[chosen] : others;
      if (!chosen || entries.has(chosen) || typeof child !== "object") return;
      add(chosen, blank(child), child, true);
      key.value = "";
    } }, "Add");
    holder.append(el("div", { class: "row" }, el("span", { class: "grow" }, key), more));
  }
  const read = () => Object.fromEntries([...entries].map(([key, made]) => [key, made.read()]).filter(([, part]) => part !== undefined));
  return { node: holder, read, show: () => {}, child: (key) => entries.get(key) };
}

function rows(schema, value, name, depth) {
  const made = [];
  const holder = el("fieldset", {}, el("legend", {}, labelOf(schema, name)));
  const list = el("div", { class: "stack" });
  const add = (part) => {
    const row = control(schema.items, part, String(made.length + 1), depth + 1);
    const entry = el("div", { class: "entry" }, row.node, remove(() => {
      if (made.length <= (schema.minItems ?? 0)) return;
      made.splice(made.indexOf(row), 1);
      entry.remove();
    }, labelOf(schema, name)));
    made.push(row);
    list.append(entry);
  };
  for (const part of Array.isArray(value) ? value : []) add(part);
  const more = el("button", { type: "button", class: "small", onclick: () => {
    if (made.length < (schema.maxItems ?? Infinity)) add(blank(schema.items));
  } }, "Add a row");
  holder.append(list, more);
  return { node: holder, read: () => made.map((row) => row.read()), show: () => {}, child: (index) => made[index] };
}

const remove = (action, what) => el("button", { type: "button", class: "small", onclick: action, "aria-label": `Remove ${what}` }, "Remove");

/** An editor: `node`, and `read()` which gives `{value}` or shows what is wrong and gives `{issues}`. */
export function createForm(schema, value, name) {
  const holder = el("div", { class: "stack" });
  let made;
  const build = (make) => {
    made = make();
    holder.replaceChildren(made.node);
  };
  build(() => control(schema, value, name, 0));
  const current = () => {
    try {
      return made.read();
    } catch {
      return undefined;
    }
  };
  const locate = (path) => path.reduce((found, key) => found?.child?.(key) ?? found, made);
  return {
    node: holder,
    asJson: () => build(() => json(schema, current() ?? value, name)),
    asForm: () => build(() => control(schema, current() ?? value, name, 0)),
    read() {
      for (const problem of holder.querySelectorAll(".problem")) problem.hidden = true;
      let found;
      try {
        found = made.read();
      } catch (error) {
        made.show(`This is no JSON: ${error.message}`);
        return { issues: [{ path: [], message: error.message }] };
      }
      const issues = found === undefined ? [{ path: [], message: "is empty" }] : check(schema, found);
      for (const issue of issues) locate(issue.path).show(issue.message);
      return issues.length ? { issues } : { value: found };
    },
  };
}
