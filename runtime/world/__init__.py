"""World kernel: packs, match and turn; only rules move numbers."""
