// Walks through one report as its readers do: node walk.mjs REPORT.html SCREENSHOT_PREFIX ADDRESS. Prints one JSON line; exits 1
// when a check fails.
import { chromium } from "playwright-core";
import { pathToFileURL } from "node:url";
import path from "node:path";

const [file, prefix, address] = process.argv.slice(2);
const browser = await chromium.connect(address);
const context = await browser.newContext({ viewport: { width: 1440, height: 900 }, colorScheme: "light" });
const failed = [], noise = [], requests = [];
const check = (ok, what) => { if (!ok) failed.push(what); };
async function open(hash = "", where = context) {
  const page = await where.newPage();
  page.on("console", (m) => { if (["error", "warning"].includes(m.type())) noise.push(m.text()); });
  page.on("pageerror", (e) => noise.push(e.message));
  page.on("request", (r) => { if (!/^(file|data):/.test(r.url())) requests.push(r.url()); });
  await page.goto(url + hash);
  await page.waitForSelector("html[data-ready]", { timeout: 60000 });
  return page;
}
const url = pathToFileURL(path.resolve(file)).href;
const started = Date.now();
const page = await open();
const ready = Date.now() - started;
const shot = (name) => page.screenshot({ path: `${prefix}-${name}.png` });
await shot("light");
const title = (p = page) => p.locator("#marker h3").first().textContent();
const hash = (p = page) => p.evaluate(() => location.hash);
const cells = (n) => page.$$eval(`#list tbody tr.row td:nth-child(${n})`, (list) => list.map((c) => c.textContent));
const count = await page.evaluate(() => C.n);
if (!(await page.evaluate(() => C.names.some((n) => /\{[{%]/.test(n))))) check(!/\{\{|\{%/.test(await page.evaluate(() => document.body.innerText)), "template: a piece of it is on the page");

// the table is complete and only what is in sight exists
check(count === 0 || await page.evaluate(() => table.rows.length === C.n), "table: not complete");
check(await page.$$eval("#list tbody tr", (r) => r.length) < 60, "table: too many rows exist");
check(await page.evaluate(() => document.querySelector("#list table").getAttribute("aria-rowcount") === String(C.n + 1)), "table: aria-rowcount");
// sort by name and back
if (count > 2) {
  const before = await cells(1);
  await page.locator("#list thead button").first().click();
  check((await page.getAttribute("#list thead th", "aria-sort")) === "ascending", "sort: not ascending");
  const up = await page.evaluate(() => table.rows.map((i) => nameOf(i).toLowerCase()));
  check(up.every((x, i) => !i || up[i - 1] <= x), "sort: names are not in order");
  await page.locator("#list thead button").first().click();
  check((await page.getAttribute("#list thead th", "aria-sort")) === "descending", "sort: not descending");
  check(/sort=-name/.test(await hash()), "sort: not in the address");
  await page.locator("#list thead button").nth(1).click();
  check(before.length === (await cells(1)).length, "sort: rows were lost");
  // scroll to the last row, which exists then
  await page.evaluate(() => { const box = document.getElementById("list"); box.scrollTop = box.scrollHeight; });
  await page.waitForFunction(() => document.querySelector(`#list tr[data-i="${table.rows[table.rows.length - 1]}"]`), null, { timeout: 5000 }).catch(() => failed.push("scroll: the last row never comes"));
  check(await page.$$eval("#list tbody tr", (r) => r.length) < 60, "scroll: too many rows exist");
  await page.evaluate(() => { document.getElementById("list").scrollTop = 0; });
}
// search answers quickly and says how many
if (await page.locator("#q").isVisible()) {
  const name = await page.evaluate(() => nameOf(table.rows[Math.floor(table.rows.length / 2)]));
  const word = name.toLowerCase().split(/\s+/).filter(Boolean)[0] || "";
  await page.fill("#q", word);
  await page.waitForFunction((w) => table.rows.every((i) => haystack(i).includes(w)), word, { timeout: 5000 }).catch(() => failed.push("search: rows that do not match"));
  const took = await page.evaluate(() => { const t = performance.now(); filter(); return performance.now() - t; });
  check(took < 400, `search: ${Math.round(took)} ms`);
  check(await page.evaluate(() => table.rows.length > 0), "search: nothing found");
  await page.waitForFunction((w) => !w || location.hash.includes("q="), word, { timeout: 3000 }).catch(() => failed.push("search: not in the address"));
  await page.fill("#q", "no such marker anywhere at all");
  await page.waitForSelector("#list td[colspan]");
  await page.locator("#filter button[type=reset]").click();
  await page.waitForFunction(() => table.rows.length === C.n);
}
// choose a marker, in the table: panel and address follow; its link opens the same in a fresh tab; back returns
if (count > 1) {
  await page.locator("#list tr.row button.mark").nth(1).click();
  await page.waitForFunction(() => location.hash.includes("marker="));
  const first = await title(), link = await hash();
  const fresh = await open(link);
  check((await title(fresh)) === first, "deep link: another marker in a fresh tab");
  await fresh.close();
  await page.locator("#list tr.row button.mark").nth(0).click();
  await page.waitForFunction((l) => location.hash !== l, link);
  const second = await page.evaluate(() => shown.i);
  await page.goBack();
  await page.waitForFunction((i) => shown.i !== i, second, { timeout: 5000 }).catch(() => failed.push("back: the panel stays"));
  check((await title()) === first, "back: another marker");
  check((await page.locator("#marker .steps li").count()) > 0 || /Group without self time|not diagnosed|No measured cause|Indirect signs only|item about the whole capture/.test(await page.textContent("#marker")), "marker: no way through the method");
}
// a finding of it: evidence with its cell, its own address
const inside = page.locator("#marker .mini summary").first();
if (await inside.count() && await page.locator("#marker .mini details").count()) {
  await inside.click();
  await page.waitForSelector("#marker .mini details[open] .finding");
  check((await page.locator("#marker .finding .evidence li").count()) > 0, "finding: no evidence");
  check(/finding=/.test(await hash()), "finding: not in the address");
  const fresh = await open(await hash());
  check((await fresh.locator("#marker .mini details[open] .finding").count()) === 1, "finding: its link does not open it");
  await fresh.close();
  await shot("finding");
  // its rule: a page in the page, no dead link
  await page.locator("#marker .finding [data-rule]").first().click();
  await page.waitForFunction(() => document.querySelector("#rules").open && document.querySelector(".reference.here"), null, { timeout: 5000 }).catch(() => failed.push("rule: its page does not open"));
}
const dead = await page.$$eval("a[href^='#']", (list) => list.map((a) => a.getAttribute("href")).filter((h) => h.length > 1 && !h.includes("=") && !document.getElementById(h.slice(1))));
check(dead.length === 0, `dead links: ${dead.slice(0, 3)}`);
// items of the list have links
const anchors = page.locator(".todo a.anchor");
if (await anchors.count()) {
  await context.grantPermissions(["clipboard-read", "clipboard-write"]).catch(() => {});
  if (!(await anchors.first().isVisible())) await page.locator("#todo-more > summary").click(); // where every item is small
  await anchors.first().click();
  await page.waitForFunction(() => location.hash.startsWith("#cause="), null, { timeout: 3000 }).catch(() => failed.push("item: no address"));
  const text = await page.evaluate(() => navigator.clipboard.readText().catch(() => null));
  check(text === null || text.includes("#cause="), "item: its link is not copied");
  const fresh = await open(await hash());
  check((await fresh.locator(".todo > li.here").count()) === 1, "item: its link does not show it");
  await fresh.close();
  const sums = await page.evaluate(() => [C.todo.length, document.querySelectorAll(".todo > li").length]);
  check(sums[0] === sums[1], `items: ${sums[1]} of ${sums[0]} on the page`);
  const chip = page.locator(".todo button[data-go]:visible").first();
  if (await chip.count()) { const i = Number(await chip.getAttribute("data-go")); await chip.click(); await page.waitForFunction((k) => shown.i === k && location.hash.includes("marker="), i, { timeout: 3000 }).catch(() => failed.push("chip: leads to another marker")); }
}
// the picture: find, click, keyboard only
if (await page.locator("#icicle [role=treeitem]").count()) {
  if (await page.locator("#seek").isVisible()) {
    await page.fill("#seek", "a");
    await page.waitForFunction(() => document.getElementById("sought").textContent !== "", null, { timeout: 3000 }).catch(() => failed.push("find: no answer"));
    await page.press("#seek", "Enter");
    await page.press("#seek", "Escape");
  }
  check(await page.evaluate(() => document.querySelectorAll("#icicle .axis text").length > 0), "picture: no ruler");
  await page.evaluate(() => document.querySelector("#icicle [role=treeitem][tabindex='0']").focus());
  await page.keyboard.press("Escape");
  check((await page.evaluate(() => document.activeElement.getAttribute("role"))) === "treeitem", "picture: Escape loses the keyboard");
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("ArrowRight");
  await page.keyboard.press("Enter");
  check(/Selected|Focused/.test(await page.textContent("#said")), "picture: Enter does nothing");
  await page.locator("#time").scrollIntoViewIfNeeded();
  await shot("marker");
}
// keyboard in the table: arrows move the focus from row to row, Enter opens
if (count > 3) {
  await page.evaluate(() => { const box = document.getElementById("list"); box.scrollTop = 0; table.draw(true); });
  await page.locator("#list tr.row button.mark").first().focus();
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("ArrowDown");
  check(await page.evaluate(() => document.activeElement.closest("tr")?.getAttribute("aria-rowindex") === "4"), "keyboard: arrows do not move in the table");
  await page.keyboard.press("End");
  check(await page.evaluate(() => Number(document.activeElement.closest("tr")?.dataset.i) === table.rows[table.rows.length - 1]), "keyboard: End");
  await page.keyboard.press("Home");
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => shown.i === table.rows[0], null, { timeout: 3000 }).catch(() => failed.push("keyboard: Enter opens nothing"));
}
await page.evaluate(() => { scrollTo(0, 0); document.querySelector(".skip").focus(); });
const stops = [];
for (let i = 0; i < 30; i++) { stops.push(await page.evaluate(() => document.activeElement.tagName + (document.activeElement.id ? "#" + document.activeElement.id : ""))); await page.keyboard.press("Tab"); }
check(stops.includes("BUTTON#theme"), "keyboard: the theme button is not reached");
// every finding, in a table of its own
if (await page.locator("#every:not([hidden])").count()) {
  await page.locator("#every > summary").click();
  await page.waitForSelector("#findings tr.row");
  check(await page.evaluate(() => every.rows.length === F.rule.length), "findings: not complete");
}
await page.locator("#glossary > summary").click();
await page.waitForSelector("#glossary dt");
// copy a command
const copy = page.locator("button.copy").first();
if (await copy.count()) {
  await copy.click();
  await page.waitForFunction(() => document.querySelector("button.copy").textContent === "Copied", null, { timeout: 3000 }).catch(() => failed.push("copy: not confirmed"));
  const pasted = await page.evaluate(() => navigator.clipboard.readText().catch(() => null));
  check(pasted === null || pasted === await page.textContent(".command pre"), "copy: another text");
}
// a number and its unit stay together, wherever a line breaks
const parted = await page.evaluate(() => { const out = [], texts = document.createTreeWalker(document.getElementById("main"), NodeFilter.SHOW_TEXT); while (texts.nextNode()) if (!texts.currentNode.parentElement.closest("pre,code,svg,.cell,script") && /\d (?:%|[nµm]s|[kMG]?B)(?![\wµ])/.test(texts.currentNode.data)) out.push(texts.currentNode.data.slice(0, 60)); return out; });
check(parted.length === 0, `units: parted from their number: ${parted.slice(0, 3)}`);
// names are cut in their middle, never by the edge of their cell
if (count) { const cut = await page.evaluate(() => [...document.querySelectorAll("#list tr.row td:first-child")].filter((c) => c.scrollWidth > c.clientWidth + 1).map((c) => c.textContent.slice(0, 60))); check(cut.length === 0, `names: cut by their cell: ${cut.slice(0, 2)}`); }
// dark, narrow
const paper = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
const light = await paper();
await page.evaluate(() => scrollTo(0, 0));
await page.locator("#theme").click();
check((await paper()) !== light, "theme: nothing changes");
await shot("dark");
for (const width of [1024, 768, 390]) {
  await page.setViewportSize({ width, height: 850 });
  await page.waitForTimeout(250);
  check(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), `${width}: the page scrolls sideways`);
  // no word is broken in headings, figures and buttons
  const broken = await page.evaluate(() => [...document.querySelectorAll("h2,.big,.gain b,.level,nav a,.kpis dt")].filter((e) => e.offsetParent && e.scrollWidth > e.clientWidth + 1 && getComputedStyle(e).overflow !== "hidden" && getComputedStyle(e).display !== "inline").map((e) => e.textContent.trim().slice(0, 30)));
  check(broken.length === 0, `${width}: text stands over its box: ${broken.slice(0, 3)}`);
  const wide = await page.evaluate(() => [...document.querySelectorAll(".scroll")].filter((e) => e.offsetParent && e.scrollWidth > e.clientWidth + 1).map((e) => (e.getAttribute("aria-label") || e.getAttribute("aria-labelledby")) + " " + e.scrollWidth));
  check(wide.length === 0, `${width}: a table is wider than its box: ${wide.slice(0, 3)}`);
  // the table fills its box: no empty columns of what is hidden
  check(count === 0 || await page.evaluate(() => { const box = document.getElementById("list"), cells = [...box.querySelector("tr.row").cells].filter((c) => c.offsetParent); return Math.abs(cells[cells.length - 1].getBoundingClientRect().right - box.getBoundingClientRect().right) < 24; }), `${width}: the table does not fill its box`);
  await shot(`dark-${width}`);
}
// dark never prints; on paper the table is whole
await page.setViewportSize({ width: 1440, height: 900 });
await page.emulateMedia({ media: "print" });
check((await paper()) === "rgb(255, 255, 255)", "print: not on white");
if (count < 6000) {
  await page.evaluate(() => dispatchEvent(new Event("beforeprint")));
  check(await page.evaluate(() => document.querySelectorAll("#list tr.row").length === table.rows.length), "print: rows are missing");
  await page.evaluate(() => dispatchEvent(new Event("afterprint")));
}
await page.emulateMedia({ media: "screen" });

// without a script the essentials are there
const plain = await (await browser.newContext({ javaScriptEnabled: false })).newPage();
await plain.goto(url);
check((await plain.locator("#todo").count()) === 1 && (count === 0 || (await plain.locator("#list tbody tr").count()) > 0), "without a script: nothing to read");

check(noise.length === 0, `console: ${noise.slice(0, 3).join(" | ")}`);
check(requests.length === 0, `requests: ${requests.slice(0, 3).join(" ")}`);
console.log(JSON.stringify({ ready_ms: ready, rows: count, failed }));
await browser.close();
process.exit(failed.length ? 1 : 0);
