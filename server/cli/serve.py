"""Start the service."""

from __future__ import annotations

import argparse
import asyncio
import logging
import signal
import socket
from pathlib import Path

import uvicorn

from runtime.values.rows import InnkeeperError
from server import config as configuration
from server.app import create_app, open_context
from server.bundled import import_examples

BACKLOG = 2048
DRAIN_SECONDS = 10


def add(parser: argparse.ArgumentParser) -> None:
    """The options of ``innkeeper serve``."""
    parser.add_argument("--data-dir", type=Path, metavar="DIR", help="where states are kept (INNKEEPER_DATA_DIR)")
    parser.add_argument("--host", help="the address to listen on, 127.0.0.1 by default (INNKEEPER_HOST)")
    parser.add_argument("--port", type=int, help="the port, 8377 by default, 0 picks a free one (INNKEEPER_PORT)")
    parser.add_argument(
        "--config", type=Path, metavar="FILE", help="a TOML file with resources, limits and the tracker"
    )
    parser.add_argument("--packs-dir", type=Path, metavar="DIR", help="where packs may be loaded from by name")
    parser.add_argument("--plugin", action="append", default=[], metavar="MODULE", help="a module with install(host)")
    parser.add_argument("--examples", action="store_true", help="import the example cards")
    parser.add_argument("--test-mode", action="store_true", help="take injected dice; never for play")


class _Server(uvicorn.Server):
    """Says when it is ready, and drains on SIGTERM."""

    def __init__(self, config: uvicorn.Config, lines: list[str]) -> None:
        super().__init__(config)
        self._lines = lines

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            for line in self._lines:
                print(line, flush=True)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        # Open streams would keep the server waiting: tell them first.
        app = self.config.loaded_app
        context = getattr(getattr(app, "state", None), "context", None)
        if context is not None:
            context.streams.close()
            await asyncio.sleep(0)
        await super().shutdown(sockets)


def listen(host: str, port: int) -> socket.socket:
    """A bound socket; ``CONFIG_INVALID`` when the address is taken."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    bound = socket.socket(family, socket.SOCK_STREAM)
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        bound.bind((host, port))
    except OSError as error:
        bound.close()
        raise InnkeeperError(
            "CONFIG_INVALID", f"cannot listen on {host} port {port}: {error.strerror}; choose another --port"
        ) from None
    bound.listen(BACKLOG)
    return bound


def run(arguments: argparse.Namespace) -> int:
    """Serve until SIGTERM or SIGINT."""
    chosen = configuration.load(
        data_dir=arguments.data_dir,
        host=arguments.host,
        port=arguments.port,
        config_file=arguments.config,
        packs_dir=arguments.packs_dir,
        plugins=tuple(arguments.plugin),
        examples=arguments.examples,
        test_mode=arguments.test_mode,
    )
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s %(message)s")
    bound = listen(chosen.host, chosen.port)
    context = open_context(chosen)
    if chosen.examples:
        import_examples(context.runtime.cards)
    port = bound.getsockname()[1]
    shown = f"[{chosen.host}]" if ":" in chosen.host else chosen.host
    address = f"http://{shown}:{port}"
    lines = [
        f"innkeeper ready on {address}",
        f"  open once in a browser: {address}/?key={context.security.new_link_key()}",
        "  host token: from INNKEEPER_HOST_TOKEN"
        if chosen.host_token
        else f"  host token: in {chosen.data_dir / 'host-token'}",
        f"  states: {chosen.data_dir / 'innkeeper.sqlite'}",
    ]
    sandbox = context.runtime.sandbox
    if sandbox is not None and sandbox.status().get("seccomp") is False:
        lines.append("  note: this system has no seccomp; helpers run under resource limits and a deadline only")
    server = _Server(
        uvicorn.Config(
            create_app(chosen, context),
            log_level="warning",
            access_log=False,
            timeout_graceful_shutdown=DRAIN_SECONDS,
            ws="none",
            server_header=False,
            backlog=BACKLOG,
        ),
        lines,
    )
    # The server raises a caught signal again once it has drained; by then it has nothing more to say.
    signal.signal(signal.SIGTERM, lambda number, frame: None)
    try:
        server.run(sockets=[bound])
    except KeyboardInterrupt:
        pass
    return 0 if server.started else 1
