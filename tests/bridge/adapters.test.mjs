import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { test } from "node:test";

import {
  builtinAdapter, classifyScript, confirmHelper, confirmSchema, createSwitches,
} from "../../server/static/card-adapters.js";
import { greetingScope, head, initialScope, messageScope } from "../../server/static/card-scopes.js";

const SCHEMA = "https://testingcf.jsdelivr.net/gh/StageDog/tavern_resource/dist/util/mvu_zod.js";
const FACADE = "https://testingcf.jsdelivr.net/gh/MagicalAstrogy/MagVarUpdate/artifact/bundle.js";
const read = (name) => readFile(new URL(`../../server/static/${name}`, import.meta.url), "utf8");

test("scenario 021: the schema address chooses the backend schema, whatever its digest", () => {
  for (const digest of ["78c40f52", "0".repeat(64), undefined]) {
    assert.deepEqual(builtinAdapter({ url: SCHEMA, digest }), { kind: "backend-schema", version: 1 });
  }
});

test("scenario 022: other addresses choose nothing", () => {
  const tag = SCHEMA.replace("tavern_resource/", "tavern_resource@v1.2/");
  assert.equal(builtinAdapter({ url: tag })?.kind, "backend-schema");
  assert.equal(builtinAdapter({ url: SCHEMA, digest: "ABC" })?.kind, "backend-schema");
  for (const url of [
    `${SCHEMA}?x=1`, `${SCHEMA}#x`, SCHEMA.replace("StageDog", "Someone"), SCHEMA.replace("https", "http"),
    SCHEMA.replace("mvu_zod", "other"), `${FACADE}?v`, FACADE.replace("MagicalAstrogy", "x"), "", "./mvu_zod.js",
    SCHEMA.replace("testingcf.jsdelivr.net", "host/evil"),
  ]) assert.equal(builtinAdapter({ url }), null, url);
});

test("scenario 023: only the exact forms of an import are taken", () => {
  const kind = (source) => classifyScript(source).kind;
  assert.equal(kind(`import '${FACADE}'`), "mvu-facade");
  assert.equal(kind(`// framework\nimport "${FACADE}";\n/* end */`), "mvu-facade");
  for (const source of [
    `import x from '${FACADE}'`, `import { x } from '${FACADE}'`, `import * as x from '${FACADE}'`,
    `const x = await import('${FACADE}')`, `export * from '${FACADE}'`, `import '${FACADE}'; import('./more.js')`,
    `import '${FACADE}'; run();`, `import '${FACADE}'; import '${FACADE}'`, "import './local.js'", "export const a = 1",
    `import '${SCHEMA}'`, `import zod from '${SCHEMA}'`,
  ]) assert.equal(kind(source), "unsupported", source);
  assert.equal(kind(`import { registerMvuSchema } from '${SCHEMA}';\nconst S = z.object({});`), "backend-schema");
  assert.equal(kind(`import { registerMvuSchema as 登记 } from "${SCHEMA}";\nexport const Schema = z.object({});`), "backend-schema");
  for (const source of [
    "console.log('import x from y')", "// import 'x'\nrun()", "const important = 1; exporter()", "`import(x)`", "a.import(b)",
  ]) assert.equal(kind(source), "run", source);
  assert.equal(kind("eventOn('global_Mvu_initialized', () => eventOn(Mvu.events.COMMAND_PARSED, f))"), "helper");
});

const available = (more) => ({ status: "available", revision: 1, variables: { stat_data: {}, schema: {}, ...more } });

test("scenario 024: a declaration is confirmed by equal source and a known version", () => {
  const held = (interpreterVersion, source = "S") => available({ mvu_schema: { mvuSchema: 1, interpreterVersion, source } });
  for (const version of [1, 2, 3]) assert.equal(confirmSchema(held(version), "S").interpreterVersion, version);
  for (const snapshot of [
    null, { ...held(2), status: "unavailable" }, available({}), held(2, "other"), held(4), held("3"), available({ mvu_schema: {} }),
  ]) assert.throws(() => confirmSchema(snapshot, "S"), Error);
});

test("scenario 045: a helper is dropped only with the server's exact receipt", () => {
  const receipt = { protocolVersion: 1, registered: true, registrationId: "r", source: "H", sha256: "x", listenerCount: 1 };
  const snapshot = (more) => ({ ...available({}), commandProcessor: { ...receipt, ...more } });
  assert.equal(confirmHelper(snapshot({}), "H"), true);
  for (const more of [{ source: "other" }, { registered: false }, { registrationId: "" }, { listenerCount: 0 }, { listenerCount: "1" }]) {
    assert.equal(confirmHelper(snapshot(more), "H"), false);
  }
  assert.equal(confirmHelper(available({}), "H"), false);
  assert.throws(() => confirmHelper(null, "H"), { code: "MVU_SNAPSHOT_UNAVAILABLE" });
  assert.throws(() => confirmHelper({ status: "unavailable" }, "H"), { code: "MVU_SNAPSHOT_UNAVAILABLE" });
});

const EMPTY = { playthroughId: "p", rootSessionId: "s", characterId: "c", timeline: [] };
const PLAYED = {
  ...EMPTY,
  timeline: [
    { nodeId: "n1", turn: 1, active: "v1", variants: [{ variantId: "v1", sessionId: "s", messageId: "m", endEventId: 4 }] },
    { nodeId: "n2", turn: 2, active: null, variants: [{ variantId: "v9", sessionId: "t", messageId: "x", endEventId: 9 }] },
  ],
};

test("scenario 025: the initial scope needs the root session, the card and an empty timeline", () => {
  assert.deepEqual(initialScope(EMPTY, { sessionId: "s", characterId: "c" }), {
    mode: "initial", playthroughId: "p", sessionId: "s", characterId: "c",
  });
  assert.equal(initialScope(EMPTY, { sessionId: "t", characterId: "c" }), null);
  assert.equal(initialScope(EMPTY, { sessionId: "s", characterId: "d" }), null);
  assert.equal(initialScope(PLAYED, { sessionId: "s", characterId: "c" }), null);
  assert.equal(initialScope(null, { sessionId: "s", characterId: "c" }), null);
});

test("scenario 026: the greeting scope survives turns and knows its sessions", () => {
  assert.equal(greetingScope(PLAYED, { sessionId: "s", characterId: "c" }).mode, "greeting");
  assert.equal(greetingScope(PLAYED, { sessionId: "t", characterId: "c" }).sessionId, "t");
  assert.equal(greetingScope(PLAYED, { sessionId: "u", characterId: "c" }), null);
  assert.equal(greetingScope(PLAYED, { sessionId: "s", characterId: "d" }), null);
  assert.equal(greetingScope(undefined, { sessionId: "s", characterId: "c" }), null);
  assert.equal(head(PLAYED).nodeId, "n1");
  assert.deepEqual(messageScope(PLAYED), { playthroughId: "p", sessionId: "s", nodeId: "n1", variantId: "v1", endEventId: 4 });
  assert.equal(messageScope(EMPTY), null);
});

test("switches: the master is on when unset, choices are kept per source, no storage is no failure", () => {
  const kept = new Map();
  const storage = { getItem: (key) => kept.get(key) ?? null, setItem: (key, value) => kept.set(key, value) };
  const switches = createSwitches(storage);
  assert.equal(switches.master, true);
  switches.setMaster(false);
  assert.equal(createSwitches(storage).master, false);
  assert.deepEqual(switches.get("a"), { enabled: true, implementation: "builtin" });
  switches.set("a", { enabled: false });
  switches.set("b", { implementation: "off" });
  assert.deepEqual([switches.get("a").enabled, switches.get("b").implementation], [false, "off"]);
  const broken = createSwitches({ getItem() { throw new Error("denied"); }, setItem() { throw new Error("denied"); } });
  broken.setMaster(false);
  assert.equal(broken.master, true);
});

test("the frame's policy names its own script by hash and allows no network", async () => {
  const html = await read("card-frame.html");
  const script = /<script>([\s\S]*?)<\/script>/.exec(html)[1];
  const policy = /http-equiv="Content-Security-Policy" content="([^"]*)"/.exec(html)[1];
  const hash = createHash("sha256").update(script).digest("base64");
  assert.ok(policy.includes(`script-src 'sha256-${hash}' 'unsafe-eval'`), "run the hash again: the script has changed");
  assert.ok(policy.includes("default-src 'none'"));
  assert.ok(!/connect-src|frame-src|https?:/.test(policy));
});
