// Types of bridge.js (spec/mvu.md §7, §8; spec/http.md MVU).

export type Cause = "user-interaction" | "interval" | "script";
export type WriteOperation = "patch" | "replace";
export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

export interface MessageScope {
  playthroughId: string;
  sessionId: string;
  nodeId: string;
  variantId: string;
  endEventId: number;
  sessionFormatVersion?: number;
}

export interface OpeningScope {
  mode: "initial" | "greeting";
  playthroughId: string;
  sessionId: string;
  characterId: string;
  sessionFormatVersion?: number;
  greetingIndex?: number;
  selectionToken?: string;
}

export type CardScope = MessageScope | OpeningScope;

/** The whole envelope; `stat_data` is the state that the card's declaration describes. */
export interface Variables {
  stat_data: { [key: string]: Json };
  schema: Json;
  mvu_schema?: { mvuSchema: 1; interpreterVersion: 1 | 2 | 3; source: string };
  display_data?: Json;
  delta_data?: Json;
  [key: string]: Json | undefined;
}

export interface CommandProcessor {
  protocolVersion: 1;
  registered: boolean;
  registrationId?: string;
  source: string;
  sha256: string;
  listenerCount?: number;
  error?: { code: string; message: string };
}

export interface ServerSnapshot {
  version: 1;
  status: "available" | "unavailable";
  scope: CardScope;
  revision: number;
  currentRevision?: number;
  variables: Variables | Record<string, never>;
  resourceId?: string;
  viewIdentity?: { greetingIndex: number; selectionToken: string };
  /** Openings only; `messageCount` counts the opening too. */
  firstMessage?: { greetingIndex: number; text: string; messageCount: number };
  commandProcessor?: CommandProcessor;
}

export interface Snapshot extends ServerSnapshot {
  /** True when the variables are readable now and this binding may write them. */
  writable: boolean;
  /** The last read failed; the data shown are the last ones that were valid. */
  readState?: "failed";
  /** Code of the error table. */
  error?: string;
}

export interface SourceIdentity {
  version: 1;
  sha256: string;
  scope: CardScope;
}

export interface Grant {
  readonly grantId: string;
  readonly sourceIdentity: SourceIdentity;
}

export interface WriteGrant {
  getGrant(): Promise<Grant>;
  renew(): Promise<Grant>;
}

export interface Execution extends WriteGrant {
  dispose(): Promise<void>;
}

export interface Revocation {
  readonly id: string;
  readonly pending: boolean;
  readonly error: string | null;
}

export interface WriteGrantRegistry {
  open(execution: { source: string; sourceIdentity: SourceIdentity }): Execution;
  revocations(): Revocation[];
  retry(id: string): Promise<void>;
  subscribe(listener: (revocations: Revocation[]) => void): () => void;
}

interface CallOptions {
  signal?: AbortSignal;
}

export interface MvuClient {
  readSnapshot(scope: CardScope, options?: CallOptions): Promise<ServerSnapshot>;
  createBinding(
    request: { scope: CardScope; grantId: string; sourceIdentity: SourceIdentity; bindingId: string },
    options?: CallOptions,
  ): Promise<{ capability: string; snapshot: ServerSnapshot }>;
  writeCard(
    request: {
      capability: string;
      operation: WriteOperation;
      value: Json;
      expectedRevision: number;
      operationId: string;
      cause: Cause;
    },
    options?: CallOptions,
  ): Promise<ServerSnapshot>;
  revokeBinding(capability: string, options?: CallOptions): Promise<{ ok: true }>;
  createGrant(
    request: { source: string; sourceIdentity: SourceIdentity; executionId: string; downloaded: true; enabled: true },
    options?: CallOptions,
  ): Promise<{ ok: true; grantId: string }>;
  deleteGrant(grantId: string, options?: CallOptions): Promise<{ ok: true }>;
  /** Optional push; without it, or when the server refuses it, the binding polls. */
  watchSnapshots?(
    scope: CardScope,
    options: {
      signal?: AbortSignal;
      lastEventId?: number;
      onOpen?(): void;
      onSnapshot(snapshot: ServerSnapshot): void;
    },
  ): Promise<void>;
  request(method: "GET" | "POST" | "DELETE", path: string, body?: unknown, options?: CallOptions): Promise<any>;
}

export interface WriteOptions extends CallOptions {
  cause?: Cause;
  /** The revision that the writer saw; the binding's own when absent. */
  expectedRevision?: number;
  operationId?: string;
}

export interface OperationReceipt {
  readonly operationId: string;
  readonly result: ServerSnapshot;
}

export interface MvuCardBinding {
  readonly scope: CardScope;
  getSnapshot(): Snapshot;
  subscribe(listener: (snapshot: Snapshot) => void): () => void;
  refresh(): Promise<Snapshot>;
  write(operation: WriteOperation, value: Json, options?: WriteOptions): Promise<Snapshot>;
  /** An AbortError thrown after the result was known carries it as `operationReceipt`. */
  writeOperation(operation: WriteOperation, value: Json, options?: WriteOptions): Promise<OperationReceipt>;
  dispose(): Promise<void>;
}

export interface MvuFace {
  readonly events: { readonly VARIABLE_UPDATE_ENDED: "mag_variable_update_ended" };
  getMvuData(options?: unknown): Variables;
  updateVariablesWith(patch: Json[]): Promise<Variables>;
  replaceMvuData(variables: Variables, options?: unknown): Promise<Variables>;
  on(event: "mag_variable_update_ended", handler: () => void): () => void;
  dispose(): void;
}

export class MvuError extends Error {
  constructor(code: string, message: string, more?: { status?: number; details?: any; cause?: unknown });
  readonly code: string;
  readonly status: number;
  readonly details?: any;
  readonly isTransport: boolean;
}

export const POLL_DEFAULT_MS: 1000;
export const POLL_FLOOR_MS: 250;
export const REVOKE_TIMEOUT_MS: 10000;
export const VARIABLE_UPDATE_ENDED: "mag_variable_update_ended";

export function createMvuClient(options?: {
  baseUrl?: string;
  requestTokenUrl?: string;
  token?: string;
  fetch?: typeof fetch;
}): MvuClient;

export function executionPackage(options: {
  scope: CardScope;
  runs?: Json[];
  modules?: Json;
  html?: string;
}): Promise<{ source: string; sourceIdentity: SourceIdentity }>;

export function createWriteGrantRegistry(options: { client: Pick<MvuClient, "createGrant" | "deleteGrant"> }): WriteGrantRegistry;

export function createMvuCardBinding(options: {
  client: MvuClient;
  scope: CardScope;
  signal?: AbortSignal;
  pollMs?: number;
  writeGrant?: WriteGrant;
  /** False: never open an event stream. */
  push?: boolean;
  /** False: do not ask for a new grant and binding after the server was restarted. */
  rebind?: boolean;
}): Promise<MvuCardBinding>;

export function createMvuFace(binding: MvuCardBinding, options?: { cause?: Cause }): MvuFace;
export function validateSnapshot(value: unknown, scope: CardScope): ServerSnapshot;
export function updateEnded(before: Snapshot, after: Snapshot): boolean;
