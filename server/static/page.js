// What the pages share: small elements built from text only, calls with readable failures, the table of two states.
import { createMvuClient, MvuError } from "./bridge.js";

export const client = createMvuClient();
export const byId = (id) => document.getElementById(id);
export const operationId = () => crypto.randomUUID();

/** An element; children are elements or texts, never markup. */
export function el(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (value === undefined || value === null || value === false) continue;
    if (name === "class") element.className = value;
    else if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

/** A failure as a person reads it. */
export function wordsOf(error) {
  if (!(error instanceof MvuError)) return String(error?.message ?? error);
  if (["SESSION_COOKIE_REQUIRED", "HOST_UNAUTHORIZED"].includes(error.code)) {
    return "This page needs the link that the server printed when it started: open that link once in this browser, then come back.";
  }
  const { line, column, nearest } = error.details ?? {};
  const place = Number.isInteger(line) ? ` (line ${line}${Number.isInteger(column) ? `, column ${column}` : ""})` : "";
  const issues = Array.isArray(error.details?.issues)
    ? error.details.issues.slice(0, 10).map((issue) => `\n· ${[issue.path].flat().join(".")}: ${issue.message ?? issue.code}`).join("")
    : "";
  return `${error.message}${place}${nearest ? `\nNearest supported form: ${nearest}` : ""}${issues}\n${error.code}`;
}

export function showBanner(error) {
  const banner = byId("banner");
  banner.textContent = error === null ? "" : wordsOf(error);
  banner.hidden = error === null;
}

/** Uploads a card file; the body is the file itself, whatever it is. */
export async function uploadCard(file) {
  const type = file.name.toLowerCase().endsWith(".png") ? "image/png" : "application/json";
  let response;
  try {
    response = await fetch("/api/v1/host/cards", { method: "POST", headers: { "Content-Type": type }, body: file });
  } catch (cause) {
    throw new MvuError("MVU_READ_FAILED", "The server could not be reached.", { cause });
  }
  const body = await response.json().catch(() => null);
  if (response.ok) return body;
  throw new MvuError(body?.code ?? `HTTP_${response.status}`, body?.error ?? `The server answered ${response.status}.`, {
    status: response.status,
    details: body?.details,
  });
}

export function fillCards(select, cards) {
  for (const option of [...select.options]) if (option.value !== "") option.remove();
  for (const card of cards) select.append(el("option", { value: card.characterId }, card.name));
}

const isTree = (value) => typeof value === "object" && value !== null;
const show = (value) => (value === undefined ? "" : JSON.stringify(value));
const isLeaf = (value) => !isTree(value) || Object.keys(value).length === 0;

/** Rows of two states side by side: `{depth, name, path, before, after, change}`, in the order of the later state. */
export function compareStates(before, after, depth = 0, path = "", rows = []) {
  const left = isTree(before) ? before : {};
  const right = isTree(after) ? after : {};
  const names = [...new Set([...Object.keys(left), ...Object.keys(right)])];
  for (const name of names) {
    const a = Object.hasOwn(left, name) ? left[name] : undefined;
    const b = Object.hasOwn(right, name) ? right[name] : undefined;
    const here = `${path}/${name}`;
    const group = (a === undefined || !isLeaf(a)) && (b === undefined || !isLeaf(b));
    let change = "";
    if (a === undefined) change = "added";
    else if (b === undefined) change = "removed";
    else if (!group && show(a) !== show(b)) change = "changed";
    rows.push({ depth, name, path: here, before: group ? null : show(a), after: group ? null : show(b), change, group });
    if (group) compareStates(a, b, depth + 1, here, rows);
  }
  return rows;
}

const WORDS = { added: "added", removed: "removed", changed: "changed" };

export function renderStates(body, before, after, onlyChanges) {
  const rows = compareStates(before, after);
  const kept = rows.filter((row) => !onlyChanges || row.change || rows.some((other) => other.change && other.path.startsWith(`${row.path}/`)));
  body.replaceChildren(
    ...kept.map((row) => {
      const name = el("th", { scope: "row", title: row.path }, row.name);
      if (row.change) name.append(el("span", { class: "sr" }, ` (${WORDS[row.change]})`));
      const cells = row.group ? [el("td"), el("td")] : [el("td", {}, row.before), el("td", {}, row.after)];
      return el("tr", { class: `d${Math.min(row.depth, 5)} ${row.change} ${row.group ? "group" : ""}` }, name, ...cells);
    }),
  );
  if (kept.length === 0) body.append(el("tr", {}, el("td", { colspan: 3 }, rows.length ? "Nothing changed." : "There are no variables.")));
}
