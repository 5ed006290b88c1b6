// Every page in a real browser: accessibility, no request, keyboard alone, a phone, a wide screen.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { EVERY_PAGE, EVERY_SCRIPTED, isPhi, launch, open, screensWithout, tabThrough, unfold, violations } from "./browser.js";

let browser;
before(async () => (browser = await launch()));
after(() => browser.close());

// Two pages at a time: each has a context, and a process of the browser, of its own.
describe("every page", { concurrency: 2 }, () => {
  for (const name of EVERY_PAGE) {
    // In the dark colours alone are others, and all rules take half a minute of a page of ten thousand parts.
    for (const [colorScheme, ...rules] of [["light"], ["dark", "color-contrast", "link-in-text-block"]]) {
      test(`${name}, ${colorScheme}: axe-core finds nothing, folded and unfolded`, async () => {
        const page = await open(browser, name, { colorScheme });
        assert.deepEqual(await violations(page, ...rules), []);
        await unfold(page);
        assert.deepEqual(await violations(page, ...rules), []);
        await page.context().close();
      });
    }

    test(`${name}: nothing is asked for from outside, and the page's own policy forbids it`, async () => {
      const page = await open(browser, name);
      await unfold(page);
      await page.pdf();
      assert.deepEqual(page.asked, []);
      const blocked = await page.evaluate(
        () =>
          new Promise((resolve) => {
            const seen = [];
            document.addEventListener("securitypolicyviolation", (event) => {
              seen.push(event.effectiveDirective);
              if (seen.length === 3) resolve(seen.sort());
            });
            for (const tag of ["img", "script", "iframe"]) {
              document.body.append(Object.assign(document.createElement(tag), { src: "http://127.0.0.1:9/x" }));
            }
          }),
      );
      assert.deepEqual(blocked, ["frame-src", "img-src", "script-src-elem"]);
      await page.context().close();
    });

    test(`${name}: the keyboard alone reaches every link, folded table and scroll region, visibly`, async () => {
      const page = await open(browser, name, { viewport: { width: 700, height: 900 } });
      const reached = await tabThrough(page);
      // A link that the tab key leaves out (of each cell of the matrix) leads where others lead, too.
      const wanted = await page.evaluate(() => mark(':is(a[href], summary, select, button:enabled, input, [tabindex]):not([tabindex="-1"])'));
      assert.deepEqual(wanted.filter((id) => !reached.includes(id)), []);
      await unfold(page);
      const opened = await tabThrough(page);
      const scrolling = await page.evaluate(() =>
        [...document.querySelectorAll("main *")]
          .filter((part) => part.scrollWidth > part.clientWidth + 1 || part.scrollHeight > part.clientHeight + 1)
          .filter((part) => getComputedStyle(part).overflowX === "auto" && part.checkVisibility())
          .map((part) => part.dataset.mark),
      );
      assert.deepEqual(scrolling.filter((id) => !opened.includes(id)), []);
      await page.context().close();
    });

    for (const width of [320, 390]) {
      test(`${name}: at ${width} pixels nothing scrolls sideways, folded and unfolded`, async () => {
        const page = await open(browser, name, { viewport: { width, height: 844 }, isMobile: true, hasTouch: true });
        assert.ok((await widthOf(page)) <= width, `${await widthOf(page)}`);
        await unfold(page);
        assert.ok((await widthOf(page)) <= width, `${await widthOf(page)}`);
        await page.context().close();
      });
    }

    test(`${name}: at 1200 pixels the tables that are not folded show every column`, async () => {
      const page = await open(browser, name);
      const cut = await page.evaluate(() =>
        [...document.querySelectorAll(".scroll")]
          .filter((region) => !region.closest("details") && region.scrollWidth > region.clientWidth)
          .map((region) => region.getAttribute("aria-label")),
      );
      assert.deepEqual(cut, []);
      await page.context().close();
    });

    test(`${name}: no script stands in it but its own`, async () => {
      const page = await open(browser, name);
      const found = await page.evaluate(() => {
        const handlers = [...document.querySelectorAll("*")].flatMap((part) => [...part.attributes]);
        return {
          scripts: [...document.scripts].map((script) => script.id || script.type || "own"),
          handlers: handlers.filter(({ name, value }) => name.startsWith("on") || /^\s*javascript:/i.test(value)).length,
        };
      });
      assert.deepEqual(found, { scripts: EVERY_SCRIPTED.includes(name) ? ["data", "own"] : [], handlers: 0 });
      await page.context().close();
    });

    // The viewer draws the text that an address names only then; its own tests follow them.
    const skip = EVERY_SCRIPTED.includes(name);
    test(`${name}: every link within the page has its target`, { skip }, async () => {
      const page = await open(browser, name);
      await unfold(page);
      const dead = await page.evaluate(() =>
        [...document.querySelectorAll('a[href^="#"]')]
          .map((link) => link.getAttribute("href"))
          .filter((target) => document.querySelectorAll(`[id="${CSS.escape(target.slice(1))}"]`).length !== 1),
      );
      assert.deepEqual(dead, []);
      await page.context().close();
    });

    for (const [width, height] of [[1200, 900], [390, 844]]) {
      test(`${name}: at ${width} pixels PHI is marked on every screen where it is, and nowhere else`, async () => {
        const page = await open(browser, name, { viewport: { width, height } });
        if (isPhi(name)) {
          assert.match(await page.locator(".phi").innerText(), /\bPHI\b/);
          await unfold(page);
          assert.deepEqual(await screensWithout(page, ".phi"), []);
        } else {
          assert.equal(await page.locator(".phi").count(), 0);
          assert.doesNotMatch(await page.title(), /PHI/);
        }
        await page.context().close();
      });
    }
  }
});

function widthOf(page) {
  return page.evaluate(() => document.scrollingElement.scrollWidth);
}
