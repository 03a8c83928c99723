"""Tests of the bridge, the card runtime and the pages: Node and headless Chromium."""
