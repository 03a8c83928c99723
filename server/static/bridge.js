// The bridge for card renderers: reads, watches and writes the variables of one card scope (spec/mvu.md §7, §8).
//
// A plain ES module, usable from any page. Everything that a card can reach goes through a binding; grants and
// capabilities stay in this module's closures and are never part of a snapshot.
import { sha256Hex } from "./sha256.js";

export const POLL_DEFAULT_MS = 1000;
export const POLL_FLOOR_MS = 250;
export const REVOKE_TIMEOUT_MS = 10_000;
const WRITE_ATTEMPTS = 4;
const BIND_ATTEMPTS = 3;
const RETRY_BASE_MS = 150;
const QUIET_STREAM_MS = 45_000; // the server sends a heartbeat every 15 seconds
const SLOWEST_POLL_FACTOR = 8;
const CAUSES = ["user-interaction", "interval", "script"];
const SCOPE_KEYS = [
  "mode", "characterId", "playthroughId", "sessionId", "nodeId", "variantId", "endEventId",
  "sessionFormatVersion", "greetingIndex", "selectionToken",
];

/** A failed request or a refused operation; `code` is a row of the error table, `status` 0 means "no answer". */
export class MvuError extends Error {
  constructor(code, message, { status = 0, details, cause } = {}) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = "MvuError";
    this.code = code;
    this.status = status;
    this.details = details;
  }

  /** True when nothing is known about the outcome: no answer, or an answer of the 5xx kind. */
  get isTransport() {
    return this.code === "MVU_READ_FAILED" || this.status >= 500;
  }
}

function abortError(message = "The operation was aborted.") {
  return new DOMException(message, "AbortError");
}

function isAbort(error) {
  return error instanceof DOMException && error.name === "AbortError";
}

function isPlainObject(value) {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function copy(value) {
  return value === undefined ? undefined : structuredClone(value);
}

function deepFreeze(value) {
  if (typeof value === "object" && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value);
    for (const key of Object.keys(value)) deepFreeze(value[key]);
  }
  return value;
}

function uuid() {
  if (typeof crypto.randomUUID === "function") return crypto.randomUUID();
  // Pages that are not a secure context have random values but no randomUUID.
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  bytes[6] = (bytes[6] & 0x0f) | 0x40;
  bytes[8] = (bytes[8] & 0x3f) | 0x80;
  const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join("-");
}

/** Waits, or rejects with AbortError as soon as one of the signals is aborted. */
function sleep(ms, ...signals) {
  return new Promise((resolve, reject) => {
    const live = signals.filter(Boolean);
    const stop = () => {
      clearTimeout(timer);
      for (const signal of live) signal.removeEventListener("abort", stop);
      reject(abortError());
    };
    const timer = setTimeout(() => {
      for (const signal of live) signal.removeEventListener("abort", stop);
      resolve();
    }, ms);
    if (live.some((signal) => signal.aborted)) return stop();
    for (const signal of live) signal.addEventListener("abort", stop, { once: true });
  });
}

/** One signal that is aborted when any of the given ones is; `release` removes its listeners. */
function anySignal(...signals) {
  const controller = new AbortController();
  const live = signals.filter(Boolean);
  const stop = () => controller.abort();
  for (const signal of live) {
    if (signal.aborted) controller.abort();
    else signal.addEventListener("abort", stop, { once: true });
  }
  return {
    signal: controller.signal,
    release() {
      for (const signal of live) signal.removeEventListener("abort", stop);
    },
  };
}

// --- the HTTP client ------------------------------------------------------------------------------------------------

/**
 * A client for the renderer routes of `spec/http.md`. `token` is a renderer or host token for pages on another origin;
 * same-origin pages need none. The request token is fetched again once when the server says it is stale.
 */
export function createMvuClient({
  baseUrl = "/api/v1",
  requestTokenUrl = "/pmp-dsh-tavern/api/request-token",
  token,
  fetch: send = (...args) => globalThis.fetch(...args),
} = {}) {
  let requestToken;
  let tokenRequest;
  const base = baseUrl.replace(/\/$/, "");

  function headers(extra) {
    return {
      Accept: "application/json",
      ...(token ? { Authorization: `Bearer ${token}` } : {}),
      ...extra,
    };
  }

  function fetchToken() {
    tokenRequest ??= (async () => {
      try {
        const response = await send(requestTokenUrl, {
          headers: { "X-Tavern-Client": "embedded" },
          credentials: "same-origin",
          cache: "no-store",
        });
        const body = response.ok ? await response.json() : null;
        requestToken = typeof body?.token === "string" ? body.token : undefined;
      } catch {
        requestToken = undefined;
      } finally {
        tokenRequest = undefined;
      }
    })();
    return tokenRequest;
  }

  async function once(method, path, body, signal) {
    const mutation = method !== "GET";
    let response;
    try {
      response = await send(`${base}${path}`, {
        method,
        signal,
        cache: "no-store",
        credentials: "same-origin",
        headers: headers({
          ...(mutation ? { "Content-Type": "application/json" } : {}),
          ...(mutation && requestToken ? { "X-Tavern-Request-Token": requestToken } : {}),
        }),
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
    } catch (error) {
      if (signal?.aborted) throw abortError();
      throw new MvuError("MVU_READ_FAILED", `The server could not be reached (${method} ${path}).`, { cause: error });
    }
    return readAnswer(response, signal, `${method} ${path}`);
  }

  async function call(method, path, body, signal) {
    try {
      return await once(method, path, body, signal);
    } catch (error) {
      if (!(error instanceof MvuError) || error.status !== 403 || error.code !== "TAVERN_API_ORIGIN_FORBIDDEN") throw error;
      await fetchToken();
      if (!requestToken) throw error;
      return once(method, path, body, signal);
    }
  }

  const query = (scope) => `?scope=${encodeURIComponent(JSON.stringify(scope))}`;
  return Object.freeze({
    readSnapshot: (scope, { signal } = {}) => call("GET", `/mvu/snapshot${query(scope)}`, undefined, signal),
    createBinding: (request, { signal } = {}) => call("POST", "/mvu/card-binding", request, signal),
    writeCard: (request, { signal } = {}) => call("POST", "/mvu/card-write", request, signal),
    revokeBinding: (capability, { signal } = {}) => call("POST", "/mvu/card-binding/revoke", { capability }, signal),
    createGrant: (request, { signal } = {}) => call("POST", "/rendering-write-grants", request, signal),
    deleteGrant: (grantId, { signal } = {}) =>
      call("DELETE", `/rendering-write-grants/${encodeURIComponent(grantId)}`, undefined, signal),
    watchSnapshots: (scope, options) => watchStream(send, `${base}/mvu/events${query(scope)}`, headers, options),
    request: (method, path, body, { signal } = {}) => call(method, path, body, signal),
  });
}

async function readAnswer(response, signal, what) {
  let body;
  try {
    body = await response.json();
  } catch (error) {
    if (signal?.aborted) throw abortError();
    if (response.ok) {
      throw new MvuError("MVU_INVALID_SNAPSHOT", `Expected a JSON answer, found something else (${what}).`, {
        status: response.status,
        cause: error,
      });
    }
    body = null;
  }
  if (response.ok) return body;
  const code = typeof body?.code === "string" ? body.code : `HTTP_${response.status}`;
  const text = typeof body?.error === "string" ? body.error : `The server answered ${response.status} (${what}).`;
  throw new MvuError(code, text, { status: response.status, details: body?.details });
}

/**
 * Reads a server-sent event stream with fetch, which unlike EventSource can carry a token. Resolves when the stream
 * ends, rejects with MvuError when it cannot be opened.
 */
async function watchStream(send, url, headers, { signal, lastEventId, onOpen, onSnapshot }) {
  const quiet = new AbortController();
  const joined = anySignal(signal, quiet.signal);
  let timer;
  const touch = () => {
    clearTimeout(timer);
    timer = setTimeout(() => quiet.abort(), QUIET_STREAM_MS);
  };
  try {
    touch();
    const response = await send(url, {
      signal: joined.signal,
      cache: "no-store",
      credentials: "same-origin",
      headers: headers({
        Accept: "text/event-stream",
        ...(lastEventId === undefined ? {} : { "Last-Event-ID": String(lastEventId) }),
      }),
    });
    if (!response.ok) await readAnswer(response, signal, "GET /mvu/events");
    const type = response.headers.get("Content-Type") ?? "";
    if (!type.startsWith("text/event-stream") || !response.body) {
      throw new MvuError("MVU_INVALID_SNAPSHOT", `Expected an event stream, found '${type}'.`, { status: response.status });
    }
    onOpen?.();
    await readEvents(response.body, touch, onSnapshot);
  } catch (error) {
    if (signal?.aborted) throw abortError();
    if (error instanceof MvuError) throw error;
    throw new MvuError("MVU_READ_FAILED", "The event stream broke off.", { cause: error });
  } finally {
    clearTimeout(timer);
    joined.release();
  }
}

async function readEvents(stream, touch, onSnapshot) {
  const reader = stream.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  let data = [];
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    touch();
    const lines = (rest + value).split(/\r\n|\n|\r(?!$)/);
    rest = lines.pop();
    for (const line of lines) {
      if (line === "") {
        if (data.length > 0) onSnapshot(JSON.parse(data.join("\n")));
        data = [];
      } else if (line.startsWith("data:")) {
        data.push(line.slice(line[5] === " " ? 6 : 5));
      }
    }
  }
}

// --- grants ---------------------------------------------------------------------------------------------------------

/** The execution package of a card and its identity, as `/rendering-write-grants` wants them (spec/mvu.md §7.1). */
export async function executionPackage({ scope, runs = [], modules = {}, html = "" }) {
  const source = JSON.stringify({ version: 1, scope, runs, modules, html });
  return { source, sourceIdentity: { version: 1, sha256: await sha256Hex(source), scope: copy(scope) } };
}

/**
 * Grants of this page: one acquisition in flight per execution, the same execution id after a lost answer, late grants
 * of closed executions revoked, failed revocations listed until a retry succeeds.
 */
export function createWriteGrantRegistry({ client }) {
  const revocations = new Map(); // grant id -> {id, pending, error}
  const listeners = new Set();

  function changed() {
    for (const listener of [...listeners]) listener(list());
  }

  function list() {
    return [...revocations.values()].map((entry) => Object.freeze({ ...entry }));
  }

  async function revoke(id) {
    const entry = revocations.get(id);
    if (entry?.pending) return;
    revocations.set(id, { id, pending: true, error: null });
    changed();
    const timeout = new AbortController();
    const timer = setTimeout(() => timeout.abort(), REVOKE_TIMEOUT_MS);
    try {
      await client.deleteGrant(id, { signal: timeout.signal });
      revocations.delete(id);
    } catch (error) {
      const words = isAbort(error) ? "The server did not answer in time." : String(error?.message ?? error);
      revocations.set(id, { id, pending: false, error: words });
    } finally {
      clearTimeout(timer);
      changed();
    }
  }

  function open({ source, sourceIdentity }) {
    let executionId = uuid();
    let grant = null;
    let inFlight = null;
    let generation = 0;
    let closed = false;

    async function acquire() {
      const mine = generation;
      const id = executionId;
      const answer = await client.createGrant({ source, sourceIdentity, executionId: id, downloaded: true, enabled: true });
      if (typeof answer?.grantId !== "string" || answer.grantId === "") {
        throw new MvuError("MVU_WRITE_DENIED", "Expected a grant id in the answer, found none.");
      }
      if (closed || mine !== generation) {
        await revoke(answer.grantId);
        throw abortError("The execution ended before its grant arrived.");
      }
      grant = Object.freeze({ grantId: answer.grantId, sourceIdentity: deepFreeze(copy(sourceIdentity)) });
      return grant;
    }

    function getGrant() {
      if (closed) return Promise.reject(abortError("This execution has ended."));
      if (grant) return Promise.resolve(grant);
      const running = (inFlight ??= acquire().finally(() => {
        if (inFlight === running) inFlight = null;
      }));
      return running;
    }

    function drop() {
      generation += 1;
      inFlight = null;
      const old = grant;
      grant = null;
      return old ? revoke(old.grantId) : Promise.resolve();
    }

    return Object.freeze({
      getGrant,
      /** After a restart of the server: a new execution id, and so a new grant. */
      async renew() {
        if (closed) throw abortError("This execution has ended.");
        const dropped = drop();
        executionId = uuid();
        await dropped;
        return getGrant();
      },
      async dispose() {
        if (closed) return;
        closed = true;
        await drop();
      },
    });
  }

  return Object.freeze({
    open,
    revocations: list,
    retry: (id) => (revocations.has(id) ? revoke(id) : Promise.resolve()),
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  });
}

// --- the binding ----------------------------------------------------------------------------------------------------

function frozenScope(scope) {
  if (!isPlainObject(scope)) throw new MvuError("MVU_SCOPE", "Expected a scope object.");
  for (const key of Object.keys(scope)) {
    if (!SCOPE_KEYS.includes(key)) throw new MvuError("MVU_SCOPE", `Expected a key of a card scope, found '${key}'.`);
  }
  if (typeof scope.sessionId !== "string" || scope.sessionId === "") {
    throw new MvuError("MVU_SCOPE", "Expected a sessionId in the scope.");
  }
  return deepFreeze(copy(scope));
}

/** Checks what the server answered; a snapshot of another scope is never shown (spec/mvu.md §8). */
export function validateSnapshot(value, scope) {
  const wrong = (words) => new MvuError("MVU_INVALID_SNAPSHOT", `Expected a snapshot, found ${words}.`, { status: 200 });
  if (!isPlainObject(value)) throw wrong("no object");
  if (value.version !== 1) throw wrong(`version ${JSON.stringify(value.version)}`);
  if (value.status !== "available" && value.status !== "unavailable") throw wrong(`status ${JSON.stringify(value.status)}`);
  if (!isPlainObject(value.variables)) throw wrong("variables that are no object");
  if (!Number.isSafeInteger(value.revision) || value.revision < 0) throw wrong(`revision ${JSON.stringify(value.revision)}`);
  if (!isPlainObject(value.scope)) throw wrong("no scope");
  for (const key of Object.keys(scope)) {
    if (JSON.stringify(value.scope[key]) !== JSON.stringify(scope[key])) {
      throw wrong(`a scope mismatch at '${key}'`);
    }
  }
  if (value.status === "available") {
    for (const key of ["stat_data", "schema"]) {
      if (!(key in value.variables)) throw wrong(`available variables without ${key}`);
    }
  }
  return value;
}

/**
 * Binds one rendered execution to one card scope. Resolves after the first valid read (and, with `writeGrant`, after
 * the binding stands). See spec/mvu.md §8 for every rule kept here.
 */
export async function createMvuCardBinding({
  client,
  scope,
  signal,
  pollMs = POLL_DEFAULT_MS,
  writeGrant,
  push = true,
  rebind = true,
}) {
  const bound = frozenScope(scope);
  if (signal?.aborted) throw abortError();
  const life = new AbortController();
  const abortLife = () => life.abort();
  signal?.addEventListener("abort", abortLife, { once: true });
  const writer = writeGrant ? createWriter({ client, scope: bound, writeGrant, life: life.signal }) : null;
  try {
    const first = writer ? await writer.bind() : await client.readSnapshot(bound, { signal: life.signal });
    if (life.signal.aborted) throw abortError();
    return liveBinding({ client, bound, writer, life, pollMs, push, rebind, first: validateSnapshot(first, bound) });
  } catch (error) {
    life.abort();
    await writer?.revoke();
    throw error;
  } finally {
    signal?.removeEventListener("abort", abortLife);
  }
}

/** The capability side of a binding: client-made ids, replay after lost answers, revocation of everything known. */
function createWriter({ client, scope, writeGrant, life }) {
  let bindingId = null;
  let bound = false;

  async function attempt(request) {
    const answer = await client.createBinding(request, { signal: life });
    if (answer?.capability !== request.bindingId) {
      throw new MvuError("MVU_WRITE_DENIED", "Expected the binding to carry its own id, found another one.");
    }
    return answer.snapshot;
  }

  async function bind() {
    const { grantId, sourceIdentity } = await writeGrant.getGrant();
    if (life.aborted) throw abortError();
    bindingId = uuid();
    const request = { scope, grantId, sourceIdentity, bindingId };
    for (let tries = 1; ; tries += 1) {
      try {
        const snapshot = await attempt(request);
        bound = true;
        return snapshot;
      } catch (error) {
        if (!(error instanceof MvuError) || !error.isTransport || tries >= BIND_ATTEMPTS) throw error;
        await sleep(RETRY_BASE_MS * tries, life);
      }
    }
  }

  async function revoke() {
    const id = bindingId;
    bindingId = null;
    bound = false;
    if (id === null) return;
    const timeout = new AbortController();
    const timer = setTimeout(() => timeout.abort(), REVOKE_TIMEOUT_MS);
    try {
      await client.revokeBinding(id, { signal: timeout.signal });
    } catch {
      // The binding dies with its grant or with the server; there is nobody left to tell.
    } finally {
      clearTimeout(timer);
    }
  }

  return {
    bind,
    revoke,
    get capability() {
      return bound ? bindingId : null;
    },
    lose() {
      bound = false;
    },
    async renew() {
      await revoke();
      await writeGrant.renew();
      return bind();
    },
  };
}

function liveBinding({ client, bound, writer, life, pollMs, push, rebind, first }) {
  const listeners = new Set();
  let state = copy(first);
  let told = null; // the JSON that listeners saw last
  let writeEpoch = 0;
  let disposed = false;
  let watching = null;
  let wake = null;
  let recovering = null;
  let bindingRefused = false; // the server said no for good; only an explicit refresh() asks again
  let pushRefused = !push || typeof client.watchSnapshots !== "function";

  const usable = () => state.status === "available" && state.readState === undefined;
  const view = () => ({ ...copy(state), writable: usable() && writer?.capability != null });
  told = JSON.stringify(view());

  function tell() {
    const json = JSON.stringify(view());
    if (json === told) return;
    told = json;
    for (const listener of [...listeners]) {
      try {
        listener(view());
      } catch (error) {
        reportError(error);
      }
    }
  }

  function accept(snapshot) {
    const goesBack =
      state.status === "available" && snapshot.status === "available" && snapshot.revision < state.revision;
    if (goesBack) {
      if (state.readState === undefined) return;
      state = { ...state }; // an older answer still proves that reading works again
      delete state.readState;
      delete state.error;
    } else {
      state = copy(snapshot);
    }
    tell();
  }

  function refuse(error) {
    if (isAbort(error) || disposed) return;
    if (error instanceof MvuError && error.isTransport) {
      state = { ...state, readState: "failed", error: "MVU_READ_FAILED" };
    } else {
      const code = error instanceof MvuError ? error.code : "MVU_INVALID_SNAPSHOT";
      state = { version: 1, status: "unavailable", scope: copy(bound), revision: state.revision, variables: {}, error: code };
    }
    tell();
  }

  async function read() {
    const epoch = writeEpoch;
    try {
      const snapshot = validateSnapshot(await client.readSnapshot(bound, { signal: life.signal }), bound);
      if (!disposed && epoch === writeEpoch) accept(snapshot);
      recover();
      return true;
    } catch (error) {
      // A poll that began before a committed write says nothing about the state after it.
      if (epoch === writeEpoch) refuse(error);
      return false;
    }
  }

  async function stream(signal) {
    if (pushRefused) return;
    try {
      await client.watchSnapshots(bound, {
        signal,
        lastEventId: state.status === "available" && state.readState === undefined ? state.revision : undefined,
        onSnapshot(value) {
          if (isPlainObject(value) && "status" in value) accept(validateSnapshot(value, bound));
        },
      });
    } catch (error) {
      if (error instanceof MvuError && !error.isTransport && error.status !== 429) pushRefused = true;
    }
  }

  async function watch(stop) {
    const joined = anySignal(life.signal, stop);
    let failures = 0;
    try {
      while (!joined.signal.aborted) {
        await stream(joined.signal);
        if (joined.signal.aborted) return;
        failures = (await read()) ? 0 : failures + 1;
        const factor = Math.min(SLOWEST_POLL_FACTOR, 2 ** Math.max(0, failures - 3));
        const woken = new AbortController();
        wake = () => woken.abort();
        await sleep(Math.max(POLL_FLOOR_MS, pollMs) * factor, joined.signal, woken.signal).catch(() => {});
        wake = null;
      }
    } finally {
      joined.release();
    }
  }

  const onVisible = () => {
    if (globalThis.document?.visibilityState === "visible") wake?.();
  };

  function startWatching() {
    if (watching) return;
    const stop = new AbortController();
    watching = stop;
    globalThis.document?.addEventListener?.("visibilitychange", onVisible);
    watch(stop.signal).catch((error) => {
      if (!isAbort(error)) reportError(error);
    });
  }

  function stopWatching() {
    watching?.abort();
    watching = null;
    globalThis.document?.removeEventListener?.("visibilitychange", onVisible);
  }

  function requireLive() {
    if (disposed) throw new MvuError("MVU_DISPOSED", "This binding has been disposed.");
  }

  /**
   * After a restart of the server: a new grant and binding, unless the scope carries a selection token. While the
   * server is away this is tried again with every successful read.
   */
  function recover() {
    if (!writer || writer.capability || !rebind || bindingRefused || "selectionToken" in bound || disposed) return;
    recovering ??= (async () => {
      try {
        const snapshot = validateSnapshot(await writer.renew(), bound);
        if (disposed) await writer.revoke();
        else accept(snapshot);
      } catch (error) {
        // Writing stays off; the display goes on and the reader sees `writable: false`.
        bindingRefused = !(error instanceof MvuError && error.isTransport);
      } finally {
        recovering = null;
        if (!disposed) tell();
      }
    })();
  }

  async function send(request, signal) {
    for (let tries = 1; ; tries += 1) {
      try {
        return await client.writeCard(request, { signal });
      } catch (error) {
        if (!(error instanceof MvuError) || !error.isTransport || tries >= WRITE_ATTEMPTS) throw error;
        // The outcome is unknown: ask again with the same id and the revision that the card saw.
        await sleep(RETRY_BASE_MS * 2 ** (tries - 1), signal);
      }
    }
  }

  async function writeOperation(operation, value, options = {}) {
    requireLive();
    const { cause = "script", signal, expectedRevision, operationId = uuid() } = options;
    if (!CAUSES.includes(cause)) throw new MvuError("MVU_OPERATION", `Expected a cause of ${CAUSES.join(", ")}.`);
    if (signal?.aborted) throw abortError();
    if (!usable()) throw new MvuError("MVU_SNAPSHOT_UNAVAILABLE", "The variables cannot be read now, so nothing is written.");
    const capability = writer?.capability;
    if (!capability) throw new MvuError("MVU_WRITE_DENIED", "This binding may not write.");
    const request = {
      capability,
      operation,
      value: copy(value),
      expectedRevision: expectedRevision ?? state.currentRevision ?? state.revision,
      operationId,
      cause,
    };
    const joined = anySignal(life.signal, signal);
    try {
      const answer = await send(request, joined.signal);
      const result = deepFreeze(copy(validateSnapshot(answer, bound)));
      const receipt = Object.freeze({ operationId, result });
      writeEpoch += 1;
      if (!disposed) accept({ ...copy(state), readState: undefined, error: undefined, ...copy(result) });
      if (signal?.aborted || disposed) throw Object.assign(abortError(), { operationReceipt: receipt });
      return receipt;
    } catch (error) {
      if (error instanceof MvuError && error.code === "MVU_WRITE_DENIED") {
        writer.lose();
        tell();
        recover();
      } else if (error instanceof MvuError && error.code === "REVISION_CONFLICT") {
        void read();
      }
      throw error;
    } finally {
      joined.release();
    }
  }

  return Object.freeze({
    scope: bound,
    getSnapshot() {
      requireLive();
      return view();
    },
    subscribe(listener) {
      requireLive();
      listeners.add(listener);
      startWatching();
      return () => {
        listeners.delete(listener);
        if (listeners.size === 0) stopWatching();
      };
    },
    /** Reads once, now; resolves to the snapshot that stands afterwards. */
    async refresh() {
      requireLive();
      bindingRefused = false;
      await read();
      requireLive();
      return view();
    },
    writeOperation,
    async write(operation, value, options) {
      await writeOperation(operation, value, options);
      requireLive();
      return view();
    },
    async dispose() {
      if (disposed) return;
      disposed = true;
      listeners.clear();
      stopWatching();
      life.abort();
      await writer?.revoke();
    },
  });
}

function reportError(error) {
  if (typeof globalThis.reportError === "function") globalThis.reportError(error);
  else setTimeout(() => { throw error; });
}

// --- the card-side face ---------------------------------------------------------------------------------------------

export const VARIABLE_UPDATE_ENDED = "mag_variable_update_ended";

/**
 * `Mvu` for code that runs in a trusted page: whole envelopes in and out, and VARIABLE_UPDATE_ENDED without arguments
 * on every newer observed revision or when an unavailable snapshot becomes available again (spec/mvu.md §0.18).
 */
export function createMvuFace(binding, { cause = "script" } = {}) {
  const handlers = new Set();
  let seen = binding.getSnapshot();
  const stop = binding.subscribe((snapshot) => {
    const fires = updateEnded(seen, snapshot);
    seen = snapshot;
    if (fires) for (const handler of [...handlers]) handler();
  });
  const variables = () => {
    const snapshot = binding.getSnapshot();
    if (snapshot.status !== "available") throw new MvuError("MVU_SNAPSHOT_UNAVAILABLE", "The variables cannot be read now.");
    return snapshot.variables;
  };
  const expected = () => ({ cause, expectedRevision: seen.currentRevision ?? seen.revision });
  return Object.freeze({
    events: Object.freeze({ VARIABLE_UPDATE_ENDED }),
    getMvuData: variables,
    async updateVariablesWith(patch) {
      if (!Array.isArray(patch)) throw new MvuError("MVU_OPERATION", "Expected a JSON Patch array.");
      return (await binding.write("patch", patch, expected())).variables;
    },
    async replaceMvuData(value) {
      if (!isPlainObject(value)) throw new MvuError("MVU_OPERATION", "Expected the whole variables object.");
      return (await binding.write("replace", value, expected())).variables;
    },
    on(event, handler) {
      if (event !== VARIABLE_UPDATE_ENDED) throw new MvuError("MVU_OPERATION", `Expected ${VARIABLE_UPDATE_ENDED}.`);
      handlers.add(handler);
      return () => handlers.delete(handler);
    },
    dispose: stop,
  });
}

/** Whether the step from one snapshot to the next is told as VARIABLE_UPDATE_ENDED. */
export function updateEnded(before, after) {
  if (after.status !== "available") return false;
  return before.status !== "available" || after.revision > before.revision;
}
