// What a card's display script finds inside its Worker (spec/mvu.md §0.14, §0.17-0.19): the Mvu face, a small `$` and
// `_`, events in a fixed order, timers. Joined with card-dom.js and card-view.js by card-runtime.js; `scope` is the Worker's global object.
//
// Everything that the boot code needs later is taken before the first line of a card runs: a card may replace any
// method of this realm and still reaches neither the channel nor the cause of its writes.
"use strict";

function boot(scope) {
  const apply = Reflect.apply;
  const send = scope.postMessage.bind(scope);
  const later = scope.setTimeout.bind(scope);
  const listen = scope.addEventListener.bind(scope);
  const dataOf = Object.getOwnPropertyDescriptor(scope.MessageEvent.prototype, "data").get;
  const clone = scope.structuredClone.bind(scope);
  const AsyncFunction = (async () => {}).constructor;
  const state = { snapshot: null, task: null, started: false };
  const events = createEvents();
  const body = makeElement("body");
  const report = (error, where) => send({ t: "error", where, message: describe(error) });

  let drawn = "";
  function draw() {
    let tree;
    try {
      tree = serialise(body);
    } catch (error) {
      report(error, "display");
      return;
    }
    const json = JSON.stringify(tree);
    if (json === drawn) return;
    drawn = json;
    send({ t: "tree", tree });
  }

  const face = createFace({ state, events, send, clone });
  const view = createView({ body, listenFor: (type) => send({ t: "listen", type }), report });
  const targets = { document: createTarget(report), window: createTarget(report) };
  const timers = createTimers(send, report);

  listen("error", (event) => { report(event.error ?? event.message, "script"); event.preventDefault?.(); });
  listen("unhandledrejection", (event) => { report(event.reason, "promise"); event.preventDefault?.(); });
  closeRealm(scope);
  install(scope, { face, view, targets, timers, events, report, send });

  /** Runs one step; the frame hears "done" after the step's promises have run as far as they can. */
  function step(message, work) {
    state.task = message.id;
    try {
      work();
    } catch (error) {
      report(error, message.t);
    }
    later(() => {
      draw();
      state.task = null;
      send({ t: "done", id: message.id });
    }, 0);
  }

  async function start({ scripts, html, snapshot, selection }) {
    state.snapshot = snapshot;
    if (html) parseInto(body, html);
    const running = scripts.map(async ({ name, source }) => {
      await new AsyncFunction(`"use strict";\n${source}\n//# sourceURL=card/${encodeURIComponent(name)}.js`)();
    });
    const results = await Promise.allSettled(running);
    const failed = results.filter((result) => result.status === "rejected");
    for (const result of failed) report(result.reason, "start");
    if (failed.length > 0) {
      draw();
      send({ t: "failed" });
      return;
    }
    state.started = true;
    events.emit("global_Mvu_initialized", [], report);
    view.becomeReady();
    targets.document.emit("DOMContentLoaded");
    targets.window.emit("DOMContentLoaded");
    targets.window.emit("load");
    if (selection) announce(selection);
    draw();
    send({ t: "ready" });
  }

  function announce({ text }) {
    events.emit("character_first_message_selected", [{ input: text, output: text }], report);
    events.emit("message_swiped", [0], report);
  }

  function observe(snapshot) {
    const before = state.snapshot;
    state.snapshot = snapshot;
    const newer = snapshot.status === "available" && (before.status !== "available" || snapshot.revision > before.revision);
    if (newer && state.started) events.emit("mag_variable_update_ended", [], report);
  }

  const steps = {
    start: (message) => { start(message).catch((error) => { report(error, "start"); send({ t: "failed" }); }); },
    state: (message) => observe(message.snapshot),
    result: (message) => face.settle(message),
    event: (message) => view.dispatch(message),
    timer: (message) => timers.fire(message.timer),
    selection: (message) => announce(message.selection),
  };
  listen("message", (event) => {
    const message = apply(dataOf, event, []);
    if (message !== null && typeof message === "object" && Object.hasOwn(steps, message.t)) {
      step(message, () => steps[message.t](message));
    }
  });
}

function describe(error) {
  try {
    if (error instanceof Error) return `${error.name}: ${error.message}`.slice(0, 1000);
    return String(error).slice(0, 1000);
  } catch {
    return "An error that cannot be shown.";
  }
}

function cardError(code, message) {
  const error = new Error(message);
  error.name = "MvuError";
  error.code = code;
  return error;
}

// --- events -------------------------------------------------------------------------------------------------------

function createEvents() {
  const lists = new Map();
  const list = (name) => {
    if (typeof name !== "string") throw new TypeError("Expected the name of an event.");
    if (!lists.has(name)) lists.set(name, []);
    return lists.get(name);
  };
  const check = (handler) => {
    if (typeof handler !== "function") throw new TypeError("Expected a function.");
  };
  const remove = (name, handler) => {
    const handlers = list(name);
    const index = handlers.findIndex((entry) => entry.handler === handler);
    if (index >= 0) handlers.splice(index, 1);
  };
  const add = (name, handler, once = false) => {
    check(handler);
    if (!list(name).some((entry) => entry.handler === handler)) list(name).push({ handler, once });
  };
  return {
    on: (name, handler) => add(name, handler),
    once: (name, handler) => add(name, handler, true),
    last(name, handler) { check(handler); remove(name, handler); add(name, handler); },
    remove,
    emit(name, args, report) {
      for (const entry of [...list(name)]) {
        if (entry.once) remove(name, entry.handler);
        guarded(entry.handler, args, report, name);
      }
    },
  };
}

function guarded(handler, args, report, where, self) {
  try {
    const result = Reflect.apply(handler, self, args);
    if (result !== null && typeof result === "object" && typeof result.then === "function") {
      return result.then((value) => value, (error) => report(error, where));
    }
    return result;
  } catch (error) {
    report(error, where);
    return undefined;
  }
}

function createTarget(report) {
  const handlers = new Map();
  return {
    add(type, handler, options) {
      if (typeof handler !== "function") return;
      const list = handlers.get(type) ?? [];
      handlers.set(type, list);
      if (!list.some((entry) => entry.handler === handler)) list.push({ handler, once: options?.once === true });
    },
    remove(type, handler) {
      handlers.set(type, (handlers.get(type) ?? []).filter((entry) => entry.handler !== handler));
    },
    emit(type) {
      for (const entry of [...(handlers.get(type) ?? [])]) {
        if (entry.once) this.remove(type, entry.handler);
        guarded(entry.handler, [Object.freeze({ type })], report, type);
      }
    },
  };
}

function createTimers(send, report) {
  const MOST_TIMERS = 64;
  const SHORTEST_INTERVAL_MS = 50;
  const timers = new Map();
  let next = 1;
  const add = (handler, ms, args, repeat) => {
    if (typeof handler !== "function") throw new TypeError("Expected a function; texts are not run.");
    if (timers.size >= MOST_TIMERS) throw new RangeError(`Expected at most ${MOST_TIMERS} timers.`);
    const id = next;
    next += 1;
    timers.set(id, { handler, args, repeat });
    const wait = Number(ms);
    send({ t: "timer", timer: id, ms: Math.max(repeat ? SHORTEST_INTERVAL_MS : 0, wait > 0 ? wait : 0), repeat });
    return id;
  };
  return {
    add,
    clear(id) { if (timers.delete(id)) send({ t: "clear", timer: id }); },
    fire(id) {
      const timer = timers.get(id);
      if (!timer) return;
      if (!timer.repeat) timers.delete(id);
      guarded(timer.handler, timer.args, report, "timer");
    },
  };
}

// --- Mvu ------------------------------------------------------------------------------------------------------------

function createFace({ state, send, clone }) {
  const waiting = new Map();
  let next = 1;
  let last = Promise.resolve();

  function available() {
    const snapshot = state.snapshot;
    if (!snapshot || snapshot.status !== "available") {
      throw cardError("MVU_SNAPSHOT_UNAVAILABLE", "The variables of this card cannot be read now.");
    }
    return snapshot;
  }

  function checkMessage(options, allowAlias) {
    if (options === undefined || options === null) return;
    const { type, message_id: id } = options;
    if (type !== undefined && type !== "message") {
      throw cardError("MVU_SCOPE", `Expected options of type 'message', found '${String(type)}': a card reads its own scope only.`);
    }
    if (id === undefined) return;
    const first = state.snapshot?.firstMessage;
    const opening = ["greeting", "initial"].includes(state.snapshot?.scope?.mode);
    if (allowAlias && opening && (id === 0 || id === "0")) return;
    if (allowAlias && opening && id === "latest" && first && first.messageCount === 1) return;
    throw cardError("MVU_SCOPE", `Expected this card's own message, found message '${String(id)}'.`);
  }

  function getMvuData(options) {
    checkMessage(options, true);
    return clone(available().variables);
  }

  function write(operation, value) {
    const task = state.task;
    const sent = clone(value); // what the card meant now, whatever it changes while earlier writes are on their way
    const job = () =>
      new Promise((resolve, reject) => {
        const id = next;
        next += 1;
        waiting.set(id, { resolve, reject });
        const snapshot = available();
        send({ t: "call", id, task, operation, value: sent, revision: snapshot.currentRevision ?? snapshot.revision });
      });
    const result = last.then(job);
    last = result.catch(() => {});
    return result;
  }

  function firstMessage() {
    const first = available().firstMessage;
    if (!first) throw cardError("MVU_SCOPE", "The first message can be read only where an opening is shown.");
    return first;
  }

  return {
    Mvu: {
      events: Object.freeze({
        VARIABLE_UPDATE_ENDED: "mag_variable_update_ended",
        COMMAND_PARSED: "mag_command_parsed",
      }),
      getMvuData,
      async updateVariablesWith(patch) {
        if (!Array.isArray(patch)) throw cardError("MVU_OPERATION", "Expected a JSON Patch array.");
        return write("patch", patch);
      },
      async replaceMvuData(variables, options) {
        checkMessage(options, false);
        if (typeof variables !== "object" || variables === null || Array.isArray(variables)) {
          throw cardError("MVU_OPERATION", "Expected the whole variables object.");
        }
        return write("replace", variables);
      },
    },
    getVariables(options) {
      checkMessage(options, false);
      return clone(available().variables);
    },
    getChatMessages(id) {
      if (id !== 0 && id !== "0") throw cardError("MVU_SCOPE", "Only message 0, the opening, can be read.");
      const { text } = firstMessage();
      return [{ message_id: 0, role: "assistant", message: text, mes: text }];
    },
    getContext() {
      const { text, messageCount } = firstMessage();
      const chat = Array.from({ length: messageCount }, () => null);
      chat[0] = { message_id: 0, role: "assistant", message: text, mes: text };
      return { chat };
    },
    settle({ call, ok, variables, error }) {
      const entry = waiting.get(call);
      waiting.delete(call);
      if (!entry) return;
      if (ok) entry.resolve(variables);
      else entry.reject(cardError(error.code, error.message));
    },
  };
}

// --- the realm ------------------------------------------------------------------------------------------------------

const KEPT_GLOBALS = new Set([
  "globalThis", "self", "Object", "Function", "Array", "Number", "parseFloat", "parseInt", "Infinity", "NaN", "undefined", "Boolean",
  "String", "Symbol", "Date", "Promise", "RegExp", "Error", "AggregateError", "EvalError", "RangeError", "ReferenceError", "SyntaxError",
  "TypeError", "URIError", "JSON", "Math", "Intl", "ArrayBuffer", "Uint8Array", "Int8Array", "Uint16Array", "Int16Array", "Uint32Array",
  "Int32Array", "Float32Array", "Float64Array", "Uint8ClampedArray", "BigUint64Array", "BigInt64Array", "DataView", "Map", "BigInt", "Set",
  "Iterator", "WeakMap", "WeakSet", "WeakRef", "FinalizationRegistry", "Proxy", "Reflect", "decodeURI", "decodeURIComponent", "encodeURI",
  "encodeURIComponent", "escape", "unescape", "eval", "isFinite", "isNaN", "structuredClone", "queueMicrotask", "TextEncoder", "TextDecoder",
  "atob", "btoa",
]);

/** Takes away every global that is not plain JavaScript: network, storage, messages, further workers. */
function closeRealm(scope) {
  for (let level = scope; level && level !== Object.prototype; level = Object.getPrototypeOf(level)) {
    for (const name of Object.getOwnPropertyNames(level)) {
      if (level === scope ? KEPT_GLOBALS.has(name) : name === "constructor") continue;
      if (Reflect.deleteProperty(level, name)) continue;
      try {
        Object.defineProperty(level, name, { value: undefined, writable: false, configurable: false });
      } catch {
        // A property that can be neither deleted nor redefined is a read-only value, never a function of the host.
      }
    }
  }
}

function install(scope, { face, view, targets, timers, events, report, send }) {
  const target = (entry) => ({
    addEventListener: (type, handler, options) => entry.add(String(type), handler, options),
    removeEventListener: (type, handler) => entry.remove(String(type), handler),
  });
  const document = Object.freeze({ ...target(targets.document), readyState: "loading" });
  view.setDocument(document);
  const log = (level) => (...args) => send({ t: "log", level, text: args.map((arg) => show(arg)).join(" ").slice(0, 2000) });
  const globals = {
    Mvu: Object.freeze(face.Mvu),
    getVariables: face.getVariables,
    getChatMessages: face.getChatMessages,
    SillyTavern: Object.freeze({ getContext: face.getContext }),
    tavern_events: Object.freeze({
      CHARACTER_FIRST_MESSAGE_SELECTED: "character_first_message_selected",
      MESSAGE_SWIPED: "message_swiped",
    }),
    eventOn: (name, handler) => events.on(name, handler),
    eventOnce: (name, handler) => events.once(name, handler),
    eventMakeLast: (name, handler) => events.last(name, handler),
    eventRemoveListener: (name, handler) => events.remove(name, handler),
    waitGlobalInitialized: async () => undefined,
    errorCatched: (handler) => function (...args) {
      return guarded(handler, args, report, "script", this);
    },
    $: view.$,
    _: Object.freeze({ get: getPath, isEmpty }),
    setTimeout: (handler, ms, ...args) => timers.add(handler, ms, args, false),
    setInterval: (handler, ms, ...args) => timers.add(handler, ms, args, true),
    clearTimeout: (id) => timers.clear(id),
    clearInterval: (id) => timers.clear(id),
    console: Object.freeze({ log: log("log"), info: log("info"), warn: log("warn"), error: log("error"), debug() {} }),
    document,
    ...target(targets.window),
  };
  for (const [name, value] of Object.entries(globals)) {
    Object.defineProperty(scope, name, { value, writable: false, configurable: false, enumerable: true });
  }
  const window = Object.create(scope);
  if (!Object.hasOwn(scope, "self")) Object.defineProperty(scope, "self", { value: scope, writable: false, configurable: false });
  Object.defineProperty(scope, "window", { value: window, writable: false, configurable: false });
}

function show(value) {
  if (typeof value === "string") return value;
  try {
    return JSON.stringify(value) ?? String(value);
  } catch {
    return String(value);
  }
}
