// Drives the web page in headless Chromium. Environment: LINK (one-time), SHOTS (a folder for screenshots;
// optional), PATIENCE. Exits with 1 and says what failed.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { chromium } from "playwright-core";

const { LINK, SHOTS, CHROMIUM = "/usr/bin/chromium" } = process.env;
const axeSource = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const origin = new URL(LINK).origin;
const slow = 15000 * Math.max(1, Number(process.env.PATIENCE ?? 1));

function check(claim, what) {
  if (!claim) throw new Error(what);
}

const browser = await chromium.launch({ executablePath: CHROMIUM, args: ["--no-sandbox", "--disable-dev-shm-usage"] });
const context = await browser.newContext({ viewport: { width: 1100, height: 760 }, colorScheme: "light" });
context.setDefaultTimeout(slow);
const page = await context.newPage();

// Nothing of others is asked for, nothing is refused by the policy, no script of a job's texts runs.
const sizes = [];
const faults = [];
page.on("console", (m) => void (/Content.Security.Policy|Refused/i.test(m.text()) && faults.push(m.text())));
page.on("pageerror", (e) => faults.push(String(e)));
page.on("dialog", (d) => (faults.push(`a dialog: ${d.message()}`), d.dismiss()));
page.on("request", (r) => void (new URL(r.url()).origin !== origin && faults.push(`a request to ${r.url()}`)));
page.on("response", async (r) => {
  const length = Number((await r.allHeaders())["content-length"] ?? 0);
  sizes.push([r.url(), length]);
});

async function accessible(what) {
  // axe is evaluated by the debugger, which the page's policy does not reach.
  await page.evaluate(axeSource);
  const found = await page.evaluate(() => window.axe.run(document, { runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"] }));
  const said = found.violations.map((v) => `${v.id}: ${v.nodes.map((n) => n.html).slice(0, 3).join(" | ")}`);
  check(said.length === 0, `axe, ${what}: ${said.join("\n")}`);
}

async function shoot(name) {
  if (!SHOTS) return;
  for (const colorScheme of ["light", "dark"]) {
    await page.emulateMedia({ colorScheme });
    await page.screenshot({ path: `${SHOTS}/${name}-${colorScheme}.jpg`, type: "jpeg", quality: 50 });
  }
  await page.emulateMedia({ colorScheme: "light" });
}

const main = page.locator("#main");
const steps = {
  async "a link signs in once"() {
    await page.goto(LINK);
    await page.waitForURL(`${origin}/`);
    await main.getByRole("heading", { name: "You can start now" }).waitFor();
    const [cookie] = await context.cookies();
    check(cookie.httpOnly && cookie.sameSite === "Strict", "the cookie is HttpOnly and Strict");
    const other = await browser.newContext();
    const again = await other.newPage();
    await again.goto(LINK);
    await again.getByRole("alert").getByText("this link was used").waitFor({ timeout: slow });
    await other.close();
  },
  async "the first load is small"() {
    const mine = sizes.filter(([url]) => url.includes("/assets/"));
    const sum = mine.reduce((n, [, size]) => n + size, 0);
    check(mine.length > 0 && sum > 0, "files were loaded");
    check(sum <= 60 * 1024, `the first load has ${sum} bytes`);
  },
  async "Now shows what could start"() {
    await main.getByText("5 of 8 free").first().waitFor();
    await accessible("Now");
    await shoot("now");
  },
  async "Jobs filters by state, in the URL"() {
    await page.getByRole("link", { name: "Jobs", exact: true }).first().click();
    await main.getByRole("link", { name: /running/ }).click();
    await page.waitForURL(/state=running/);
    await main.getByRole("link", { name: "talker" }).waitFor();
    check(await main.getByRole("link", { name: "attack" }).count() === 1, "the attacking job is listed as text");
    await accessible("Jobs");
    await shoot("jobs");
    await page.goBack();
    await page.waitForURL((url) => !url.search);
  },
  async "texts of a job stay texts"() {
    await page.goto(`${origin}/jobs/pod/default/attack`);
    await main.getByText("<img src=x onerror=alert(1)>").first().waitFor();
    await main.getByText("Object as JSON").click();
    await main.getByText("<script>alert(2)</script>").first().waitFor();
    check(await main.locator("img, script, iframe").count() === 0, "no element came from a text");
  },
  async "a log is live"() {
    await page.goto(`${origin}/jobs/pod/default/talker`);
    const log = main.getByRole("log");
    await log.getByText("line 3").waitFor();
    const before = (await log.textContent()).split("\n").length;
    await log.getByText(`line ${before + 2}`).waitFor();
    await accessible("Job");
    await shoot("job");
  },
  async "a job is cancelled by keyboard only"() {
    const button = main.getByRole("button", { name: "Cancel" }).first();
    await button.waitFor();
    await page.locator("#main").focus();
    for (let i = 0; i < 40; i++) {
      await page.keyboard.press("Tab");
      if (await button.evaluate((b) => b === document.activeElement)) break;
    }
    check(await button.evaluate((b) => b === document.activeElement), "Tab reaches the button");
    await page.keyboard.press("Enter");
    await page.getByRole("dialog").getByRole("button", { name: "Cancel" }).waitFor();
    await page.keyboard.press("Tab");
    const focused = await page.evaluate(() => document.activeElement.textContent);
    if (focused !== "Cancel") await page.keyboard.press("Shift+Tab");
    await page.keyboard.press("Enter");
    await main.getByText(/ending|not found/).first().waitFor();
  },
  async "GPUs shows who holds what"() {
    await page.goto(`${origin}/gpus`);
    await main.getByText("attack").first().waitFor();
    await accessible("GPUs");
    await shoot("gpus");
    await main.getByLabel("As a table").check();
    await main.getByRole("table").waitFor();
  },
  async "each other view shows the loaded system"() {
    const views = { queue: "needs 8", nodes: "NVIDIA-H100", quota: "Of queues", usage: "GPU hours", events: "Started container", audit: "create", system: "Figures" };
    for (const [path, text] of Object.entries(views)) {
      await page.goto(`${origin}/${path}`);
      await main.getByText(text).first().waitFor();
      await main.getByText("Loading…").first().waitFor({ state: "detached" });
      check(await main.locator(".problem").count() === 0, `${path}: ${(await main.textContent()).slice(0, 500)}`);
      await accessible(path);
      if (path === "queue" || path === "usage") await shoot(path);
    }
    await page.goto(`${origin}/jobs/pod/default/attack`);
    await main.getByRole("figure").first().waitFor();
    await accessible("charts");
    await shoot("charts");
    await page.goto(`${origin}/nodes`);
    await main.getByRole("table").getByRole("link").first().click();
    await main.getByRole("heading", { name: "Conditions" }).waitFor();
    await accessible("Node");
  },
  async "a job is submitted by keyboard, after a trial"() {
    await page.goto(`${origin}/submit`);
    await main.getByLabel("Name", { exact: true }).focus();
    await page.keyboard.type("made-here");
    await page.keyboard.press("Tab");
    await page.keyboard.type("echo 'from the page'; sleep 600");
    await main.getByText(`mete run -d --gpus 1 --name made-here -- sh -c 'echo '\\''from the page'\\''; sleep 600'`).waitFor();
    await main.getByText('"nvidia.com/gpu": "1"').waitFor();
    await main.getByRole("button", { name: "Try without submitting" }).press("Enter");
    await main.getByText("The server accepts this job.").waitFor();
    await accessible("Submit");
    await shoot("submit");
    await main.getByRole("button", { name: "Submit", exact: true }).press("Enter");
    await page.waitForURL(/\/jobs\/pod\/default\/made-here/);
    await main.getByRole("heading", { name: /Job \d+ made-here/ }).waitFor();
  },
  async "Now, Jobs and Job need no script"() {
    const plain = await browser.newContext({ javaScriptEnabled: false, storageState: await context.storageState() });
    const view = await plain.newPage();
    for (const [path, text] of [["/", "You can start now"], ["/jobs", "attack"], ["/jobs/pod/default/attack", "<img src=x onerror=alert(1)>"]]) {
      await view.goto(origin + path);
      await view.getByText(text).first().waitFor({ timeout: slow });
      check(await view.locator("main img, main script").count() === 0, `${path}: no element came from a text`);
    }
    await plain.close();
  },
  async "sign out ends the session"() {
    await page.goto(`${origin}/`);
    const state = await context.storageState();
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.waitForURL(/\/in$/);
    const old = await browser.newContext({ storageState: state });
    const answer = await old.request.get(`${origin}/page/me`);
    check(answer.status() === 401, `an old cookie gets ${answer.status()}`);
    await old.close();
  },
};

let code = 0;
for (const [name, step] of Object.entries(steps)) {
  try {
    await step();
    check(faults.length === 0, faults.join("\n"));
    console.log(`ok ${name}`);
  } catch (e) {
    console.log(`not ok ${name}: ${e.message}\n${page.url()}\n${(await main.textContent().catch(() => "")).slice(0, 1500)}`);
    code = 1;
    break;
  }
}
await browser.close();
process.exit(code);
