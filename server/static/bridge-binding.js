// A binding: one rendered execution on one card scope, reading, watching and writing (spec/mvu.md §7.2, §8).
import {
  abortError, anySignal, copy, deepFreeze, isAbort, isPlainObject, MvuError, reportError, RETRY_BASE_MS, REVOKE_TIMEOUT_MS, sleep, uuid,
} from "./bridge-core.js";

export const POLL_DEFAULT_MS = 1000;
export const POLL_FLOOR_MS = 250;
const WRITE_ATTEMPTS = 4;
const BIND_ATTEMPTS = 3;
const SLOWEST_POLL_FACTOR = 8;
const CAUSES = ["user-interaction", "interval", "script"];
const SCOPE_KEYS = [
  "mode", "characterId", "playthroughId", "sessionId", "nodeId", "variantId", "endEventId",
  "sessionFormatVersion", "greetingIndex", "selectionToken",
];

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
