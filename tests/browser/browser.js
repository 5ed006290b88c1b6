// A headless Chromium, and pages opened in it: what each asked for from outside is recorded.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { execFileSync } from "node:child_process";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";

const require = createRequire(import.meta.url);
const AXE = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");

export const PAGES = process.env.PAGES;
export const EVERY_REPORT = ["full", "pass", "undecided", "train-only", "empty", "demo", "exact", "exact-empty", "exact-demo"];
export const EVERY_ANNEX = ["full-annex", "train-only-annex", "empty-annex", "demo-annex", "exact-demo-annex"];
export const EVERY_COMPARISON = ["compare", "compare-named", "compare-exact", "certificate"];
export const EVERY_VIEWER = ["evidence", "evidence-none", "demo-evidence"];
export const EVERY_REVIEW = ["pii-review"];
export const EVERY_BENCH = ["pii-bench", "pii-bench-none", "unlearning", "unlearning-bare"];
/** Pages with a script of their own. */
export const EVERY_SCRIPTED = [...EVERY_VIEWER, ...EVERY_REVIEW];
export const EVERY_PAGE = [...EVERY_REPORT, ...EVERY_ANNEX, ...EVERY_COMPARISON, ...EVERY_SCRIPTED, ...EVERY_BENCH];

/** Whether a page holds what must stay inside: exact figures, patients' ids, their texts. */
export const isPhi = (name) => /\bexact\b|^certificate$|^unlearning/.test(name) || EVERY_SCRIPTED.includes(name);

export function launch() {
  const executablePath = execFileSync("which", ["chromium"], { encoding: "utf8" }).trim();
  // Root has no sandbox here; the pages are our own.
  return chromium.launch({ executablePath, args: ["--no-sandbox", "--disable-gpu"] });
}

/** Open a page of PAGES; `page.asked` lists the address of every request but the first. */
export async function open(browser, name, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1200, height: 900 }, ...options });
  const page = await context.newPage();
  const address = pathToFileURL(path.join(PAGES, `${name}.html`)).href;
  page.asked = [];
  page.on("request", (request) => request.url() === address || page.asked.push(request.url()));
  await page.goto(address);
  return page;
}

/** Open everything that is folded; what the viewer draws only then may hold something folded itself. */
export function unfold(page) {
  return page.evaluate(async () => {
    for (let folded; (folded = document.querySelectorAll("details:not([open])")).length > 0; ) {
      folded.forEach((details) => (details.open = true));
      await new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)));
    }
  });
}

/** Violations that axe-core finds, one line each; of all its usual rules, or of some. */
export async function violations(page, ...rules) {
  await page.evaluate(AXE);
  const runOnly = rules.length > 0 ? rules : undefined;
  const found = await page.evaluate((runOnly) => axe.run(document, { runOnly, resultTypes: ["violations"] }), runOnly);
  return found.violations.map(({ id, nodes }) => `${id}: ${nodes.length}, first ${nodes[0].target} ${nodes[0].html}`);
}

/** The places, in pixels from the head of the page, of the screens on which `selector` cannot be seen. */
export function screensWithout(page, selector) {
  return page.evaluate(async (selector) => {
    const missing = [];
    for (let top = 0; top < document.scrollingElement.scrollHeight; top += innerHeight) {
      scrollTo(0, top);
      await new Promise(requestAnimationFrame);
      const part = document.querySelector(selector);
      const box = part?.getBoundingClientRect();
      const isWhole = box && box.top >= 0 && box.bottom <= innerHeight && box.height > 0;
      // What lies on top of it would hide it.
      const isOnTop = isWhole && part.contains(document.elementFromPoint(box.left + 12, (box.top + box.bottom) / 2));
      if (!isOnTop) missing.push(top);
    }
    return missing;
  }, selector);
}

/** The text that a reader sees as the page stands, `above` so many pixels: none folded, none for a screen's reader alone. */
export function visibleText(page, { above = Infinity } = {}) {
  return page.evaluate((above) => {
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    const texts = [];
    const range = document.createRange();
    const isAbove = (node, start, end) => {
      range.setStart(node, start);
      range.setEnd(node, end);
      return range.getBoundingClientRect().top + scrollY < above;
    };
    while (walker.nextNode()) {
      const node = walker.currentNode;
      const parent = node.parentElement;
      const isRead = parent.checkVisibility() && !parent.closest(".vh, .hidden, .skip, script, style");
      // Word by word: a paragraph may reach further down than the part asked for.
      const shown = node.data.replace(/\S+/g, (word, at) => (isAbove(node, at, at + word.length) ? word : " "));
      texts.push(isRead ? shown : " ");
    }
    return texts.join("");
  }, above === Infinity ? Number.MAX_SAFE_INTEGER : above);
}

/** The text of each page of a PDF. */
export function textOfPages(pdf) {
  const text = execFileSync("pdftotext", ["-layout", "-", "-"], { input: pdf, encoding: "utf8", maxBuffer: 1 << 28 });
  return text.split("\f").slice(0, -1);
}

/** Press Tab until the focus leaves the page; return the marks of what had it. Each must show a focus ring. */
export async function tabThrough(page) {
  await page.evaluate(() => {
    globalThis.mark = (selector) => {
      const parts = [...document.querySelectorAll(selector)].filter((part) => part.checkVisibility());
      return parts.map((part) => part.dataset.mark);
    };
    document.querySelectorAll("*").forEach((part, index) => (part.dataset.mark = `${part.tagName} ${index}`));
    document.activeElement?.blur();
    getSelection().removeAllRanges();
    scrollTo(0, 0);
  });
  const reached = [];
  for (;;) {
    await page.keyboard.press("Tab");
    const focused = await page.evaluate(() => {
      const part = document.activeElement;
      const { outlineStyle, outlineWidth } = getComputedStyle(part);
      const box = part.getBoundingClientRect();
      // What stays in place at the head of the screen must not hide it, unless it stands there itself.
      const stays = part.closest(".top, .skip") ? null : document.querySelector(".top, .phi");
      const isSeen = box.bottom > (stays?.getBoundingClientRect().bottom ?? 0) && box.top < innerHeight;
      return { mark: part.dataset.mark, ring: outlineStyle !== "none" && parseFloat(outlineWidth) >= 2, isSeen };
    });
    if (focused.mark === undefined || focused.mark.startsWith("BODY") || reached.includes(focused.mark)) return reached;
    assert.ok(focused.ring, `no focus ring: ${focused.mark}`);
    assert.ok(focused.isSeen, `out of sight: ${focused.mark}`);
    reached.push(focused.mark);
  }
}
