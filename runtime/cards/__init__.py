"""Character cards (PNG, JSON V1/V2/V3): InitVar, declaration, helper, greetings, world book."""
