import assert from "node:assert/strict";
import { test } from "node:test";

import { createMvuCardBinding, createMvuFace, MvuError, updateEnded, VARIABLE_UPDATE_ENDED } from "../../server/static/bridge.js";
import { deferred, fakeClient, fixedGrant, pause, SCOPE, snapshot, until } from "./fakes.mjs";

const network = () => new MvuError("MVU_READ_FAILED", "no answer");

test("scenario 014: copies, polling, disposal, scope mismatch", async () => {
  const world = { snapshot: snapshot(1, 10) };
  const client = fakeClient(world);
  const binding = await createMvuCardBinding({ client, scope: SCOPE, pollMs: 1 });
  binding.getSnapshot().variables.stat_data.hp = 999;
  assert.equal(binding.getSnapshot().variables.stat_data.hp, 10);
  const seen = [];
  binding.subscribe((value) => seen.push(value.revision));
  world.snapshot = snapshot(2, 9);
  await until(() => seen.length > 0);
  assert.deepEqual(seen, [2]);
  await binding.dispose();
  assert.throws(() => binding.getSnapshot(), { code: "MVU_DISPOSED" });
  assert.throws(() => binding.subscribe(() => {}), { code: "MVU_DISPOSED" });
  await assert.rejects(binding.write("patch", []), { code: "MVU_DISPOSED" });
  world.snapshot = snapshot(3, 8, { ...SCOPE, sessionId: "other" });
  await assert.rejects(createMvuCardBinding({ client, scope: SCOPE }), /scope mismatch/);
});

test("scenario 015: abort during the first read aborts the transport", async () => {
  const controller = new AbortController();
  let aborted = false;
  const client = {
    readSnapshot: (scope, { signal }) => new Promise((_, reject) => {
      signal.addEventListener("abort", () => { aborted = true; reject(new DOMException("stop", "AbortError")); });
    }),
  };
  const creation = createMvuCardBinding({ client, scope: SCOPE, signal: controller.signal });
  controller.abort();
  await assert.rejects(creation, { name: "AbortError" });
  assert.equal(aborted, true);
});

test("scenario 015: an already aborted signal reads nothing", async () => {
  const client = fakeClient({ snapshot: snapshot(1, 10) });
  await assert.rejects(createMvuCardBinding({ client, scope: SCOPE, signal: AbortSignal.abort() }), { name: "AbortError" });
  assert.equal(client.calls.length, 0);
});

test("scenario 016: a poll that began before a committed write and fails is ignored", async () => {
  const world = { snapshot: snapshot(1, 10) };
  const client = fakeClient(world);
  const binding = await createMvuCardBinding({ client, scope: SCOPE, writeGrant: fixedGrant(), pollMs: 1 });
  const slow = deferred();
  let polls = 0;
  client.readSnapshot = () => { polls += 1; return polls === 1 ? slow.promise : new Promise(() => {}); };
  const seen = [];
  binding.subscribe((value) => seen.push([value.status, value.revision, value.readState]));
  await until(() => polls === 1);
  await binding.write("patch", []);
  slow.reject(network());
  await pause(20);
  assert.deepEqual(seen, [["available", 2, undefined]]);
  assert.equal(binding.getSnapshot().revision, 2);
  assert.equal(binding.getSnapshot().writable, true);
  await binding.dispose();
});

test("scenario 017: the receipt keeps its revision, the snapshot never goes back", async () => {
  const world = { snapshot: snapshot(1, 10) };
  const client = fakeClient(world);
  const binding = await createMvuCardBinding({ client, scope: SCOPE, writeGrant: fixedGrant(), pollMs: 1 });
  const answer = deferred();
  client.writeCard = () => answer.promise;
  const writing = binding.writeOperation("patch", []);
  world.snapshot = snapshot(3, 7);
  await binding.refresh();
  assert.equal(binding.getSnapshot().revision, 3);
  answer.resolve(snapshot(2, 8));
  const receipt = await writing;
  assert.equal(receipt.result.revision, 2);
  assert.ok(Object.isFrozen(receipt) && Object.isFrozen(receipt.result.variables.stat_data));
  assert.equal(binding.getSnapshot().revision, 3);
  assert.equal(binding.getSnapshot().variables.stat_data.hp, 7);
  await binding.dispose();
});

test("scenario 018: an abort after the result carries the receipt", async () => {
  const client = fakeClient({ snapshot: snapshot(1, 10) });
  const binding = await createMvuCardBinding({ client, scope: SCOPE, writeGrant: fixedGrant() });
  const controller = new AbortController();
  client.writeCard = async () => { controller.abort(); return snapshot(2, 9); };
  await assert.rejects(binding.writeOperation("patch", [], { signal: controller.signal }), (error) => {
    assert.equal(error.name, "AbortError");
    assert.equal(error.operationReceipt.result.revision, 2);
    assert.equal(typeof error.operationReceipt.operationId, "string");
    return true;
  });
  assert.equal(binding.getSnapshot().revision, 2);
  await binding.dispose();
});

test("scenario 019: 520 lost binding answers, every known id revoked", async () => {
  const world = { snapshot: snapshot(1, 10) };
  const client = fakeClient(world);
  client.createBinding = async (request) => {
    client.calls.push(["bind", request]);
    world.bindings.add(request.bindingId);
    throw new MvuError("MVU_READ_FAILED", "lost", { status: 502 });
  };
  const results = await Promise.allSettled(
    Array.from({ length: 520 }, () => createMvuCardBinding({ client, scope: SCOPE, writeGrant: fixedGrant() })),
  );
  assert.ok(results.every((result) => result.status === "rejected"));
  const ids = new Set(client.of("bind").map((request) => request.bindingId));
  assert.equal(ids.size, 520);
  assert.deepEqual(new Set(client.of("revoke")), ids);
  assert.equal(world.bindings.size, 0);
});

test("scenario 020: network and 5xx keep the display, other failures empty it", async () => {
  const world = { snapshot: snapshot(1, 10) };
  const client = fakeClient(world);
  const good = client.readSnapshot;
  const binding = await createMvuCardBinding({ client, scope: SCOPE, writeGrant: fixedGrant(), pollMs: 1, rebind: false });
  const seen = [];
  binding.subscribe((value) => seen.push(value));
  for (const failure of [network(), new MvuError("STORAGE_UNAVAILABLE", "busy", { status: 503 })]) {
    client.readSnapshot = async () => { throw failure; };
    await binding.refresh();
    await binding.refresh();
    const shown = binding.getSnapshot();
    assert.deepEqual([shown.status, shown.readState, shown.error], ["available", "failed", "MVU_READ_FAILED"]);
    assert.equal(shown.variables.stat_data.hp, 10);
    assert.equal(shown.writable, false);
    await assert.rejects(binding.write("patch", []), { code: "MVU_SNAPSHOT_UNAVAILABLE" });
  }
  assert.equal(seen.length, 1, "identical failures are told once");
  client.readSnapshot = good;
  await binding.refresh();
  assert.equal(seen.length, 2);
  assert.equal(seen[1].readState, undefined);
  assert.equal(seen[1].writable, true);
  for (const [failure, code] of [
    [new MvuError("MVU_READ_ONLY", "no", { status: 403 }), "MVU_READ_ONLY"],
    [null, "MVU_INVALID_SNAPSHOT"],
  ]) {
    client.readSnapshot = async () => { if (failure) throw failure; return { version: 1 }; };
    await binding.refresh();
    const shown = binding.getSnapshot();
    assert.deepEqual([shown.status, shown.variables, shown.error, shown.writable], ["unavailable", {}, code, false]);
  }
  await binding.dispose();
});

test("the first read is validated", async () => {
  const wrong = [
    null, [], { ...snapshot(1, 1), version: 2 }, { ...snapshot(1, 1), status: "fine" }, { ...snapshot(1, 1), variables: [] },
    { ...snapshot(1, 1), revision: -1 }, { ...snapshot(1, 1), revision: 1.5 }, { ...snapshot(1, 1), revision: "1" },
    { ...snapshot(1, 1), scope: null }, { ...snapshot(1, 1), variables: { stat_data: {} } },
    { ...snapshot(1, 1), variables: { schema: {} } }, { ...snapshot(1, 1), scope: { ...SCOPE, endEventId: 6 } },
  ];
  for (const value of wrong) {
    const client = { readSnapshot: async () => value };
    await assert.rejects(createMvuCardBinding({ client, scope: SCOPE }), { code: "MVU_INVALID_SNAPSHOT" });
  }
  const unavailable = { version: 1, status: "unavailable", scope: SCOPE, revision: 0, currentRevision: 0, variables: {} };
  const binding = await createMvuCardBinding({ client: { readSnapshot: async () => unavailable }, scope: SCOPE });
  assert.equal(binding.getSnapshot().status, "unavailable");
  await binding.dispose();
});

test("a scope needs a session and knows its keys, and is a frozen copy", async () => {
  const client = fakeClient({ snapshot: snapshot(1, 10) });
  for (const scope of [null, [], {}, { sessionId: "" }, { ...SCOPE, messageId: "m" }]) {
    await assert.rejects(createMvuCardBinding({ client, scope }), { code: "MVU_SCOPE" });
  }
  const mine = { ...SCOPE };
  const binding = await createMvuCardBinding({ client, scope: mine });
  mine.sessionId = "changed";
  assert.equal(binding.scope.sessionId, "s");
  assert.ok(Object.isFrozen(binding.scope));
  await binding.dispose();
});

test("a binding must carry its own id", async () => {
  const world = { snapshot: snapshot(1, 10) };
  const client = fakeClient(world);
  client.createBinding = async () => ({ capability: "another", snapshot: world.snapshot });
  await assert.rejects(createMvuCardBinding({ client, scope: SCOPE, writeGrant: fixedGrant() }), { code: "MVU_WRITE_DENIED" });
  assert.equal(client.of("revoke").length, 1);
});

test("a lost binding answer is replayed with the same id", async () => {
  const world = { snapshot: snapshot(1, 10) };
  const client = fakeClient(world);
  const good = client.createBinding;
  let lost = 1;
  client.createBinding = async (request) => {
    const answer = await good(request);
    if (lost) { lost -= 1; throw network(); }
    return answer;
  };
  const binding = await createMvuCardBinding({ client, scope: SCOPE, writeGrant: fixedGrant() });
  const [first, second] = client.of("bind");
  assert.deepEqual(first, second);
  assert.equal(world.bindings.size, 1);
  await binding.dispose();
  assert.equal(world.bindings.size, 0);
});

test("disposal during creation revokes the binding being created", async () => {
  const world = { snapshot: snapshot(1, 10) };
  const client = fakeClient(world);
  const controller = new AbortController();
  const answer = deferred();
  client.createBinding = (request, { signal }) => new Promise((resolve, reject) => {
    client.calls.push(["bind", request]);
    world.bindings.add(request.bindingId);
    signal.addEventListener("abort", () => reject(new DOMException("stop", "AbortError")));
    answer.resolve();
  });
  const creation = createMvuCardBinding({ client, scope: SCOPE, writeGrant: fixedGrant(), signal: controller.signal });
  await answer.promise;
  controller.abort();
  await assert.rejects(creation, { name: "AbortError" });
  assert.equal(world.bindings.size, 0);
});

test("a retried write keeps the operation id and the revision that the card saw", async () => {
  const world = { snapshot: snapshot(4, 10) };
  const client = fakeClient(world);
  const binding = await createMvuCardBinding({ client, scope: SCOPE, writeGrant: fixedGrant(), pollMs: 1 });
  const requests = [];
  client.writeCard = async (request) => {
    requests.push(request);
    if (requests.length === 1) {
      world.snapshot = snapshot(6, 1);
      await binding.refresh();
      throw network();
    }
    if (requests.length === 2) throw new MvuError("STORAGE_UNAVAILABLE", "busy", { status: 503 });
    return snapshot(5, 9);
  };
  const receipt = await binding.writeOperation("patch", [{ op: "delta", path: "/hp", value: -1 }], { cause: "interval" });
  assert.equal(requests.length, 3);
  assert.deepEqual(requests[1], requests[0]);
  assert.deepEqual(requests[2], requests[0]);
  assert.equal(requests[0].expectedRevision, 4);
  assert.equal(requests[0].cause, "interval");
  assert.equal(receipt.operationId, requests[0].operationId);
  assert.equal(binding.getSnapshot().revision, 6);
  await binding.dispose();
});

test("a conflict is told to the writer and the new state is read", async () => {
  const world = { snapshot: snapshot(1, 10) };
  const client = fakeClient(world);
  const binding = await createMvuCardBinding({ client, scope: SCOPE, writeGrant: fixedGrant() });
  world.snapshot = snapshot(2, 5);
  client.writeCard = async () => {
    throw new MvuError("REVISION_CONFLICT", "stale", { status: 409, details: { currentRevision: 2 } });
  };
  await assert.rejects(binding.write("patch", []), { code: "REVISION_CONFLICT", details: { currentRevision: 2 } });
  await until(() => binding.getSnapshot().revision === 2);
  await binding.dispose();
});

test("writes need a grant, an available snapshot and a known cause", async () => {
  const client = fakeClient({ snapshot: snapshot(1, 10) });
  const reader = await createMvuCardBinding({ client, scope: SCOPE });
  assert.equal(reader.getSnapshot().writable, false);
  await assert.rejects(reader.write("patch", []), { code: "MVU_WRITE_DENIED" });
  const writer = await createMvuCardBinding({ client, scope: SCOPE, writeGrant: fixedGrant() });
  await assert.rejects(writer.write("patch", [], { cause: "the card says so" }), { code: "MVU_OPERATION" });
  assert.equal(client.of("write").length, 0);
});

test("scenario 247: after a restart the display stays, writing stops, a new grant recovers", async () => {
  const world = { snapshot: snapshot(1, 10) };
  const client = fakeClient(world);
  const grant = fixedGrant();
  const binding = await createMvuCardBinding({ client, scope: SCOPE, writeGrant: grant, pollMs: 1 });
  const good = client.writeCard;
  const bind = client.createBinding;
  let down = true;
  client.writeCard = async () => { throw new MvuError("MVU_WRITE_DENIED", "gone", { status: 403 }); };
  client.createBinding = async (request) => { if (down) throw network(); return bind(request); };
  await assert.rejects(binding.write("patch", []), { code: "MVU_WRITE_DENIED" });
  assert.equal(binding.getSnapshot().writable, false);
  assert.equal(binding.getSnapshot().variables.stat_data.hp, 10);
  await until(() => grant.renewed === 1);
  down = false;
  client.writeCard = good;
  binding.subscribe(() => {});
  await until(() => binding.getSnapshot().writable);
  await binding.write("patch", []);
  assert.equal(binding.getSnapshot().revision, 2);
  await binding.dispose();
});

test("a scope with a selection token is never bound again by itself", async () => {
  const scope = { mode: "initial", playthroughId: "p", sessionId: "s", characterId: "c", greetingIndex: 0, selectionToken: "f".repeat(64) };
  const client = fakeClient({ snapshot: snapshot(1, 10, scope) });
  const grant = fixedGrant();
  const binding = await createMvuCardBinding({ client, scope, writeGrant: grant });
  client.writeCard = async () => { throw new MvuError("MVU_WRITE_DENIED", "gone", { status: 403 }); };
  await assert.rejects(binding.write("patch", []), { code: "MVU_WRITE_DENIED" });
  await binding.refresh();
  await pause(20);
  assert.equal(grant.renewed, 0);
  assert.equal(binding.getSnapshot().writable, false);
  await binding.dispose();
});

test("push is preferred, resumes with the last revision, and polling follows when it is refused", async () => {
  const world = { snapshot: snapshot(1, 10) };
  const client = fakeClient(world);
  const streams = [];
  client.watchSnapshots = (scope, options) => {
    const end = deferred();
    streams.push({ ...options, ...end });
    options.signal.addEventListener("abort", () => end.reject(new DOMException("stop", "AbortError")));
    return end.promise;
  };
  const binding = await createMvuCardBinding({ client, scope: SCOPE, pollMs: 1 });
  const seen = [];
  binding.subscribe((value) => seen.push(value.revision));
  await until(() => streams.length === 1);
  assert.equal(streams[0].lastEventId, 1);
  streams[0].onSnapshot(snapshot(2, 9));
  streams[0].onSnapshot(snapshot(2, 9));
  streams[0].onSnapshot(snapshot(1, 10));
  assert.deepEqual(seen, [2]);
  world.snapshot = snapshot(3, 8);
  streams[0].resolve();
  await until(() => streams.length === 2);
  assert.deepEqual(seen, [2, 3]);
  assert.equal(streams[1].lastEventId, 3);
  streams[1].reject(new MvuError("NOT_FOUND", "no such route", { status: 404 }));
  world.snapshot = snapshot(4, 7);
  await until(() => seen.length === 3);
  await pause(350);
  assert.equal(streams.length, 2);
  await binding.dispose();
});

test("a listener that throws does not silence the others", async () => {
  const world = { snapshot: snapshot(1, 10) };
  const client = fakeClient(world);
  const binding = await createMvuCardBinding({ client, scope: SCOPE });
  const reported = [];
  globalThis.reportError = (error) => reported.push(error.message);
  const seen = [];
  binding.subscribe(() => { throw new Error("listener"); });
  binding.subscribe((value) => seen.push(value.revision));
  world.snapshot = snapshot(2, 9);
  await binding.refresh();
  delete globalThis.reportError;
  assert.deepEqual([seen, reported], [[2], ["listener"]]);
  await binding.dispose();
});

test("VARIABLE_UPDATE_ENDED fires on newer revisions and on recovery, without arguments", async () => {
  const world = { snapshot: snapshot(1, 10) };
  const client = fakeClient(world);
  const binding = await createMvuCardBinding({ client, scope: SCOPE, writeGrant: fixedGrant(), rebind: false });
  const face = createMvuFace(binding);
  const calls = [];
  face.on(VARIABLE_UPDATE_ENDED, (...args) => calls.push(args));
  const good = client.readSnapshot;
  client.readSnapshot = async () => { throw network(); };
  await binding.refresh();
  client.readSnapshot = good;
  await binding.refresh();
  assert.equal(calls.length, 0, "a failed read that recovers is no update");
  world.snapshot = snapshot(2, 9);
  await binding.refresh();
  client.readSnapshot = async () => { throw new MvuError("MVU_READ_ONLY", "no", { status: 403 }); };
  await binding.refresh();
  assert.throws(() => face.getMvuData(), { code: "MVU_SNAPSHOT_UNAVAILABLE" });
  client.readSnapshot = good;
  await binding.refresh();
  assert.deepEqual(calls, [[], []]);
  assert.equal((await face.updateVariablesWith([])).stat_data.hp, 8);
  await assert.rejects(face.updateVariablesWith((x) => x), { code: "MVU_OPERATION" });
  await assert.rejects(face.replaceMvuData([]), { code: "MVU_OPERATION" });
  assert.equal(calls.length, 3);
  assert.equal(updateEnded(snapshot(2, 1), snapshot(2, 1)), false);
  face.dispose();
  await binding.dispose();
});
