import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";

import { createWriteGrantRegistry, executionPackage, MvuError } from "../../server/static/bridge.js";
import { sha256, sha256Hex } from "../../server/static/sha256.js";
import { deferred, pause, SCOPE } from "./fakes.mjs";

function grantClient() {
  const live = new Set();
  const posts = [];
  const deletes = [];
  return {
    live, posts, deletes,
    async createGrant(request) { posts.push(request); live.add(request.executionId); return { ok: true, grantId: request.executionId }; },
    async deleteGrant(id) { deletes.push(id); live.delete(id); return { ok: true }; },
  };
}

test("scenario 246: one acquisition in flight, disposal revokes once, late grants are revoked too", async () => {
  const client = grantClient();
  const registry = createWriteGrantRegistry({ client });
  const execution = registry.open(await executionPackage({ scope: SCOPE }));
  const [one, two] = await Promise.all([execution.getGrant(), execution.getGrant()]);
  assert.equal(client.posts.length, 1);
  assert.deepEqual(one, two);
  assert.deepEqual([client.posts[0].downloaded, client.posts[0].enabled], [true, true]);
  await execution.dispose();
  await execution.dispose();
  assert.deepEqual(client.deletes, [one.grantId]);
  await assert.rejects(execution.getGrant(), { name: "AbortError" });

  const late = registry.open(await executionPackage({ scope: SCOPE, html: "<p>" }));
  const answer = deferred();
  client.createGrant = () => answer.promise;
  const waiting = late.getGrant();
  await late.dispose();
  answer.resolve({ ok: true, grantId: "late" });
  await assert.rejects(waiting, { name: "AbortError" });
  assert.deepEqual(client.deletes, [one.grantId, "late"]);
});

test("scenario 247: renew and rebuild give new current grants", async () => {
  const client = grantClient();
  const registry = createWriteGrantRegistry({ client });
  const pack = await executionPackage({ scope: SCOPE });
  const execution = registry.open(pack);
  const first = await execution.getGrant();
  const second = await execution.renew();
  assert.notEqual(first.grantId, second.grantId);
  assert.deepEqual([...client.live], [second.grantId]);
  await execution.dispose();
  const third = await registry.open(pack).getGrant();
  assert.ok(![first.grantId, second.grantId].includes(third.grantId));
  const other = await executionPackage({ scope: { ...SCOPE, sessionId: "t" } });
  assert.notEqual(other.sourceIdentity.sha256, pack.sourceIdentity.sha256);
});

test("scenario 250: a failed revocation is listed and can be retried", async () => {
  const client = grantClient();
  const registry = createWriteGrantRegistry({ client });
  const seen = [];
  registry.subscribe((list) => seen.push(list.map(({ pending, error }) => [pending, error])));
  const execution = registry.open(await executionPackage({ scope: SCOPE }));
  const { grantId } = await execution.getGrant();
  const good = client.deleteGrant;
  client.deleteGrant = async () => { throw new MvuError("STORAGE_UNAVAILABLE", "busy", { status: 503 }); };
  await execution.dispose();
  assert.deepEqual(registry.revocations(), [{ id: grantId, pending: false, error: "busy" }]);
  await assert.rejects(execution.getGrant(), { name: "AbortError" });
  client.deleteGrant = good;
  await registry.retry(grantId);
  assert.deepEqual(registry.revocations(), []);
  assert.deepEqual(client.deletes, [grantId]);
  assert.deepEqual(seen, [[[true, null]], [[false, "busy"]], [[true, null]], []]);
});

test("scenario 251: lost answers reuse one execution id", async () => {
  const client = grantClient();
  const registry = createWriteGrantRegistry({ client });
  const execution = registry.open(await executionPackage({ scope: SCOPE }));
  const good = client.createGrant;
  client.createGrant = async (request) => { await good(request); throw new MvuError("MVU_READ_FAILED", "lost"); };
  for (let i = 0; i < 80; i += 1) await assert.rejects(execution.getGrant(), { code: "MVU_READ_FAILED" });
  client.createGrant = good;
  const grant = await execution.getGrant();
  assert.equal(client.posts.length, 81);
  assert.equal(new Set(client.posts.map((request) => request.executionId)).size, 1);
  assert.equal(client.live.size, 1);
  await execution.dispose();
  assert.equal(client.live.size, 0);
  assert.equal(grant.grantId, client.deletes[0]);
});

test("an answer without a grant id is refused", async () => {
  const client = grantClient();
  client.createGrant = async () => ({ ok: true });
  const execution = createWriteGrantRegistry({ client }).open(await executionPackage({ scope: SCOPE }));
  await assert.rejects(execution.getGrant(), { code: "MVU_WRITE_DENIED" });
});

test("renewal while an acquisition is in flight drops the older answer", async () => {
  const client = grantClient();
  const answers = [];
  client.createGrant = (request) => {
    client.posts.push(request);
    const answer = deferred();
    answers.push(answer);
    return answer.promise;
  };
  const execution = createWriteGrantRegistry({ client }).open(await executionPackage({ scope: SCOPE }));
  const first = execution.getGrant();
  const second = execution.renew();
  await pause(1);
  answers[0].resolve({ grantId: "old" });
  answers[1].resolve({ grantId: "new" });
  await assert.rejects(first, { name: "AbortError" });
  assert.equal((await second).grantId, "new");
  assert.deepEqual(client.deletes, ["old"]);
});

test("the hash of an execution is SHA-256 of its source, with and without a secure context", async () => {
  const { source, sourceIdentity } = await executionPackage({ scope: SCOPE, html: "雾港" });
  const expected = createHash("sha256").update(source).digest("hex");
  assert.equal(sourceIdentity.sha256, expected);
  assert.deepEqual(JSON.parse(source), { version: 1, scope: SCOPE, runs: [], modules: {}, html: "雾港" });
  for (const length of [0, 1, 55, 56, 63, 64, 65, 119, 120, 1000]) {
    const text = "é".repeat(length).slice(0, length);
    const bytes = new TextEncoder().encode(text);
    const digest = createHash("sha256").update(text).digest("hex");
    assert.equal(Buffer.from(sha256(bytes)).toString("hex"), digest, `length ${length}`);
    assert.equal(await sha256Hex(text), digest);
  }
});
