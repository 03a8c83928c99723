"""The built-ins that author code may use: pure, charged by the work they do, never the host."""
