// Every page in a real browser: accessibility, no request, keyboard alone, a phone, a wide screen.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { EVERY_COMPARISON, EVERY_REPORT, EVERY_VIEWER, launch, open, tabThrough, unfold, violations } from "./browser.js";

let browser;
before(async () => (browser = await launch()));
after(() => browser.close());

for (const name of [...EVERY_REPORT, ...EVERY_COMPARISON, ...EVERY_VIEWER]) {
  for (const colorScheme of ["light", "dark"]) {
    test(`${name}, ${colorScheme}: axe-core finds nothing, folded and unfolded`, async () => {
      const page = await open(browser, name, { colorScheme });
      assert.deepEqual(await violations(page), []);
      await unfold(page);
      assert.deepEqual(await violations(page), []);
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
    const wanted = await page.evaluate(() => mark("a[href], summary, select, button, [tabindex]"));
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
}

test("Enter opens a folded table, arrow keys scroll a region", async () => {
  const page = await open(browser, "full", { viewport: { width: 390, height: 844 } });
  const summary = page.locator("#memorization summary");
  await summary.focus();
  await page.keyboard.press("Enter");
  assert.equal(await page.locator("#memorization details").evaluate((details) => details.open), true);
  await page.keyboard.press("Tab");
  const region = page.locator("#memorization details .scroll");
  assert.equal(await region.evaluate((part) => part === document.activeElement), true);
  await page.keyboard.press("ArrowRight");
  await page.waitForFunction(() => document.activeElement.scrollLeft > 0);
  await page.context().close();
});

test("Enter follows a link", async () => {
  // A page of its own: a scroll that is still under way would win over the jump.
  const page = await open(browser, "full", { viewport: { width: 390, height: 844 } });
  await page.locator('nav a[href="#policy"]').focus();
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => Math.abs(document.querySelector("#policy").getBoundingClientRect().top) < 60);
  await page.context().close();
});

function widthOf(page) {
  return page.evaluate(() => document.scrollingElement.scrollWidth);
}
