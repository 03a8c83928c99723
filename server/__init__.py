"""The HTTP service, the command line, the bridge for renderers and the inspector pages."""
