// The world page: State, events and checks of one session. Everything that comes from a pack is inserted as text.

const API = "/api/v1";
const PAGE = 50;
const byId = (id) => document.getElementById(id);

/** What the page knows of the open session. */
const open = { session: null, turn: 0, checks: [], characters: [], oldest: 0 };

/** Call the API; a refused request throws with its sentence. */
async function call(path, body) {
  const options = body === undefined ? {} : {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  };
  const response = await fetch(API + path, options);
  const answer = await response.json();
  if (!response.ok) {
    throw Object.assign(new Error(answer.error ?? response.statusText), { code: answer.code });
  }
  return answer;
}

/** An element with text and children. */
function element(name, text, ...children) {
  const made = document.createElement(name);
  if (text !== null && text !== undefined) made.textContent = text;
  made.append(...children);
  return made;
}

/** A value as one line of text. */
function short(value) {
  return typeof value === "string" ? value : JSON.stringify(value);
}

/** A value as nested lists; the first level stands open, deeper ones show a line of what they hold. */
function tree(value, depth = 0) {
  const list = element("dl");
  for (const [key, child] of Object.entries(value)) {
    const nested = child !== null && typeof child === "object" && !Array.isArray(child) && Object.keys(child).length > 0;
    if (!nested) {
      list.append(element("dt", key), element("dd", short(child)));
      continue;
    }
    const names = Object.entries(child).map(([name, part]) => (part !== null && typeof part === "object" ? name : `${name} ${short(part)}`));
    const details = element("details", null, element("summary", depth === 0 ? `${names.length} entries` : names.join(" · ")), tree(child, depth + 1));
    details.open = depth === 0;
    list.append(element("dt", key), element("dd", null, details));
  }
  return list;
}

/** Show a failure, or nothing. */
function complain(error) {
  const banner = byId("banner");
  const closed = ["SESSION_COOKIE_REQUIRED", "HOST_UNAUTHORIZED"].includes(error?.code);
  banner.textContent = closed
    ? "This page needs the link that the server printed when it started: open that link once in this browser, then come back."
    : error?.message ?? "";
  banner.hidden = !error;
}

/** The draw of a receipt or event, as far as the role may see it. */
function draw(record) {
  if (!record.xi) return "";
  const roll = record.xi.roll === undefined ? "" : ` ${record.xi.roll}`;
  return `${record.xi.kind}${roll} u ${Number(record.xi.u).toFixed(3)}`;
}

function changes(record) {
  return Object.entries(record.resolved ?? {}).map(([path, value]) => `${path} = ${short(value)}`).join(", ");
}

function eventRow(event) {
  const what = event.check_id ?? event.pointer ?? event.reason ?? (event.ids ?? []).join(", ");
  const chance = event.p === undefined ? "" : Number(event.p).toFixed(3);
  const cells = [event.index, event.type, what, chance, draw(event), event.outcome ?? "", changes(event)];
  const row = element("tr", null, ...cells.map((cell) => element("td", String(cell ?? ""))));
  if (event.outcome) row.dataset.outcome = event.outcome;
  return row;
}

/** Show a page of events, newest first, ending before the event `end`. */
async function showEvents(end, replace) {
  const start = Math.max(0, end - PAGE);
  const page = end > 0 ? await call(`${where()}/events?from=${start}&limit=${end - start}`) : { events: [] };
  const rows = page.events.map(eventRow).reverse();
  if (replace) byId("events").replaceChildren(...rows);
  else byId("events").append(...rows);
  open.oldest = start;
  byId("more").hidden = start === 0;
}

function where() {
  return `/world/sessions/${encodeURIComponent(open.session)}`;
}

/** Read the session again and show it. */
async function refresh() {
  const session = await call(where());
  open.turn = session.turn;
  open.characters = Object.keys(session.state.characters);
  byId("state").replaceChildren(tree(session.state));
  byId("status").textContent = `${session.title} · ${session.role} · turn ${session.turn} · rules ${session.canonHash.slice(0, 12)}`;
  byId("stage").hidden = false;
  await showEvents(session.events, true);
  return session;
}

/** Open a session by its id. */
async function choose(name) {
  open.session = name;
  const session = await refresh();
  const pack = await call(`/world/packs/${encodeURIComponent(session.packId)}`);
  open.checks = pack.checks ?? [];
  const select = byId("press").elements.namedItem("check");
  select.replaceChildren(...open.checks.map((check) => Object.assign(element("option", check.id), { value: check.id })));
  showSlots(session.state.present);
  byId("session").value = name;
  const address = new URL(location.href);
  address.searchParams.set("session", name);
  history.replaceState(null, "", address);
}

/** One choice of a character for each slot of the chosen check. */
function showSlots(present = []) {
  const chosen = open.checks.find((check) => check.id === byId("press").elements.namedItem("check").value);
  byId("when").textContent = chosen?.when ?? "";
  const people = [...new Set([...present, ...open.characters])];
  byId("slots").replaceChildren(...(chosen?.slots ?? []).map((slot, index) => {
    const select = Object.assign(element("select"), { name: `slot:${slot}` });
    select.append(...people.map((actor) => Object.assign(element("option", actor), { value: actor })));
    select.selectedIndex = Math.min(index, people.length - 1);
    select.id = `slot-${index}`;
    return element("div", null, Object.assign(element("label", slot), { htmlFor: select.id }), select);
  }));
}

/** Show what an answer did. */
function showAnswer(answer) {
  const target = byId("receipt");
  target.hidden = false;
  target.classList.toggle("quiet", answer.ok);
  if (!answer.ok) {
    target.textContent = `${answer.code}: ${answer.message}`;
    return;
  }
  const receipt = answer.receipt ?? {};
  if (receipt.kind === "check") {
    const chance = receipt.p === undefined ? "" : ` p ${Number(receipt.p).toFixed(3)}`;
    target.textContent = `${receipt.check_id}: ${receipt.outcome}${chance} ${draw(receipt)}\n${changes(receipt)}`;
  } else if (receipt.kind === "look") {
    target.textContent = JSON.stringify(receipt.value, null, 2);
  } else {
    target.textContent = receipt.body ?? (changes(receipt) || "done");
  }
}

/** Run one mutation and show the world after it. */
async function act(path, body) {
  const answer = await call(`${where()}/${path}`, { ...body, expectedTurn: open.turn, operationId: crypto.randomUUID() });
  showAnswer(answer);
  if (answer.fork) await choose(answer.sessionId);
  else await refresh();
}

/** Let a form do its work without leaving the page; a refusal becomes a sentence. */
function onSubmit(id, work) {
  byId(id).addEventListener("submit", (event) => {
    event.preventDefault();
    const form = event.currentTarget;
    complain(null);
    work(new FormData(form)).catch(complain);
  });
}

onSubmit("choose", async (form) => {
  const name = String(form.get("session")).trim();
  if (name) await choose(name);
});
onSubmit("begin", async (form) => {
  const pack = await call("/world/packs", { directory: String(form.get("pack")).trim() });
  byId("findings").replaceChildren(...pack.diagnostics.map((found) =>
    element("li", `${found.severity} ${found.code} ${found.file}${found.line === null ? "" : `:${found.line}`} ${found.message}`)));
  if (!pack.ok) throw new Error("The pack has errors; they stand below.");
  const body = { packId: pack.packId, role: String(form.get("role")), operationId: crypto.randomUUID() };
  await choose((await call("/world/sessions", body)).sessionId);
});
onSubmit("press", async (form) => {
  if (!open.session) return;
  const actors = {};
  for (const [name, value] of form) if (name.startsWith("slot:")) actors[name.slice(5)] = String(value);
  const intent = { type: "check", checkId: String(form.get("check")), actors };
  const scene = String(form.get("scene")).trim();
  if (scene) intent.patch = { scene };
  await act("turn", { intent });
});
onSubmit("command", async (form) => {
  if (open.session) await act("command", { text: String(form.get("text")) });
});
byId("press").elements.namedItem("check").addEventListener("change", () => showSlots());
byId("more").addEventListener("click", () => showEvents(open.oldest, false).catch(complain));

const asked = new URL(location.href).searchParams.get("session");
if (asked) {
  choose(asked).catch(complain);
}
