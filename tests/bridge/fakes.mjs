// Fakes for the bridge tests: a client that answers from memory, and promises that tests settle by hand.
export const SCOPE = Object.freeze({ playthroughId: "p", sessionId: "s", nodeId: "n", variantId: "v", endEventId: 5 });

export function snapshot(revision, hp, scope = SCOPE, more = {}) {
  return {
    version: 1,
    status: "available",
    scope,
    revision,
    currentRevision: revision,
    variables: { stat_data: { hp }, schema: { type: "object" } },
    resourceId: "mvu:instance-1",
    ...more,
  };
}

export function deferred() {
  let resolve;
  let reject;
  const promise = new Promise((yes, no) => { resolve = yes; reject = no; });
  return { promise, resolve, reject };
}

export const pause = (ms) => new Promise((resolve) => { setTimeout(resolve, ms); });

export async function until(condition, ms = 4000) {
  const end = Date.now() + ms;
  while (!condition()) {
    if (Date.now() > end) throw new Error(`not within ${ms} ms: ${condition}`);
    await pause(5);
  }
}

export const IDENTITY = Object.freeze({ version: 1, sha256: "a".repeat(64), scope: SCOPE });

export function fixedGrant(grantId = "grant-1") {
  let renewed = 0;
  return {
    getGrant: async () => ({ grantId: renewed ? `${grantId}-${renewed}` : grantId, sourceIdentity: IDENTITY }),
    renew: async () => { renewed += 1; return { grantId: `${grantId}-${renewed}`, sourceIdentity: IDENTITY }; },
    get renewed() { return renewed; },
  };
}

/** A client over `world.snapshot`; every method can be replaced by a test. */
export function fakeClient(world) {
  const calls = [];
  world.bindings ??= new Set();
  const client = {
    calls,
    async readSnapshot(scope, { signal } = {}) {
      calls.push(["read", scope]);
      signal?.throwIfAborted();
      return structuredClone(world.snapshot);
    },
    async createBinding(request) {
      calls.push(["bind", request]);
      world.bindings.add(request.bindingId);
      return { capability: request.bindingId, snapshot: structuredClone(world.snapshot) };
    },
    async writeCard(request) {
      calls.push(["write", request]);
      world.snapshot = snapshot(world.snapshot.revision + 1, world.snapshot.variables.stat_data.hp - 1, world.snapshot.scope);
      return structuredClone(world.snapshot);
    },
    async revokeBinding(capability) {
      calls.push(["revoke", capability]);
      world.bindings.delete(capability);
      return { ok: true };
    },
    of: (kind) => calls.filter(([name]) => name === kind).map(([, argument]) => argument),
  };
  return client;
}
