// Takes the pictures of the docs and of the README from the pages of the demo, in headless Chromium.
// Usage, after `make test-browser` has installed what it needs, where demo/after is a second audit (of another model):
//   clinaudit report demo/run --model-name "Demo notes" --institution "Invented Hospital" --date 2026-11-22
//   clinaudit compare demo/run demo/after --out demo/comparison
//   node scripts/docs-pictures.mjs demo [OUT]
// Without OUT they replace those of docs/. A page that is not there is left out, and said.
// Of the demo's runs only: with real patients the exact report and the viewer are PHI.
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, statSync } from "node:fs";
import { createRequire } from "node:module";
import { join, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

const root = resolve(fileURLToPath(import.meta.url), "../..");
const { chromium } = createRequire(process.env.PLAYWRIGHT_AT ?? `${root}/tests/browser/`)("playwright-core");
const demo = resolve(process.argv[2]);
const docs = resolve(process.argv[3] ?? `${root}/docs`);
const out = join(docs, "pictures");
mkdirSync(out, { recursive: true });
mkdirSync(join(docs, "images"), { recursive: true });

const SCREEN = { width: 1280, height: 900 };
// Tall parts are cut: the picture shows what to look for, the page has the rest. What is folded is opened first.
const PARTS = [
  ["memorization", "#leaks .chart", 900],
  ["diagnoses", "#leaks table.diagnoses", 900],
  ["institution", "#institution", 760],
];
const OF_ANNEX = [["composition", "#section_tokens-section", 760]];
const drawn = [];

const browser = await chromium.launch({ executablePath: "/usr/bin/chromium", args: ["--no-sandbox"] });

/** Open a page of the demo; none where it is not there. */
async function open(place) {
  if (!existsSync(join(demo, place))) {
    console.error(`left out: ${place} is not there`);
    return null;
  }
  const page = await browser.newPage({ viewport: SCREEN, colorScheme: "light" });
  await page.goto(pathToFileURL(join(demo, place)).href);
  return page;
}

async function shoot(page, path, options = {}) {
  await page.screenshot({ path, ...options });
  drawn.push(path);
}

/** A part of a page with a little room about it, without what stays in view at the head of the screen. */
async function shootPart(page, path, selector, tallest) {
  await page.addStyleTag({ content: ".top { position: static !important }" });
  await page.evaluate((part) => {
    const found = document.querySelector(part);
    for (let fold = found; fold; fold = fold.parentElement?.closest("details")) fold.open = true;
    found.querySelectorAll("details").forEach((fold) => (fold.open = true));
  }, selector);
  const box = await page.locator(selector).first().boundingBox();
  const clip = { x: box.x - 8, y: box.y - 8, width: box.width + 16, height: Math.min(box.height + 16, tallest) };
  await shoot(page, path, { clip, fullPage: true });
}

const report = await open("run/report.html");
await shoot(report, `${out}/first-screen.png`);
await shootPart(report, join(docs, "images/report.png"), "#verdict", 900);
for (const [name, selector, tallest] of PARTS) await shootPart(report, `${out}/${name}.png`, selector, tallest);
const annex = await open("run/annex.html");
for (const [name, selector, tallest] of OF_ANNEX) await shootPart(annex, `${out}/${name}.png`, selector, tallest);

const exact = await open("run/evidence/report.html");
if (exact) await shoot(exact, `${out}/exact.png`);
const comparison = await open("comparison/compare.html");
if (comparison) await shoot(comparison, `${out}/comparison.png`);

const viewer = await open("run/evidence/evidence.html");
if (viewer) {
  await viewer.keyboard.press("ArrowRight");
  await viewer.locator(".generated[open] .columns").waitFor();
  await viewer.evaluate(() => {
    document.activeElement.blur();
    // The count and the key of the marks stand right below the banner.
    const top = (part) => document.querySelector(part).getBoundingClientRect();
    scrollTo(0, scrollY + top("#count").top - top(".phi").height - 12);
  });
  await shoot(viewer, `${out}/evidence.png`);
}

await browser.close();

// 256 colours leave a third of the bytes.
const REDUCE = `
import sys
from PIL import Image
for path in sys.argv[1:]:
    Image.open(path).convert("RGB").quantize(256, dither=Image.Dither.NONE).save(path, optimize=True)
`;
execFileSync(process.env.PYTHON ?? `${root}/.venv/bin/python`, ["-c", REDUCE, ...drawn]);
for (const path of drawn) console.log(`${path}: ${Math.ceil(statSync(path).size / 1024)} kB`);
