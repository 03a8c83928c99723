"""Claims (§00.9): words of a reply that tell a change which no event caused. A warning, never a block."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from runtime.world.canon import Canon
from runtime.world.channels import related


def uncaused_claims(canon: Canon, reply: str, events: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The warnings for a reply, given the events since the last one."""
    folded = reply.casefold()
    written = [
        tuple(pointer.split(".")) for event in events for pointer in (event.get("resolved") or event.get("patch") or {})
    ]
    warnings = []
    for name, words in canon.claims.items():
        word = next((word for word in words if word and word.casefold() in folded), None)
        if word is not None and not any(_touches(name, pointer) for pointer in written):
            warnings.append(
                {
                    "code": "UNCAUSED_CLAIM",
                    "field": name,
                    "word": word,
                    "message": f"the reply says {word!r}, but no event since the last reply moved {name}",
                }
            )
    return warnings


def _touches(name: str, pointer: tuple[str, ...]) -> bool:
    """A plain name is a State root or the last segment of a pointer; a dotted one is a pattern."""
    if "." in name:
        return related(tuple(name.split(".")), pointer)
    return name in (pointer[0], pointer[-1])
