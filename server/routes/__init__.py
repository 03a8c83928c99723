"""The routes, one module per room; each offers ``ENDPOINTS``."""
