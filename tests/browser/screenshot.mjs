// Pictures of a report for the README: node screenshot.mjs REPORT.html OUT_PREFIX CHROMIUM. Light and dark, the first screen, the frame, its passes and queues.
import { chromium } from "playwright-core";
import { pathToFileURL } from "node:url";
import path from "node:path";

const [file, prefix, executablePath] = process.argv.slice(2);
const browser = await chromium.launch({ executablePath, args: ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"] });
for (const colorScheme of ["light", "dark"]) {
  const page = await browser.newPage({ viewport: { width: 1280, height: 900 }, colorScheme });
  await page.goto(pathToFileURL(path.resolve(file)).href);
  await page.waitForSelector("html[data-ready]");
  await page.screenshot({ path: `${prefix}-${colorScheme}.png` });
  await page.evaluate(() => document.getElementById("time").scrollIntoView());
  await page.screenshot({ path: `${prefix}-${colorScheme}-frame.png` });
  for (const part of ["passes", "queues"]) if (await page.locator("#" + part).count()) await page.locator("#" + part).screenshot({ path: `${prefix}-${colorScheme}-${part}.png` });
}
await browser.close();
