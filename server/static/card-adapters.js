// Which built-in stands in for a card's script, and the switches of display scripts (spec/mvu.md §0.5, §0.14, §0.19).
// Selection compares address and form of the import only; original remote code is never loaded.

const FACADE = /^https:\/\/[a-z0-9.-]+\/gh\/MagicalAstrogy\/MagVarUpdate(@[\w.-]+)?\/artifact\/bundle\.js$/;
const SCHEMA = /^https:\/\/[a-z0-9.-]+\/gh\/StageDog\/tavern_resource(@[\w.-]+)?\/dist\/util\/mvu_zod\.js$/;
const IMPORT = /^import\s*(?:(?<clause>[\w*{}$,\s\p{L}\p{N}_]+?)\s*from\s*)?(?<quote>["'])(?<url>[^"'\n]*)\k<quote>\s*(?:;|$)/u;

/** The built-in for an import address: `{kind, version}` or null. A digest is never asked for. */
export function builtinAdapter({ url }) {
  if (FACADE.test(url)) return { kind: "mvu-facade", version: 1 };
  if (SCHEMA.test(url)) return { kind: "backend-schema", version: 1 };
  return null;
}

/** Source text with comments and the inside of strings blanked, so that words can be looked for in code only. */
function bareCode(source) {
  return source.replace(
    /\/\*[\s\S]*?\*\/|\/\/[^\n]*|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|`(?:[^`\\]|\\[\s\S])*`/g,
    (token) => (token.startsWith("/") ? " " : '""'),
  );
}

function withoutComments(source) {
  return source.replace(/\/\*[\s\S]*?\*\/|^\s*\/\/[^\n]*$/gm, "").trim();
}

/**
 * What a script is: `run` (plain code), `mvu-facade`, `backend-schema`, `helper`, or `unsupported` with a reason.
 * Anything that imports in another form is unsupported and never runs.
 */
export function classifyScript(source) {
  const code = bareCode(source);
  const moduleWords = code.match(/(?<![.\w$])(?:import|export)\b(?!\s*:)/g) ?? [];
  if (moduleWords.length === 0) {
    const helper = source.includes("COMMAND_PARSED") && source.includes("global_Mvu_initialized");
    return { kind: helper ? "helper" : "run" };
  }
  const text = withoutComments(source);
  const first = IMPORT.exec(text);
  const adapter = first ? builtinAdapter({ url: first.groups.url }) : null;
  if (!adapter) {
    const what = first ? `an import of ${first.groups.url.slice(0, 200)}` : "an import or export in another form";
    return { kind: "unsupported", reason: `Expected a script without imports, or a known built-in, found ${what}.` };
  }
  const imports = (code.match(/(?<![.\w$])import\b/g) ?? []).length;
  if (imports > 1) return { kind: "unsupported", reason: "Expected one import, found several." };
  if (adapter.kind === "mvu-facade") {
    if (first.groups.clause !== undefined || text.slice(first[0].length).trim() !== "") {
      return { kind: "unsupported", reason: "Expected the variable framework to be imported for its side effect only." };
    }
    return adapter;
  }
  if (!/^\{[^{}]*\bregisterMvuSchema\b[^{}]*\}$/.test(first.groups.clause?.trim() ?? "")) {
    return { kind: "unsupported", reason: "Expected `import { registerMvuSchema }` from the schema module." };
  }
  return adapter;
}

/** A declaration is not run here when the server holds exactly this source; otherwise this throws. */
export function confirmSchema(snapshot, source) {
  if (snapshot?.status !== "available") throw new Error("The variables cannot be read, so the declaration cannot be confirmed.");
  const held = snapshot.variables?.mvu_schema;
  if (!held || held.mvuSchema !== 1) throw new Error("The server holds no declaration for these variables.");
  if (![1, 2, 3].includes(held.interpreterVersion)) {
    throw new Error(`Expected interpreter version 1, 2 or 3, found ${JSON.stringify(held.interpreterVersion)}.`);
  }
  if (held.source !== source) throw new Error("The server holds another declaration than this script.");
  return { interpreterVersion: held.interpreterVersion, skipped: skippedStatements(snapshot) };
}

/** Statements of the declaration that the server does not run; shown, never hidden. */
export function skippedStatements(snapshot) {
  const list = snapshot?.schemaSkipped ?? snapshot?.skipped ?? [];
  return Array.isArray(list) ? list.filter((item) => typeof item?.text === "string") : [];
}

/** Whether the server runs this helper, so that the display need not (spec/mvu.md §6). */
export function confirmHelper(snapshot, source) {
  if (snapshot === null || snapshot === undefined || snapshot.status !== "available") {
    throw Object.assign(new Error("The variables cannot be read, so the helper cannot be confirmed."), { code: "MVU_SNAPSHOT_UNAVAILABLE" });
  }
  const held = snapshot.commandProcessor;
  return (
    held?.registered === true &&
    held.source === source &&
    typeof held.registrationId === "string" &&
    held.registrationId !== "" &&
    Number.isSafeInteger(held.listenerCount) &&
    held.listenerCount >= 1
  );
}

const MASTER = "innkeeper.cards.enabled";
const ONE = "innkeeper.cards.source.";

/**
 * Switches kept in the browser: a master switch that is on when unset, one switch per source, and whether a built-in
 * is used or off. They touch display only.
 */
export function createSwitches(storage = globalThis.localStorage) {
  const read = (key) => {
    try {
      return storage?.getItem(key) ?? null;
    } catch {
      return null; // storage is forbidden in some embeddings; the defaults hold then
    }
  };
  const write = (key, value) => {
    try {
      storage?.setItem(key, value);
    } catch {
      // Not kept, but the running page still follows the choice.
    }
  };
  return Object.freeze({
    get master() { return read(MASTER) !== "off"; },
    setMaster(on) { write(MASTER, on ? "on" : "off"); },
    /** `{enabled, implementation}` of a source, by its SHA-256. */
    get(sha) {
      const [enabled, implementation] = (read(ONE + sha) ?? "on builtin").split(" ");
      return { enabled: enabled !== "off", implementation: implementation === "off" ? "off" : "builtin" };
    },
    set(sha, { enabled = true, implementation = "builtin" }) {
      write(ONE + sha, `${enabled ? "on" : "off"} ${implementation === "off" ? "off" : "builtin"}`);
    },
  });
}
