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

async function axe(what, runOnly) {
  const found = await page.evaluate((only) => window.axe.run(document, { runOnly: only }), runOnly);
  const said = found.violations.map((v) => `${v.id}: ${v.nodes.map((n) => n.html).slice(0, 3).join(" | ")}`);
  check(said.length === 0, `axe, ${what}: ${said.join("\n")}`);
}

async function accessible(what) {
  // axe is evaluated by the debugger, which the page's policy does not reach.
  await page.evaluate(axeSource);
  await axe(what, ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]);
  // Of all rules, contrast alone depends on the theme.
  await page.emulateMedia({ colorScheme: "dark" });
  await axe(`${what}, dark`, ["color-contrast"]);
  await page.emulateMedia({ colorScheme: "light" });
}

const stops = 'a[href], button, input, select, textarea, summary, [tabindex="0"]';

/** Presses Tab through the controls of the view; returns what is wrong. */
async function walk() {
  const n = await page.evaluate((selector) => {
    window.stops = [...document.querySelectorAll(`#main ${selector.split(", ").join(", #main ")}`)].filter((e) => e.checkVisibility() && !e.disabled);
    document.getElementById("main").focus();
    return window.stops.length;
  }, stops);
  for (let i = 0; i < n; i++) {
    await page.keyboard.press("Tab");
    const fault = await page.evaluate((k) => {
      const [here, wanted] = [document.activeElement, window.stops[k]];
      if (here !== wanted) return `Tab ${k + 1} reaches ${here.outerHTML.slice(0, 200)} and not ${wanted.outerHTML.slice(0, 200)}`;
      return getComputedStyle(here).outlineStyle === "none" ? `no focus is seen on ${here.outerHTML.slice(0, 200)}` : "";
    }, i);
    if (fault) return fault;
  }
  return n > 0 ? "" : "there is nothing to reach";
}

/** Tab reaches each control of the view, in their order, and each shows that it has the focus. A live view may change
 * during a walk: a fault is one that stays. */
async function walkable(what) {
  let fault = "";
  for (let i = 0; i < 5; i++) {
    fault = await walk();
    if (!fault) return;
  }
  check(false, `${what}: ${fault}`);
}

/** No text of anybody became an element. */
async function harmless(what) {
  check(await main.locator("img, script, iframe, b, [onerror]").count() === 0, `${what}: an element came from a text`);
}

/** Presses the button of an action, fills its dialog, and confirms. */
async function act(label, fields = {}, ends = true) {
  await main.getByRole("button", { name: label }).first().click();
  const dialog = page.getByRole("dialog");
  for (const [name, value] of Object.entries(fields)) {
    const field = dialog.getByLabel(name, { exact: true });
    if (await field.evaluate((e) => e.tagName === "SELECT")) await field.selectOption(value);
    else await field.fill(value);
  }
  await dialog.locator("button.main").click();
  if (ends) await dialog.waitFor({ state: "detached" });
  return dialog;
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
const attack = "<img src=x onerror=alert(1)>";

/** Waits until a field holds a text, maybe beside others. */
async function holds(label, text, where = main) {
  const field = where.getByLabel(label, { exact: true });
  for (const end = Date.now() + slow; !(await field.inputValue()).includes(text);) {
    check(Date.now() < end, `${label}: found ${await field.inputValue()}, want ${text}`);
    await page.waitForTimeout(50);
  }
}
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
    await main.getByText(/4 of 8 free, none for a job now: free ones are kept for the 2 jobs that wait/).first().waitFor();
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
    await main.getByText(attack).first().waitFor();
    await main.getByText("Object as JSON").click();
    await main.getByText("<script>alert(2)</script>").first().waitFor();
    await harmless("Job");
    // Each view with a text that a user chose: names of users, reasons, messages, paths and programs of requests.
    for (const path of ["jobs", "events", "nodes", "audit?hours=1", "gpus", "queue", "", "jobs?q=%3Cimg%20src%3Dx%3E&user=%3Cb%3E"]) {
      await page.goto(`${origin}/${path}`);
      await main.locator("h1").waitFor();
      if (/^(events|audit.*)$/.test(path)) await main.getByText(attack).first().waitFor();
      await harmless(path);
    }
  },
  async "a waiting job is held, released and moved"() {
    await page.goto(`${origin}/jobs/pod/default/too-large`);
    await act("Hold");
    await main.getByRole("button", { name: "Release" }).waitFor();
    await act("Release");
    await main.getByRole("button", { name: "Hold" }).waitFor();
    await act("Move", { Queue: "research" });
    await main.locator("dd").getByText("research", { exact: true }).waitFor();
    const dialog = await act("Priority", { Priority: "soon" }, false);
    await dialog.getByRole("alert").getByText("soon").waitFor();
    await dialog.getByLabel("Priority", { exact: true }).fill("-7");
    await dialog.locator("button.main").click();
    await dialog.waitFor({ state: "detached" });
    await main.locator("dd").getByText("-7", { exact: true }).waitFor();
    await accessible("Job that waits");
    await walkable("Job that waits");
  },
  async "a job tells what would start without it"() {
    await page.goto(`${origin}/jobs/pod/default/talker`);
    await main.getByText("If this job ended now").click();
    await main.getByText("No job would start.").waitFor(); // 6 are free then, and the waiting job wants 7
    await page.goto(`${origin}/jobs/pod/default/sliced`);
    await main.getByText("If this job ended now").click();
    await main.getByRole("link", { name: "slice-next" }).waitFor();
  },
  async "a running job is requeued"() {
    await page.goto(`${origin}/jobs/pod/default/again`);
    await act("Requeue");
    await main.getByText("requeue", { exact: false }).first().waitFor();
  },
  async "picked jobs are held together, and a refusal is told"() {
    await page.goto(`${origin}/jobs?sort=name`);
    await main.getByLabel(/pick job \d+ too-large/).check();
    await main.getByLabel(/pick job \d+ talker/).check();
    const dialog = await act("Hold 2 jobs", {}, false);
    await dialog.getByRole("alert").getByText(/1 of 2 refused.*talker: it is running, and only waiting jobs/).waitFor();
    await page.keyboard.press("Escape");
    await dialog.waitFor({ state: "detached" });
    check(await main.getByRole("button", { name: "Hold 2 jobs" }).evaluate((b) => b === document.activeElement), "the focus is back on the button");
    await main.getByLabel(/pick job \d+ talker/).uncheck();
    await act(/^Release job/);
    await main.getByRole("group", { name: "Picked jobs" }).waitFor({ state: "detached" });
    await walkable("Jobs");
  },
  async "a gpu and a node are drained for a reason, and resumed"() {
    await page.goto(`${origin}/nodes`);
    await main.getByRole("table").getByRole("link").first().click();
    await act(/^Drain GPU 5/, { "Reason, which all users see": attack });
    await main.getByText(`drained: ${attack}`).waitFor();
    await act(/^Resume GPU 5/);
    await main.getByRole("button", { name: /^Drain GPU 5/ }).waitFor();
    await act(/^Drain node/, { "Reason, which all users see": attack });
    await main.getByText("Drained: no job starts here.").getByText(attack).waitFor();
    await harmless("Node");
    await act(/^Resume node/);
    await main.getByRole("button", { name: /^Drain node/ }).waitFor();
    await walkable("Node");
  },
  async "quotas are added, edited and removed"() {
    await page.goto(`${origin}/quota`);
    await act("Add a quota", { Queue: "research", Resource: "gpu", Nominal: "8" });
    const dialog = await act("Edit gpu of queue research", { Nominal: "lots" }, false);
    await dialog.getByRole("alert").getByText("lots").waitFor();
    await dialog.getByLabel("Nominal").fill("6");
    await dialog.getByLabel("Borrows at most").fill("2");
    await dialog.locator("button.main").click();
    await dialog.waitFor({ state: "detached" });
    await main.getByRole("row", { name: /research gpu \S+ 6/ }).waitFor();
    await accessible("Quota with actions");
    await act("Remove gpu of queue research");
    await main.getByRole("row", { name: /research gpu/ }).waitFor({ state: "detached" });
    await act("Edit pods of default/limit", { Limit: "70" });
    await main.getByRole("row", { name: /pods \d+ 70/ }).waitFor();
  },
  async "a queue is stopped, started and weighed"() {
    await page.goto(`${origin}/queue`);
    await act("Stop queue research");
    await main.getByText("(stopped)").waitFor();
    await act("Start queue research");
    await main.getByText("(stopped)").waitFor({ state: "detached" });
    await act("Weight queue research", { "Weight, 1 to 1,000,000": "3" });
    await main.getByRole("row", { name: /^research.* 3 / }).waitFor();
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
    await main.getByRole("link", { name: "attack" }).waitFor();
    await main.locator("li.gpu strong").getByText("held but idle").first().waitFor();
    await accessible("GPUs");
    await walkable("GPUs");
    await shoot("gpus");
    await main.getByLabel("As a table").check();
    await main.getByRole("table").waitFor();
  },
  async "slices are drawn to scale, where they lie"() {
    await page.goto(`${origin}/gpus`);
    const cell = main.locator("li.gpu").filter({ hasText: "3g.40gb" });
    await cell.waitFor();
    const drawn = await cell.locator("svg").evaluate((svg) => {
      const all = svg.getBoundingClientRect();
      return [...svg.querySelectorAll("rect.part")].map((r) => {
        const box = r.getBoundingClientRect();
        return { name: r.textContent.split(" ")[0], at: (box.left - all.left) / all.width, width: box.width / all.width };
      });
    });
    const answer = await context.request.get(`${origin}/apis/mete.dev/v1/gpus`);
    const gpu = (await answer.json()).items.find((g) => g.spec.slices?.length);
    const eighths = { "1g.10gb": 1, "3g.40gb": 4 }; // memory slices of an H100 with 80 GB, which has eight
    check(drawn.length === 3 && gpu.spec.memorySlices === 8, JSON.stringify([drawn, gpu.spec]));
    gpu.spec.slices.forEach((slice, i) => {
      const near = (a, b) => Math.abs(a - b) < 0.01;
      check(drawn[i].name === slice.profile && near(drawn[i].at, slice.start / 8) && near(drawn[i].width, eighths[slice.profile] / 8),
        `${slice.profile} at ${slice.start}: ${JSON.stringify(drawn[i])}`);
    });
    await cell.getByRole("link", { name: "sliced" }).waitFor();
    await cell.locator("strong").getByText("held but idle").waitFor();
    check(await cell.locator("rect.idle").count() === 1, "one slice is held and idle");
  },
  async "the audit is saved as CSV, and nothing in it is a formula"() {
    await page.goto(`${origin}/audit`);
    const [file] = await Promise.all([page.waitForEvent("download"), main.getByRole("button", { name: "Save as CSV" }).click()]);
    const text = readFileSync(await file.path(), "utf8");
    check(text.startsWith('"number","time","user"') && text.includes('"sign-in"'), text.slice(0, 300));
    check(!/(^|,)"[=+@-]/m.test(text), "no cell begins like a formula");
  },
  async "each other view shows the loaded system"() {
    const views = { "queue?queue=research": "needs 7", nodes: "NVIDIA-H100", quota: "Of queues", usage: "GPU hours", events: "Started container", audit: "sign-in", system: "Figures" };
    for (const [path, text] of Object.entries(views)) {
      await page.goto(`${origin}/${path}`);
      await main.getByText(text).first().waitFor();
      await main.getByText("Loading…").first().waitFor({ state: "detached" });
      check(await main.locator(".problem").count() === 0, `${path}: ${(await main.textContent()).slice(0, 500)}`);
      await accessible(path);
      if (path.startsWith("queue") || path === "usage") await shoot(path.split("?")[0]);
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
  async "form, manifest and command keep in step, and the plan with them"() {
    await page.goto(`${origin}/submit`);
    const [form, manifest, line] = [main.getByRole("form"), main.getByLabel("As a manifest"), main.getByLabel("As a command")];
    await line.fill("mete run --gpus H100:2 --queue research --time 90m --name stepper -- python 'my train.py'");
    await holds("Name", "stepper", form);
    await holds("GPU model", "H100", form);
    await holds("As a manifest", '"nvidia.com/gpu": "2"');
    await holds("As a manifest", "activeDeadlineSeconds: 5400");
    await line.fill("mete run --gpus 0 --name small -- true");
    await main.getByText("A job without GPUs starts where there is room").waitFor();
    await line.fill("mete run --env A=b -- true");
    await main.getByRole("alert").getByText("the form has no --env").waitFor();
    await manifest.fill("kind: Pod\nmetadata:\n  name: [\n");
    await main.getByRole("alert").getByText(/manifest:\d+:\d+/).waitFor();
    await manifest.fill("apiVersion: v1\nkind: Pod\nmetadata: {name: plain}\nspec:\n  restartPolicy: Never\n  containers:\n"
      + "  - {name: main, image: host, command: [sh, -c, date], resources: {limits: {nvidia.com/gpu: 7}}}\n");
    await holds("Name", "plain", form);
    await holds("Number of GPUs", "7", form);
    await holds("As a command", "mete run -d --gpus 7 --name plain -- sh -c date");
    await main.getByText(/Would wait: it needs 7 GPUs on one node; the most free on one node is \d/).waitFor();
    check(await main.getByText("says more than").count() === 0, "the form says all of it");
    await manifest.fill((await manifest.inputValue()).replace("image: host,", "image: host, env: [{name: A, value: b}],"));
    await main.getByText(/says more than the form .*env/).waitFor();
    await form.getByLabel("Number of GPUs").fill("9");
    await main.getByText(/Would never start: it needs 9 GPUs on one node, and no node has more than 7/).waitFor();
    check(!(await manifest.inputValue()).includes("env"), "a change of the form writes the manifest anew");
    await manifest.fill("kind: Pod\nmetadata: {name: '<b>x</b>'}\n");
    await main.getByRole("alert").getByText("<b>x</b>").waitFor();
    await harmless("Submit");
    await walkable("Submit");
  },
  async "a job is submitted by keyboard, after a trial"() {
    await page.goto(`${origin}/submit`);
    await main.getByLabel("Name", { exact: true }).focus();
    await page.keyboard.type("made-here");
    await page.keyboard.press("Tab");
    await page.keyboard.type("echo 'from the page'; sleep 600");
    await holds("As a command", `mete run -d --gpus 1 --name made-here -- sh -c 'echo '\\''from the page'\\''; sleep 600'`);
    await holds("As a manifest", '"nvidia.com/gpu": "1"');
    await main.getByText(/Would wait: 6 h100 are free: free ones are kept for the 2 jobs that wait/).waitFor();
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
