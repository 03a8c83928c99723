// The panel of dimensions: values by schema, edits with the version fixed at opening, debts with their three ways out.
import { createForm } from "./dimension-form.js";
import { byId, el, operationId, showBanner } from "./page.js";
import { MvuError } from "./bridge.js";

const API = "/api/v1";
const locale = navigator.language || "en-US";
const open = { session: null, provider: null, dimensions: {}, settlements: new Map(), editors: new Set(), stream: null };

async function call(path, body) {
  const options = body === undefined ? {} : { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify({ operationId: operationId(), ...body }) };
  const response = await fetch(`${API}/dimensions/sessions/${encodeURIComponent(open.session)}${path}`, options);
  const answer = await response.json().catch(() => ({}));
  if (response.ok) return answer;
  throw new MvuError(answer.code ?? `HTTP_${response.status}`, answer.error ?? `The server answered ${response.status}.`, { status: response.status, details: answer.details });
}

/** Run an action of the page; its failure is shown, never lost. */
async function attempt(action) {
  try {
    showBanner(null);
    await action();
  } catch (error) {
    showBanner(error);
  }
}

// --- values ---------------------------------------------------------------------------------------------------------

const isTree = (value) => typeof value === "object" && value !== null;

function shown(schema, value) {
  if (!isTree(value)) {
    const label = schema?.["x-enumLabels"]?.[value === null ? "null" : String(value)];
    return label ?? (typeof value === "string" ? value : JSON.stringify(value));
  }
  const child = (key) => (Array.isArray(value) ? schema?.items : schema?.properties?.[key] ?? schema?.additionalProperties);
  const parts = Object.entries(value).flatMap(([key, part]) => {
    const inner = isTree(child(key)) ? child(key) : {};
    const name = typeof inner.title === "string" && !Array.isArray(value) ? inner.title : Array.isArray(value) ? String(Number(key) + 1) : key;
    return [el("dt", {}, name), el("dd", {}, shown(inner, part))];
  });
  return parts.length ? el("dl", {}, ...parts) : el("span", { class: "hint" }, "nothing");
}

function card(key) {
  const entry = open.dimensions[key];
  const body = el("div", {}, isTree(entry.value) ? shown(entry.schema, entry.value) : el("p", { class: "figure" }, shown(entry.schema, entry.value)));
  const edit = el("button", { type: "button", class: "small", onclick: () => openEditor(key, holder, body, edit) }, "Edit");
  const holder = el(
    "section",
    { class: "panel dimension", "data-dimension": key, "aria-label": entry.name },
    el("header", {}, el("h3", {}, entry.name), el("span", { class: "hint" }, `version ${entry.version}`), edit),
    entry.description ? el("p", { class: "hint" }, entry.description) : null,
    body,
  );
  return holder;
}

function render() {
  const cards = Object.keys(open.dimensions).map((key) => {
    const editing = open.editors.has(key) ? byId("list").querySelector(`[data-dimension="${CSS.escape(key)}"]`) : null;
    return editing ?? card(key);
  });
  byId("list").replaceChildren(...(cards.length ? cards : [el("p", { class: "empty" }, "This session records no dimensions.")]));
  renderDebts();
}

// --- the editor -----------------------------------------------------------------------------------------------------

function openEditor(key, holder, body, button) {
  const entry = open.dimensions[key];
  const version = entry.version;
  const form = createForm(entry.schema, entry.value, entry.name);
  const say = el("p", { class: "problem", role: "alert", hidden: true });
  const place = el("div", { class: "editor stack" });
  let asJson = false;
  const close = () => {
    open.editors.delete(key);
    render();
  };
  const save = (expectedVersion) => attempt(async () => {
    const result = form.read();
    if (result.issues) return;
    const answer = await call("/edit", { updates: [{ id: key, expectedVersion, value: result.value }] });
    if (answer.applied) {
      close();
      await refresh();
      if (answer.warnings?.length) status(answer.warnings.map((warning) => warning.message).join(" "));
      return;
    }
    await refresh();
    showConflict(key, place, result.value, (current) => save(current), close);
  });
  const toggle = el("button", { type: "button", class: "small", onclick: () => {
    asJson = !asJson;
    asJson ? form.asJson() : form.asForm();
    toggle.textContent = asJson ? "As a form" : "As JSON";
  } }, "As JSON");
  place.append(
    el("p", { class: "hint" }, `Based on version ${version}.`),
    form.node,
    say,
    el("div", { class: "row" },
      el("button", { type: "button", class: "primary", onclick: () => save(version) }, "Save"),
      el("button", { type: "button", onclick: close }, "Cancel"),
      toggle),
  );
  open.editors.add(key);
  button.hidden = true;
  body.replaceChildren(place);
  place.querySelector("input, select, textarea")?.focus();
}

/** Mine and theirs, side by side; nothing is merged by itself. */
function showConflict(key, place, mine, saveMine, close) {
  const theirs = open.dimensions[key];
  place.querySelector(".conflict")?.remove();
  const column = (title, value) => el("div", {}, el("h4", {}, title), el("pre", {}, JSON.stringify(value, null, 2)));
  place.append(
    el("div", { class: "conflict stack", role: "alert" },
      el("p", { class: "problem" }, `This value changed meanwhile: it is at version ${theirs.version} now. Nothing was saved.`),
      el("div", { class: "versus" }, column("Mine", mine), column("Theirs", theirs.value)),
      el("div", { class: "row" },
        el("button", { type: "button", onclick: () => saveMine(theirs.version) }, "Save mine over it"),
        el("button", { type: "button", onclick: close }, "Keep theirs"))),
  );
}

// --- debts ----------------------------------------------------------------------------------------------------------

function renderDebts() {
  const owed = [...open.settlements.values()].filter((item) => item.status === "pending-settlement");
  byId("debts").hidden = owed.length === 0;
  byId("debt-list").replaceChildren(...owed.map((item) => {
    const resultId = item.source.resultId;
    const button = (text, action) => el("button", { type: "button", onclick: () => attempt(async () => {
      const answer = await action();
      await refresh();
      if (answer.settlement?.status === "pending-settlement") status(answer.settlement.error ?? "The debt is open again and waits for the tracker.");
    }) }, text);
    return el("div", { class: "panel debt" },
      el("p", {}, `The changes of turn ${item.source.turnNumber} are not settled yet. The next turn waits for them.`),
      item.error ? el("p", { class: "problem" }, item.error) : null,
      el("div", { class: "row" },
        button("Retry the turn", () => call("/retry", { resultId })),
        button("Handled by hand", () => call("/edit", { updates: [], resultId, resolution: "manual" })),
        button("Skip it", () => call("/edit", { updates: [], resultId, resolution: "skipped" }))));
  }));
}

// --- the session ----------------------------------------------------------------------------------------------------

const status = (text) => { byId("status").textContent = text; };

async function refresh() {
  const snapshot = await call(`?locale=${encodeURIComponent(locale)}`);
  open.provider = snapshot.dimensionProviderPluginId;
  open.dimensions = snapshot.dimensions;
  open.settlements = new Map(snapshot.dimensionSettlements.map((item) => [item.source.resultId, item]));
  status([snapshot.worldId ?? "no world is bound", snapshot.clock?.display].filter(Boolean).join(" · "));
  render();
}

/** Changes arrive as they are committed; an open editor keeps the version that it was opened with. */
function follow() {
  open.stream?.close();
  open.stream = new EventSource(`${API}/dimensions/sessions/${encodeURIComponent(open.session)}/events`);
  for (const name of ["dimensions.changed", "dimensions.settlement.changed"]) {
    open.stream.addEventListener(name, (event) => {
      const data = JSON.parse(event.data);
      if (open.provider === null || data.providerPluginId === open.provider) attempt(refresh);
    });
  }
}

async function choose(session) {
  open.session = session;
  open.editors.clear();
  await refresh();
  follow();
  const address = new URL(location.href);
  address.searchParams.set("session", session);
  history.replaceState(null, "", address);
}

byId("choose").addEventListener("submit", (event) => {
  event.preventDefault();
  attempt(() => choose(byId("session").value.trim()));
});
const wanted = new URL(location.href).searchParams.get("session");
if (wanted) {
  byId("session").value = wanted;
  attempt(() => choose(wanted));
}
