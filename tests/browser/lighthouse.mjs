// Serves one report on localhost and scores it: node lighthouse.mjs REPORT.html CHROMIUM CATEGORY... Prints {"CATEGORY": score, .., "failed": [..]}.
import http from "node:http";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import zlib from "node:zlib";
import lighthouse from "lighthouse";
import * as launcher from "chrome-launcher";

const [file, chromePath, ...onlyCategories] = process.argv.slice(2);
// Lighthouse's model lets nothing be painted before the last byte of a document: of a file of megabytes, whose first screen comes first, that
// is its length and no more. Such a page is loaded over a network and a processor that are slowed down in fact.
// Other categories do not ask how fast it is, nor for a picture of it.
const timed = onlyCategories.includes("performance");
const throttlingMethod = !timed ? "provided" : fs.statSync(file).size > 2e6 ? "devtools" : "simulate";
const packed = zlib.gzipSync(fs.readFileSync(file));  // as any server that people put reports on
const server = http.createServer((request, response) => {
  if (request.url !== "/") { response.writeHead(404); return response.end(); }
  response.writeHead(200, { "Content-Type": "text/html; charset=utf-8", "Content-Encoding": "gzip" });
  response.end(packed);
});
await new Promise((done) => server.listen(0, "127.0.0.1", done));
const profile = fs.mkdtempSync(path.join(os.tmpdir(), "lighthouse-"));
const chromeFlags = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"];
const chrome = await launcher.launch({ chromePath, chromeFlags, userDataDir: profile });
try {
  const run = await lighthouse(`http://127.0.0.1:${server.address().port}/`, { port: chrome.port, onlyCategories, output: "json", logLevel: "error", throttlingMethod, disableFullPageScreenshot: !timed });
  const { categories, audits } = run.lhr;
  const failed = Object.values(audits).filter((a) => a.score !== null && a.score < 1 && a.scoreDisplayMode !== "informative").map((a) => `${a.id}: ${(a.details?.items || []).slice(0, 3).map((i) => i.node?.snippet || i.description || i.url || "").join(" ; ").slice(0, 300)}`);
  console.log(JSON.stringify({ ...Object.fromEntries(onlyCategories.map((c) => [c, Math.round(categories[c].score * 100)])), failed }));
} finally {
  await chrome.kill();
  server.close();
}
process.exit(0);
