// The value rules of dimension schemas, for saving no value that the server would refuse (spec/dimensions.md §1.4).

const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value);

const TYPES = {
  string: (value) => typeof value === "string",
  number: (value) => typeof value === "number" && Number.isFinite(value),
  integer: (value) => Number.isInteger(value),
  boolean: (value) => typeof value === "boolean",
  null: (value) => value === null,
  object: isObject,
  array: Array.isArray,
};

/** Structural equality: key order does not matter. */
export function same(left, right) {
  if (left === right) return true;
  if (Array.isArray(left) && Array.isArray(right)) return left.length === right.length && left.every((part, i) => same(part, right[i]));
  if (!isObject(left) || !isObject(right)) return false;
  const keys = Object.keys(left);
  return keys.length === Object.keys(right).length && keys.every((key) => Object.hasOwn(right, key) && same(left[key], right[key]));
}

export const typesOf = (schema) => (schema.type === undefined ? Object.keys(TYPES) : [schema.type].flat());

const TESTS = [
  ["enum", () => true, (limit, value) => limit.some((member) => same(member, value)), (limit) => `must be one of ${limit.map((member) => JSON.stringify(member)).join(", ")}`],
  ["const", () => true, same, (limit) => `must be ${JSON.stringify(limit)}`],
  ["minimum", TYPES.number, (limit, value) => value >= limit, (limit) => `must be at least ${limit}`],
  ["maximum", TYPES.number, (limit, value) => value <= limit, (limit) => `must be at most ${limit}`],
  ["exclusiveMinimum", TYPES.number, (limit, value) => value > limit, (limit) => `must be more than ${limit}`],
  ["exclusiveMaximum", TYPES.number, (limit, value) => value < limit, (limit) => `must be less than ${limit}`],
  ["minLength", TYPES.string, (limit, value) => [...value].length >= limit, (limit) => `must have at least ${limit} characters`],
  ["maxLength", TYPES.string, (limit, value) => [...value].length <= limit, (limit, value) => `must be ${[...value].length - limit} characters shorter`],
  ["minItems", TYPES.array, (limit, value) => value.length >= limit, (limit) => `must have at least ${limit} entries`],
  ["maxItems", TYPES.array, (limit, value) => value.length <= limit, (limit) => `must have at most ${limit} entries`],
];

/** Every issue of a value: `{path, message}`. */
export function check(schema, value, path = []) {
  const names = typesOf(schema);
  if (!names.some((name) => TYPES[name](value))) return [{ path, message: `must be ${names.join(" or ")}` }];
  const issues = TESTS.filter(([keyword, concerns, test]) => Object.hasOwn(schema, keyword) && concerns(value) && !test(schema[keyword], value)).map(
    ([keyword, , , words]) => ({ path, message: words(schema[keyword], value) }),
  );
  if (Array.isArray(value) && schema.items) value.forEach((part, index) => issues.push(...check(schema.items, part, [...path, index])));
  if (isObject(value)) {
    for (const name of schema.required ?? []) if (!Object.hasOwn(value, name)) issues.push({ path: [...path, name], message: "is required" });
    for (const [key, part] of Object.entries(value)) {
      const declared = Object.hasOwn(schema.properties ?? {}, key) ? schema.properties[key] : schema.additionalProperties;
      if (declared === false) issues.push({ path: [...path, key], message: "is no property of this object" });
      else if (isObject(declared)) issues.push(...check(declared, part, [...path, key]));
    }
  }
  return issues;
}

/** A first value for a new row. */
export function blank(schema) {
  if (Object.hasOwn(schema, "const")) return schema.const;
  if (schema.enum) return schema.enum[0];
  const [name] = typesOf(schema);
  if (name === "object") return Object.fromEntries((schema.required ?? []).map((key) => [key, blank(schema.properties?.[key] ?? {})]));
  if (name === "array") return Array.from({ length: schema.minItems ?? 0 }, () => blank(schema.items ?? {}));
  return { string: "", number: schema.minimum ?? 0, integer: Math.ceil(schema.minimum ?? 0), boolean: false, null: null }[name];
}
