// Full parses of one declaration by real zod. Arguments: declaration file, data files. Prints one JSON object.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';

const require = createRequire(join(process.cwd(), 'peer.js'));
const z = require('zod');
const _ = require('lodash');
const [source, ...files] = process.argv.slice(2);
const text = readFileSync(source, 'utf8');
const Schema = new Function('z', '_', `${text}\nreturn Schema;`)(z, _);
const median = values => values.sort((a, b) => a - b)[values.length >> 1];
const results = {};
for (const file of files) {
  const data = JSON.parse(readFileSync(file, 'utf8'));
  const broken = JSON.parse(readFileSync(file, 'utf8'));
  broken['世界']['天气'] = 1;
  const measure = value => {
    for (let i = 0; i < 300; i++) Schema.safeParse(value);
    const times = [];
    for (let i = 0; i < 60; i++) {
      const start = process.hrtime.bigint();
      for (let k = 0; k < 5; k++) Schema.safeParse(value);
      times.push(Number(process.hrtime.bigint() - start) / 5000);
    }
    return median(times);
  };
  results[file] = { valid: measure(data), invalid: measure(broken), ok: Schema.safeParse(data).success };
}
process.stdout.write(JSON.stringify(results));
