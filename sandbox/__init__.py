"""Run a card helper in QuickJS under limits, inside a child process. Imports nothing of ours."""
