// The bridge for card renderers: reads, watches and writes the variables of one card scope (spec/mvu.md §7, §8).
//
// A plain ES module, usable from any page. Everything that a card can reach goes through a binding; grants and
// capabilities stay in closures and are never part of a snapshot.
import { isPlainObject, MvuError } from "./bridge-core.js";

export { createMvuCardBinding, POLL_DEFAULT_MS, POLL_FLOOR_MS, validateSnapshot } from "./bridge-binding.js";
export { createMvuClient } from "./bridge-client.js";
export { MvuError, REVOKE_TIMEOUT_MS } from "./bridge-core.js";
export { createWriteGrantRegistry, executionPackage } from "./bridge-grants.js";

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
