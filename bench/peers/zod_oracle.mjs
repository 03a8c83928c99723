// Answers what real zod does with declarations: one JSON object per line in (declaration, inputs, clock), one per line
// out, in the form of vendor_fixtures/zod. Run in a folder where zod and lodash are installed.
import { createInterface } from 'node:readline';
import { createRequire } from 'node:module';
import { join } from 'node:path';

const require = createRequire(join(process.cwd(), 'peer.js'));
const z = require('zod');
let _;
try { _ = require('lodash'); } catch { _ = undefined; }

const encode = value => {
  if (value === undefined) return { $js: 'undefined' };
  if (typeof value === 'function') return { $js: 'function' };
  if (typeof value === 'bigint') return { $js: 'bigint', value: String(value) };
  if (typeof value === 'number') {
    return Object.is(value, -0) ? { $js: '-0' } : Number.isFinite(value) ? value : { $js: String(value) };
  }
  if (value === null || typeof value !== 'object') return value;
  if (Array.isArray(value)) return Array.from(value, encode);
  if (value instanceof Set) return { $js: 'Set', values: [...value].map(encode) };
  if (value instanceof Map) return { $js: 'Map', entries: [...value].map(encode) };
  if (value instanceof Date) return { $js: 'Date', value: Number.isNaN(+value) ? null : value.toISOString() };
  if (value instanceof RegExp) return { $js: 'RegExp', value: String(value) };
  if (value instanceof Error) return { $js: 'Error', value: String(value) };
  const made = {};
  for (const key of Object.keys(value)) Object.defineProperty(made, key, { value: encode(value[key]), enumerable: true });
  return made;
};
const constants = { undefined, NaN, Infinity, '-Infinity': -Infinity, '-0': -0 };
const decode = value => {
  if (Array.isArray(value)) return value.map(decode);
  if (value && typeof value === 'object') {
    if ('$js' in value) return constants[value.$js];
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, decode(item)]));
  }
  return value;
};
const build = text => {
  let registered;
  const code = text
    .replace(/^\s*import\s[^;]*;?$/gm, '')
    .replace(/^(\s*)export\s+\{\s*\};?/gm, '$1')
    .replace(/^(\s*)export\s+/gm, '$1');
  const register = schema => { registered = schema; };
  const body = `"use strict";\n${code}\nreturn typeof Schema === 'undefined' ? undefined : Schema;`;
  const found = new Function('z', '_', '$', 'registerMvuSchema', body)(z, _, fn => fn(), register);
  return typeof registered === 'function' ? registered() : registered ?? found;
};
const outcome = (schema, input) => {
  try {
    const result = schema.safeParse(input);
    if (result.success) return { success: true, output: encode(result.data) };
    return { success: false, issues: result.error.issues.map(encode) };
  } catch (error) {
    return { success: false, threw: String(error) };
  }
};

for await (const line of createInterface({ input: process.stdin })) {
  if (!line.trim()) continue;
  const { id, declaration, inputs, clock } = JSON.parse(line);
  if (clock !== undefined) Date.now = () => clock;
  const entry = { id, group: 'peer', tier: 'peer', declaration, clock };
  try {
    const schema = build(declaration);
    entry.cases = inputs.map(input => ({ input, ...outcome(schema, decode(input)) }));
  } catch (error) {
    entry.build_error = String(error);
    entry.cases = [];
  }
  process.stdout.write(JSON.stringify(entry) + '\n');
}
