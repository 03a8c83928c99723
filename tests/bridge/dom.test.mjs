import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";

const source = await readFile(new URL("../../server/static/card-dom.js", import.meta.url), "utf8");
const dom = new Function(`${source}\nreturn { makeElement, parseInto, innerHtml, textOf, select, setStyle, styleOf, serialise };`)();

function parsed(html) {
  const body = dom.makeElement("body");
  dom.parseInto(body, html);
  return body;
}

const CASES = [
  ["<p>a<b>b</b></p>", "<p>a<b>b</b></p>"],
  ["<ul><li>1<li>2</ul>", "<ul><li>1</li><li>2</li></ul>"],
  ["<p>one<p>two", "<p>one</p><p>two</p>"],
  ["a < b &amp; c &lt;d&gt; &#38; &#x26; &unknown;", "a &lt; b &amp; c &lt;d&gt; &amp; &amp; &amp;unknown;"],
  ["<br><hr/><img src=x>", '<br><hr><img src="x">'],
  ["<input value='a\"b' disabled>", '<input value="a&quot;b" disabled="">'],
  ["</p></div>text", "text"],
  ["<div><span>x</div>y", "<div><span>x</span></div>y"],
  ["<!-- c --><p>x</p><!-- open", "<p>x</p>"],
  ["<script>if (a < b) x()</script>y", "y"],
  ["<style>p > b { }</style>", "<style>p > b { }</style>"],
  ["<textarea><b>&lt;</textarea>", "<textarea><b><</textarea>"],
  ["<P CLASS=A Class=B>x</P>", '<p class="A">x</p>'],
  ["<table><tr><td>1<td>2<tr><td>3</table>", "<table><tr><td>1</td><td>2</td></tr><tr><td>3</td></tr></table>"],
  ["<", "&lt;"],
  ["<p", "<p></p>"],
  ["<!doctype html><p>x", "<p>x</p>"],
  ["&#xD800;&#0;", "\ufffd\ufffd"],
];

for (const [html, expected] of CASES) {
  test(`parses ${html.slice(0, 40)}`, () => assert.equal(dom.innerHtml(parsed(html)), expected));
}

test("selectors", () => {
  const body = parsed('<ul id="行囊"><li class="a b">1</li><li data-x="y z">2</li></ul><p><b class="a">3</b></p>');
  const texts = (selector) => dom.select(body, selector).map(dom.textOf);
  assert.deepEqual(texts("#行囊 li"), ["1", "2"]);
  assert.deepEqual(texts("#行囊 > li:nth-child(2)"), ["2"]);
  assert.deepEqual(texts(".a"), ["1", "3"]);
  assert.deepEqual(texts("li.a.b, p b"), ["1", "3"]);
  assert.deepEqual(texts('[data-x="y z"]'), ["2"]);
  assert.deepEqual(texts("li:last-child"), ["2"]);
  assert.deepEqual(texts("body > b"), []);
  assert.equal(dom.select(body, "body").length, 1);
  for (const wrong of ["", "li >", "!", "a,,b", "li:hover"]) assert.throws(() => dom.select(body, wrong), SyntaxError);
});

test("style values stay one declaration", () => {
  const node = dom.makeElement("p");
  dom.setStyle(node, "backgroundColor", "red");
  dom.setStyle(node, "color", "blue; position: fixed");
  assert.equal(node.attrs.style, "background-color: red");
  dom.setStyle(node, "background-color", "");
  assert.equal(node.attrs.style, undefined);
});

test("too much markup is an error, not a hang", () => {
  assert.throws(() => parsed("<p>".repeat(6000)), RangeError);
  assert.throws(() => parsed("<i>".repeat(400)), RangeError);
  assert.throws(() => parsed("x".repeat(500_001)), RangeError);
  const start = performance.now();
  for (const hostile of ["<a ".repeat(100_000), "<a b='".repeat(80_000), "<!--".repeat(100_000), "&".repeat(400_000), "<script>".repeat(50_000)]) {
    try { parsed(hostile); } catch (error) { assert.ok(error instanceof RangeError); }
  }
  assert.ok(performance.now() - start < 4000, `${performance.now() - start} ms`);
});
