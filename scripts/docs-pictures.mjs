// Takes the pictures of docs/tutorial.md and of the README from the report of a run, in headless Chromium.
// Usage, after `make test-browser` has installed what it needs:
//   clinaudit report demo/run --pdf && clinaudit evidence demo/run demo/corpus && node scripts/docs-pictures.mjs demo/run
// Those that are kept are reduced to 256 colours afterwards, which leaves a third.
// Of the demo's run only: with real patients the evidence page is PHI.
import { execFileSync } from "node:child_process";
import { createRequire } from "node:module";
import { mkdirSync } from "node:fs";
import { resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

const root = resolve(fileURLToPath(import.meta.url), "../..");
const { chromium } = createRequire(process.env.PLAYWRIGHT_AT ?? `${root}/tests/browser/`)("playwright-core");
const report = pathToFileURL(resolve(process.argv[2], "report.html")).href;
const out = `${root}/docs/pictures`;
mkdirSync(out, { recursive: true });

// Tall sections are cut: the picture shows what to look for, the report has the rest.
const PARTS = [
  ["ladder", "#ladder", 760],
  ["memorization", "#memorization", 760],
  ["composition", "#composition", 900],
  ["diagnoses", "#delta-auroc-all", 900],
  ["institution", "#institution", 760],
];

const browser = await chromium.launch({ executablePath: "/usr/bin/chromium", args: ["--no-sandbox"] });
async function page(width, height, colorScheme, address = report) {
  const opened = await browser.newPage({ viewport: { width, height }, colorScheme });
  await opened.goto(address);
  return opened;
}
// The README's: from the verdict to the end of the first chart.
const whole = await page(980, 1000, "light");
const chart = await whole.locator("#memorization .chart").boundingBox();
const clip = { x: 0, y: 0, width: 980, height: Math.ceil(chart.y + chart.height + 6) };
await whole.screenshot({ path: `${root}/docs/images/report.png`, clip, fullPage: true });
const light = await page(1000, 1000, "light");
await light.screenshot({ path: `${out}/first-screen.png` });
for (const [name, selector, tallest] of PARTS) {
  const box = await light.locator(selector).first().boundingBox();
  const clip = { x: box.x - 8, y: box.y - 8, width: box.width + 16, height: Math.min(box.height + 16, tallest) };
  await light.screenshot({ path: `${out}/${name}.png`, clip, fullPage: true });
}
await (await page(1000, 700, "dark")).screenshot({ path: `${out}/dark.png` });
await (await page(390, 844, "light")).screenshot({ path: `${out}/phone.png` });
const evidence = await page(1100, 900, "light", report.replace("report.html", "evidence/evidence.html"));
await evidence.locator("details summary").first().click();
// The count and the key of the marks stand above the first leak, below the banner.
await evidence.locator("#count").evaluate((count) => count.scrollIntoView());
await evidence.screenshot({ path: `${out}/evidence.png` });
await browser.close();
const printed = resolve(process.argv[2], "report.pdf");
execFileSync("pdftoppm", ["-r", "70", "-png", "-singlefile", printed, `${out}/pdf`]);
