// Types of card-runtime.js (spec/mvu.md §0.14, §0.17-0.19).
import type { MvuCardBinding, ServerSnapshot, Snapshot } from "./bridge.js";

export interface CardScript {
  name: string;
  source: string;
}

export interface ScriptNotice {
  name: string;
  /** SHA-256 of the source: the key of its switch. */
  sha: string;
  kind: "run" | "builtin" | "off" | "error";
  text: string;
}

export interface SourceSwitch {
  enabled: boolean;
  implementation: "builtin" | "off";
}

export interface Switches {
  readonly master: boolean;
  setMaster(on: boolean): void;
  get(sha: string): SourceSwitch;
  set(sha: string, choice: Partial<SourceSwitch>): void;
}

export interface SelectionTracker {
  observe(snapshot: Snapshot): void;
  pending(sessionId: string): { text: string } | null;
  delivered(sessionId: string): void;
}

export interface RuntimeLimits {
  startMs: number;
  stepMs: number;
  queue: number;
  stepMessages: number;
  pendingWrites: number;
  height: number;
  shownErrors: number;
}

export type RuntimeStatus = "starting" | "running" | "failed" | "killed" | "idle" | "stopped";

export interface CardRuntime {
  readonly notices: ScriptNotice[];
  readonly started: Promise<RuntimeStatus>;
  readonly status: RuntimeStatus;
  stop(): void;
}

export const DEFAULT_LIMITS: Readonly<RuntimeLimits>;

export function createCardRuntime(options: {
  container: HTMLElement;
  binding: MvuCardBinding;
  scripts?: CardScript[];
  html?: string;
  title?: string;
  switches?: Switches;
  selection?: SelectionTracker;
  limits?: Partial<RuntimeLimits>;
  onNotice?(notice: ScriptNotice): void;
  onLog?(entry: { level: string; text: string }): void;
}): Promise<CardRuntime>;

export function createSelectionTracker(): SelectionTracker;
export function createSwitches(storage?: Pick<Storage, "getItem" | "setItem">): Switches;
export function planScripts(
  scripts: CardScript[],
  snapshot: Snapshot,
  switches: Switches,
): Promise<{ run: CardScript[]; notices: ScriptNotice[] }>;
export function builtinAdapter(address: { url: string }): { kind: "mvu-facade" | "backend-schema"; version: 1 } | null;
export function classifyScript(
  source: string,
): { kind: "run" | "helper" } | { kind: "mvu-facade" | "backend-schema"; version: 1 } | { kind: "unsupported"; reason: string };
export function confirmSchema(
  snapshot: ServerSnapshot,
  source: string,
): { interpreterVersion: 1 | 2 | 3; skipped: { line: number; text: string }[] };
export function confirmHelper(snapshot: ServerSnapshot, source: string): boolean;
