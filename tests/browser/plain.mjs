// Walks through a finished page (compare, batch, history, occupancy): node plain.mjs PAGE.html SCREENSHOT_PREFIX ADDRESS. Prints one
// JSON line; exits 1 when a check fails.
import { chromium } from "playwright-core";
import { pathToFileURL } from "node:url";
import path from "node:path";

const [file, prefix, address] = process.argv.slice(2);
const browser = await chromium.connect(address);
const context = await browser.newContext({ viewport: { width: 1440, height: 900 }, colorScheme: "light" });
const failed = [], noise = [], requests = [];
const check = (ok, what) => { if (!ok) failed.push(what); };
const url = pathToFileURL(path.resolve(file)).href;
async function open(hash = "") {
  const page = await context.newPage();
  page.on("console", (m) => { if (["error", "warning"].includes(m.type())) noise.push(m.text()); });
  page.on("pageerror", (e) => noise.push(e.message));
  page.on("request", (r) => { if (!/^(file|data):/.test(r.url())) requests.push(r.url()); });
  await page.goto(url + hash);
  await page.waitForSelector("html.scripted");
  if (await page.locator("#data-pairs").count()) await page.waitForSelector("html[data-ready]");
  return page;
}
const page = await open();
const hash = (p = page) => p.evaluate(() => location.hash);
check(!/\{\{|\{%/.test(await page.evaluate(() => document.body.innerText)), "template: a piece of it is on the page");

// a number and its unit stay together, wherever a line breaks
const parted = await page.evaluate(() => { const out = [], texts = document.createTreeWalker(document.getElementById("main"), NodeFilter.SHOW_TEXT); while (texts.nextNode()) if (!texts.currentNode.parentElement.closest("pre,code,svg,.cell,script") && /\d (?:%|[nµm]s|[kMG]?B)(?![\wµ])/.test(texts.currentNode.data)) out.push(texts.currentNode.data.slice(0, 60)); return out; });
check(parted.length === 0, `units: parted from their number: ${parted.slice(0, 3)}`);
// a table of any length: only what is in sight exists, sorting loses no row, search answers, a row leads to what explains it
if (await page.locator("#pairlist.grid").count()) {
  const all = await page.evaluate(() => table.rows.length);
  check(await page.$$eval("#pairlist tbody tr", (r) => r.length) < 60, "pairs: too many rows exist");
  for (const button of await page.locator("#pairlist thead button:visible").all()) {
    await button.click();
    const first = await button.evaluate((b) => b.closest("th").getAttribute("aria-sort"));
    await button.click();
    check(new Set([first, await button.evaluate((b) => b.closest("th").getAttribute("aria-sort")), "none"]).size === 3, "pairs: does not sort both ways");
  }
  check(await page.evaluate((n) => table.rows.length === n && new Set(table.rows).size === n, all), "pairs: rows were lost");
  check(await page.evaluate(() => { const key = table.columns[table.sort].key, list = table.rows.map(key); return list.every((x, k) => !k || (table.down ? list[k - 1] >= x : list[k - 1] <= x)); }), "pairs: out of order");
  await page.evaluate(() => { const box = document.getElementById("pairlist"); box.scrollTop = box.scrollHeight; });
  await page.waitForFunction(() => document.querySelector(`#pairlist tr[data-i="${table.rows[table.rows.length - 1]}"]`), null, { timeout: 5000 }).catch(() => failed.push("pairs: the last row never comes"));
  const word = (await page.locator("#pairlist tr.row button.mark").first().textContent()).toLowerCase().split(/\s+/)[0];
  await page.fill("#pq", word);
  await page.waitForFunction(() => location.hash.includes("q="), null, { timeout: 3000 }).catch(() => failed.push("pairs: the search is not in the address"));
  const found = await page.evaluate(() => table.rows.length);
  check(found > 0 && found <= all, "pairs: search finds nothing");
  const again = await open(await hash());
  check(await again.evaluate(() => table.rows.length) === found && await again.inputValue("#pq") === word, "pairs: the search is not in a fresh tab");
  await again.close();
  await page.fill("#pq", "");
  await page.waitForFunction((n) => table.rows.length === n, all);
  // keyboard only: along the rows, Enter opens what explains one; back returns
  const explained = page.locator("#explained details[id]");
  if (await explained.count()) {
    const fresh = await open("#" + await explained.last().getAttribute("id"));
    check(await fresh.evaluate(() => { const d = document.getElementById(location.hash.slice(1)), r = d.getBoundingClientRect(); return d.open && r.bottom > 0 && r.top < innerHeight; }), "deep link: does not open what it names");
    check(await fresh.locator("#pairlist tr.here").count() === 1, "deep link: its row is not marked");
    await fresh.close();
    const card = await page.evaluate(() => Number(document.querySelector("#explained details[id]").id.slice(5)));
    await page.evaluate(async (n) => { table.sort = -1; table.set(table.rows.slice().sort((a, b) => a - b)); table.draw(true); }, card);
    await page.locator("#pairlist tr.row button.mark").first().focus();
    for (let k = 1; k < card; k++) await page.keyboard.press("ArrowDown");
    await page.keyboard.press("Enter");
    await page.waitForFunction((n) => location.hash === "#pair-" + n, card, { timeout: 3000 }).catch(() => failed.push("keyboard: Enter opens nothing"));
    await page.goBack();
    await page.waitForFunction(() => !location.hash.startsWith("#pair-"), null, { timeout: 3000 }).catch(() => failed.push("back: the address stays"));
    await page.goForward();
  }
}
// every heading that sorts does so, both ways, loses no row, and is there again in a fresh tab
for (const table of await page.locator("table[data-sortable]").all()) {
  const rows = await table.locator("tbody tr").count(), id = await table.getAttribute("id");
  for (const button of await table.locator("th button:visible").all()) {
    await button.focus();
    await page.keyboard.press("Enter");
    const first = await button.evaluate((b) => b.closest("th").getAttribute("aria-sort"));
    await page.keyboard.press("Enter");
    const second = await button.evaluate((b) => b.closest("th").getAttribute("aria-sort"));
    check(new Set([first, second, "none"]).size === 3, `sort: ${first} then ${second}`);
  }
  const order = (p) => p.$eval("#" + id, (t) => { const k = [...t.tHead.rows[0].cells].findIndex((h) => h.getAttribute("aria-sort") !== "none" && h.hasAttribute("data-sort")); return k < 0 ? null : [t.tHead.rows[0].cells[k].dataset.sort, t.tHead.rows[0].cells[k].getAttribute("aria-sort"), [...t.tBodies[0].rows].map((r) => r.cells[k].dataset.v ?? r.cells[k].textContent)]; });
  const sorted = await order(page);
  if (sorted) {
    const [kind, way, list] = sorted, keys = kind === "number" ? list.map((v) => (v === "" ? -Infinity : Number(v))) : list.map((v) => v.toLowerCase());
    check(keys.every((k, i) => !i || (way === "ascending" ? keys[i - 1] <= k : keys[i - 1] >= k)), "sort: out of order");
    check((await hash()).includes(id + ".sort="), "sort: not in the address");
    const fresh = await open(await hash());
    check(JSON.stringify(await order(fresh)) === JSON.stringify(sorted), "sort: another order in a fresh tab");
    await fresh.close();
  }
  check((await table.locator("tbody tr").count()) === rows, "sort: rows were lost");
}
// search leaves what matches, also in a fresh tab
for (const box of await page.locator("input[data-filter]:visible").all()) {
  const id = await box.getAttribute("data-filter"), word = (await page.locator(`#${id} tbody tr td`).first().textContent()).trim().split(/\s+/)[0].toLowerCase();
  const right = (p) => p.evaluate(([t, w]) => [...document.getElementById(t).tBodies[0].rows].every((r) => r.hidden !== r.textContent.toLowerCase().includes(w)), [id, word]);
  await box.fill(word);
  check(await right(page), "search: wrong rows");
  const fresh = await open(await hash());
  check(await right(fresh), "search: not in a fresh tab");
  await fresh.close();
  await box.fill("");
}
// links within the page lead somewhere, open what is folded, and back returns
const dead = await page.$$eval("a[href^='#']", (list) => list.map((a) => a.getAttribute("href")).filter((h) => h.length > 1 && !h.includes("=") && !document.getElementById(h.slice(1))));
check(dead.length === 0, `dead links: ${dead.slice(0, 3)}`);
const folded = await page.$$eval("details[id]:not([open])", (list) => list.map((d) => d.id));
if (folded.length) { await page.evaluate((id) => { location.hash = id; }, folded[0]); await page.waitForFunction((id) => document.getElementById(id).open, folded[0], { timeout: 3000 }).catch(() => failed.push("link: does not open what is folded")); }
const sections = await page.$$eval("nav a", (list) => list.map((a) => a.getAttribute("href")));
if (sections.length > 1) {
  const shown = (p, id) => p.evaluate((i) => { const r = document.querySelector(i).getBoundingClientRect(); return r.top < innerHeight && r.bottom > 0; }, id);
  await page.locator("nav a").last().click();
  await page.locator("nav a").first().click();
  await page.goBack();
  check((await hash()) === sections[sections.length - 1], "back: another part of the page");
  const fresh = await open(sections[sections.length - 1]);
  check(await shown(fresh, sections[sections.length - 1]), "deep link: another part of the page");
  await fresh.close();
}
// copy: links beside titles, and commands
await context.grantPermissions(["clipboard-read", "clipboard-write"]).catch(() => {});
const pasted = () => page.evaluate(() => navigator.clipboard.readText().catch(() => null));
const anchor = page.locator("a.anchor:visible").first();
if (await anchor.count()) {
  await anchor.click();
  await page.waitForFunction(() => /copied/.test(document.getElementById("said").textContent), null, { timeout: 3000 }).catch(() => failed.push("copy: a link is not confirmed"));
  const text = await pasted();
  check(text === null || text === url + await anchor.getAttribute("href"), "copy: another link");
}
const command = page.locator("button.copy:visible").first();
if (await command.count()) {
  await command.click();
  await page.waitForFunction(() => document.getElementById("said").textContent === "Command copied", null, { timeout: 3000 }).catch(() => failed.push("copy: a command is not confirmed"));
}
// keyboard only: Tab reaches the theme button and every search box
await page.evaluate(() => { scrollTo(0, 0); document.querySelector(".skip").focus(); });
const stops = new Set(), boxes = await page.$$eval("input[type=search]", (l) => l.map((b) => b.id || b.dataset.filter));
for (let k = 0; k < 60; k++) { stops.add(await page.evaluate(() => document.activeElement.id || document.activeElement.dataset.filter || document.activeElement.tagName)); await page.keyboard.press("Tab"); }
check(stops.has("theme"), "keyboard: the theme button is not reached");
check(boxes.length === 0 || stops.has(boxes[0]), "keyboard: the search is not reached");
// looks
const paper = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
await page.evaluate(() => scrollTo(0, 0));
await page.screenshot({ path: `${prefix}-light.png` });
const light = await paper();
await page.locator("#theme").click();
check((await paper()) !== light, "theme: nothing changes");
for (const width of [1440, 1024, 768, 390]) {
  await page.setViewportSize({ width, height: 850 });
  await page.waitForTimeout(150);
  check(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), `${width}: the page scrolls sideways`);
  const broken = await page.evaluate(() => [...document.querySelectorAll("h2,.big,.level,.v,nav a,.kpis dt")].filter((e) => e.offsetParent && e.scrollWidth > e.clientWidth + 1 && getComputedStyle(e).display !== "inline").map((e) => e.textContent.trim().slice(0, 30)));
  check(broken.length === 0, `${width}: text stands over its box: ${broken.slice(0, 3)}`);
  const wide = await page.evaluate(() => [...document.querySelectorAll(".scroll")].filter((e) => e.offsetParent && e.scrollWidth > e.clientWidth + 1).map((e) => (e.getAttribute("aria-label") || e.getAttribute("aria-labelledby")) + " " + e.scrollWidth));
  check(wide.length === 0, `${width}: a table is wider than its box: ${wide.slice(0, 3)}`);
  await page.screenshot({ path: `${prefix}-dark-${width}.png` });
}
// dark never prints; on paper tables are whole
await page.setViewportSize({ width: 1440, height: 900 });
await page.emulateMedia({ media: "print" });
check((await paper()) === "rgb(255, 255, 255)", "print: not on white");
if (await page.locator("#pairlist.grid").count()) {
  await page.evaluate(() => dispatchEvent(new Event("beforeprint")));
  check(await page.evaluate(() => document.querySelectorAll("#pairlist tr.row").length === table.rows.length), "print: rows are missing");
}
check(noise.length === 0, `console: ${noise.slice(0, 3).join(" | ")}`);
check(requests.length === 0, `requests: ${requests.slice(0, 3).join(" ")}`);
console.log(JSON.stringify({ failed }));
await browser.close();
process.exit(failed.length ? 1 : 0);
