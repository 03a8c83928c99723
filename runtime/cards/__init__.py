"""Character cards: PNG and JSON V1/V2/V3, read into greetings, world book, InitVar entries and scripts."""

from runtime.cards.card import (
    Card,
    InitvarEntry,
    WorldBookEntry,
    read_card,
)
from runtime.cards.scripts import ScriptEntry

__all__ = ["Card", "InitvarEntry", "ScriptEntry", "WorldBookEntry", "read_card"]
