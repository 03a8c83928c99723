// The playground: POST /mvu/apply with what the form holds, and its answer as commands and as two states side by side.
import { classifyScript } from "./card-adapters.js";
import { byId, client, el, fillCards, renderStates, showBanner, uploadCard } from "./page.js";

const STATUS = { applied: "applied", refused: "refused", ignored: "ignored", dropped: "struck out by the helper", filtered: "struck out by the helper" };
let greetings = [];
let last = null;
let running = null;

function setInitvars(texts) {
  const list = texts.length > 0 ? texts : [""];
  byId("initvars").replaceChildren(
    ...list.flatMap((text, index) => {
      const id = `initvar-${index}`;
      const area = el("textarea", { id, class: "initvar", spellcheck: "false", placeholder: "hp: 10" });
      area.value = text;
      return [el("label", { for: id }, list.length > 1 ? `InitVar ${index + 1}` : "InitVar"), area];
    }),
  );
}

function setOpenings(texts) {
  greetings = texts;
  const select = byId("opening");
  for (const option of [...select.options]) if (option.value !== "") option.remove();
  texts.forEach((text, index) => {
    const first = text.trim().split("\n")[0].slice(0, 60);
    select.append(el("option", { value: index }, `${index + 1}. ${first}${text.length > first.length ? "…" : ""}`));
  });
  select.value = texts.length > 0 ? "0" : "";
  byId("greeting").value = texts[0] ?? "";
}

async function loadCards(selected) {
  const { cards } = await client.request("GET", "/host/cards");
  fillCards(byId("card"), cards);
  if (selected ?? cards[0]?.characterId) {
    byId("card").value = selected ?? cards[0].characterId;
    await chooseCard();
  }
}

async function chooseCard() {
  const id = byId("card").value;
  if (id === "") {
    byId("card-state").textContent = "";
    byId("texts").open = true;
    setOpenings([]);
    return;
  }
  const path = `/host/cards/${encodeURIComponent(id)}`;
  const [card, content] = await Promise.all([client.request("GET", path), client.request("GET", `${path}/content`)]);
  setInitvars(content.initvar ?? []);
  const texts = [...(content.scripts ?? []), ...(content.worldBook ?? [])].map((item) => item.content);
  byId("declaration").value = texts.find((text) => classifyScript(text).kind === "backend-schema") ?? "";
  byId("helper").value = texts.find((text) => classifyScript(text).kind === "helper") ?? "";
  setOpenings(content.greetings ?? []);
  const { declaration, helper, initvar } = card;
  byId("card-state").textContent = [
    card.spec,
    `declaration ${declaration.status}${declaration.interpreterVersion ? ` (version ${declaration.interpreterVersion})` : ""}`,
    `helper ${helper.status}`,
    ...[initvar, declaration, helper].filter((part) => part.error).map((part) => part.error.message ?? part.error.code ?? part.error),
  ].join(" · ");
}

function body() {
  const initvar = [...document.querySelectorAll(".initvar")].map((area) => area.value).filter((text) => text.trim() !== "");
  const optional = (id) => byId(id).value.trim() !== "" ? byId(id).value : undefined;
  return {
    ...(initvar.length > 0 ? { initvar } : {}),
    declaration: optional("declaration"),
    helper: optional("helper"),
    greeting: optional("greeting"),
    userText: optional("user-text"),
    reply: byId("reply").value,
    dialect: new FormData(byId("form")).get("dialect"),
  };
}

async function apply() {
  running?.abort();
  const mine = (running = new AbortController());
  byId("apply").disabled = true;
  byId("busy").textContent = "Applying…";
  try {
    const answer = await client.request("POST", "/mvu/apply", body(), { signal: mine.signal });
    showBanner(null);
    render(answer);
    byId("result").focus({ preventScroll: false });
  } catch (error) {
    if (mine.signal.aborted) return;
    showBanner(error);
    byId("banner").scrollIntoView({ block: "nearest" });
  } finally {
    if (running === mine) {
      byId("apply").disabled = false;
      byId("busy").textContent = "";
    }
  }
}

function chip(status, text) {
  return el("span", { class: `chip ${status}` }, text);
}

function render(answer) {
  last = answer;
  const commands = answer.commands ?? [];
  const ignored = answer.ignored ?? [];
  const counts = new Map();
  for (const command of commands) counts.set(command.status, (counts.get(command.status) ?? 0) + 1);
  for (const item of ignored) {
    const status = item.reason === "helper-filtered" ? "dropped" : "ignored";
    counts.set(status, (counts.get(status) ?? 0) + 1);
  }
  const tally = [...counts].map(([status, count]) => el("li", {}, chip(status, `${count} ${STATUS[status] ?? status}`)));
  if (answer.interpreterVersion) tally.push(el("li", {}, chip("", `interpreter ${answer.interpreterVersion}`)));
  const nothing = commands.length + ignored.length === 0 && !answer.error;
  byId("summary").replaceChildren(
    el("ul", { class: "tally" }, ...tally),
    answer.error ? el("p", { class: "banner" }, `Nothing of this reply was kept. ${answer.error.error ?? answer.error.message ?? ""}\n${answer.error.code ?? ""}`) : "",
    nothing ? el("p", { class: "empty" }, "This reply holds no update.") : "",
  );
  byId("commands").replaceChildren(...commands.map(commandItem), ...ignored.map(ignoredItem));
  byId("state-panel").hidden = false;
  renderState();
}

function pathText(path) {
  return Array.isArray(path) ? path.join(".") : String(path ?? "");
}

function commandItem(command) {
  const issues = (command.issues ?? []).map((issue) => el("p", { class: "reason" }, `${pathText(issue.path)}: ${issue.message ?? issue.code}`));
  const message = issues.length > 0 ? "The declaration refuses the value" : command.message;
  const reason = [message, command.code].filter(Boolean).join(" · ");
  return el(
    "li",
    { class: command.status },
    el(
      "div",
      { class: "head" },
      el("span", { class: "number" }, `${command.index + 1}`),
      chip(command.status, STATUS[command.status] ?? command.status),
      el("span", { class: "mono" }, command.type ?? ""),
      el("span", { class: "path mono" }, pathText(command.path) || "(root)"),
    ),
    command.source ? el("code", { class: "source" }, typeof command.source === "string" ? command.source : JSON.stringify(command.source)) : null,
    reason && command.status !== "applied" ? el("p", { class: "reason" }, reason) : null,
    ...issues,
  );
}

function ignoredItem(item) {
  const text = typeof item === "string" ? item : item.text ?? item.source ?? JSON.stringify(item);
  const reason = typeof item === "string" ? "" : item.message ?? item.reason ?? item.code ?? "";
  return el(
    "li",
    { class: "ignored" },
    el("div", { class: "head" }, chip("ignored", item.reason === "helper-filtered" ? STATUS.dropped : "ignored")),
    el("code", { class: "source" }, text),
    reason ? el("p", { class: "reason" }, reason) : null,
  );
}

function renderState() {
  if (!last) return;
  const data = (side) => last[side]?.stat_data ?? last[side] ?? {};
  renderStates(byId("state"), data("before"), data("after"), byId("only-changes").checked);
}

async function upload(file) {
  try {
    byId("card-state").textContent = `Reading ${file.name}…`;
    const card = await uploadCard(file);
    showBanner(null);
    await loadCards(card.characterId);
  } catch (error) {
    byId("card-state").textContent = "";
    showBanner(error);
  }
}

const guard = (work) => (...args) => work(...args).catch(showBanner);
byId("form").addEventListener("submit", (event) => { event.preventDefault(); void apply(); });
byId("reply").addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) { event.preventDefault(); void apply(); }
});
byId("card").addEventListener("change", guard(chooseCard));
byId("file").addEventListener("change", (event) => { if (event.target.files[0]) void upload(event.target.files[0]); });
byId("opening").addEventListener("change", (event) => { byId("greeting").value = event.target.value === "" ? "" : greetings[event.target.value] ?? ""; });
byId("only-changes").addEventListener("change", renderState);
byId("sample").addEventListener("click", () => {
  const area = byId("reply");
  const block = '<UpdateVariable>\n<JSONPatch>\n[\n  { "op": "replace", "path": "/", "value": "" }\n]\n</JSONPatch>\n</UpdateVariable>\n';
  area.setRangeText(block, area.selectionStart, area.selectionEnd, "end");
  area.focus();
});
for (const type of ["dragenter", "dragover"]) {
  byId("drop").addEventListener(type, (event) => { event.preventDefault(); byId("drop").classList.add("over"); });
}
for (const type of ["dragleave", "drop"]) byId("drop").addEventListener(type, () => byId("drop").classList.remove("over"));
byId("drop").addEventListener("drop", (event) => {
  event.preventDefault();
  const file = event.dataTransfer?.files[0];
  if (file) void upload(file);
});
setInitvars([]);
guard(loadCards)();
