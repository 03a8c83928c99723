import assert from "node:assert/strict";
import { createServer } from "node:http";
import { after, test } from "node:test";

import { createMvuCardBinding, createMvuClient } from "../../server/static/bridge.js";
import { SCOPE, snapshot, until } from "./fakes.mjs";

const servers = [];
after(() => { for (const server of servers) { server.closeAllConnections(); server.close(); } });

async function serve(handler) {
  const requests = [];
  const server = createServer((request, response) => {
    let body = "";
    request.on("data", (chunk) => { body += chunk; });
    request.on("end", () => {
      requests.push({ method: request.method, url: request.url, headers: request.headers, body });
      handler(requests.at(-1), response);
    });
  });
  servers.push(server);
  await new Promise((resolve) => { server.listen(0, "127.0.0.1", resolve); });
  const base = `http://127.0.0.1:${server.address().port}`;
  return { base, requests, client: (more) => createMvuClient({ baseUrl: `${base}/api/v1/`, requestTokenUrl: `${base}/token`, ...more }) };
}

function answer(response, status, body) {
  response.writeHead(status, { "Content-Type": "application/json" });
  response.end(typeof body === "string" ? body : JSON.stringify(body));
}

test("a stale request token is fetched again once, then the mutation is repeated", async () => {
  let current = "one";
  const server = await serve((request, response) => {
    if (request.url === "/token") return answer(response, 200, { ok: true, token: current });
    if (request.headers["x-tavern-request-token"] !== current) {
      return answer(response, 403, { ok: false, code: "TAVERN_API_ORIGIN_FORBIDDEN", error: "token" });
    }
    return answer(response, 200, { ok: true });
  });
  const client = server.client();
  await client.revokeBinding("x");
  current = "two";
  await client.revokeBinding("y");
  const paths = server.requests.map((request) => request.url);
  const post = "/api/v1/mvu/card-binding/revoke";
  assert.deepEqual(paths, [post, "/token", post, post, "/token", post]);
  const tokenCall = server.requests[1];
  assert.equal(tokenCall.headers["x-tavern-client"], "embedded");
  assert.equal(server.requests.at(-1).headers["content-type"], "application/json");
  assert.equal(server.requests.at(-1).body, '{"capability":"y"}');
});

test("a token that stays refused ends in the error, not in a loop", async () => {
  const server = await serve((request, response) => {
    if (request.url === "/token") return answer(response, 200, { ok: true, token: "never good" });
    return answer(response, 403, { ok: false, code: "TAVERN_API_ORIGIN_FORBIDDEN", error: "token" });
  });
  await assert.rejects(server.client().revokeBinding("x"), { code: "TAVERN_API_ORIGIN_FORBIDDEN", status: 403 });
  assert.equal(server.requests.length, 3);
});

test("errors carry code, status, sentence and details; odd bodies are no success", async () => {
  const answers = [
    [409, { ok: false, code: "REVISION_CONFLICT", error: "stale", details: { currentRevision: 4 } }],
    [502, "<html>bad gateway</html>"],
    [200, "not json"],
  ];
  const server = await serve((request, response) => answer(response, ...answers.shift()));
  const client = server.client({ token: "secret" });
  await assert.rejects(client.writeCard({}), (error) => {
    assert.deepEqual([error.code, error.status, error.message, error.details], ["REVISION_CONFLICT", 409, "stale", { currentRevision: 4 }]);
    return !error.isTransport;
  });
  await assert.rejects(client.readSnapshot(SCOPE), (error) => error.isTransport && error.code === "HTTP_502");
  await assert.rejects(client.readSnapshot(SCOPE), { code: "MVU_INVALID_SNAPSHOT" });
  assert.equal(server.requests[0].headers.authorization, "Bearer secret");
  assert.deepEqual(JSON.parse(new URL(server.requests[1].url, server.base).searchParams.get("scope")), SCOPE);
});

test("an unreachable server is a transport failure", async () => {
  const client = createMvuClient({ baseUrl: "http://127.0.0.1:1/api/v1" });
  await assert.rejects(client.readSnapshot(SCOPE), (error) => error.isTransport && error.code === "MVU_READ_FAILED");
});

test("the event stream: split chunks, comments, resume, then polling when the route is gone", async (t) => {
  let state = snapshot(1, 10);
  let streams = 0;
  const server = await serve((request, response) => {
    if (!request.url.startsWith("/api/v1/mvu/events")) return answer(response, 200, state);
    streams += 1;
    if (streams > 2) return answer(response, 404, { ok: false, code: "NOT_FOUND", error: "no" });
    response.writeHead(200, { "Content-Type": "text/event-stream; charset=utf-8" });
    const text = `: heartbeat\r\nid: 2\r\nevent: snapshot\r\ndata: ${JSON.stringify(snapshot(streams + 1, 9))}\r\n\r\n`;
    response.write(text.slice(0, 30));
    setTimeout(() => { response.write(text.slice(30)); setTimeout(() => response.end(), 10); }, 10);
  });
  const binding = await createMvuCardBinding({ client: server.client(), scope: SCOPE, pollMs: 250 });
  t.after(() => binding.dispose());
  const seen = [];
  binding.subscribe((value) => seen.push(value.revision));
  await until(() => seen.includes(3));
  state = snapshot(4, 1);
  await until(() => seen.includes(4));
  assert.deepEqual(seen, [2, 3, 4]);
  const resumes = server.requests.filter((r) => r.url.includes("/mvu/events")).map((r) => r.headers["last-event-id"]);
  assert.deepEqual(resumes.slice(0, 2), ["1", "2"]);
});
