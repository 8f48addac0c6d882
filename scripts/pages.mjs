// Each page: makes no request, runs no script, reports no error, is one screen wide on a phone, and has nothing that
// axe-core, the usual accessibility checker, counts as a violation, in light and in dark.
import { readdirSync } from "node:fs";
import { createRequire } from "node:module";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";

const folder = resolve(process.argv[2]);
const require = createRequire(join(folder, "package.json"));
const { default: puppeteer } = await import(pathToFileURL(require.resolve("puppeteer-core")));
const WIDTHS = [360, 1280];

let wrong = 0;
function complain(name, what) {
  wrong += 1;
  console.error(`${name}: ${what}`);
}

async function look(browser, name) {
  const page = await browser.newPage();
  const own = pathToFileURL(join(folder, name)).href;
  page.on("request", (request) => request.url() === own || complain(name, `asks for ${request.url()}`));
  page.on("dialog", (dialog) => complain(name, `runs a script: ${dialog.message()}`) ?? dialog.dismiss());
  page.on("pageerror", (error) => complain(name, error.message));
  page.on("console", (message) => complain(name, `console: ${message.text()}`));
  for (const scheme of ["light", "dark"]) {
    await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: scheme }]);
    for (const width of WIDTHS) {
      await page.setViewport({ width, height: 800 });
      await page.goto(own);
      const wide = await page.evaluate(() => document.documentElement.scrollWidth);
      if (wide > width) complain(name, `is ${wide} wide on a screen of ${width}`);
    }
    await page.addScriptTag({ path: require.resolve("axe-core") });
    const { violations } = await page.evaluate(() => globalThis.axe.run());
    for (const { id, help, nodes } of violations) complain(name, `${scheme}: ${id}, ${help}: ${nodes[0].html}`);
  }
  const { title, text, scripts } = await page.evaluate(() => ({
    title: document.title,
    text: document.body.innerText.length,
    scripts: [...document.scripts].filter((script) => !script.textContent.includes("axe")).length,
  }));
  if (!title || text < 200) complain(name, `shows nothing: "${title}", ${text} characters`);
  if (scripts) complain(name, `has ${scripts} scripts`);
  await page.close();
}

// Chromium's sandbox needs rights that containers do not give; the pages are our own.
const browser = await puppeteer.launch({ executablePath: process.argv[3], args: ["--no-sandbox"] });
try {
  for (const name of readdirSync(folder).filter((name) => name.endsWith(".html"))) await look(browser, name);
} finally {
  await browser.close();
}
if (wrong) process.exit(1);
console.log("pages: ok");
