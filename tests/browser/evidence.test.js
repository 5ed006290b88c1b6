// The viewer in a real browser: its filters by keyboard alone, and PHI on every screen and every printed page.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { EVERY_VIEWER, launch, open, textOfPages, unfold } from "./browser.js";

const FIRST = 25;

let browser;
before(async () => (browser = await launch()));
after(() => browser.close());

for (const name of EVERY_VIEWER) {
  for (const [width, height] of [[1200, 900], [390, 844], [320, 568]]) {
    test(`${name}: at ${width} pixels PHI stands on every screen, and hides no line of the page`, async () => {
      const page = await open(browser, name, { viewport: { width, height } });
      const heading = await page.evaluate(() => {
        const banner = document.querySelector(".phi").getBoundingClientRect();
        return document.querySelector("h1").getBoundingClientRect().top - banner.bottom;
      });
      assert.ok(heading >= 0, `the heading lies ${-heading} pixels under the banner`);
      await unfold(page);
      const missing = await page.evaluate(async () => {
        const steps = [];
        for (let top = 0; top < document.scrollingElement.scrollHeight; top += innerHeight) {
          scrollTo(0, top);
          await new Promise(requestAnimationFrame);
          const seen = document.elementFromPoint(innerWidth / 2, 6)?.closest(".phi");
          const box = seen?.querySelector("strong").getBoundingClientRect();
          if (!box || box.top < 0 || box.bottom > innerHeight || !seen.textContent.startsWith("PHI.")) steps.push(top);
        }
        return steps;
      });
      assert.deepEqual(missing, []);
      await page.context().close();
    });
  }

  test(`${name}: PHI stands on every printed page, and nothing is cut or left out`, async () => {
    const page = await open(browser, name);
    await page.pdf();
    const empty = await page.evaluate(
      () => [...document.querySelectorAll(".leak")].filter((card) => !card.open || !card.querySelector(".columns")).length,
    );
    assert.equal(empty, 0, "cards are not opened for printing");
    // Marks at both ends of every text of a card, the folded prompt's included, tell whether all of it is printed.
    const texts = await page.evaluate(() => {
      const all = [...document.querySelectorAll("pre.text, .leak > summary, .spans li")];
      all.forEach((text, index) => {
        text.prepend(`§${index}a§ `);
        text.append(` §${index}b§`);
      });
      return all.length;
    });
    const pages = textOfPages(await page.pdf({ preferCSSPageSize: true }));
    pages.forEach((text, index) => {
      assert.ok(text.trim().startsWith("PHI."), `page ${index + 1} does not begin with PHI`);
      assert.equal(text.match(/\bPHI\./g).length, 1, `page ${index + 1}`);
      assert.ok(text.includes(`Page ${index + 1} of ${pages.length}`), `page ${index + 1} has no number`);
    });
    const printed = pages.join("");
    for (let index = 0; index < texts; index += 1) {
      for (const end of ["a", "b"]) assert.ok(printed.includes(`§${index}${end}§`), `text ${index} is cut at ${end}`);
    }
    // 186 mm at 96 pixels an inch.
    await page.setViewportSize({ width: 702, height: 1009 });
    await page.emulateMedia({ media: "print" });
    await unfold(page);
    const cut = await page.evaluate(() =>
      [...document.querySelectorAll("main *, .phi")]
        .filter((part) => part.checkVisibility())
        .filter((part) => {
          const clips = getComputedStyle(part).overflowY !== "visible" && part.scrollHeight > part.clientHeight + 1;
          return clips || part.getBoundingClientRect().right > innerWidth + 1;
        })
        .map((part) => part.outerHTML.slice(0, 80)),
    );
    assert.deepEqual(cut, []);
    await page.context().close();
  });
}

test("each filter is reached by Tab, is set by keys, and shows what it names alone", async () => {
  const page = await open(browser, "evidence");
  const leaks = await page.evaluate(() => JSON.parse(document.getElementById("data").textContent).leaks);
  const wanted = {
    tier: (leak, value) => leak.tier === value,
    arm: (leak, value) => leak.arm === value,
    diagnosis: (leak, value) => leak.stated.some((item) => item.diagnosis === value),
    section: (leak, value) => leak.spans.some((span) => span.section === value),
    k: (leak, value) => leak.spans.some((span) => (value === "1" ? span.patient_count === 1 : span.patient_count > 1)),
    kind: (leak, value) => leak.spans.some((span) => span.kind === value),
  };
  for (const [id, keeps] of Object.entries(wanted)) {
    await page.keyboard.press("Tab");
    assert.equal(await page.evaluate(() => document.activeElement.id), id);
    await page.keyboard.press("ArrowDown");
    const value = await page.locator(`#${id}`).inputValue();
    assert.notEqual(value, "", id);
    const kept = leaks.filter((leak) => keeps(leak, value));
    assert.ok(kept.length > 0 && kept.length < leaks.length, id);
    assert.equal(await page.locator("#count").innerText(), `${Math.min(FIRST, kept.length)} of ${kept.length} shown`);
    const shown = await page.locator(".leak > summary strong").allInnerTexts();
    assert.deepEqual(shown, kept.slice(0, FIRST).map((leak) => `Patient ${leak.patient_id}`));
    assert.equal(await page.evaluate(() => document.activeElement.id), id, "the focus was lost");
    await page.keyboard.press("ArrowUp");
    assert.equal(await page.locator("#count").innerText(), `${FIRST} of ${leaks.length} shown`);
  }
  await page.context().close();
});

test("filters that fit nothing say that this is no proof", async () => {
  const page = await open(browser, "evidence");
  await page.locator("#diagnosis").selectOption("hiv");
  await page.locator("#section").selectOption("plan");
  assert.equal(await page.locator("#count").innerText(), "0 of 0 shown");
  assert.match(await page.locator("#leaks").innerText(), /no proof that nothing leaks/);
  await page.context().close();
});

test("Enter shows more: what was open stays open, and the focus goes to the first that is new", async () => {
  const page = await open(browser, "evidence");
  const summaries = page.locator(".leak > summary");
  await summaries.first().focus();
  await page.keyboard.press("Enter");
  for (const shown of [50, 60]) {
    const before = await summaries.count();
    await page.locator("#more").focus();
    await page.keyboard.press("Enter");
    assert.equal(await summaries.count(), shown);
    assert.ok(await summaries.nth(before).evaluate((summary) => summary === document.activeElement));
  }
  assert.equal(await page.locator(".leak").first().evaluate((card) => card.open), true);
  assert.equal(await page.locator("#more").isVisible(), false);
  assert.equal(await page.locator("#count").innerText(), "60 of 60 shown");
  await page.context().close();
});

test("what is marked in the generated text and in the note is the same text", async () => {
  const page = await open(browser, "evidence");
  await unfold(page);
  const pairs = await page.evaluate(() =>
    [...document.querySelectorAll(".leak")].map((card) =>
      [...card.querySelectorAll(".side")].map((side) =>
        [...side.querySelectorAll("mark:not(.stated)")].map((mark) => mark.textContent).join(""),
      ),
    ),
  );
  for (const [written, note] of pairs) assert.equal(written, note);
  assert.equal(pairs.filter(([written]) => written.startsWith("Returned with a cough")).length, 23);
  await page.context().close();
});
