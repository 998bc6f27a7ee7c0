// One browser for many pages: node serve.mjs CHROMIUM. Prints the address that walk.mjs and plain.mjs take in its place; ends with its input.
import { chromium } from "playwright-core";

const flags = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"];
const server = await chromium.launchServer({ executablePath: process.argv[2], args: flags });
console.log(server.wsEndpoint());
process.stdin.on("end", async () => { await server.close(); process.exit(0); }).resume();
