"""The state authority: sessions, ledger, MVU variables, world dimensions and the world kernel."""
