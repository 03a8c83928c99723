// The live page: one playthrough, its story, and its card rendered from a binding on the place where the story stands.
import { createMvuCardBinding, createWriteGrantRegistry, executionPackage, MvuError } from "./bridge.js";
import { classifyScript, createCardRuntime, createSelectionTracker, createSwitches } from "./card-runtime.js";
import { greetingScope, head, initialScope, messageScope } from "./card-scopes.js";
import { byId, client, el, fillCards, operationId, renderStates, showBanner, wordsOf } from "./page.js";

const FOLLOW_MS = 1500;
const registry = createWriteGrantRegistry({ client });
const tracker = createSelectionTracker();
const switches = createSwitches();
const receiptsOf = new Map(); // message id -> receipts of turns sent from this tab
const contents = new Map();

let playthrough = null;
let content = null;
let opening = null; // the opening's variables, for the comparison
let live = null; // {key, binding, runtime, execution}
let pendingSwipe = null; // session that stands before the last reply
let busy = false;

const id = encodeURIComponent;
const get = (path) => client.request("GET", path);
const post = (path, body) => client.request("POST", path, { ...body, operationId: operationId() });

async function loadLists() {
  const [{ cards }, { playthroughs }] = await Promise.all([get("/host/cards"), get("/host/playthroughs")]);
  fillCards(byId("card"), cards);
  const names = new Map(cards.map((card) => [card.characterId, card.name]));
  const select = byId("known");
  for (const option of [...select.options]) if (option.value !== "") option.remove();
  for (const item of playthroughs.slice(0, 100)) {
    select.append(el("option", { value: item.playthroughId }, `${names.get(item.characterId) ?? item.characterId} · ${item.playthroughId.slice(0, 8)}`));
  }
}

async function cardContent(characterId) {
  if (!contents.has(characterId)) contents.set(characterId, await get(`/host/cards/${id(characterId)}/content`));
  return contents.get(characterId);
}

async function open(playthroughId) {
  playthrough = await get(`/host/playthroughs/${id(playthroughId)}`);
  content = await cardContent(playthrough.characterId);
  location.hash = `playthrough=${id(playthroughId)}`;
  byId("begin").hidden = true;
  byId("stage").hidden = false;
  byId("card-title").textContent = content.name;
  document.title = `${content.name} · Innkeeper`;
  await show();
}

/** Where the story stands: the last reply of the active path, or the opening. */
function standing() {
  const node = head(playthrough);
  const sessionId = playthrough.rootSessionId;
  const scope = node ? messageScope(playthrough, node) : initialScope(playthrough, { sessionId, characterId: playthrough.characterId });
  return { node, scope, sessionId: scope.sessionId };
}

async function show() {
  await Promise.all([showStory(), showCard()]);
}

// --- story --------------------------------------------------------------------------------------------------------

async function allEvents(sessionId) {
  const events = [];
  for (;;) {
    const page = await get(`/host/sessions/${id(sessionId)}/events?from=${events.length}&limit=200`);
    if (page.events.length === 0) return events;
    events.push(...page.events);
  }
}

const dataOf = (event) => event.data ?? event;
const textOf = (event) => dataOf(event).text ?? (dataOf(event).blocks ?? []).map((block) => block.text ?? "").join("\n");

async function turnsOf(node) {
  const variant = node.variants.find((item) => item.variantId === node.active);
  const events = await allEvents(variant.sessionId);
  const index = events.findIndex((event) => event.type === "assistant/message" && dataOf(event).id === variant.messageId);
  const said = events.slice(0, Math.max(0, index)).findLast((event) => event.type === "user/message");
  return { node, variant, reply: index < 0 ? "" : textOf(events[index]), said: said ? textOf(said) : "" };
}

function bubble(kind, who, text) {
  const prose = text.replace(/<(UpdateVariable|JSONPatch|json_patch)>[\s\S]*?<\/\1>/gi, "").trim() || "…";
  const parts = prose.split(/(\*[^*\n]+\*)/).map((part) => (/^\*[^*\n]+\*$/.test(part) ? el("em", {}, part.slice(1, -1)) : part));
  return el("div", { class: `bubble ${kind}` }, el("span", { class: "who" }, who), ...parts);
}

async function showStory() {
  const path = playthrough.timeline.filter((node) => node.active !== null && node.active !== undefined);
  const { node, sessionId } = standing();
  const turns = await Promise.all(path.map(turnsOf));
  const first = await openingSnapshot(sessionId);
  opening = first?.variables?.stat_data ?? null;
  if (live?.binding) showState(live.binding.getSnapshot());
  const greeting = first?.firstMessage?.text ?? "";
  byId("story").replaceChildren(
    ...(greeting ? [bubble("reply", content.name, greeting)] : []),
    ...turns.map((turn) => turnItem(turn, turn.node === node)),
  );
  showOpenings(path.length === 0, first?.firstMessage?.greetingIndex ?? 0);
  byId("swipe").hidden = path.length === 0 || pendingSwipe !== null;
  byId("cancel-swipe").hidden = pendingSwipe === null;
  byId("swiping").hidden = pendingSwipe === null;
  byId("swiping").textContent = "The story stands before the last reply: what you send now becomes another version of it.";
}

async function openingSnapshot(sessionId) {
  const scope = greetingScope(playthrough, { sessionId, characterId: playthrough.characterId });
  try {
    return scope && (await client.readSnapshot(scope));
  } catch (error) {
    if (error instanceof MvuError && !error.isTransport) return null; // an opening without its frozen baseline is not shown
    throw error;
  }
}

function turnItem({ node, variant, said, reply }, isHead) {
  const index = node.variants.indexOf(variant);
  const go = (step) => act(async () => {
    await post(`/host/playthroughs/${id(playthrough.playthroughId)}/activate`, { nodeId: node.nodeId, variantId: node.variants[index + step].variantId });
    await open(playthrough.playthroughId);
  });
  const versions = node.variants.length > 1 && isHead
    ? el("div", { class: "row" },
        el("button", { type: "button", class: "small", "aria-label": "Earlier version", disabled: index === 0, onclick: () => go(-1) }, "‹"),
        el("span", { class: "hint" }, `version ${index + 1} of ${node.variants.length}`),
        el("button", { type: "button", class: "small", "aria-label": "Later version", disabled: index === node.variants.length - 1, onclick: () => go(1) }, "›"))
    : null;
  const receipts = receiptsOf.get(variant.messageId) ?? [];
  return el("div", { class: "turn" }, bubble("user", playthrough.userName || "You", said), bubble("reply", content.name, reply), versions, ...receipts.map(receiptItem));
}

function receiptItem(receipt) {
  const changes = (receipt.changes ?? []).map((change) => el("li", {}, `${change.path}: ${brief(change.before)} → ${brief(change.after)}`));
  const refused = (receipt.diagnostics ?? []).map((item) => el("li", { class: "no" }, `refused: ${item.text ?? item.path ?? item.command} · ${item.message ?? item.code}`));
  const ignored = (receipt.ignored ?? []).map((item) => el("li", {}, `set aside: ${item.source ?? item.text ?? ""} · ${item.message ?? item.reason ?? ""}`));
  const head_ = [receipt.source, receipt.status, receipt.revision === undefined ? "" : `revision ${receipt.revision}`, receipt.reason ?? receipt.error?.message ?? receipt.error?.error ?? receipt.error?.code ?? ""];
  return el("div", { class: "receipt" }, head_.filter((part) => typeof part === "string" && part !== "").join(" · "), el("ul", {}, ...changes, ...refused, ...ignored));
}

const brief = (value) => (value === undefined ? "nothing" : JSON.stringify(value).slice(0, 120));

function showOpenings(mayChoose, index) {
  byId("opening-row").hidden = !mayChoose || content.greetings.length < 2;
  byId("opening").replaceChildren(...content.greetings.map((text, i) => el("option", { value: i }, `${i + 1}. ${text.trim().split("\n")[0].slice(0, 60)}`)));
  byId("opening").value = String(index);
}

// --- the card -----------------------------------------------------------------------------------------------------

async function close() {
  const old = live;
  live = null;
  old?.runtime?.stop();
  await old?.binding?.dispose().catch(() => {});
  await old?.execution.dispose().catch(() => {});
}

async function showCard(force = false) {
  const { scope } = standing();
  const key = JSON.stringify(scope);
  if (!force && live?.key === key) return;
  await close();
  const scripts = (content.scripts ?? []).map(({ name, content: source }) => ({ name, source }));
  const runs = scripts.filter(({ source }) => classifyScript(source).kind === "run").map(({ source }) => source);
  const execution = registry.open(await executionPackage({ scope, runs }));
  const mine = (live = { key, execution, binding: null, runtime: null });
  byId("notices").replaceChildren();
  byId("card-view").replaceChildren(el("p", { class: "empty" }, "Binding…"));
  try {
    mine.binding = await createMvuCardBinding({ client, scope, writeGrant: execution });
    if (live !== mine) { await mine.binding.dispose(); return; }
    mine.binding.subscribe(showState);
    showState(mine.binding.getSnapshot());
    mine.runtime = await createCardRuntime({
      container: byId("card-view"), binding: mine.binding, scripts, title: content.name, switches, selection: tracker,
      onNotice: ({ name, text }) => byId("notices").append(el("li", {}, `${name}: ${text}`)),
    });
    if (live !== mine) mine.runtime.stop();
  } catch (error) {
    if (live === mine) byId("card-view").replaceChildren(el("div", { class: "card-errors" }, el("p", {}, wordsOf(error))));
  }
}

function showState(snapshot) {
  byId("revision").textContent = snapshot.status !== "available"
    ? `unavailable · ${snapshot.error ?? ""}`
    : `revision ${snapshot.revision}${snapshot.readState === "failed" ? " · server away" : snapshot.writable ? "" : " · read only"}`;
  const now = snapshot.variables?.stat_data ?? {};
  renderStates(byId("state"), opening ?? now, now, false);
}

// --- actions --------------------------------------------------------------------------------------------------------

async function act(work) {
  if (busy) return;
  busy = true;
  byId("send").disabled = true;
  try {
    await work();
    showBanner(null);
  } catch (error) {
    showBanner(error);
  } finally {
    busy = false;
    byId("send").disabled = false;
  }
}

byId("begin").addEventListener("submit", (event) => {
  event.preventDefault();
  void act(async () => {
    const begun = await post("/host/playthroughs", { characterId: byId("card").value, userName: byId("user").value.trim() || undefined });
    await open(begun.playthroughId);
  });
});
byId("known").addEventListener("change", () => { if (byId("known").value) void act(() => open(byId("known").value)); });
byId("opening").addEventListener("change", () => act(async () => {
  const body = { sessionId: playthrough.rootSessionId, greetingIndex: Number(byId("opening").value) };
  await post(`/host/playthroughs/${id(playthrough.playthroughId)}/greeting`, body);
  await showStory();
  await showCard(true);
}));
byId("turn").addEventListener("submit", (event) => {
  event.preventDefault();
  void act(async () => {
    const sessionId = pendingSwipe ?? standing().sessionId;
    const answer = await post(`/host/sessions/${id(sessionId)}/turns`, { user: { text: byId("said").value }, reply: { text: byId("reply").value } });
    receiptsOf.set(answer.messageId, answer.receipts ?? []);
    pendingSwipe = null;
    byId("said").value = "";
    byId("reply").value = "";
    await open(playthrough.playthroughId);
  });
});
byId("swipe").addEventListener("click", () => act(async () => {
  const { node, scope } = standing();
  byId("said").value = (await turnsOf(node)).said;
  pendingSwipe = (await post(`/host/sessions/${id(scope.sessionId)}/swipe`, { atEventId: scope.endEventId })).sessionId;
  await showStory();
  byId("reply").focus();
}));
byId("cancel-swipe").addEventListener("click", () => act(async () => { pendingSwipe = null; await showStory(); }));
byId("stop").addEventListener("click", () => live?.runtime?.stop());
byId("master").checked = switches.master;
byId("master").addEventListener("change", () => act(async () => { switches.setMaster(byId("master").checked); await showCard(true); }));
addEventListener("pagehide", () => { live?.runtime?.stop(); });

/** Another tab, or the host, may move the story: follow it. */
async function follow() {
  if (!playthrough || busy || document.visibilityState === "hidden") return;
  try {
    const now = await get(`/host/playthroughs/${id(playthrough.playthroughId)}`);
    if (busy || JSON.stringify(now.timeline) === JSON.stringify(playthrough.timeline)) return;
    playthrough = now;
    await show();
  } catch (error) {
    if (!(error instanceof MvuError && error.isTransport)) showBanner(error);
  }
}

setInterval(() => { void follow(); }, FOLLOW_MS);
await act(async () => {
  const asked = new URLSearchParams(location.hash.slice(1)).get("playthrough");
  if (asked) await open(asked);
  else await loadLists();
});
