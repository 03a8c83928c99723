"""The seeded simulation: random stories against an independent, naive model (design §11)."""
