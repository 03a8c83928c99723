"""JSON Schema (draft 2020-12) of a schema graph: for editors and for structured model output (design §6).

``io="input"`` describes what is given to a parse, ``io="output"`` what comes out of it. The promise is: every value
that a parse puts out is valid under the output schema. Where JSON Schema cannot say what Zod means, the output schema
says less (what a transform returns is anything; a length in UTF-16 units becomes a smaller one in characters).
"""

from interpreter.jsonschema.build import DIALECT, Direction, json_schema

__all__ = ["DIALECT", "Direction", "json_schema"]
