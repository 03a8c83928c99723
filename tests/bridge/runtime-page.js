// The page of the runtime tests: everything that they need hangs on window.
import { createMvuCardBinding, createMvuClient, createWriteGrantRegistry, executionPackage } from "/static/bridge.js";
import { createCardRuntime, createSelectionTracker, createSwitches } from "/static/card-runtime.js";

const SCOPE = { playthroughId: "p", sessionId: "s", nodeId: "n", variantId: "v", endEventId: 5 };
window.tracker = createSelectionTracker();
window.secret = "of the page";
window.messages = [];
window.addEventListener("message", (event) => window.messages.push(event.data));
window.run = async ({ scripts, html = "", limits = {}, scope = SCOPE, write = true, master = true }) => {
  await window.runtime?.stop();
  await window.binding?.dispose();
  const client = createMvuClient();
  const registry = createWriteGrantRegistry({ client });
  const execution = registry.open(await executionPackage({ scope, html, runs: scripts.map(({ source }) => source) }));
  window.binding = await createMvuCardBinding({ client, scope, pollMs: 250, push: false, ...(write ? { writeGrant: execution } : {}) });
  window.logs = [];
  const switches = createSwitches(window.localStorage);
  switches.setMaster(master);
  window.runtime = await createCardRuntime({
    container: document.getElementById("card"), binding: window.binding, scripts, html, limits, switches,
    selection: window.tracker, onLog: ({ text }) => window.logs.push(text),
  });
  return window.runtime.started;
};
window.loaded = true;
