"""Limits of update texts (spec/mvu.md §1.7)."""

from __future__ import annotations

from runtime.values.rows import Limit

REPLY_TEXT = Limit("mvu.reply_text", 1_048_576, "UTF-16 units", "reading of one reply or greeting", "MVU_LIMIT")
COMMANDS = Limit("mvu.commands", 1_000, "commands", "the work of one reply", "MVU_LIMIT")
IGNORED = Limit("mvu.ignored", 1_000, "places", "the list of what a reply holds beside commands", "MVU_LIMIT")
ARITHMETIC = Limit("mvu.arithmetic_text", 8_192, "UTF-16 units", "reading of one arithmetic value", "MVU_LIMIT")
MERGE_DEPTH = Limit("mvu.merge_depth", 64, "levels", "merging of templates and inserted objects", "MVU_LIMIT")
INITVAR_ENTRIES = Limit("mvu.initvar_entries", 1_000, "entries", "reading of one card's initial variables", "MVU_LIMIT")

LIMITS: tuple[Limit, ...] = (REPLY_TEXT, COMMANDS, IGNORED, ARITHMETIC, MERGE_DEPTH, INITVAR_ENTRIES)
