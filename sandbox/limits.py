"""The limits of helper execution (spec/mvu.md §1.7, §6): one row each, read by the parent, the child and the prelude.

The sandbox imports nothing of the other packages, so its rows are of a class equal in shape to ``runtime``'s.
"""

from __future__ import annotations

from dataclasses import dataclass, field

EXECUTION = "MVU_COMMAND_HOOK_EXECUTION"
OUTPUT = "MVU_COMMAND_HOOK_OUTPUT"
LIMIT = "MVU_COMMAND_HOOK_LIMIT"

MIB = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Limit:
    """One limit: ``name`` (dotted), ``default`` in ``unit``, what it ``protects``, the ``error`` code it raises."""

    name: str
    default: int
    unit: str
    protects: str
    error: str


SOURCE_UNITS = Limit("sandbox.source", 65_536, "UTF-16 units", "the length of a helper's text", LIMIT)
HEAP_BYTES = Limit("sandbox.heap", 32 * MIB, "bytes", "the engine's heap of one helper call", EXECUTION)
STACK_BYTES = Limit("sandbox.stack", 256 * 1024, "bytes", "the engine's stack of one helper call", EXECUTION)
CPU_MS = Limit("sandbox.cpu", 250, "milliseconds", "CPU time of one entry into the engine", EXECUTION)
CPU_KILL_MS = Limit(
    "sandbox.cpu_kill", 350, "milliseconds", "CPU time of one entry before the kernel ends it", EXECUTION
)
DEADLINE_MS = Limit("sandbox.deadline", 1_000, "milliseconds", "wall time of one call, measured outside", EXECUTION)
START_MS = Limit("sandbox.start", 10_000, "milliseconds", "wall time for the first process to start", EXECUTION)
LISTENERS = Limit("sandbox.listeners", 16, "listeners", "listeners of one event", EXECUTION)
OUTPUT_COMMANDS = Limit("sandbox.output_commands", 1_000, "commands", "commands that a helper hands back", OUTPUT)
OUTPUT_UNITS = Limit(
    "sandbox.output", 8 * MIB, "characters", "the text of the commands that a helper hands back", OUTPUT
)
USER_TEXT_UNITS = Limit("sandbox.user_text", 65_536, "UTF-16 units", "the user text that a gate may see", EXECUTION)
BLOCK_UNITS = Limit(
    "sandbox.operation_block", 30_000, "UTF-16 units", "one operation block of the user text", EXECUTION
)
INPUT_BYTES = Limit("sandbox.input", 24 * MIB, "bytes", "what one call sends to the child", EXECUTION)
MESSAGE_UNITS = Limit("sandbox.message", 400, "UTF-16 units", "the length of an error text from a script", EXECUTION)
CHUNK_UNITS = Limit("sandbox.chunk", 65_536, "UTF-16 units", "one frame of an answer", OUTPUT)
ADDRESS_BYTES = Limit(
    "sandbox.address_space", 192 * MIB, "bytes", "the address space of a child beyond what an idle one has", EXECUTION
)
CPU_TOTAL_S = Limit("sandbox.cpu_total", 60, "seconds", "the CPU time of a child's whole life", EXECUTION)
WORKERS = Limit("sandbox.workers", 16, "processes", "children that live at the same time", EXECUTION)
SPARES = Limit("sandbox.spares", 1, "processes", "unused children kept ready for a new owner", EXECUTION)
WORKER_CALLS = Limit("sandbox.worker_calls", 2_000, "calls", "calls of one child before it is replaced", EXECUTION)
IDLE_S = Limit("sandbox.idle", 60, "seconds", "how long an unused child is kept", EXECUTION)
FUEL = Limit("sandbox.fuel", 800_000_000, "instructions", "WebAssembly instructions of one entry", EXECUTION)
WASM_EXTRA_BYTES = Limit(
    "sandbox.wasm_extra", 4 * MIB, "bytes", "a WebAssembly guest's memory beside its heap", EXECUTION
)
READERS = Limit("sandbox.readers", 1_024, "helpers", "helpers remembered as readers of variables", EXECUTION)

LIMITS: tuple[Limit, ...] = (
    SOURCE_UNITS,
    HEAP_BYTES,
    STACK_BYTES,
    CPU_MS,
    CPU_KILL_MS,
    DEADLINE_MS,
    START_MS,
    LISTENERS,
    OUTPUT_COMMANDS,
    OUTPUT_UNITS,
    USER_TEXT_UNITS,
    BLOCK_UNITS,
    INPUT_BYTES,
    MESSAGE_UNITS,
    CHUNK_UNITS,
    ADDRESS_BYTES,
    CPU_TOTAL_S,
    WORKERS,
    SPARES,
    WORKER_CALLS,
    IDLE_S,
    FUEL,
    WASM_EXTRA_BYTES,
    READERS,
)


@dataclass(frozen=True, slots=True)
class Budget:
    """The chosen numbers of one sandbox; every field starts at its row's default."""

    source_units: int = field(default=SOURCE_UNITS.default)
    heap_bytes: int = field(default=HEAP_BYTES.default)
    stack_bytes: int = field(default=STACK_BYTES.default)
    cpu_ms: int = field(default=CPU_MS.default)
    cpu_kill_ms: int = field(default=CPU_KILL_MS.default)
    deadline_ms: int = field(default=DEADLINE_MS.default)
    start_ms: int = field(default=START_MS.default)
    listeners: int = field(default=LISTENERS.default)
    output_commands: int = field(default=OUTPUT_COMMANDS.default)
    output_units: int = field(default=OUTPUT_UNITS.default)
    user_text_units: int = field(default=USER_TEXT_UNITS.default)
    block_units: int = field(default=BLOCK_UNITS.default)
    input_bytes: int = field(default=INPUT_BYTES.default)
    message_units: int = field(default=MESSAGE_UNITS.default)
    chunk_units: int = field(default=CHUNK_UNITS.default)
    address_bytes: int = field(default=ADDRESS_BYTES.default)
    cpu_total_s: int = field(default=CPU_TOTAL_S.default)
    workers: int = field(default=WORKERS.default)
    spares: int = field(default=SPARES.default)
    worker_calls: int = field(default=WORKER_CALLS.default)
    idle_s: int = field(default=IDLE_S.default)
    fuel: int = field(default=FUEL.default)
    wasm_extra_bytes: int = field(default=WASM_EXTRA_BYTES.default)
    readers: int = field(default=READERS.default)

    def __post_init__(self) -> None:
        if not self.cpu_ms < self.cpu_kill_ms < self.deadline_ms:
            raise ValueError("expected sandbox.cpu < sandbox.cpu_kill < sandbox.deadline")
        if self.heap_bytes >= self.address_bytes:
            raise ValueError("expected sandbox.heap < sandbox.address_space")
        if self.workers < 1:
            raise ValueError("expected sandbox.workers of at least 1")


DEFAULT_BUDGET = Budget()
"""The defaults, checked against one another when this module is imported."""
