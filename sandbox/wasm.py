"""``WasmSandbox``: QuickJS as WebAssembly with fuel, for systems without ``fork`` and for exactly reproducible budgets.

An option behind the same interface (extra ``wasm``). The guest is the one that ``quickjs-rs`` ships, driven through its
exports and nothing of that package's code; those exports are private to it, so the file is pinned by its hash. It runs in
this process, which is safe only because fuel also counts inside native loops and the guest sees nothing but its own
memory: no clock, no randomness, no file. Each call starts from the same image of a memory with the frozen prelude in it.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import struct
import threading
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

from sandbox.calls import HelperCall, HelperResult
from sandbox.errors import DISPOSED, EXECUTION, LIMIT, SandboxError, bounded
from sandbox.limits import DEFAULT_BUDGET, Budget
from sandbox.process import commands_from, failure_from, utf16_units
from sandbox.settings import prelude_settings

GUEST_SHA256 = "647ab11ae29cc6d39a6d17d3aa1e7a6a0b5fb9c44b4864475a18bc644f926050"
_PACKAGE, _FILE = "quickjs_rs", "_guest.wasm"
_OK, _JS_ERROR = 0, 1
_BAD_DESCRIPTOR = 8
_PAGE = 65_536
_TRAPS_OF_FUEL = "all fuel consumed"
_TRAPS_OF_STACK = ("stack exhausted", "out of bounds memory access", "unreachable")


class WasmUnavailable(Exception):
    """The extra ``wasm`` is not installed, or holds another guest than the one that was tried."""


def guest_path() -> Path | None:
    """The guest's file, without importing the package that ships it."""
    spec = importlib.util.find_spec(_PACKAGE)
    for place in (spec.submodule_search_locations or []) if spec else []:
        path = Path(place) / _FILE
        if path.is_file():
            return path
    return None


@dataclass(frozen=True, slots=True)
class _Image:
    """A memory in which the prelude has run: its bytes, the stack pointer, and the handle of the entry."""

    memory: bytes
    stack_pointer: int
    enter: int


class _Guest:
    """One instance of the guest in a store of its own."""

    def __init__(self, shared: _Shared, fuel: int) -> None:
        self.store: Any = shared.wasmtime.Store(shared.engine)
        self.store.set_fuel(fuel)
        self.store.set_limits(memory_size=shared.memory_bytes)
        self.exports: Any = shared.linker.instantiate(self.store, shared.module).exports(self.store)
        self.memory: Any = self.exports["memory"]

    def call(self, name: str, *arguments: int) -> Any:
        return self.exports[name](self.store, *arguments)

    def write(self, data: bytes) -> int:
        if not data:
            return 0
        place = self.call("qjs_alloc", len(data))
        if place == 0:
            raise MemoryError
        self.memory.write(self.store, data, place)
        return int(place) & 0xFFFFFFFF

    def read(self, place: int, size: int) -> bytes:
        return bytes(self.memory.read(self.store, place & 0xFFFFFFFF, (place & 0xFFFFFFFF) + size))

    def string(self, text: str) -> int:
        data = text.encode("utf-8")
        place = self.write(data)
        handle = self.call("new_string", place, len(data))
        if data:
            self.call("qjs_free", place, len(data))
        if handle == 0:
            raise MemoryError
        return int(handle)

    def evaluate(self, text: str) -> int:
        data = text.encode("utf-8")
        place, out = self.write(data), self.write(bytes(4))
        status = self.call("eval_code", place, len(data), out)
        if status != _OK:
            raise WasmUnavailable(f"the prelude did not run in the guest (status {status})")
        self.call("qjs_free", place, len(data))
        return int(struct.unpack("<i", self.read(out, 4))[0])

    def enter(self, function: int, *arguments: str) -> str:
        """Call the prelude's entry; a JavaScript error here is one that the prelude could not catch."""
        handles = [self.string(argument) for argument in arguments]
        argv = self.write(struct.pack(f"<{len(handles)}i", *handles))
        out = self.write(bytes(4))
        this = self.call("new_undefined")
        status = self.call("call_function", function, this, argv, len(handles), out)
        if status != _OK:
            return 'f["EXECUTION","memory","the helper used up its memory"]' if status == _JS_ERROR else ""
        (handle,) = struct.unpack("<i", self.read(out, 4))
        if self.call("get_string", handle) != _OK:
            return ""
        size = self.call("qjs_last_len")
        text = self.read(self.call("qjs_last_ptr"), size).decode("utf-8")
        self.call("qjs_result_free")
        self.call("free_value", handle)
        for used in (this, *handles):
            self.call("free_value", used)
        return text


class _Shared:
    """What all calls share: the compiled guest and its few imports, registered once."""

    def __init__(self, budget: Budget) -> None:
        path = guest_path()
        if path is None or importlib.util.find_spec("wasmtime") is None:
            raise WasmUnavailable("expected the extra innkeeper[wasm], found no WebAssembly guest")
        data = path.read_bytes()
        if hashlib.sha256(data).hexdigest() != GUEST_SHA256:
            raise WasmUnavailable("expected the guest that this version was tried with, found another")
        import wasmtime

        self.wasmtime: Any = wasmtime
        config = wasmtime.Config()
        config.consume_fuel = True
        self.engine = wasmtime.Engine(config)
        self.module = wasmtime.Module(self.engine, data)
        self.memory_bytes = budget.heap_bytes + budget.wasm_extra_bytes
        self.linker = wasmtime.Linker(self.engine)
        for wanted in self.module.imports:
            self._define(wanted)

    def _define(self, wanted: Any) -> None:
        """Every import is answered with the same thing each time; nothing reaches the system."""
        results = len(wanted.type.results)
        name = wanted.name

        def answer(caller: Any, *arguments: int) -> int | None:
            if name in {"clock_time_get", "random_get", "environ_sizes_get"}:
                memory = caller["memory"]
                spans = {
                    "clock_time_get": [(arguments[-1], 8)],
                    "random_get": [(arguments[0], arguments[-1])],
                    "environ_sizes_get": [(place, 4) for place in arguments],
                }[name]
                for place, size in spans:
                    memory.write(caller, bytes(size), place)
                return 0
            if name == "proc_exit":
                raise RuntimeError("the guest gave up")
            if name.startswith("fd_"):
                return _BAD_DESCRIPTOR
            if name == "host_call":
                return -1
            return 0 if results else None

        self.linker.define_func(wanted.module, name, wanted.type, answer, access_caller=True)

    def image(self, prelude: str, budget: Budget) -> _Image:
        """Run the prelude once and keep the memory."""
        guest = _Guest(self, budget.fuel * 10)
        guest.call("set_max_stack_size", budget.stack_bytes)
        enter = guest.evaluate(prelude)
        guest.enter(enter, "configure", prelude_settings(budget))
        guest.call("set_memory_limit", budget.heap_bytes)
        size = guest.memory.data_len(guest.store)
        return _Image(guest.read(0, size), guest.exports["__stack_pointer"].value(guest.store), enter)

    def restore(self, image: _Image, fuel: int) -> _Guest:
        """A fresh instance whose memory is the image."""
        guest = _Guest(self, fuel)
        missing = len(image.memory) - guest.memory.data_len(guest.store)
        if missing > 0:
            guest.memory.grow(guest.store, -(-missing // _PAGE))
        guest.memory.write(guest.store, image.memory, 0)
        guest.exports["__stack_pointer"].set_value(guest.store, image.stack_pointer)
        return guest


class WasmSandbox:
    """Runs helpers in WebAssembly under fuel: the same script ends at the same point on every machine.

    Making one compiles the guest, which takes seconds; a call takes a few milliseconds. Variables are sent only to
    scripts that read them, at the price of a second run for those.
    """

    def __init__(self, budget: Budget = DEFAULT_BUDGET) -> None:
        self.budget = budget
        self._shared = _Shared(budget)
        self._image = self._shared.image((files("sandbox") / "prelude.js").read_text(encoding="utf-8"), budget)
        self._running = threading.Semaphore(budget.workers)
        self._closed = False

    def run(self, call: HelperCall) -> HelperResult:
        """Run the helper over the call's commands."""
        self._check(call.source)
        given = (json.dumps(list(call.commands)), json.dumps(call.text), json.dumps(call.user_text))
        answer = self._reply(call, given, "")
        if answer[:1] == "v":
            variables = call.variables_json
            text = variables if isinstance(variables, str) else variables()
            answer = self._reply(call, given, text.encode("utf-8", "backslashreplace").decode("utf-8"))
        return HelperResult(commands_from(answer[1:]))

    def register(self, owner: str, source: str, gate: str | None = None) -> int:
        """Load the helper's text and answer how many listeners of COMMAND_PARSED it registers."""
        self._check(source)
        with self._running:
            guest = self._shared.restore(self._image, self.budget.fuel)
            try:
                return int(self._load(guest, source, gate))
            finally:
                guest.store.close()

    def fuel_of(self, call: HelperCall) -> int:
        """The instructions that a call with its variables costs: the same number on every machine."""
        self._check(call.source)
        given = (json.dumps(list(call.commands)), json.dumps(call.text), json.dumps(call.user_text))
        variables = call.variables_json
        with self._running:
            guest = self._shared.restore(self._image, self.budget.fuel)
            try:
                self._load(guest, call.source, call.gate)
                self._entered(guest, "reply", *given, variables if isinstance(variables, str) else variables())
                return self.budget.fuel - int(guest.store.get_fuel())
            finally:
                guest.store.close()

    def status(self) -> dict[str, Any]:
        """What ``/readyz`` shows."""
        return {"engine": "quickjs-ng (WebAssembly)", "ready": not self._closed, "seccomp": False, "warning": None}

    def close(self) -> None:
        """Refuse later calls."""
        self._closed = True

    def _check(self, source: str) -> None:
        if self._closed:
            raise bounded(DISPOSED, "closed", "the sandbox is closed")
        units = utf16_units(source)
        if units > self.budget.source_units:
            raise bounded(
                LIMIT,
                "source",
                f"expected at most {self.budget.source_units} UTF-16 units of helper text, found {units}",
            )

    def _load(self, guest: _Guest, source: str, gate: str | None) -> str:
        return self._entered(guest, "load", json.dumps(source), gate or "")[1:]

    def _reply(self, call: HelperCall, given: tuple[str, str, str], variables: str) -> str:
        with self._running:
            guest = self._shared.restore(self._image, self.budget.fuel)
            try:
                self._load(guest, call.source, call.gate)
                guest.store.set_fuel(self.budget.fuel)
                try:
                    answer = self._entered(guest, "reply", *given, variables)
                except SandboxError:
                    # A script can swallow the refusal of variables that were not sent and only then use up its fuel.
                    if variables or not self._touched(guest):
                        raise
                    return "v"
                if answer[:1] != "p":
                    return answer
                pieces = [self._entered(guest, "piece", str(index)) for index in range(int(answer[1:]))]
                return "o" + "".join(pieces)
            finally:
                guest.store.close()

    def _touched(self, guest: _Guest) -> bool:
        guest.store.set_fuel(self.budget.fuel)
        try:
            return guest.enter(self._image.enter, "touched") == "v"
        except Exception:  # after a trap the instance may be beyond answering; then the variables are sent
            return True

    def _entered(self, guest: _Guest, *arguments: str) -> str:
        try:
            answer = guest.enter(self._image.enter, *arguments)
        except MemoryError:
            raise bounded(EXECUTION, "memory", "the helper used up its memory") from None
        except (self._shared.wasmtime.Trap, self._shared.wasmtime.WasmtimeError) as trap:
            raise _trapped(str(trap)) from None
        if answer[:1] == "f":
            raise failure_from(answer[1:])
        return answer


def _trapped(text: str) -> SandboxError:
    if _TRAPS_OF_FUEL in text:
        return bounded(EXECUTION, "fuel", "the helper used up its fuel")
    if any(sign in text for sign in _TRAPS_OF_STACK):
        return bounded(EXECUTION, "stack", "the helper used up its stack")
    return bounded(EXECUTION, "died", "the helper’s engine stopped")
