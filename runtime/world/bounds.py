"""What a value must be before it may enter a State: JSON, finite, and not larger than the limits say."""

from __future__ import annotations

import math
from typing import Any

from runtime.values.rows import InnkeeperError, Limit
from runtime.world.limits import VALUE_CHARS, VALUE_DEPTH, VALUE_NODES


def too_large(limit: Limit, found: int, where: str) -> InnkeeperError:
    """The refusal of something larger than ``limit``."""
    return InnkeeperError(
        limit.error,
        f"expected at most {limit.default} {limit.unit}, found {found} ({limit.name}) at {where}",
        {"limit": limit.name, "maximum": limit.default, "found": found},
    )


def check_value(value: Any, where: str) -> None:
    """Refuse what is not JSON or is larger than one event may hold; walks without recursion."""
    nodes = chars = 0
    stack: list[tuple[Any, int]] = [(value, 0)]
    while stack:
        part, depth = stack.pop()
        nodes += 1
        if nodes > VALUE_NODES.default:
            raise too_large(VALUE_NODES, nodes, where)
        if isinstance(part, str):
            chars += len(part)
        elif isinstance(part, dict):
            if depth >= VALUE_DEPTH.default:
                raise too_large(VALUE_DEPTH, depth + 1, where)
            for key, child in part.items():
                if not isinstance(key, str):
                    raise InnkeeperError("WORLD_INTENT", f"expected text keys, found {key!r} at {where}")
                chars += len(key)
                stack.append((child, depth + 1))
        elif isinstance(part, list):
            if depth >= VALUE_DEPTH.default:
                raise too_large(VALUE_DEPTH, depth + 1, where)
            stack.extend((child, depth + 1) for child in part)
        elif isinstance(part, float):
            if not math.isfinite(part):
                raise InnkeeperError("WORLD_INTENT", f"expected a finite number, found {part} at {where}")
        elif part is not None and not isinstance(part, (bool, int)):
            raise InnkeeperError("WORLD_INTENT", f"expected a JSON value, found {type(part).__name__} at {where}")
        if chars > VALUE_CHARS.default:
            raise too_large(VALUE_CHARS, chars, where)
