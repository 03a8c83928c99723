// Runs a card's display scripts in a Worker inside a sandboxed frame, and connects them to one binding
// (spec/mvu.md §0.14, §0.17-0.19). The page keeps binding, grant and capability; the frame gets snapshots and answers.
import { classifyScript, confirmHelper, confirmSchema, createSwitches } from "./card-adapters.js";
import { MvuError } from "./bridge.js";
import { sha256Hex } from "./sha256.js";

export { builtinAdapter, classifyScript, confirmHelper, confirmSchema, createSwitches } from "./card-adapters.js";

/** Budgets of one running card. */
export const DEFAULT_LIMITS = Object.freeze({
  startMs: 4000,
  stepMs: 1000,
  queue: 200,
  stepMessages: 1000,
  pendingWrites: 32,
  height: 2000,
  shownErrors: 20,
});

const HERE = new URL(".", import.meta.url);
let workerCode;

function loadWorkerCode() {
  workerCode ??= Promise.all(
    ["card-dom.js", "card-view.js", "card-worker.js"].map(async (name) => {
      const response = await fetch(new URL(name, HERE));
      if (!response.ok) throw new Error(`The card runtime could not be loaded (${name}: ${response.status}).`);
      return response.text();
    }),
  ).then(
    (parts) => `(() => {\n${parts.join("\n")}\nboot(self);\n})();`,
    (error) => {
      workerCode = undefined;
      throw error;
    },
  );
  return workerCode;
}

/**
 * Remembers which opening of a session was shown, over rebuilds of the runtime. A notification stays pending until a
 * start has delivered it, and is never made by a mount, a refresh or a restart (spec/mvu.md §0.17).
 */
export function createSelectionTracker() {
  const shown = new Map();
  const pending = new Map();
  return Object.freeze({
    observe(snapshot) {
      const sessionId = snapshot?.scope?.sessionId;
      const first = snapshot?.firstMessage;
      if (snapshot?.status !== "available" || !first || typeof sessionId !== "string") return;
      const before = shown.get(sessionId);
      shown.set(sessionId, first.greetingIndex);
      if (before !== undefined && before !== first.greetingIndex) pending.set(sessionId, { text: first.text });
    },
    pending: (sessionId) => pending.get(sessionId) ?? null,
    delivered: (sessionId) => { pending.delete(sessionId); },
  });
}

/** Sorts a card's scripts: what runs, what a built-in replaces, and what cannot run and why. */
export async function planScripts(scripts, snapshot, switches) {
  const run = [];
  const notices = [];
  for (const { name, source } of scripts) {
    const sha = await sha256Hex(source);
    const choice = switches.get(sha);
    const notice = (kind, text) => notices.push({ name, sha, kind, text });
    if (!switches.master || !choice.enabled) { notice("off", "switched off"); continue; }
    const { kind, reason } = classifyScript(source);
    if (kind === "run") { run.push({ name, source }); notice("run", "runs here"); continue; }
    if (kind === "unsupported") { notice("error", reason); continue; }
    if (choice.implementation === "off") { notice("off", "the built-in is switched off"); continue; }
    if (kind === "mvu-facade") { notice("builtin", "the built-in variables stand in for this script"); continue; }
    try {
      if (kind === "helper") {
        if (confirmHelper(snapshot, source)) notice("builtin", "runs at the server, before every reply is applied");
        else { run.push({ name, source }); notice("run", "is not registered at the server; runs here, for display only"); }
        continue;
      }
      const { skipped } = confirmSchema(snapshot, source);
      const lines = skipped.map((item) => `line ${item.line}: ${item.text}`).join("; ");
      notice("builtin", lines ? `the server holds this declaration and does not run ${lines}` : "the server holds this declaration");
    } catch (error) {
      notice("error", error.message);
    }
  }
  return { run, notices };
}

/**
 * Shows a card in `container`. `scripts` are the card's enabled scripts in order, `html` its own markup, `binding` a live
 * binding of bridge.js. Everything that goes wrong is shown in `container`, as text.
 */
export async function createCardRuntime({
  container,
  binding,
  scripts = [],
  html = "",
  title = "Card",
  switches = createSwitches(),
  selection = createSelectionTracker(),
  limits = {},
  onNotice = () => {},
  onLog = () => {},
}) {
  const bounds = { ...DEFAULT_LIMITS, ...limits };
  const errors = document.createElement("div");
  errors.className = "card-errors";
  errors.setAttribute("role", "alert");
  const first = binding.getSnapshot();
  selection.observe(first);
  const plan = await planScripts(scripts, first, switches);
  plan.notices.forEach(onNotice);
  container.replaceChildren(errors);
  for (const item of plan.notices) if (item.kind === "error") showError(`${item.name}: ${item.text}`);

  let stopped = false;
  let pendingWrites = 0;
  let status = "starting";
  let port = null;
  const announced = selection.pending(binding.scope.sessionId);
  let whenStarted;
  const started = new Promise((resolve) => { whenStarted = resolve; });

  function showError(text) {
    if (errors.childElementCount >= bounds.shownErrors) return;
    const line = document.createElement("p");
    line.textContent = text;
    errors.append(line);
  }

  function settle(value) {
    if (status === "starting") status = value;
    whenStarted(status);
  }

  const frame = document.createElement("iframe");
  frame.setAttribute("sandbox", "allow-scripts");
  frame.setAttribute("referrerpolicy", "no-referrer");
  frame.title = title;
  frame.className = "card-frame";

  async function write(message) {
    const answer = (more) => port?.postMessage({ t: "result", call: message.id, ...more });
    if (pendingWrites >= bounds.pendingWrites) {
      answer({ ok: false, error: { code: "MVU_LIMIT", message: `Expected at most ${bounds.pendingWrites} writes at once.` } });
      return;
    }
    pendingWrites += 1;
    try {
      const snapshot = await binding.write(message.operation === "replace" ? "replace" : "patch", message.value, {
        cause: ["user-interaction", "interval"].includes(message.cause) ? message.cause : "script",
        expectedRevision: Number.isSafeInteger(message.revision) ? message.revision : undefined,
      });
      post(snapshot);
      answer({ ok: true, variables: snapshot.variables });
    } catch (error) {
      const code = error instanceof MvuError ? error.code : error.name;
      answer({ ok: false, error: { code, message: String(error.message) } });
    } finally {
      pendingWrites -= 1;
    }
  }

  let lastPosted = JSON.stringify(first);
  function post(snapshot) {
    const json = JSON.stringify(snapshot);
    if (json === lastPosted) return;
    lastPosted = json;
    port?.postMessage({ t: "state", snapshot });
  }

  function receive(message) {
    if (stopped || message === null || typeof message !== "object") return;
    switch (message.t) {
      case "call": void write(message); break;
      case "height": frame.style.height = `${Math.min(bounds.height, Math.max(0, Number(message.height) || 0))}px`; break;
      case "log": onLog({ level: String(message.level), text: String(message.text) }); break;
      case "error": showError(String(message.message)); break;
      case "ready":
        if (announced) selection.delivered(binding.scope.sessionId);
        settle("running");
        break;
      case "failed": settle("failed"); break;
      case "killed":
        showError(String(message.message));
        settle("killed");
        stop("killed");
        break;
    }
  }

  function stop(reason = "stopped") {
    if (stopped) return;
    stopped = true;
    status = reason;
    settle(reason);
    unsubscribe();
    port?.postMessage({ t: "stop" });
    port?.close();
    frame.remove(); // ends the Worker, whatever it is doing
  }

  const unsubscribe = binding.subscribe((snapshot) => {
    const before = selection.pending(binding.scope.sessionId);
    selection.observe(snapshot);
    post(snapshot);
    const now = selection.pending(binding.scope.sessionId);
    if (now && now !== before && status === "running") {
      port?.postMessage({ t: "selection", selection: now });
      selection.delivered(binding.scope.sessionId);
    }
  });

  if (plan.run.length === 0 && html === "") {
    settle("idle");
  } else {
    const code = await loadWorkerCode();
    frame.addEventListener("load", () => {
      const channel = new MessageChannel();
      port = channel.port1;
      port.onmessage = ({ data }) => receive(data);
      const begin = { scripts: plan.run, html, snapshot: binding.getSnapshot(), selection: announced };
      // The frame's origin is opaque, so the message can name no target; it carries no secret.
      frame.contentWindow.postMessage({ t: "open", code, begin, limits: bounds }, "*", [channel.port2]);
    }, { once: true });
    frame.src = new URL("card-frame.html", HERE).href;
    container.append(frame);
  }

  return Object.freeze({
    notices: plan.notices,
    /** Resolves to `running`, `failed`, `killed`, `idle` or `stopped`. */
    started,
    get status() { return status; },
    /** The kill switch: ends the Worker at once. */
    stop: () => stop("stopped"),
  });
}
