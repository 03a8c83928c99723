// The whole world of a helper. Evaluated once in a fresh context; its value is the table of entries that the child calls.
// Whatever is looked up after the helper's text has run was captured here before, and every intrinsic is frozen.
(function () {
  'use strict';
  const G = globalThis;
  const { ownKeys, getOwnPropertyDescriptor, defineProperty, getPrototypeOf, construct, apply, get: reflectGet } = Reflect;
  const { freeze, hasOwn, create } = Object;
  const { isArray } = Array;
  const { parse, stringify } = JSON;
  const evaluate = G.eval;
  const slice = String.prototype.slice;
  const charCodeAt = String.prototype.charCodeAt;
  const indexOf = String.prototype.indexOf;
  const trim = String.prototype.trim;
  const join = Array.prototype.join;

  // ---- limits, set by the child from the rows of sandbox/limits.py
  const limits = { listeners: 0, commands: 0, output: 0, message: 0, userText: 0, block: 0, chunk: 0 };

  // ---- fixed time and randomness
  const NOW = 946684800000; // 2000-01-01T00:00:00Z
  const RealDate = G.Date;
  const FixedDate = function Date(...parts) {
    if (new.target === undefined) return new RealDate(NOW).toString();
    return construct(RealDate, parts.length === 0 ? [NOW] : parts, new.target);
  };
  defineProperty(FixedDate, 'length', { value: 7 });
  defineProperty(FixedDate, 'prototype', { value: RealDate.prototype, writable: false });
  for (const name of ['parse', 'UTC']) defineProperty(FixedDate, name, getOwnPropertyDescriptor(RealDate, name));
  defineProperty(FixedDate, 'now', { value: function now() { return NOW; } });
  defineProperty(RealDate.prototype, 'constructor', { value: FixedDate });
  defineProperty(G, 'Date', { value: FixedDate });

  let dice = 0x9e3779b9;
  const imul = Math.imul;
  defineProperty(Math, 'random', {
    value: function random() {
      dice = (dice + 0x6d2b79f5) | 0;
      let x = imul(dice ^ (dice >>> 15), 1 | dice);
      x = (x + imul(x ^ (x >>> 7), 61 | x)) ^ x;
      return ((x ^ (x >>> 14)) >>> 0) / 4294967296;
    },
  });

  // ---- what compiles text, shares memory, watches the collector or the clock goes
  const refuse = function Function() { throw new TypeError('A helper cannot compile text into code'); };
  defineProperty(refuse, 'prototype', { value: Function.prototype, writable: false });
  const kinds = [function () {}, function* () {}, async function () {}, async function* () {}];
  for (let i = 0; i < kinds.length; i++) {
    defineProperty(getPrototypeOf(kinds[i]), 'constructor', { value: refuse, writable: false, configurable: false });
  }
  defineProperty(G, 'Function', { value: refuse });
  for (const name of ['eval', 'SharedArrayBuffer', 'Atomics', 'WeakRef', 'FinalizationRegistry', 'performance',
    'queueMicrotask', 'DOMException', 'btoa', 'atob', 'navigator', 'gc', 'print', 'scriptArgs']) {
    delete G[name];
  }
  for (const name of ['prepareStackTrace', 'stackTraceLimit']) delete Error[name];

  // ---- a frozen prototype refuses `o.toString = f` on its heirs; accessors give that back
  function soften(prototype, names) {
    for (let i = 0; i < names.length; i++) {
      const name = names[i];
      const own = getOwnPropertyDescriptor(prototype, name);
      if (own === undefined || !hasOwn(own, 'value')) continue;
      const value = own.value;
      defineProperty(prototype, name, {
        get: function () { return value; },
        set: function (next) {
          if (this === prototype) throw new TypeError('The built-in ' + name + ' cannot be replaced');
          defineProperty(this, name, { value: next, writable: true, enumerable: true, configurable: true });
        },
        enumerable: false,
        configurable: false,
      });
    }
  }
  soften(Object.prototype, ['constructor', 'toString', 'valueOf', 'toLocaleString', 'hasOwnProperty', 'isPrototypeOf', 'propertyIsEnumerable']);
  soften(Function.prototype, ['constructor', 'toString', 'name']);
  soften(Array.prototype, ['constructor', 'toString']);
  for (const type of [Error, EvalError, RangeError, ReferenceError, SyntaxError, TypeError, URIError]) {
    soften(type.prototype, ['constructor', 'name', 'message', 'toString']);
  }

  // ---- events
  const INITIALIZED = 'global_Mvu_initialized';
  const COMMAND_PARSED = 'mag_command_parsed';
  const listeners = create(null);
  listeners[INITIALIZED] = [];
  listeners[COMMAND_PARSED] = [];
  let suspect = false; // something may have been changed in the variables
  let fault = null; // a breach of a limit cannot be swallowed by a catch

  function listOf(event, listener) {
    if (typeof event !== 'string' || !hasOwn(listeners, event)) throw new TypeError('Unknown event');
    if (typeof listener !== 'function') throw new TypeError('The listener is not a function');
    return listeners[event];
  }
  function without(list, listener) {
    const rest = [];
    for (let i = 0; i < list.length; i++) if (list[i] !== listener) rest[rest.length] = list[i];
    return rest;
  }
  function append(event, list, listener) {
    if (list.length >= limits.listeners) {
      fault = ['EXECUTION', 'script', 'at most ' + limits.listeners + ' listeners can be registered for ' + event];
      throw new RangeError(fault[2]);
    }
    list[list.length] = listener;
    listeners[event] = list;
  }
  function eventOn(event, listener) {
    const list = listOf(event, listener);
    for (let i = 0; i < list.length; i++) if (list[i] === listener) return;
    append(event, without(list, listener), listener);
  }
  function eventMakeLast(event, listener) {
    append(event, without(listOf(event, listener), listener), listener);
  }

  // ---- the user gate
  let userText = '';
  const TAGS = ['本轮操作', '本轮APP操作'];
  function occurrences(text, part) {
    let count = 0;
    for (let at = apply(indexOf, text, [part]); at >= 0; at = apply(indexOf, text, [part, at + part.length])) count++;
    return count;
  }
  function extractOperationBlock(text) {
    if (typeof text !== 'string') return '';
    let found = null;
    let opens = 0;
    let closes = 0;
    for (let i = 0; i < TAGS.length; i++) {
      const open = '<' + TAGS[i] + '>';
      const close = '</' + TAGS[i] + '>';
      const o = occurrences(text, open);
      const c = occurrences(text, close);
      opens += o;
      closes += c;
      if (o === 1 && c === 1) found = [open, close];
    }
    if (opens !== 1 || closes !== 1 || found === null) return '';
    const start = apply(indexOf, text, [found[0]]) + found[0].length;
    const end = apply(indexOf, text, [found[1]]);
    if (end < start) return '';
    const body = apply(slice, text, [start, end]);
    if (body.length > limits.block || apply(trim, body, []) === '') return '';
    if (apply(indexOf, body, ['<本轮执行边界>']) < 0 || apply(indexOf, body, ['<操作项>']) < 0) return '';
    return '<本轮操作>' + body + '</本轮操作>';
  }
  const gate = create(null);
  gate.latestUserText = function latestUserText() { return userText; };
  gate.extractOperationBlock = extractOperationBlock;

  // ---- whoever looks at descriptors can get at plain values, and is compared in full afterwards
  for (const [holder, name] of [[Object, 'getOwnPropertyDescriptor'], [Object, 'getOwnPropertyDescriptors'], [Reflect, 'getOwnPropertyDescriptor']]) {
    const real = holder[name];
    const watched = { [name](...parts) {
      suspect = true;
      return apply(real, undefined, parts);
    } }[name];
    defineProperty(holder, name, { value: watched });
  }

  // ---- what the helper sees
  const quiet = {};
  for (const name of ['log', 'info', 'warn', 'error', 'debug', 'trace', 'dir', 'table', 'assert', 'count', 'group',
    'groupCollapsed', 'groupEnd', 'time', 'timeEnd', 'timeLog', 'clear']) {
    quiet[name] = { [name]() {} }[name];
  }
  const given = { Mvu: { events: { COMMAND_PARSED } }, eventOn, eventMakeLast, console: quiet };
  for (const name of ownKeys(given)) defineProperty(G, name, { value: given[name], enumerable: true });

  // ---- freeze everything that can be reached
  function freezeAll(roots) {
    const seen = new Set();
    const queue = roots;
    while (queue.length > 0) {
      const item = queue.pop();
      if (item === G || item === null || (typeof item !== 'object' && typeof item !== 'function') || seen.has(item)) continue;
      seen.add(item);
      freeze(item);
      // A built-in method that constructs nothing has only a name and a length, and Function.prototype is a root.
      if (typeof item === 'function' && !hasOwn(item, 'prototype')) continue;
      queue.push(getPrototypeOf(item));
      const keys = ownKeys(item);
      for (let i = 0; i < keys.length; i++) {
        const own = getOwnPropertyDescriptor(item, keys[i]);
        if (hasOwn(own, 'value')) queue.push(own.value);
        else queue.push(own.get, own.set);
      }
    }
    return seen.size;
  }
  const roots = [gate, Function.prototype, ...kinds];
  for (const key of ownKeys(G)) {
    const own = getOwnPropertyDescriptor(G, key);
    if (hasOwn(own, 'value')) {
      roots.push(own.value);
      if (own.value !== G) defineProperty(G, key, { writable: false, configurable: false });
      else defineProperty(G, key, { writable: false, configurable: false, enumerable: false });
    }
  }
  const iterable = [[][Symbol.iterator](), ''[Symbol.iterator](), new Map().entries(), new Set().values(), 'a'.matchAll(/a/g),
    (function* () {})(), (async function* () {})(), [].values().map((x) => x), Iterator.from({ next() {} })];
  for (let i = 0; i < iterable.length; i++) roots.push(getPrototypeOf(iterable[i]));
  freezeAll(roots);

  // ---- answers: one letter, then text. o: done, f: failed, v: the script reads the variables
  function failed(code, bound, message) {
    return 'f' + stringify([code, bound, apply(slice, message, [0, limits.message])]);
  }
  const TEXT = 'the helper’s text';
  function failure(where, thrown) {
    if (fault !== null) return failed(fault[0], fault[1], fault[2]);
    let text = 'a value that cannot be shown';
    let bound = 'script';
    try {
      if (thrown !== null && typeof thrown === 'object') {
        const message = thrown.message;
        const name = thrown.name;
        text = (typeof name === 'string' ? name : 'object') + ': ' + (typeof message === 'string' ? apply(slice, message, [0, limits.message]) : '');
        if (name === 'InternalError' && apply(indexOf, text, ['out of memory']) > 0) bound = 'memory';
        if (message === 'Maximum call stack size exceeded' || message === 'stack overflow') bound = 'stack';
        const stack = thrown.stack;
        if (bound === 'script' && typeof stack === 'string') {
          const line = apply(trim, stack, []);
          const end = apply(indexOf, line, ['\n']);
          text += ' ' + apply(slice, line, [0, end < 0 ? 200 : end]);
          // The engine's own report of a text that does not parse has a place but no function.
          if (where === TEXT && thrown instanceof SyntaxError && apply(indexOf, line, ['at <input>:']) === 0) {
            return failed('DECLARATION', 'script', 'expected one complete script, found ' + text);
          }
        }
      } else if (thrown === null) {
        // With no room left for an error object the engine throws null.
        bound = 'memory';
        text = 'null, as the engine does when its memory is used up';
      } else if (typeof thrown === 'string') text = apply(slice, thrown, [0, limits.message]);
      else text = typeof thrown === 'symbol' ? 'a symbol' : '' + thrown;
    } catch (again) {
      text = 'a value whose text throws';
    }
    return failed('EXECUTION', bound, where + ' threw ' + text);
  }
  function isThenable(value) {
    return value !== null && (typeof value === 'object' || typeof value === 'function') && typeof value.then === 'function';
  }

  function load(text, gateName) {
    if (gateName !== '' && hasOwn(G, gateName)) return failed('DECLARATION', 'script', 'the gate ' + gateName + ' would hide a built-in name');
    if (gateName !== '') defineProperty(G, gateName, { value: gate, enumerable: true });
    const source = parse(text);
    try {
      evaluate(source);
    } catch (thrown) {
      return failure(TEXT, thrown);
    }
    if (fault !== null) return failure('', null);
    try {
      const list = listeners[INITIALIZED];
      for (let i = 0; i < list.length; i++) {
        if (isThenable(apply(list[i], undefined, []))) {
          return failed('EXECUTION', 'script', 'a listener of ' + INITIALIZED + ' answered with a promise; helpers run synchronously');
        }
      }
    } catch (thrown) {
      return failure('a listener of ' + INITIALIZED, thrown);
    }
    if (fault !== null) return failure('', null);
    const count = listeners[COMMAND_PARSED].length;
    if (count === 0) return failed('REGISTRATION', 'script', 'expected a listener of Mvu.events.COMMAND_PARSED, found none');
    return 'o' + count;
  }

  // ---- variables that were not sent: any look at them is noticed, whatever the script catches
  let touched = false;
  function lazyVariables() {
    const traps = create(null);
    for (const name of ['get', 'set', 'has', 'deleteProperty', 'ownKeys', 'getOwnPropertyDescriptor', 'defineProperty',
      'getPrototypeOf', 'setPrototypeOf', 'isExtensible', 'preventExtensions']) {
      traps[name] = function () {
        touched = true;
        throw new TypeError('The variables are not here yet');
      };
    }
    return new Proxy({}, traps);
  }

  // ---- variables that were sent: reading goes through a veil that notices every attempt to change something, so that the
  // whole is compared only then. A plain value can be had past the veil only with the functions replaced below.
  const veils = new WeakMap();
  const veiled = new WeakSet();
  const { get: lookUp, set: keep, has: hasVeil } = WeakMap.prototype;
  const { add: mark, has: isMarked } = WeakSet.prototype;
  const handler = create(null);
  handler.get = function (target, key, receiver) {
    const value = reflectGet(target, key, receiver);
    return value === null || typeof value !== 'object' ? value : veil(value, target, key);
  };
  for (const name of ['defineProperty', 'deleteProperty', 'setPrototypeOf', 'preventExtensions']) {
    const real = Reflect[name];
    handler[name] = function (...parts) {
      suspect = true;
      return apply(real, undefined, parts);
    };
  }
  const known = new WeakMap();
  apply(keep, known, [Object.prototype, true]);
  apply(keep, known, [Array.prototype, true]);
  function veil(value, target, key) {
    if (apply(isMarked, veiled, [value]) || apply(hasVeil, known, [value])) return value;
    if (suspect && target !== undefined) {
      const own = getOwnPropertyDescriptor(target, key);
      if (own !== undefined && own.configurable === false) return value; // a proxy must show such a value as it is
    }
    if (apply(hasVeil, veils, [value])) return apply(lookUp, veils, [value]);
    const proxy = new Proxy(value, handler);
    apply(keep, veils, [value, proxy]);
    apply(mark, veiled, [proxy]);
    return proxy;
  }
  function hidesItself(value) {
    // an own toJSON could show another text than the value has
    const queue = [value];
    while (queue.length > 0) {
      const item = queue[queue.length - 1];
      queue.length -= 1;
      if (item === null || typeof item !== 'object') continue;
      if (hasOwn(item, 'toJSON') && typeof item.toJSON === 'function') return true;
      for (const key in item) queue[queue.length] = item[key];
    }
    return false;
  }
  function changed(variables, text) {
    if (!suspect) return false;
    let now;
    try {
      now = stringify(variables);
    } catch (error) {
      return true; // a cycle or a value that JSON has not
    }
    return (now !== text && now !== stringify(parse(text))) || hidesItself(variables);
  }

  // ---- output: only plain data leaves, read once
  let pieces = [];
  function data(holder, key) {
    const own = getOwnPropertyDescriptor(holder, key);
    return own !== undefined && hasOwn(own, 'value') ? own.value : undefined;
  }
  function serialise(list) {
    const bad = (index, text) => failed('OUTPUT', 'output', 'commands[' + index + ']: ' + text);
    const count = list.length;
    if (count > limits.commands) return failed('OUTPUT', 'output', 'expected at most ' + limits.commands + ' commands, found ' + count);
    const out = [];
    let size = 0;
    const put = (text) => {
      out[out.length] = text;
      size += text.length + 1;
      return size <= limits.output;
    };
    const tooLong = () => failed('OUTPUT', 'output', 'expected at most ' + limits.output + ' characters of output');
    for (let i = 0; i < count; i++) {
      const command = data(list, i);
      if (command === null || typeof command !== 'object') return bad(i, 'expected a plain command object');
      const keys = ownKeys(command);
      for (let k = 0; k < keys.length; k++) {
        const key = keys[k];
        if (key !== 'type' && key !== 'args' && key !== 'full_match' && key !== 'reason') return bad(i, 'expected only type, args, full_match and reason');
      }
      const type = data(command, 'type');
      const match = data(command, 'full_match');
      const reason = data(command, 'reason');
      const args = data(command, 'args');
      if (typeof type !== 'string') return bad(i, 'type is not a plain string');
      if (typeof match !== 'string') return bad(i, 'full_match is not a plain string');
      if (reason !== undefined && typeof reason !== 'string') return bad(i, 'reason is not a string');
      if (!isArray(args)) return bad(i, 'args is not an array');
      const length = data(args, 'length');
      if (typeof length !== 'number' || !(length <= limits.commands)) return bad(i, 'args is too long');
      if (type.length + match.length + (reason === undefined ? 0 : reason.length) > limits.output) return tooLong();
      if (!put(stringify(type)) || !put(stringify(match)) || !put(reason === undefined ? 'null' : stringify(reason)) || !put('' + length)) return tooLong();
      for (let a = 0; a < length; a++) {
        const argument = data(args, a);
        if (typeof argument !== 'string') return bad(i, 'args[' + a + '] is not a plain string');
        if (argument.length > limits.output || !put(stringify(argument))) return tooLong();
      }
    }
    return publish(out);
  }
  function publish(out) {
    pieces = [];
    let part = '';
    for (let i = 0; i < out.length; i++) {
      let text = i === 0 ? out[i] : ',' + out[i];
      if (part.length + text.length <= limits.chunk) {
        part += text;
        continue;
      }
      if (part !== '') pieces[pieces.length] = part;
      part = '';
      let at = 0;
      while (text.length - at > limits.chunk) {
        let end = at + limits.chunk;
        const unit = apply(charCodeAt, text, [end - 1]);
        if (unit >= 0xd800 && unit <= 0xdbff) end -= 1; // never cut a pair in two
        pieces[pieces.length] = apply(slice, text, [at, end]);
        at = end;
      }
      part = apply(slice, text, [at]);
    }
    pieces[pieces.length] = part;
    return pieces.length === 1 ? 'o' + part : 'p' + pieces.length;
  }

  function takePiece(index) {
    const part = pieces[index];
    pieces[index] = '';
    return part;
  }

  function reply(commandsText, textText, userTextText, variablesText) {
    const lazy = variablesText === '';
    const plain = lazy ? null : parse(variablesText);
    const variables = lazy ? lazyVariables() : veil(plain);
    const commands = parse(commandsText);
    const text = parse(textText);
    userText = parse(userTextText);
    if (userText.length > limits.userText) userText = '';
    const list = listeners[COMMAND_PARSED];
    let answer;
    try {
      for (let i = 0; i < list.length; i++) {
        const result = apply(list[i], undefined, [variables, commands, text]);
        if (touched) return 'v';
        if (isThenable(result)) {
          return failed('EXECUTION', 'script', 'a listener of COMMAND_PARSED answered with a promise; helpers run synchronously');
        }
      }
      if (fault !== null) return failure('', null);
      if (!lazy && changed(plain, variablesText)) {
        return failed('EXECUTION', 'script', 'the helper changed the variables it was given; it may only read them');
      }
      answer = serialise(commands);
    } catch (thrown) {
      if (touched) return 'v';
      return failure('a listener of COMMAND_PARSED', thrown);
    }
    return touched ? 'v' : answer;
  }

  function answer(operation, first, second, third, fourth) {
    switch (operation) {
      case 'load': return load(first, second);
      case 'reply': return reply(first, second, third, fourth);
      case 'piece': return takePiece(first);
      case 'touched': return touched ? 'v' : '';
      default: {
        const given = parse(first);
        for (const name of ownKeys(limits)) limits[name] = given[name];
        return '';
      }
    }
  }
  // The binding cannot hand over a string that the engine still keeps as a tree of pieces; joining makes it one piece.
  return function enter(...operation) { return apply(join, [apply(answer, undefined, operation)], ['']); };
})()
