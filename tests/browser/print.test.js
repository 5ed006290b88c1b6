// Reports and comparisons on A4: no chart is cut, folded tables are printed, the signing block stands on one page.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { EVERY_COMPARISON, EVERY_REPORT, launch, open, textOfPages } from "./browser.js";

let browser;
before(async () => (browser = await launch()));
after(() => browser.close());

for (const name of [...EVERY_REPORT, ...EVERY_COMPARISON]) {
  test(`${name}: on A4 every chart stands whole on one page`, async () => {
    const page = await open(browser, name);
    const charts = await page.evaluate(() => {
      const drawn = [...document.querySelectorAll(".chart svg")];
      drawn.forEach((svg, index) => {
        const { x, y, width, height } = svg.viewBox.baseVal;
        // Marks in three corners, in the chart's own coordinates: printed, they tell where each corner came to stand.
        for (const [corner, left, top] of [["a", 0, 12], ["b", 0, height - 2], ["c", width - 60, 12]]) {
          const text = document.createElementNS("http://www.w3.org/2000/svg", "text");
          Object.entries({ x: x + left, y: y + top, "font-size": 9 }).forEach((pair) => text.setAttribute(...pair));
          text.textContent = `§${index}${corner}§`;
          svg.append(text);
        }
      });
      return drawn.length;
    });
    const pages = textOfPages(await page.pdf({ preferCSSPageSize: true }));
    const where = (mark) => pages.findIndex((text) => text.includes(mark));
    for (let index = 0; index < charts; index += 1) {
      const found = ["a", "b", "c"].map((corner) => where(`§${index}${corner}§`));
      assert.ok(found[0] >= 0, `chart ${index} is not printed`);
      assert.deepEqual(found, [found[0], found[0], found[0]], `chart ${index} is cut`);
    }
    await page.context().close();
  });

  test(`${name}: on A4 every folded table is printed, no row is cut, and nothing is wider than the page`, async () => {
    const page = await open(browser, name);
    const rows = await page.evaluate(() => {
      const all = [...document.querySelectorAll("tbody tr")];
      all.forEach((row, index) => {
        const cells = [...row.cells];
        const tallest = cells.reduce((one, other) => (other.textContent.length > one.textContent.length ? other : one));
        tallest.prepend(`§${index}a§ `);
        tallest.append(` §${index}b§`);
      });
      return all.map((row) => row.closest("details") !== null);
    });
    const pages = textOfPages(await page.pdf({ preferCSSPageSize: true })).map((text) => text.replace(/\s+/g, ""));
    const where = (mark) => pages.findIndex((text) => text.includes(mark));
    rows.forEach((folded, index) => {
      assert.ok(where(`§${index}a§`) >= 0, `row ${index} (folded: ${folded}) is not printed`);
      assert.equal(where(`§${index}a§`), where(`§${index}b§`), `row ${index} is cut`);
    });
    // 180 mm at 96 pixels an inch.
    await page.setViewportSize({ width: 680, height: 1009 });
    await page.emulateMedia({ media: "print" });
    const wide = await page.evaluate(() =>
      [...document.querySelectorAll("main table, main svg, main p, main ul")]
        .filter((part) => part.getBoundingClientRect().right > 681)
        .map((part) => part.querySelector("caption")?.textContent ?? part.outerHTML.slice(0, 80)),
    );
    assert.deepEqual(wide, []);
    await page.context().close();
  });
}

for (const name of EVERY_REPORT) {
  test(`${name}: on A4 the signing block stands on one page, numbered, under the verdict`, async () => {
    const page = await open(browser, name);
    const verdict = await page.locator(".status").innerText();
    const pages = textOfPages(await page.pdf({ preferCSSPageSize: true }));
    const signed = pages.filter((text) => /^\s*Sign-off$/m.test(text));
    assert.equal(signed.length, 1);
    const rows = await page.locator("#signoff tbody tr th").allInnerTexts();
    const signing = signed[0].replace(/\s+/g, "");
    assert.ok(rows.length >= 2);
    for (const row of ["Decision:", ...rows]) assert.ok(signing.includes(row.replace(/\s+/g, "")), row);
    pages.forEach((text, index) => {
      const shown = text.replace(/\s+/g, " ");
      assert.ok(shown.includes(`Page ${index + 1} of ${pages.length}`), `page ${index + 1} has no number`);
      assert.ok(shown.includes(verdict.replace(/^\S+ /, "")), `page ${index + 1} does not say the verdict`);
    });
    await page.context().close();
  });
}

for (const name of EVERY_COMPARISON) {
  test(`${name}: on A4 no page is empty, each is numbered and says what it is, PHI where it is PHI alone`, async () => {
    const page = await open(browser, name);
    const pages = textOfPages(await page.pdf({ preferCSSPageSize: true }));
    pages.forEach((text, index) => {
      const shown = text.replace(/\s+/g, " ");
      assert.ok(shown.includes(`Page ${index + 1} of ${pages.length}`), `page ${index + 1} has no number`);
      assert.equal(/\bPHI\b/.test(shown), name === "certificate", `page ${index + 1}`);
      assert.equal(shown.includes("Aggregates only"), name !== "certificate", `page ${index + 1}`);
      assert.ok(!shown.includes("Data tables"), "nothing was folded");
    });
    await page.context().close();
  });
}
