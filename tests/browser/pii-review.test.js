// The page on which people check samples: by keyboard and by mouse, what is kept and downloaded, and what reads it.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { after, before, test } from "node:test";
import { launch, open, PAGES, violations } from "./browser.js";

let browser;
before(async () => (browser = await launch()));
after(() => browser.close());

const samples = readFileSync(path.join(PAGES, "samples.jsonl"), "utf8").trim().split("\n").map((line) => JSON.parse(line));
const wordsAt = (sample, { start, end }) => Array.from(sample.description).slice(start, end).join("");

/** Tab to a control by its accessible name, and press keys on it. */
async function pressOn(page, role, name, ...keys) {
  const control = page.getByRole(role, { name, exact: true });
  await control.focus();
  for (const key of keys) await page.keyboard.press(key);
}

async function download(page) {
  const waiting = page.waitForEvent("download");
  await pressOn(page, "button", "Download review", "Enter");
  const file = await waiting;
  return { name: file.suggestedFilename(), text: readFileSync(await file.path(), "utf8") };
}

/** Accept a sample as it is, all three steps, by keyboard. */
async function accept(page) {
  await pressOn(page, "button", "All right as it is: go on", "Enter");
  await pressOn(page, "button", "All right as it is: go on", "Enter");
  await pressOn(page, "radio", "reads well", "Space");
  await pressOn(page, "button", "To the next sample", "Enter");
}

test("a sample is corrected by keyboard alone, and the file holds places and no words", async () => {
  const page = await open(browser, "pii-review");
  await page.getByLabel("Your name or initials").fill("Ann B");
  // The sister's age: a third person, at the one place that is not marked.
  await page.getByLabel("Words, as they stand in the text").focus();
  await page.keyboard.type("34");
  await page.locator("fieldset").getByLabel("Category").selectOption("age");
  await page.locator("fieldset").getByLabel("Whose").selectOption("C");
  await pressOn(page, "button", "Mark it", "Enter");
  assert.equal(await page.evaluate(() => document.activeElement.id), "words");
  assert.match(await page.locator("caption").innerText(), /^7 places/);
  const bern = samples[0].subjects[0].entities.find((entity) => entity.text === "Bern");
  await pressOn(page, "button", `Remove the mark of “Bern” of A, characters ${bern.start} to ${bern.end}`, "Enter");
  await pressOn(page, "button", "Corrected: go on", "Enter");
  assert.equal(await page.evaluate(() => document.activeElement.textContent), "2 Needed for the question");
  const needed = page.getByRole("group", { name: "The question cannot be answered without" });
  assert.deepEqual(await needed.getByRole("checkbox", { checked: true }).count(), 1);
  assert.equal(await needed.getByText("Mae Ott").count(), 0, "a name is never needed");
  await pressOn(page, "checkbox", "34 (Age, of A)", "Space");
  assert.equal(await page.evaluate(() => document.activeElement.checked), true, "the focus stays");
  assert.deepEqual(await violations(page), []);
  await pressOn(page, "button", "Corrected: go on", "Enter");
  const masked = await page.getByRole("group", { name: "The text as it would be sent" }).innerText();
  assert.match(masked, /^😀 <PATIENT>|^😀 <PERSON>/);
  assert.match(masked, /, 34, of Bern asks/);
  assert.match(masked, /also <AGE> and lives in Bern/);
  assert.match(masked, /<PHONE>; asthma runs/);
  assert.deepEqual(await violations(page), []);
  await page.getByLabel("does not read well").focus();
  await page.keyboard.press("Space");
  const { name, text } = await download(page);
  assert.equal(name, "review-Ann-B.json");
  for (const words of ["Mae", "Ott", "asthma", "555-0143"]) assert.ok(!text.includes(words), words);
  const [done, ...rest] = JSON.parse(text).reviews;
  assert.deepEqual(rest, []);
  const { id, detection, query_related: relevance, masked: reading } = done;
  assert.deepEqual([id, detection, relevance, reading], ["s1", "corrected", "corrected", "unreadable"]);
  const marks = done.entities.map((entity) => [wordsAt(samples[0], entity), entity.category, entity.subject, entity.needed]);
  assert.deepEqual(marks, [
    ["Mae Ott", "full_name", "A", false], ["34", "age", "A", true], ["Ivo Lang", "full_name", "B", false],
    ["asthma", "medical_condition", "A", true], ["34", "age", "C", false], ["555-0143", "phone", "A", false],
  ]);
  await page.context().close();
});

test("words selected with the mouse are marked at that place, behind a character of two units", async () => {
  const page = await open(browser, "pii-review");
  await page.evaluate(() => {
    const text = document.querySelector("pre.text");
    const last = [...text.childNodes].at(-1);
    const range = document.createRange();
    range.setStart(last, last.data.indexOf(" asthma"));
    range.setEnd(last, last.data.indexOf(" runs"));
    getSelection().removeAllRanges();
    getSelection().addRange(range);
    text.dispatchEvent(new MouseEvent("mouseup", { bubbles: true }));
  });
  assert.equal(await page.locator("#words").inputValue(), "asthma");
  await page.locator("fieldset").getByLabel("Category").selectOption("medical_condition");
  await page.getByRole("button", { name: "Mark it" }).click();
  const places = await page.locator("tbody tr", { hasText: "asthma" }).locator(".place").allInnerTexts();
  const sample = samples[0];
  assert.deepEqual(places.map((place) => {
    const [start, end] = place.split("–").map(Number);
    return wordsAt(sample, { start, end });
  }), ["asthma", "asthma"]);
  // What is needed of a person is needed wherever it stands.
  assert.equal(await page.locator("mark.needed").count(), 2);
  await page.context().close();
});

test("what two persons share is marked of both, and needed of each by itself", async () => {
  const page = await open(browser, "pii-review");
  const form = page.locator("fieldset");
  await page.getByLabel("Words, as they stand in the text").fill("Bern");
  const shared = await form.getByLabel("Where").locator("option", { hasText: "A has it: share it" }).getAttribute("value");
  assert.notEqual(await form.getByLabel("Where").inputValue(), shared, "first comes what is nobody's");
  await form.getByLabel("Where").selectOption(shared);
  await form.getByLabel("Whose").selectOption("B");
  await page.getByRole("button", { name: "Mark it" }).click();
  assert.equal(await page.locator("mark", { hasText: "Bern" }).getAttribute("data-subject"), "A, B");
  await page.getByLabel("category of “Bern” of B").selectOption("company");
  const categories = page.getByLabel(/^category of “Bern” of /);
  assert.deepEqual(await categories.evaluateAll((all) => all.map((each) => each.value)), ["company", "company"]);
  await page.getByRole("button", { name: "Corrected: go on" }).click();
  await page.getByLabel("Bern (Company, of B)").check();
  assert.ok(!(await page.getByLabel("Bern (Company, of A)").isChecked()));
  await page.getByRole("button", { name: "Corrected: go on" }).click();
  assert.match(await page.getByRole("group", { name: "The text as it would be sent" }).innerText(), /, of Bern asks/);
  await page.getByLabel("Your name or initials").fill("Di");
  const marks = JSON.parse((await download(page)).text).reviews[0].entities.filter((each) => each.category === "company");
  assert.deepEqual(marks.map(({ subject, needed }) => [subject, needed]), [["A", false], ["B", true]]);
  assert.equal(new Set(marks.map(({ start, end }) => `${start} ${end}`)).size, 1);
  await page.context().close();
});

test("work is kept in the browser as places, and goes on from a file elsewhere", async () => {
  const page = await open(browser, "pii-review");
  await page.getByLabel("Your name or initials").fill("Cy");
  await accept(page);
  assert.equal(await page.locator("#number").inputValue(), "2");
  const kept = await page.evaluate(() => JSON.stringify({ ...localStorage }));
  assert.match(kept, /clinaudit-review:/);
  for (const words of ["Mae", "asthma", "$4,200"]) assert.ok(!kept.includes(words), words);
  await page.reload();
  assert.equal(await page.locator("#done").innerText(), "1 of 3 done");
  const { text } = await download(page);
  const file = path.join(mkdtempSync(path.join(tmpdir(), "review-")), "review-Cy.json");
  writeFileSync(file, text);
  const elsewhere = await open(browser, "pii-review");
  assert.equal(await elsewhere.locator("#done").innerText(), "0 of 3 done");
  await elsewhere.locator("#load").setInputFiles(file);
  await elsewhere.getByText("1 of 3 done").waitFor();
  assert.equal(await elsewhere.getByLabel("Your name or initials").inputValue(), "Cy");
  writeFileSync(file, text.replace(/"samples": "\w/, '"samples": "x'));
  await elsewhere.locator("#load").setInputFiles([]);
  await elsewhere.locator("#load").setInputFiles(file);
  await elsewhere.getByText("This file reviews other samples; nothing was read.").waitFor();
  for (const each of [page, elsewhere]) await each.context().close();
});

test("two downloaded reviews give an agreement", async () => {
  const folder = mkdtempSync(path.join(tmpdir(), "reviews-"));
  const files = [];
  for (const name of ["Ann", "Bo"]) {
    const page = await open(browser, "pii-review");
    await page.getByLabel("Your name or initials").fill(name);
    await page.locator("#number").fill("2");
    await page.locator("#number").press("Enter");
    await page.getByRole("button", { name: /^Remove the mark of “Buddy”/ }).click();
    await page.getByRole("button", { name: "Corrected: go on" }).click();
    await page.getByRole("button", { name: "All right as it is: go on" }).click();
    await page.getByLabel("reads well", { exact: true }).check();
    const { text } = await download(page);
    files.push(path.join(folder, `review-${name}.json`));
    writeFileSync(files.at(-1), text);
    await page.context().close();
  }
  const out = path.join(folder, "agreement.json");
  const given = files.flatMap((file) => ["--reviews", file]);
  const command = ["-m", "clinaudit", "pii", "review", path.join(PAGES, "samples.jsonl"), "--out", out, ...given];
  execFileSync(".venv/bin/python", command, { encoding: "utf8" });
  const { agreement } = JSON.parse(readFileSync(out, "utf8"));
  assert.deepEqual(agreement.detection.observed, 1);
});
