"""Frames between parent and child: four bytes of length, one of kind, the payload. Both sides bound what they read.

A request is a kind (``L`` load, ``R`` run) and six length-prefixed UTF-8 sections. An answer is any number of ``P``
parts and one closing frame: ``O`` done, ``F`` failed, ``V`` the script reads the variables, send them.
"""

from __future__ import annotations

import struct

HEAD = struct.Struct("!IB")
SECTIONS = struct.Struct("!6I")

LOAD = ord("L")
RUN = ord("R")
PART = ord("P")
DONE = ord("O")
FAILED = ord("F")
WANTED = ord("V")
HELLO = ord("H")

ANSWER_KINDS = frozenset({PART, DONE, FAILED, WANTED, HELLO})


def frame(kind: int, payload: bytes) -> bytes:
    """One frame."""
    return HEAD.pack(len(payload), kind) + payload


def request(kind: int, sections: tuple[bytes, bytes, bytes, bytes, bytes, bytes]) -> list[bytes]:
    """The pieces of one request frame: source, gate, commands, text, user text, variables."""
    sizes = [len(section) for section in sections]
    return [HEAD.pack(SECTIONS.size + sum(sizes), kind), SECTIONS.pack(*sizes), *sections]


def split_sections(payload: bytes) -> list[str]:
    """The six texts of a request."""
    sizes = SECTIONS.unpack_from(payload)
    texts: list[str] = []
    at = SECTIONS.size
    for size in sizes:
        texts.append(payload[at : at + size].decode("utf-8"))
        at += size
    return texts
