"""Author functions: JavaScript, interpreted under a step budget and never executed (design §6)."""
