// Walks through a finished page (compare, batch, occupancy): node plain.mjs PAGE.html SCREENSHOT_PREFIX CHROMIUM. Prints one JSON
// line; exits 1 when a check fails.
import { chromium } from "playwright-core";
import { pathToFileURL } from "node:url";
import path from "node:path";

const [file, prefix, executablePath] = process.argv.slice(2);
const flags = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"];
const browser = await chromium.launch({ executablePath, args: flags });
const page = await browser.newPage({ viewport: { width: 1440, height: 900 }, colorScheme: "light" });
const failed = [], noise = [], requests = [];
const check = (ok, what) => { if (!ok) failed.push(what); };
page.on("console", (m) => { if (["error", "warning"].includes(m.type())) noise.push(m.text()); });
page.on("pageerror", (e) => noise.push(e.message));
page.on("request", (r) => { if (!/^(file|data):/.test(r.url())) requests.push(r.url()); });
await page.goto(pathToFileURL(path.resolve(file)).href);
await page.waitForSelector("html.scripted");
// every heading that sorts does so, both ways, and loses no row
for (const table of await page.locator("table[data-sortable]").all()) {
  const rows = await table.locator("tbody tr").count();
  for (const button of await table.locator("th button:visible").all()) {
    await button.click();
    const first = await button.evaluate((b) => b.closest("th").getAttribute("aria-sort"));
    await button.click();
    const second = await button.evaluate((b) => b.closest("th").getAttribute("aria-sort"));
    check(new Set([first, second, "none"]).size === 3, `sort: ${first} then ${second}`);
  }
  const sorted = await table.evaluate((t) => { const k = [...t.tHead.rows[0].cells].findIndex((h) => h.getAttribute("aria-sort") !== "none" && h.hasAttribute("data-sort")); return k < 0 ? null : [t.tHead.rows[0].cells[k].dataset.sort, t.tHead.rows[0].cells[k].getAttribute("aria-sort"), [...t.tBodies[0].rows].map((r) => r.cells[k].dataset.v ?? r.cells[k].textContent)]; });
  if (sorted) { const [kind, way, list] = sorted, keys = kind === "number" ? list.map((v) => (v === "" ? -Infinity : Number(v))) : list.map((v) => v.toLowerCase()); check(keys.every((k, i) => !i || (way === "ascending" ? keys[i - 1] <= k : keys[i - 1] >= k)), "sort: out of order"); }
  check((await table.locator("tbody tr").count()) === rows, "sort: rows were lost");
}
// search leaves what matches
for (const box of await page.locator("input[data-filter]").all()) {
  const id = await box.getAttribute("data-filter"), word = (await page.locator(`#${id} tbody tr td`).first().textContent()).trim().split(/\s+/)[0].toLowerCase();
  await box.fill(word);
  check(await page.evaluate(([t, w]) => [...document.getElementById(t).tBodies[0].rows].every((r) => r.hidden !== r.textContent.toLowerCase().includes(w)), [id, word]), "search: wrong rows");
  await box.fill("");
}
// links within the page lead somewhere, and open what is folded
const dead = await page.$$eval("a[href^='#']", (list) => list.map((a) => a.getAttribute("href")).filter((h) => h.length > 1 && !document.getElementById(h.slice(1))));
check(dead.length === 0, `dead links: ${dead.slice(0, 3)}`);
const folded = await page.$$eval("details[id]:not([open])", (list) => list.map((d) => d.id));
if (folded.length) { await page.evaluate((id) => { location.hash = id; }, folded[0]); await page.waitForFunction((id) => document.getElementById(id).open, folded[0], { timeout: 3000 }).catch(() => failed.push("link: does not open what is folded")); }
const paper = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
await page.evaluate(() => scrollTo(0, 0));
await page.screenshot({ path: `${prefix}-light.png` });
const light = await paper();
await page.locator("#theme").click();
check((await paper()) !== light, "theme: nothing changes");
for (const width of [1440, 1024, 390]) {
  await page.setViewportSize({ width, height: 850 });
  await page.waitForTimeout(150);
  check(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), `${width}: the page scrolls sideways`);
  const broken = await page.evaluate(() => [...document.querySelectorAll("h2,.big,.level,.v,nav a,.kpis dt")].filter((e) => e.offsetParent && e.scrollWidth > e.clientWidth + 1 && getComputedStyle(e).display !== "inline").map((e) => e.textContent.trim().slice(0, 30)));
  check(broken.length === 0, `${width}: text stands over its box: ${broken.slice(0, 3)}`);
  await page.screenshot({ path: `${prefix}-dark-${width}.png` });
}
await page.emulateMedia({ media: "print" });
check((await paper()) === "rgb(255, 255, 255)", "print: not on white");
check(noise.length === 0, `console: ${noise.slice(0, 3).join(" | ")}`);
check(requests.length === 0, `requests: ${requests.slice(0, 3).join(" ")}`);
console.log(JSON.stringify({ failed }));
await browser.close();
process.exit(failed.length ? 1 : 0);
