// A headless Chromium, and pages opened in it: what each asked for from outside is recorded.

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { execFileSync } from "node:child_process";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";

const require = createRequire(import.meta.url);
const AXE = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");

export const PAGES = process.env.PAGES;
export const EVERY_REPORT = ["full", "small", "train-only", "all-null", "empty", "demo"];

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

export function unfold(page) {
  return page.evaluate(() => document.querySelectorAll("details").forEach((details) => (details.open = true)));
}

/** Violations that axe-core finds, one line each. */
export async function violations(page) {
  await page.evaluate(AXE);
  const found = await page.evaluate(() => axe.run(document, { resultTypes: ["violations"] }));
  return found.violations.map(({ id, nodes }) => `${id}: ${nodes.length}, first ${nodes[0].target} ${nodes[0].html}`);
}

/** The text of each page of a PDF. */
export function textOfPages(pdf) {
  const text = execFileSync("pdftotext", ["-layout", "-", "-"], { input: pdf, encoding: "utf8", maxBuffer: 1 << 28 });
  return text.split("\f").slice(0, -1);
}
