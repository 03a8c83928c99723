// Grants of a page: one execution of a card may write (spec/mvu.md §7.1).
import { abortError, copy, deepFreeze, isAbort, MvuError, REVOKE_TIMEOUT_MS, uuid } from "./bridge-core.js";
import { sha256Hex } from "./sha256.js";

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
