// What a report may cost its reader: screens, words, stops of the tab key; what is seen first, and what stays in view.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { EVERY_ANNEX, EVERY_REPORT, isPhi, launch, open, screensWithout, tabThrough, unfold, visibleText } from "./browser.js";

const SCREENS = 7;
const WORDS = 1500;
const FIRST_WORDS = 300;
const STOPS = 25;
const DESKTOP = { width: 1240, height: 900 };
const PHONE = { width: 390, height: 844 };
const FIRST_SCREEN = ["#verdict-title", "#identity", ".answers", ".grid"];
/** Reports in which all parts of the first screen could be measured. */
const FILLED = ["full", "pass", "undecided", "train-only", "demo", "exact", "exact-demo"];

let browser;
before(async () => (browser = await launch()));
after(() => browser.close());

for (const name of EVERY_REPORT) {
  test(`${name}: at most ${SCREENS} screens, ${WORDS} words and ${STOPS} stops of the tab key while folded`, async () => {
    const page = await open(browser, name, { viewport: DESKTOP });
    const height = await page.evaluate(() => document.scrollingElement.scrollHeight);
    assert.ok(height <= SCREENS * DESKTOP.height, `${(height / DESKTOP.height).toFixed(1)} screens`);
    const words = wordsOf(await visibleText(page));
    assert.ok(words.length <= WORDS, `${words.length} words`);
    const end = await page.locator("#verdict").evaluate((part) => part.getBoundingClientRect().bottom);
    const first = wordsOf(await visibleText(page, { above: Math.min(end, DESKTOP.height) }));
    assert.ok(first.length <= FIRST_WORDS, `${first.length} words on the first screen`);
    const stops = await tabThrough(page);
    assert.ok(stops.length <= STOPS, `${stops.length} stops`);
    await page.context().close();
  });

  test(`${name}: the first screen holds what it is for, and no word of the grid is broken on a phone`, async () => {
    const page = await open(browser, name, { viewport: DESKTOP });
    const ends = await page.evaluate((parts) => {
      const end = (part) => document.querySelector(part)?.getBoundingClientRect().bottom;
      return Object.fromEntries(parts.map((part) => [part, end(part)]));
    }, FIRST_SCREEN);
    for (const [part, end] of Object.entries(ends)) {
      if (FILLED.includes(name)) assert.notEqual(end, undefined, `${part} is missing`);
      if (end !== undefined) assert.ok(end <= DESKTOP.height, `${part} ends at ${end}`);
    }
    await page.setViewportSize(PHONE);
    const broken = await page.evaluate(() => {
      const range = document.createRange();
      const walker = document.createTreeWalker(document.querySelector(".grid") ?? document.createElement("p"), NodeFilter.SHOW_TEXT);
      const found = [];
      while (walker.nextNode()) {
        for (const { 0: word, index } of walker.currentNode.data.matchAll(/[\p{L}\p{N}]+/gu)) {
          range.setStart(walker.currentNode, index);
          range.setEnd(walker.currentNode, index + word.length);
          if (new Set([...range.getClientRects()].map(({ top }) => top)).size > 1) found.push(word);
        }
      }
      return found;
    });
    assert.deepEqual(broken, []);
    await page.context().close();
  });

  for (const viewport of [DESKTOP, PHONE]) {
    test(`${name}: at ${viewport.width} pixels the contents stay in view, and a link in them shows its heading`, async () => {
      const page = await open(browser, name, { viewport });
      assert.deepEqual(await screensWithout(page, "nav li:first-child a"), []);
      for (const link of await page.locator('nav a[href^="#"]').all()) {
        await link.click();
        const target = await link.getAttribute("href");
        // As far up as the page's end lets it scroll.
        await page.waitForFunction((target) => {
          const { top } = document.querySelector(`${target} h2`).getBoundingClientRect();
          return top >= document.querySelector(".top").getBoundingClientRect().bottom && top < innerHeight;
        }, target);
      }
      await page.context().close();
    });
  }

  test(`${name}: each cell of the grid says its state in words, and every rule stands below`, async () => {
    const page = await open(browser, name, { viewport: DESKTOP });
    const words = await page.locator(".grid td [role=img]").evaluateAll((signs) => signs.map((sign) => sign.ariaLabel));
    assert.equal(words.length > 0, FILLED.includes(name));
    assert.deepEqual(words.filter((word) => !/\w/.test(word ?? "")), []);
    const held = await page.locator("#rules .block").evaluateAll((blocks) =>
      blocks.map((block) => [block.className.split(" ")[1], block.querySelectorAll("tr.rule").length]),
    );
    assert.deepEqual(held.filter(([status, rules]) => !["fail", "inconclusive", "pass"].includes(status) || rules === 0), []);
    assert.equal(held.length > 0, FILLED.includes(name));
    await page.context().close();
  });
}

for (const name of [...EVERY_REPORT, ...EVERY_ANNEX]) {
  test(`${name}: no id is shown but in the run record`, async () => {
    const page = await open(browser, name, { viewport: DESKTOP });
    // The run record lists the program's settings, by their own names.
    await page.evaluate(() => document.querySelector("#provenance")?.remove());
    await unfold(page);
    assert.deepEqual(idsIn(await visibleText(page)), []);
    await page.context().close();
  });

  test(`${name}: the first stop of the tab key skips to the text, and Enter opens what is folded`, async () => {
    const page = await open(browser, name, { viewport: DESKTOP });
    await page.keyboard.press("Tab");
    const skip = await page.evaluate(() => {
      const { left, top, bottom } = document.activeElement.getBoundingClientRect();
      const isOnTop = document.elementFromPoint(left + 12, (top + bottom) / 2) === document.activeElement;
      return { words: document.activeElement.textContent, isOnTop };
    });
    assert.deepEqual(skip, { words: `Skip to the ${EVERY_ANNEX.includes(name) ? "annex" : "report"}`, isOnTop: true });
    await page.keyboard.press("Enter");
    await page.keyboard.press("Tab");
    assert.ok(await page.evaluate(() => document.querySelector("main").contains(document.activeElement)));
    const folded = page.locator("main details:not([open]) > summary").last();
    const part = await folded.evaluateHandle((summary) => summary.parentElement);
    await folded.focus();
    await page.keyboard.press("Enter");
    assert.equal(await part.evaluate((details) => details.open), true);
    await page.context().close();
  });
}

for (const name of EVERY_ANNEX) {
  test(`${name}: arrow keys scroll a wide table, and a figure's link leads into the evidence alone`, async () => {
    const page = await open(browser, name, { viewport: PHONE });
    await unfold(page);
    const wide = [];
    for (const region of await page.locator(".scroll").all()) {
      if (await region.evaluate((part) => part.scrollWidth > part.clientWidth + 40)) wide.push(region);
    }
    if (!name.startsWith("empty")) assert.ok(wide.length > 0);
    for (const region of wide.slice(0, 1)) {
      await region.focus();
      await page.keyboard.press("ArrowRight");
      await page.waitForFunction(() => document.activeElement.scrollLeft > 0);
    }
    const links = await page.locator("td a").evaluateAll((all) => all.map((link) => link.getAttribute("href")));
    assert.equal(links.length > 0, isPhi(name));
    assert.deepEqual(links.filter((link) => !link.startsWith("evidence.html#")), []);
    await page.context().close();
  });
}

test("each link of the exact annex of a run shows texts on its evidence page, where the figure has any", async () => {
  const annex = await open(browser, "exact-demo-annex");
  const links = await annex.locator("td a").evaluateAll((all) => [...new Set(all.map((link) => link.getAttribute("href")))]);
  const page = await open(browser, "demo-evidence");
  let shown = 0;
  for (const link of links) {
    await page.evaluate((hash) => (location.hash = hash), new URL(link, "file:///x/").hash);
    await page.waitForFunction(() => /^\d+ of \d+ shown$/.test(document.querySelector("#count").innerText));
    shown += /^[1-9]/.test(await page.locator("#count").innerText());
  }
  assert.ok(shown > links.length / 2, `${shown} of ${links.length}`);
  await annex.context().close();
  await page.context().close();
});

test("exact reports say on their first screen that they are PHI, published ones that they are not", async () => {
  for (const name of FILLED) {
    const page = await open(browser, name, { viewport: DESKTOP });
    const said = await visibleText(page, { above: DESKTOP.height });
    assert.equal(said.includes("Contains PHI"), isPhi(name), name);
    await page.context().close();
  }
});

function wordsOf(text) {
  return text.split(/\s+/).filter((word) => /[\p{L}\p{N}]/u.test(word));
}

/** Words such as encounter_cc, which are the program's and not the reader's. A line to write on, "by________", is none. */
function idsIn(text) {
  return [...new Set(text.match(/\b[a-z]+_+[a-z][a-z_]*/g) ?? [])];
}
