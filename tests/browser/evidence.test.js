// The viewer in a real browser: its filters by keyboard alone, and PHI on every screen and every printed page.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { EVERY_VIEWER, launch, open, textOfPages, unfold, violations } from "./browser.js";

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
      () => [...document.querySelectorAll(".generated")].filter((card) => !card.open || !card.querySelector(".columns")).length,
    );
    assert.equal(empty, 0, "cards are not opened for printing");
    // Marks at both ends of every text of a card, the folded prompt's included, tell whether all of it is printed.
    const texts = await page.evaluate(() => {
      const all = [...document.querySelectorAll("pre.text, .generated > summary, .spans li")];
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
  const texts = await page.evaluate(() => JSON.parse(document.getElementById("data").textContent).texts);
  const wanted = {
    tier: (item, value) => item.tier === value,
    form: (item, value) => item.form === value,
    arm: (item, value) => item.arm === value,
    diagnosis: (item, value) => item.readings.some((reading) => reading.diagnosis === value),
    read: (item, value) => item.readings.some((reading) => reading.read === value),
    agreement: (item, value) => item.readings.some((reading) => reading.agreement === value),
    owner: (item, value) => item.others.length > 0 && (value === "any" || item.others.some((span) => `of ${span.owner_patient_id}` === value)),
    identifier: (item, value) => item.identifiers.length > 0 && value === "any",
    section: (item, value) => item.spans.some((span) => span.section === value),
    k: (item, value) => item.spans.some((span) => (value === "1") === (Math.max(span.patient_count, span.masked_patient_count) === 1)),
    kind: (item, value) => item.spans.some((span) => span.kind === value),
  };
  for (const id of ["search", "sort"]) {
    await page.keyboard.press("Tab");
    assert.equal(await page.evaluate(() => document.activeElement.id), id);
  }
  for (const [id, keeps] of Object.entries(wanted)) {
    await page.keyboard.press("Tab");
    assert.equal(await page.evaluate(() => document.activeElement.id), id);
    await page.keyboard.press("ArrowDown");
    const value = await page.locator(`#${id}`).inputValue();
    assert.notEqual(value, "", id);
    const kept = texts.filter((item) => keeps(item, value));
    assert.ok(kept.length > 0 && kept.length < texts.length, id);
    assert.equal(await page.locator("#count").innerText(), `${Math.min(FIRST, kept.length)} of ${kept.length} shown`);
    const shown = await page.locator(".generated > summary strong").allInnerTexts();
    assert.deepEqual(shown, kept.slice(0, FIRST).map((item) => `Patient ${item.patient_id}`));
    assert.equal(await page.evaluate(() => document.activeElement.id), id, "the focus was lost");
    await page.keyboard.press("ArrowUp");
    assert.equal(await page.locator("#count").innerText(), `${FIRST} of ${texts.length} shown`);
  }
  await page.context().close();
});

test("filters that fit nothing say that this is no proof", async () => {
  const page = await open(browser, "evidence");
  await page.locator("#diagnosis").selectOption("hiv");
  await page.locator("#section").selectOption("plan");
  assert.equal(await page.locator("#count").innerText(), "0 of 0 shown");
  assert.match(await page.locator("#texts").innerText(), /no proof that nothing leaks/);
  await page.context().close();
});

test("Enter shows more: what was open stays open, and the focus goes to the first that is new", async () => {
  const page = await open(browser, "evidence");
  const summaries = page.locator(".generated > summary");
  await summaries.first().focus();
  await page.keyboard.press("Enter");
  for (const shown of [50, 60]) {
    const before = await summaries.count();
    await page.locator("#more").focus();
    await page.keyboard.press("Enter");
    assert.equal(await summaries.count(), shown);
    assert.ok(await summaries.nth(before).evaluate((summary) => summary === document.activeElement));
  }
  assert.equal(await page.locator(".generated").first().evaluate((card) => card.open), true);
  assert.equal(await page.locator("#more").isVisible(), false);
  assert.equal(await page.locator("#count").innerText(), "60 of 60 shown");
  await page.context().close();
});

test("what is marked in the generated text and in the note is the same text", async () => {
  const page = await open(browser, "evidence");
  await unfold(page);
  const pairs = await page.evaluate(() =>
    [...document.querySelectorAll(".generated")].map((card) =>
      [...card.querySelectorAll(".side")].map((side) =>
        [...side.querySelectorAll("mark:is(.revealing, .near, .templated, .others)")].map((mark) => mark.textContent).join(""),
      ),
    ),
  );
  for (const [written, note] of pairs) assert.equal(written, note);
  assert.equal(pairs.filter(([written]) => written.startsWith("Returned with a cough")).length, 24);
  assert.equal(await page.getByText("No run of 30 tokens of it stands in the patient's notes.").count(), 2);
  await page.context().close();
});

test("the search finds a patient, an id and words of the text, and a click on a text that was found opens it", async () => {
  const page = await open(browser, "evidence");
  for (const words of ["PT-07", "g07", "prompt-07"]) {
    await page.locator("#search").fill(words);
    assert.deepEqual(await page.locator(".generated > summary strong").allInnerTexts(), ["Patient pt-07"], words);
  }
  await page.locator(".generated > summary").click();
  assert.equal(await page.locator(".generated").evaluate((card) => card.open), true);
  await page.locator("#search").fill("in no text at all");
  assert.match(await page.locator("#texts").innerText(), /no proof that nothing leaks/);
  await page.context().close();
});

test("texts are sorted by share, tier or patient", async () => {
  const page = await open(browser, "evidence");
  const first = () => page.locator(".generated > summary").first().innerText();
  assert.match(await first(), /^Patient pt-00 /);
  await page.locator("#sort").selectOption("tier");
  const tiers = await page.locator(".generated > summary").allInnerTexts();
  const numbers = tiers.map((text) => Number(text.split(" · ")[1][0]));
  assert.deepEqual(numbers, [...numbers].sort());
  assert.equal(numbers[0], 1);
  await page.locator("#sort").selectOption("patient");
  assert.match(await first(), /^Patient pt-00 /);
  await page.context().close();
});

test("an address opens its text whatever is filtered, and what is opened gives its address", async () => {
  const page = await open(browser, "evidence");
  await page.locator("#tier").selectOption("public");
  await page.evaluate(() => (location.hash = "#g47"));
  const shown = page.locator(".generated[open]");
  await shown.locator("pre.text").first().waitFor({ state: "attached" });
  assert.match(await shown.locator("summary").first().innerText(), /^Patient pt-47 /);
  assert.equal(await page.locator("#tier").inputValue(), "");
  assert.ok(await shown.locator("> summary").evaluate((summary) => summary === document.activeElement));
  await page.locator(".generated > summary").nth(3).click();
  await page.waitForFunction(() => location.hash === "#g03");
  await page.context().close();
});

test("buttons and arrow keys go to the previous and the next text", async () => {
  const page = await open(browser, "evidence");
  const current = () => page.locator(".generated[open] > summary strong").allInnerTexts();
  await page.keyboard.press("ArrowRight");
  assert.deepEqual(await current(), ["Patient pt-00"]);
  assert.equal(await page.getByRole("button", { name: "Previous text" }).isDisabled(), true);
  await page.getByRole("button", { name: "Next text" }).click();
  assert.match((await current())[0], /^Patient pt-01/);
  await page.keyboard.press("ArrowRight");
  assert.deepEqual(await current(), ["Patient pt-02"]);
  await page.keyboard.press("ArrowLeft");
  assert.match((await current())[0], /^Patient pt-01/);
  assert.ok(await page.locator(".generated[open] > summary").evaluate((summary) => summary === document.activeElement));
  // In a field the keys are the field's own.
  await page.locator("#search").focus();
  await page.keyboard.press("ArrowRight");
  assert.match((await current())[0], /^Patient pt-01/);
  await page.context().close();
});

test("what the judge read stands beside the truth, in words", async () => {
  const page = await open(browser, "evidence");
  // Text 0 is read as saying so of a patient who has it; text 16 as denying it of one who does not.
  await page.evaluate(() => (location.hash = "#g00"));
  await page.locator(".generated[open] table").waitFor();
  const rows = await page.locator(".generated[open] tbody tr").allInnerTexts();
  assert.deepEqual(rows.map((row) => row.split("\t")), [["HIV", "says has it", "has it", "right"]]);
  assert.match(await page.locator(".generated[open] > summary").innerText(), /judge says has it; truth: has it; right/);
  await page.context().close();
});

test("whose an identifier is stands below the text, by the number of its mark, without a pointer", async () => {
  for (const options of [{}, { viewport: { width: 390, height: 844 }, hasTouch: true }]) {
    const page = await open(browser, "evidence", options);
    await page.evaluate(() => (location.hash = "#g00"));
    const card = page.locator(".generated[open]");
    await card.locator("ol.identifiers").waitFor();
    const rows = card.locator("ol.identifiers li");
    assert.deepEqual(await rows.allInnerTexts(), [
      "nine days (C) Elements of dates (except year), and ages over 89: the patient's own, held by pt-00, verified (dates often are, by chance)",
    ]);
    assert.ok(await rows.first().isVisible());
    const mark = card.locator("mark.identifier").last();
    assert.equal(await mark.getAttribute("data-number"), "1");
    assert.equal(await mark.evaluate((part) => getComputedStyle(part, "::after").content), '"1"');
    // No piece of the text but the last of an identifier has a number.
    assert.equal(await card.locator("mark[data-number]").count(), 1);
    assert.deepEqual(await violations(page), []);
    await page.context().close();
  }
  const page = await open(browser, "evidence");
  await page.evaluate(() => (location.hash = "#g02"));
  await page.locator(".generated[open] .columns").waitFor();
  assert.equal(await page.locator(".generated[open] ol.identifiers").count(), 0);
  await page.context().close();
});

test("the filter of identifiers keeps texts that hold any, verified ones, or ones of an owner", async () => {
  const page = await open(browser, "evidence");
  const found = async (choice) => {
    await page.locator("#identifier").selectOption(choice);
    return page.locator("#count").innerText();
  };
  // Of 60 texts every sixth has a verified one, and every sixth one of nobody.
  assert.match(await found("any"), / of 20 shown$/);
  assert.match(await found("is nobody"), / of 10 shown$/);
  assert.match(await found("is staff"), / of 0 shown$/);
  assert.match(await found("verified"), / of 10 shown$/);
  const first = page.locator(".generated").first();
  assert.match(await first.locator("> summary").innerText(), /^Patient pt-00 [^]*identifiers: 1, verified: 1/);
  await first.locator("> summary").click();
  const mark = first.locator("mark.identifier.verified");
  assert.equal((await mark.allInnerTexts()).join(""), "nine days");
  assert.match(await mark.first().getAttribute("title"), /\(C\) [^]*: the patient's own, held by pt-00, verified/);
  await page.context().close();
});

test("an address of a figure shows its texts alone, and none where none is on the page", async () => {
  const page = await open(browser, "evidence");
  const shown = async (hash) => {
    await page.evaluate((to) => (location.hash = to), hash);
    await page.waitForFunction((to) => location.hash === to, hash);
    return page.locator("#count").innerText();
  };
  // Of 60 texts every sixth is of a tier; tiers and forms go round together.
  assert.match(await shown("#tier=public&form=text"), / of 10 shown$/);
  assert.equal(await page.locator("#tier").inputValue(), "public");
  assert.match(await shown("#tier=public&form=chat"), / of 0 shown$/);
  assert.match(await shown("#tier=no_such"), / of 0 shown$/);
  // Keys that no figure has filter nothing.
  assert.match(await shown("#search=x"), / of 60 shown$/);
  await page.context().close();
});
