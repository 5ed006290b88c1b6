// Every page on A4: no row and no chart is cut, what is folded is printed, pages are numbered and say whose they are.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { EVERY_ANNEX, EVERY_BENCH, EVERY_COMPARISON, EVERY_REPORT, isPhi, launch, open, textOfPages } from "./browser.js";

/** Sheets of a report with all that is folded. */
const SHEETS = 20;
/** A sheet, and what its margins leave of it, in CSS pixels. */
const SHEET = { width: 794, height: 1123 };
const COLUMN = (182 / 25.4) * 96;

let browser;
before(async () => (browser = await launch()));
after(() => browser.close());

const print = (page) => page.pdf({ preferCSSPageSize: true }).then(textOfPages);

for (const name of [...EVERY_REPORT, ...EVERY_ANNEX, ...EVERY_COMPARISON, ...EVERY_BENCH]) {
  test(`${name}: on A4 every row, chart and curve is printed whole, folded or not`, async () => {
    const page = await open(browser, name);
    const marked = await page.evaluate(() => {
      const rows = [...document.querySelectorAll("main tbody tr")];
      rows.forEach((row, index) => {
        const cells = [...row.cells];
        const tallest = cells.reduce((one, other) => (other.textContent.length > one.textContent.length ? other : one));
        // In one piece each, whatever the width of the cell.
        for (const [end, place] of [["a", "afterbegin"], ["b", "beforeend"]]) {
          tallest.insertAdjacentHTML(place, `<span style="white-space:nowrap;font-size:3px"> §${index}${end}§ </span>`);
        }
      });
      const charts = [...document.querySelectorAll(".chart")];
      charts.forEach((chart, index) => {
        const ends = [chart.querySelector("h3, h4"), [...chart.querySelectorAll("td, th, p, .swatch")].at(-1)];
        ends.forEach((part, end) => {
          const mark = `<span style="white-space:nowrap;font-size:3px"> §${index}${"ef"[end]}§ </span>`;
          part?.insertAdjacentHTML("beforeend", mark);
        });
      });
      const curves = [...document.querySelectorAll("main svg[role=img]")];
      curves.forEach((svg, index) => {
        const { x, y, width, height } = svg.viewBox.baseVal;
        // In the drawing's own coordinates: printed, they tell where each corner came to stand.
        for (const [end, left, top] of [["c", 0, 12], ["d", 0, height - 2]]) {
          const text = document.createElementNS("http://www.w3.org/2000/svg", "text");
          const place = { x: x + left, y: y + top, "font-size": 6, fill: "black" };
          Object.entries(place).forEach((pair) => text.setAttribute(...pair));
          text.textContent = `§${index}${end}§`;
          svg.append(text);
        }
      });
      return { rows: rows.map((row) => row.closest("details") !== null), charts: charts.length, curves: curves.length };
    });
    const pages = (await print(page)).map((text) => text.replace(/\s+/g, ""));
    const where = (mark) => pages.findIndex((text) => text.includes(`§${mark}§`));
    marked.rows.forEach((folded, index) => {
      assert.ok(where(`${index}a`) >= 0, `row ${index} (folded: ${folded}) is not printed`);
      assert.equal(where(`${index}a`), where(`${index}b`), `row ${index} is cut`);
    });
    for (let index = 0; index < marked.charts; index += 1) {
      assert.ok(where(`${index}e`) >= 0, `chart ${index} is not printed`);
      assert.equal(where(`${index}e`), where(`${index}f`), `chart ${index} is cut`);
    }
    for (let index = 0; index < marked.curves; index += 1) {
      assert.ok(where(`${index}c`) >= 0, `curve ${index} is not printed`);
      assert.equal(where(`${index}c`), where(`${index}d`), `curve ${index} is cut`);
    }
    await page.context().close();
  });

  test(`${name}: on A4 nothing is wider than the page, and nothing is clipped`, async () => {
    const page = await open(browser, name, { viewport: SHEET });
    await page.emulateMedia({ media: "print" });
    const [wide, clipped] = await page.evaluate((column) => {
      document.body.style.width = `${column}px`;
      const end = document.body.getBoundingClientRect().left + column + 1;
      const shown = (part) => part.querySelector("caption")?.textContent ?? part.outerHTML.slice(0, 80);
      // What is folded stands open on paper.
      document.querySelectorAll("details").forEach((details) => (details.open = true));
      const parts = [...document.querySelectorAll("main *")].filter((part) => part.checkVisibility() && !part.closest(".vh, .hidden"));
      const isClipped = (part) =>
        getComputedStyle(part).overflowX !== "visible" && part.scrollWidth > part.clientWidth + 1 && !(part instanceof SVGElement);
      return [
        parts.filter((part) => part.getBoundingClientRect().right > end).map(shown),
        parts.filter(isClipped).map(shown),
      ];
    }, COLUMN);
    assert.deepEqual(wide, []);
    assert.deepEqual(clipped, []);
    await page.context().close();
  });

  test(`${name}: each sheet is numbered and holds something, PHI is marked on each or on none`, async () => {
    const page = await open(browser, name);
    const pages = await print(page);
    pages.forEach((text, index) => {
      const shown = text.replace(/\s+/g, " ");
      assert.ok(shown.includes(`Page ${index + 1} of ${pages.length}`), `page ${index + 1} has no number`);
      assert.ok(shown.length > 150, `page ${index + 1} is empty`);
      // A report's own words speak of PHI, too.
      const mark = EVERY_COMPARISON.includes(name) ? /\bPHI\b/ : /Contains PHI/;
      assert.equal(mark.test(shown), isPhi(name), `page ${index + 1}`);
      assert.equal(shown.includes("Aggregates only"), !isPhi(name), `page ${index + 1}`);
    });
    await page.context().close();
  });
}

for (const name of EVERY_REPORT) {
  test(`${name}: at most ${SHEETS} sheets, each of which names model and verdict; the sign-off has one of its own`, async () => {
    const page = await open(browser, name);
    const status = (await page.locator(".verdict").getAttribute("class")).split(" ")[1];
    const words = { pass: "Pass", fail: "Fail", inconclusive: "Inconclusive", incomplete: "Incomplete" };
    const verdict = status in words ? `Verdict: ${words[status]}` : "No verdict";
    const rows = await page.locator("#signoff tbody tr th").allInnerTexts();
    assert.ok(rows.length >= 6);
    const pages = await print(page);
    assert.ok(pages.length <= SHEETS, `${pages.length} sheets`);
    const signed = pages.map((text) => text.replace(/\s+/g, "")).filter((text) => text.includes("Decision:☐"));
    assert.equal(signed.length, 1);
    for (const row of rows) assert.ok(signed[0].includes(row.replace(/\s+/g, "")), row);
    assert.ok(!signed[0].includes("Breachriskassessment"));
    pages.forEach((text, index) => {
      // The model at the left and the verdict at the right, each of one line or two.
      const head = text.trimStart().split("\n").slice(0, 2).join(" ");
      assert.ok(head.startsWith("Model"), `page ${index + 1} does not begin with the model`);
      assert.ok(head.includes(verdict), `page ${index + 1} does not say the verdict`);
    });
    await page.context().close();
  });
}
