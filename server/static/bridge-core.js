// What the parts of the bridge share: the error class, copies, waiting, signals.
export const REVOKE_TIMEOUT_MS = 10_000;
export const RETRY_BASE_MS = 150;

/** A failed request or a refused operation; `code` is a row of the error table, `status` 0 means "no answer". */
export class MvuError extends Error {
  constructor(code, message, { status = 0, details, cause } = {}) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = "MvuError";
    this.code = code;
    this.status = status;
    this.details = details;
  }

  /** True when nothing is known about the outcome: no answer, or an answer of the 5xx kind. */
  get isTransport() {
    return this.code === "MVU_READ_FAILED" || this.status >= 500;
  }
}

export function abortError(message = "The operation was aborted.") {
  return new DOMException(message, "AbortError");
}

export function isAbort(error) {
  return error instanceof DOMException && error.name === "AbortError";
}

export function isPlainObject(value) {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export function copy(value) {
  return value === undefined ? undefined : structuredClone(value);
}

export function deepFreeze(value) {
  if (typeof value === "object" && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value);
    for (const key of Object.keys(value)) deepFreeze(value[key]);
  }
  return value;
}

export function uuid() {
  if (typeof crypto.randomUUID === "function") return crypto.randomUUID();
  // Pages that are not a secure context have random values but no randomUUID.
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  bytes[6] = (bytes[6] & 0x0f) | 0x40;
  bytes[8] = (bytes[8] & 0x3f) | 0x80;
  const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join("-");
}

/** Waits, or rejects with AbortError as soon as one of the signals is aborted. */
export function sleep(ms, ...signals) {
  return new Promise((resolve, reject) => {
    const live = signals.filter(Boolean);
    const stop = () => {
      clearTimeout(timer);
      for (const signal of live) signal.removeEventListener("abort", stop);
      reject(abortError());
    };
    const timer = setTimeout(() => {
      for (const signal of live) signal.removeEventListener("abort", stop);
      resolve();
    }, ms);
    if (live.some((signal) => signal.aborted)) return stop();
    for (const signal of live) signal.addEventListener("abort", stop, { once: true });
  });
}

/** One signal that is aborted when any of the given ones is; `release` removes its listeners. */
export function anySignal(...signals) {
  const controller = new AbortController();
  const live = signals.filter(Boolean);
  const stop = () => controller.abort();
  for (const signal of live) {
    if (signal.aborted) controller.abort();
    else signal.addEventListener("abort", stop, { once: true });
  }
  return {
    signal: controller.signal,
    release() {
      for (const signal of live) signal.removeEventListener("abort", stop);
    },
  };
}

/** Reports an error of a listener without stopping the others. */
export function reportError(error) {
  if (typeof globalThis.reportError === "function") globalThis.reportError(error);
  else setTimeout(() => { throw error; });
}
