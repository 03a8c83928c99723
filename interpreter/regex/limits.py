"""The limits of regular expressions (spec/mvu.md §1.7 and §5.6, design §6)."""

from interpreter.limits import CODE, LIMIT, Limit

FINITE_PATTERN = Limit("interpreter.regex.finite.pattern", 256, "UTF-16 units", "a finite pattern", CODE)
FINITE_GROUPS = Limit("interpreter.regex.finite.groups", 16, "levels", "nested groups of a finite pattern", LIMIT)
FINITE_REPEAT = Limit("interpreter.regex.finite.repeat", 64, "times", "one repeat of a finite pattern", CODE)
FINITE_STATES = Limit("interpreter.regex.finite.states", 2_048, "states", "the automaton of a finite pattern", LIMIT)
PATTERN = Limit("interpreter.regex.pattern", 4_096, "UTF-16 units", "a general pattern", LIMIT)
REPEAT = Limit("interpreter.regex.repeat", 1_000, "times", "one counted repeat of a general pattern", LIMIT)
NESTED = Limit("interpreter.regex.nested", 240, "parts", "a counted repeat around repeats or alternatives", LIMIT)
MATCH_TIME = Limit("interpreter.regex.time", 250, "milliseconds", "one use of a general pattern", "MVU_REGEX_TIMEOUT")
CACHE = Limit("interpreter.regex.cache", 512, "patterns", "compiled patterns kept in memory", LIMIT)

LIMITS: tuple[Limit, ...] = (
    FINITE_PATTERN,
    FINITE_GROUPS,
    FINITE_REPEAT,
    FINITE_STATES,
    PATTERN,
    REPEAT,
    NESTED,
    MATCH_TIME,
    CACHE,
)
