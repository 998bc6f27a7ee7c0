// What opening a page costs its main thread: node open.mjs PAGE.html CHROMIUM. Prints {"cpu_ms": .., "script_ms": .., "longest_ms": ..,
// "blocked_ms": .., "search_ms": .., "sort_ms": .., "heap_mb": .., "nodes": ..}: time at work until the page is ready, its longest task, what
// tasks take beyond 50 ms each, then one search and one sorting of its table where it has one.
import { chromium } from "playwright-core";
import { pathToFileURL } from "node:url";
import path from "node:path";

const [file, executablePath] = process.argv.slice(2);
const flags = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"];
const browser = await chromium.launch({ executablePath, args: flags });
const page = await (await browser.newContext({ viewport: { width: 1440, height: 900 } })).newPage();
const session = await page.context().newCDPSession(page);
await session.send("Performance.enable", { timeDomain: "threadTicks" });
await page.addInitScript(() => { window.tasks = []; new PerformanceObserver((l) => { for (const t of l.getEntries()) window.tasks.push(t.duration); }).observe({ type: "longtask", buffered: true }); });
const figures = async () => Object.fromEntries((await session.send("Performance.getMetrics")).metrics.map((m) => [m.name, m.value]));
const before = await figures();
await page.goto(pathToFileURL(path.resolve(file)).href);
await page.waitForSelector((await page.locator("[id^=data-]").count()) ? "html[data-ready]" : "html.scripted", { timeout: 120000, state: "attached" });
const after = await figures(), tasks = await page.evaluate(() => window.tasks);
const spent = async (act) => { const a = await figures(); await page.evaluate(act); return Math.round(((await figures()).TaskDuration - a.TaskDuration) * 1000); };
const grid = await page.evaluate(() => typeof table !== "undefined" && Boolean(table) && Boolean(document.getElementById("q")));
const search = grid ? await spent(() => { document.getElementById("q").value = "9"; filter(); }) : null;
const sort = grid ? await spent(() => table.by(0)) : null;
console.log(JSON.stringify({
  cpu_ms: Math.round((after.TaskDuration - (before.TaskDuration || 0)) * 1000), script_ms: Math.round((after.ScriptDuration - (before.ScriptDuration || 0)) * 1000),
  longest_ms: Math.round(Math.max(0, ...tasks)), blocked_ms: Math.round(tasks.reduce((s, t) => s + Math.max(0, t - 50), 0)), search_ms: search, sort_ms: sort,
  heap_mb: Math.round(after.JSHeapUsedSize / 1e5) / 10, nodes: after.Nodes,
}));
await browser.close();
