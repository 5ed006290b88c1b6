// What a report may cost its reader: screens, words, stops of the tab key; what is seen first, and what stays in view.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { EVERY_REPORT, isPhi, launch, open, screensWithout, tabThrough, unfold, visibleText } from "./browser.js";

const SCREENS = 12;
const WORDS = 2500;
const FIRST_WORDS = 450;
const STOPS = 25;
const DESKTOP = { width: 1280, height: 900 };
const PHONE = { width: 390, height: 844 };
const FIRST_SCREEN = ["#verdict-title", "#identity", ".cards", ".matrix", ".answers", "#verdict"];
/** Reports in which all parts of the first screen could be measured. */
const FILLED = ["full", "small", "pass", "demo", "exact", "exact-small", "exact-demo"];

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
    const first = wordsOf(await visibleText(page, { above: DESKTOP.height }));
    assert.ok(first.length <= FIRST_WORDS, `${first.length} words on the first screen`);
    const stops = await tabThrough(page);
    assert.ok(stops.length <= STOPS, `${stops.length} stops`);
    await page.context().close();
  });

  test(`${name}: no id is shown but in the run record, and nothing is called suppressed`, async () => {
    const page = await open(browser, name, { viewport: DESKTOP });
    assert.deepEqual(idsIn(await visibleText(page)), []);
    assert.doesNotMatch(await page.content(), /suppressed/i);
    // The run record lists the program's settings, by their own names.
    await page.evaluate(() => document.querySelector("#provenance")?.remove());
    await unfold(page);
    assert.deepEqual(idsIn(await visibleText(page)), []);
    await page.context().close();
  });

  test(`${name}: the first screen holds what it is for`, async () => {
    const page = await open(browser, name, { viewport: DESKTOP });
    const ends = await page.evaluate((parts) => {
      const end = (part) => document.querySelector(part)?.getBoundingClientRect().bottom;
      return Object.fromEntries(parts.map((part) => [part, end(part)]));
    }, FIRST_SCREEN);
    for (const [part, end] of Object.entries(ends)) {
      if (FILLED.includes(name)) assert.notEqual(end, undefined, `${part} is missing`);
      if (end !== undefined) assert.ok(end <= DESKTOP.height, `${part} ends at ${end}`);
    }
    await page.context().close();
  });

  for (const viewport of [DESKTOP, PHONE]) {
    test(`${name}: at ${viewport.width} pixels the contents stay in view, and a link in them shows its heading`, async () => {
      const page = await open(browser, name, { viewport });
      assert.deepEqual(await screensWithout(page, "nav li:first-child a"), []);
      for (const link of await page.locator("nav a").all()) {
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

  test(`${name}: the first stop of the tab key skips the contents`, async () => {
    const page = await open(browser, name, { viewport: DESKTOP });
    await page.keyboard.press("Tab");
    const skip = await page.evaluate(() => {
      const { left, top, bottom } = document.activeElement.getBoundingClientRect();
      const isOnTop = document.elementFromPoint(left + 12, (top + bottom) / 2) === document.activeElement;
      return { words: document.activeElement.textContent, isOnTop };
    });
    assert.deepEqual(skip, { words: "Skip to the report", isOnTop: true });
    await page.keyboard.press("Enter");
    await page.keyboard.press("Tab");
    assert.ok(await page.evaluate(() => document.querySelector("main").contains(document.activeElement)));
    await page.context().close();
  });

  test(`${name}: the head of a row of the matrix opens the rules of its tier, and its cells are no links`, async () => {
    const page = await open(browser, name, { viewport: DESKTOP });
    assert.equal(await page.locator(".matrix td a").count(), 0);
    assert.deepEqual(await page.locator(".matrix td").evaluateAll((cells) => cells.filter((c) => getComputedStyle(c).cursor === "pointer")), []);
    for (const head of await page.locator(".matrix tbody th a").all()) {
      const rules = await head.getAttribute("href");
      await head.click();
      await page.waitForFunction((rules) => {
        const part = document.querySelector(rules);
        const { top, bottom } = part.getBoundingClientRect();
        const head = document.querySelector(".top").getBoundingClientRect().bottom;
        return part.checkVisibility() && top >= head && bottom <= innerHeight;
      }, rules);
      await page.evaluate(() => scrollTo(0, 0));
    }
    const words = await page.locator(".matrix td [role=img]").evaluateAll((signs) => signs.map((sign) => sign.ariaLabel));
    assert.deepEqual(words.filter((word) => !/\w/.test(word ?? "")), []);
    await page.context().close();
  });

  test(`${name}: Enter opens what is folded, arrow keys scroll a wide table`, async () => {
    const page = await open(browser, name, { viewport: PHONE });
    await page.locator("#annex > details > summary").focus();
    await page.keyboard.press("Enter");
    assert.equal(await page.locator("#annex > details").evaluate((details) => details.open), true);
    await page.evaluate(() => document.querySelectorAll("#annex details").forEach((details) => (details.open = true)));
    const regions = await page.locator("#annex .scroll").all();
    const wide = [];
    for (const region of regions) {
      if (await region.evaluate((part) => part.scrollWidth > part.clientWidth + 40)) wide.push(region);
    }
    if (FILLED.includes(name)) assert.ok(wide.length > 0);
    for (const region of wide.slice(0, 1)) {
      await region.focus();
      await page.keyboard.press("ArrowRight");
      await page.waitForFunction(() => document.activeElement.scrollLeft > 0);
    }
    await page.context().close();
  });
}

test("exact reports say on their first screen that they are PHI, published ones that they are ranges", async () => {
  for (const name of FILLED) {
    const page = await open(browser, name, { viewport: DESKTOP });
    const said = await visibleText(page);
    assert.equal(said.includes("Contains PHI: exact figures; stays inside the institution"), isPhi(name), name);
    assert.equal(said.includes("given in classes of ten"), !isPhi(name), name);
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
