// The HTTP client of the bridge (spec/http.md, Renderer calls).
import { abortError, anySignal, MvuError } from "./bridge-core.js";

const QUIET_STREAM_MS = 45_000; // the server sends a heartbeat every 15 seconds

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
