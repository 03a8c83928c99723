"""The configuration of a server: command line over environment over file over defaults (spec/http.md, Starting)."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from runtime.values.rows import InnkeeperError

DEFAULT_PORT = 8377
DEFAULT_HOST = "127.0.0.1"
SECTIONS = ("mvu", "server", "sandbox", "tracker", "limits")
_LOOPBACK = ("127.", "::1", "localhost")


@dataclass(frozen=True, slots=True)
class Config:
    """What a server is started with; ``file`` is the parsed TOML of ``--config``."""

    data_dir: Path
    host: str = DEFAULT_HOST
    port: int = DEFAULT_PORT
    host_token: str | None = None
    packs_dir: Path | None = None
    plugins: tuple[str, ...] = ()
    examples: bool = False
    test_mode: bool = False
    file: Mapping[str, Any] = field(default_factory=dict)

    @property
    def loopback(self) -> bool:
        """Whether the server listens on this machine only."""
        return self.host.startswith(_LOOPBACK)

    def section(self, *names: str) -> Any:
        """A part of the configuration file, or ``None``."""
        value: Any = self.file
        for name in names:
            if not isinstance(value, Mapping) or name not in value:
                return None
            value = value[name]
        return value


def read_file(path: Path) -> dict[str, Any]:
    """The configuration file as TOML; a broken one says where."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InnkeeperError(
            "CONFIG_INVALID", f"the configuration file cannot be read: {error.strerror}: {path.name}"
        ) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InnkeeperError("CONFIG_INVALID", f"the configuration file is no TOML: {error}: {path.name}") from None


def default_data_dir(environment: Mapping[str, str]) -> Path:
    """Where states are kept when nothing else is said."""
    if environment.get("INNKEEPER_DATA_DIR"):
        return Path(environment["INNKEEPER_DATA_DIR"])
    base = environment.get("XDG_DATA_HOME") or str(Path.home() / ".local" / "share")
    return Path(base) / "innkeeper"


def load(
    *,
    data_dir: Path | None = None,
    host: str | None = None,
    port: int | None = None,
    config_file: Path | None = None,
    packs_dir: Path | None = None,
    plugins: tuple[str, ...] = (),
    examples: bool = False,
    test_mode: bool = False,
    environment: Mapping[str, str] | None = None,
) -> Config:
    """Put a configuration together; ``CONFIG_INVALID`` says which value is wrong."""
    env = os.environ if environment is None else environment
    file = {} if config_file is None else read_file(config_file)
    raw_port = port if port is not None else env.get("INNKEEPER_PORT", DEFAULT_PORT)
    try:
        number = int(raw_port)
    except ValueError:
        raise InnkeeperError("CONFIG_INVALID", f"expected the port as a number, found {raw_port!r}") from None
    if not 0 <= number <= 65_535:
        raise InnkeeperError("CONFIG_INVALID", f"expected a port from 0 to 65535, found {number}")
    unknown = sorted(set(file) - set(SECTIONS))
    if unknown:
        raise InnkeeperError(
            "CONFIG_INVALID",
            f"the configuration has an unknown section {unknown[0]!r}; known are {', '.join(SECTIONS)}",
        )
    return Config(
        data_dir=data_dir or default_data_dir(env),
        host=host or env.get("INNKEEPER_HOST") or DEFAULT_HOST,
        port=number,
        host_token=env.get("INNKEEPER_HOST_TOKEN") or None,
        packs_dir=packs_dir,
        plugins=plugins,
        examples=examples,
        test_mode=test_mode,
        file=file,
    )
