// Drives one HTML report: node report.mjs REPORT.html SCREENSHOT_PREFIX CHROMIUM. Prints one JSON line; exits 1 when a check fails.
import { chromium } from "playwright-core";
import { pathToFileURL } from "node:url";
import path from "node:path";

const [file, prefix, executablePath] = process.argv.slice(2);
const flags = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"];
const browser = await chromium.launch({ executablePath, args: flags });
const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, colorScheme: "light" });
const failed = [], noise = [], requests = [];
const check = (ok, what) => { if (!ok) failed.push(what); };
const page = await context.newPage();
page.on("console", (m) => { if (["error", "warning"].includes(m.type())) noise.push(m.text()); });
page.on("pageerror", (e) => noise.push(e.message));
page.on("request", (r) => { if (!/^(file|data):/.test(r.url())) requests.push(r.url()); });
const url = pathToFileURL(path.resolve(file)).href;
await page.goto(url);
const opened = await page.evaluate(() => performance.getEntriesByType("navigation")[0].domContentLoadedEventEnd);
const shot = (name) => page.screenshot({ path: `${prefix}-${name}.png` });
await shot("light");

// sort: savings rise, then fall
const column = (n) => page.$$eval(`#list tbody tr.row td:nth-child(${n})`, (cells) => cells.map((c) => c.textContent));
const saves = page.locator("#list th[data-sort=saved] button");
await saves.click();
check((await page.getAttribute("#list th[data-sort=saved]", "aria-sort")) === "descending", "sort: not descending");
const down = await column(1);
await saves.click();
const up = await column(1);
check(JSON.stringify(down) !== JSON.stringify(up) || down.length < 2, "sort: the order does not change");
await page.locator("#list th[data-sort=rank] button").click();

// filter
const all = await page.textContent("#count");
const title = (await page.textContent("#list tbody tr.row [data-open]")).trim();
await page.fill("#q", title.toLowerCase());
await page.waitForFunction((before) => document.getElementById("count").textContent !== before, all, { timeout: 3000 }).catch(() => {});
const titles = await page.$$eval("#list tbody tr.row [data-open]", (b) => b.map((x) => x.textContent.trim()));
check(titles.length > 0 && titles.every((t) => t === title), `filter: rows that do not match ${title}`);
await page.fill("#q", "no such finding anywhere");
await page.waitForSelector("#list td[colspan]");
await page.locator("#filter button[type=reset]").click();
await page.waitForSelector("#list tr.row");

// open a finding: evidence with its cell
await page.locator("#list tr.row [data-open]").first().click();
check((await page.locator("#list tr.open .evidence li").count()) > 0, "finding: no evidence");
await page.locator("#findings").scrollIntoViewIfNeeded();
await shot("finding");

// focus a marker with the mouse, step back with Escape
const parents = page.locator("#icicle [role=treeitem]");
const before = await page.textContent("#crumbs");
const target = await parents.evaluateAll((gs) => gs.findIndex((g, i) => i > 0 && Number(g.querySelector("rect").getAttribute("width")) > 3 && Number(g.querySelector("rect").getAttribute("width")) < 900));
await parents.nth(Math.max(target, 0)).locator("rect").first().click({ force: true });
const after = await page.textContent("#crumbs");
const told = await page.textContent("#said");
check(after !== before || /Selected|Focused/.test(told), "icicle: a click focuses nothing");
await page.keyboard.press("Escape");
check((await page.evaluate(() => document.activeElement.getAttribute("role"))) === "treeitem", "icicle: Escape loses the keyboard focus");

// keyboard only: from the icicle down, right, Enter; the panel follows
await page.keyboard.press("ArrowDown");
await page.keyboard.press("ArrowRight");
await page.keyboard.press("Enter");
check(/Selected|Focused/.test(await page.textContent("#said")), "icicle: Enter does nothing");
check((await page.locator("#marker h3").count()) === 1, "marker: no panel");
// down to a leaf: its panel shows the way through the method
for (let i = 0; i < 5 && !(await page.locator("#marker .steps li").count()); i++) { await page.keyboard.press("ArrowDown"); await page.keyboard.press("Enter"); }
check((await page.locator("#marker .steps li").count()) > 0, "marker: no decision path");
await page.locator("#frame").scrollIntoViewIfNeeded();
await shot("marker");
// from the top, Tab reaches the skip link, then everything in order; each stop is visible
await page.evaluate(() => { scrollTo(0, 0); document.querySelector(".skip").focus(); });
const stops = [];
for (let i = 0; i < 40; i++) { stops.push(await page.evaluate(() => document.activeElement.tagName + (document.activeElement.id ? "#" + document.activeElement.id : ""))); await page.keyboard.press("Tab"); }
check(stops.includes("BUTTON#theme"), "keyboard: the theme button is not reached");
check(new Set(stops).size > 2, "keyboard: Tab is trapped");

// copy a command
await context.grantPermissions(["clipboard-read", "clipboard-write"]).catch(() => {});
const copy = page.locator("button.copy").first();
if (await copy.count()) {
  await copy.click();
  await page.waitForFunction(() => document.querySelector("button.copy").textContent === "Copied", null, { timeout: 3000 }).catch(() => failed.push("copy: not confirmed"));
  const pasted = await page.evaluate(() => navigator.clipboard.readText().catch(() => null));
  const wanted = await page.textContent(".command pre");
  check(pasted === null || pasted === wanted, "copy: another text");
}

// dark, narrow, print
const paper = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
const light = await paper();
await page.evaluate(() => scrollTo(0, 0));
await page.locator("#theme").click();
check((await paper()) !== light, "theme: nothing changes");
await shot("dark");
await page.setViewportSize({ width: 400, height: 850 });
await page.waitForTimeout(200);
check(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), "narrow: the page scrolls sideways");
await shot("narrow");
await page.locator("#theme").click();
await page.setViewportSize({ width: 1280, height: 900 });
await page.emulateMedia({ media: "print" });
check(await page.locator(".static").isVisible(), "print: the first findings are missing");
await page.emulateMedia({ media: "screen" });

// without a script the essentials are there
const plain = await (await browser.newContext({ javaScriptEnabled: false })).newPage();
await plain.goto(url);
check((await plain.locator("#list tbody tr").count()) > 0 && (await plain.locator("#icicle svg, .static article").count()) > 0, "without a script: nothing to read");

check(noise.length === 0, `console: ${noise.slice(0, 3).join(" | ")}`);
check(requests.length === 0, `requests: ${requests.slice(0, 3).join(" ")}`);
console.log(JSON.stringify({ opened_ms: Math.round(opened), failed }));
await browser.close();
process.exit(failed.length ? 1 : 0);
