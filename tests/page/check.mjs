// Checks the page of a server in a real browser:
//
//     CODEWEAVER_TEST_PAGE=DIR node tests/page/check.mjs URL [URL TOKEN]
//
// DIR has node_modules with playwright-core and axe-core. The server serves the repository that
// tests/it/serve/page.rs makes; that at the second URL needs a token. Prints each check that fails, and exits
// with 1 if one does.

import { createRequire } from "node:module";
import assert from "node:assert/strict";

const require = createRequire(process.env.CODEWEAVER_TEST_PAGE + "/");
const { chromium } = require("playwright-core");
const axe = require("axe-core").source;

const [base, tokenBase] = process.argv.slice(2, 4).map((url) => url.replace(/\/$/, ""));
const token = process.argv[4];
const executablePath = process.env.CODEWEAVER_TEST_CHROMIUM ?? "/usr/bin/chromium";
const TIMEOUT_MS = 20_000;
const QUERY = "retry a request with backoff";
const FILE = "src/net/retry.rs";
const HOSTILE = "src/<img src=x onerror=alert(1)>.py";

const PAGES = {
  start: "/",
  results: "/search?q=" + encodeURIComponent(QUERY),
  explained: "/search?explain=1&q=" + encodeURIComponent(QUERY),
  lines: "/search?q=" + encodeURIComponent('"backoff"'),
  nothing: "/search?q=" + encodeURIComponent('"no such text anywhere" lang:rust'),
  "filters only": "/search?q=lang:rust",
  file: "/file?path=" + FILE,
  symbol: "/symbol?symbol=retry_with_backoff",
  "unknown symbol": "/symbol?symbol=no_such_symbol",
  similar: "/similar?line=3&path=" + FILE,
  history: "/history?path=" + FILE,
  changes: "/changes?rev=HEAD&path=" + FILE,
  "all changes": "/changes?rev=HEAD~1",
  "uncommitted changes": "/changes",
  files: "/files",
  directory: "/files?path=src/net",
  status: "/status",
  skipped: "/skipped",
  help: "/help",
  error: "/file?path=no/such/file",
};

const browser = await chromium.launch({
  executablePath,
  args: [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
  ],
});
const failures = [];
let nChecks = 0;

// Runs `test` with a page of its own. Afterwards there is no error on its console and no request to another
// host.
async function check(name, test, { expectsErrors = false, ...options } = {}) {
  nChecks += 1;
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, ...options });
  const problems = [];
  try {
    context.setDefaultTimeout(TIMEOUT_MS);
    context.on("request", (request) => {
      if (!request.url().startsWith(base + "/") && !request.url().startsWith(tokenBase + "/")) problems.push("request to " + request.url());
    });
    const page = await context.newPage();
    page.on("pageerror", (error) => problems.push("error of the script: " + error.message));
    page.on("dialog", (dialog) => {
      problems.push("dialog: " + dialog.message());
      dialog.dismiss();
    });
    page.on("console", (message) => {
      if (message.type() === "error" && !expectsErrors) problems.push("console: " + message.text());
    });
    await test(page);
  } catch (error) {
    problems.unshift(error.stack ?? String(error));
  } finally {
    await context.close();
  }
  if (problems.length > 0) failures.push(name + ":\n    " + problems.join("\n    "));
}

const paths = (page) => page.locator(".result .open").allInnerTexts();
const focused = (page) => page.evaluate(() => document.activeElement?.innerText || document.activeElement?.id);

// Waits for the first one: a page that is being left has no lines that can be read.
async function selectedLines(page) {
  const lines = page.locator(".line.selected .n");
  await lines.first().waitFor();
  return lines.allInnerTexts();
}

// Waits until the address of the page satisfies `matches`, and returns it. A script has changed it a moment
// before the browser says so.
async function address(page, matches) {
  await page.waitForURL(matches);
  return new URL(page.url());
}

async function open(page, path) {
  const response = await page.goto(base + path);
  await page.waitForLoadState("load");
  return response;
}

await check("results while typing", async (page) => {
  await open(page, "/");
  assert.equal(await focused(page), "q", "the box has the focus");
  await page.keyboard.type(QUERY, { delay: 10 });
  await page.locator(".result").first().waitFor();
  await page.waitForURL((url) => url.searchParams.get("q") === QUERY);
  await page.waitForFunction(() => !document.body.classList.contains("busy"));
  assert.match((await paths(page))[0], /^src\/net\/retry\.rs:\d+$/);
  assert.equal(await page.inputValue("#q"), QUERY, "nothing that was typed is lost");
  assert.equal(await focused(page), "q", "the box keeps the focus");
  assert.ok((await page.title()).startsWith(QUERY));
  assert.match(await page.locator("#announce").innerText(), /match/);
  assert.ok((await page.locator(".result mark").count()) > 0, "words are highlighted");
  // An expression that is no valid one yet is said to be so, and what follows is searched.
  await page.fill("#q", "/(/");
  await page.locator(".failure").waitFor();
  await page.fill("#q", '"backoff"');
  await page.locator(".result mark", { hasText: "backoff" }).first().waitFor();
  await page.fill("#q", "");
  await page.locator(".home").waitFor();
  await page.waitForURL(base + "/");
});

await check("results of the last query only", async (page) => {
  await open(page, "/");
  // The first answer arrives after the second, or is given up by then.
  let answer;
  const late = new Promise((resolve) => (answer = resolve));
  await page.route("**/results?q=slow*", async (route) => {
    await late;
    await route.continue().catch(() => {});
  });
  await page.fill("#q", "slow");
  const request = await page.waitForRequest("**/results?q=slow*");
  const answered = request.response().catch(() => null);
  await page.fill("#q", QUERY);
  await page.locator(".result").first().waitFor();
  answer();
  await answered;
  // The script has handled what arrived before a request that begins now is answered.
  await page.evaluate(() => fetch("/status").then((response) => response.text()));
  assert.match((await paths(page))[0], /retry\.rs/);
  assert.equal(new URL(page.url()).searchParams.get("q"), QUERY);
}, { expectsErrors: true });

await check("back and forward", async (page) => {
  await open(page, PAGES.help);
  await page.fill("#q", QUERY);
  await page.locator(".result").first().waitFor();
  await page.keyboard.press("Enter");
  await page.fill("#q", "session token");
  await page.locator(".result", { hasText: "session" }).first().waitFor();
  await page.keyboard.press("Enter");
  await page.goBack();
  await page.waitForFunction((query) => document.querySelector("#q").value === query, QUERY);
  await page.locator(".result .open", { hasText: "retry.rs" }).first().waitFor();
});

await check("filters", async (page) => {
  await open(page, PAGES.results);
  const before = await paths(page);
  assert.ok(before.some((path) => !path.includes(".rs")), "several languages: " + before);
  await page.locator("#filters a", { hasText: /^rust$/ }).click();
  await page.waitForURL((url) => url.searchParams.get("q").endsWith("lang:rust"));
  assert.equal(await page.inputValue("#q"), QUERY + " lang:rust");
  const after = await paths(page);
  assert.ok(after.length > 0 && after.every((path) => path.includes(".rs")), String(after));
  await page.locator("#filters .active a").click();
  await page.waitForURL((url) => url.searchParams.get("q") === QUERY);
  assert.deepEqual(await paths(page), before);
  await page.locator("#filters a", { hasText: "Leave tests out" }).click();
  await page.waitForURL((url) => url.searchParams.get("tests") === "0");
  assert.ok((await paths(page)).every((path) => !path.startsWith("tests/")));
});

await check("uncommitted files", async (page) => {
  await open(page, "/search?q=" + encodeURIComponent("draft of a scheduler"));
  const first = page.locator(".result").first();
  assert.match(await first.innerText(), /scheduler\.py.*untracked/s);
  await open(page, "/search?q=" + encodeURIComponent("draft of a scheduler state:untracked"));
  assert.deepEqual(await page.locator(".result .badge").allInnerTexts(), ["untracked"]);
});

await check("keys only", async (page) => {
  await open(page, PAGES.help);
  await page.keyboard.press("/");
  assert.equal(await focused(page), "q");
  await page.keyboard.type(QUERY);
  await page.locator(".result").nth(1).waitFor();
  await page.waitForFunction(() => !document.body.classList.contains("busy"));
  const [first, second] = await paths(page);
  await page.keyboard.press("ArrowDown");
  assert.equal(await focused(page), first);
  await page.keyboard.press("j");
  assert.equal(await focused(page), second);
  await page.keyboard.press("k");
  assert.equal(await focused(page), first);
  await page.keyboard.press("Escape");
  assert.equal(await focused(page), "q");
  await page.keyboard.press("Escape");
  assert.equal(await focused(page), first);
  await page.keyboard.press("Enter");
  await page.waitForURL("**/file?**");
  assert.ok((await selectedLines(page)).length > 0, "the lines of the result are selected");
  await page.keyboard.press("y");
  const url = await address(page, ({ searchParams }) => /^[0-9a-f]{40}$/.test(searchParams.get("blob")));
  assert.match(url.hash, /^#L\d+/);
  const text = await page.locator("#text").innerText();
  await open(page, url.pathname + url.search + url.hash);
  assert.equal(await page.locator("#text").innerText(), text);
  assert.ok((await selectedLines(page)).length > 0);
  await page.keyboard.press("?");
  await page.waitForURL("**/help");
});

await check("the tab key", async (page) => {
  await open(page, PAGES.results);
  await page.keyboard.press("Tab");
  assert.equal(await focused(page), "Skip to the content");
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => document.activeElement.id === "main");
  await page.keyboard.press("Tab");
  await page.waitForFunction(() => {
    const [main, focused] = [document.querySelector("#main"), document.activeElement];
    return focused !== main && main.contains(focused);
  });
  const outline = await page.evaluate(() => getComputedStyle(document.activeElement).outlineStyle);
  assert.notEqual(outline, "none", "the focus is visible");
});

await check("lines of a file", async (page) => {
  await open(page, PAGES.file);
  await page.locator("#L2 .n").click();
  await address(page, ({ hash }) => hash === "#L2");
  await page.locator("#L4 .n").click({ modifiers: ["Shift"] });
  await address(page, ({ hash }) => hash === "#L2-L4");
  assert.deepEqual(await selectedLines(page), ["2", "3", "4"]);
  await page.reload();
  assert.deepEqual(await selectedLines(page), ["2", "3", "4"]);
  await open(page, "/file?lines=3-4&path=" + FILE + "#L3");
  assert.deepEqual(await selectedLines(page), ["3", "4"]);
  await page.locator("#outline a", { hasText: "retry_with_backoff" }).first().click();
  await address(page, ({ hash }) => /^#L\d+$/.test(hash));
  await page.locator("#outline a.uses").first().click();
  await page.waitForURL("**/symbol?**");
  assert.match(await page.locator("main").innerText(), /fetch_page/, "its caller");
  await page.locator("details.history summary").click();
  await page.locator(".commits li", { hasText: "say why there is no jitter" }).waitFor();
});

await check("revisions", async (page) => {
  await open(page, PAGES.file);
  await page.fill("#rev", "HEAD~1");
  await page.locator(".rev button").click();
  await page.waitForURL((url) => url.searchParams.get("rev") === "HEAD~1");
  assert.ok(!(await page.locator("#text").innerText()).includes("jitter"));
  await open(page, PAGES.history);
  assert.equal(await page.locator(".commits li").count(), 2);
});

await check("changes", async (page) => {
  await open(page, PAGES.history);
  await page.locator(".commits li", { hasText: "say why there is no jitter" }).locator("a", { hasText: "Changes" }).click();
  await page.waitForURL("**/changes?**");
  assert.deepEqual(await page.locator(".line.added code").allTextContents(), ["    // No jitter: there is one client.\n"]);
  assert.equal(await page.locator(".line.removed").count(), 0);
  assert.ok(await page.locator(".line.added code .c").count() > 0, "the comment has its colour");
  await page.locator(".line.added a.n").click();
  await page.waitForURL("**/file?**");
  assert.equal((await selectedLines(page)).length, 1);
  await open(page, PAGES["uncommitted changes"]);
  assert.match(await page.locator("main").innerText(), /scheduler\.py/);
});

await check("copying", async (page) => {
  await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
  await open(page, PAGES.results + encodeURIComponent(" lang:rust"));
  await page.locator("details.copy summary").click();
  await page.locator("button[data-copy=copy-command]").click();
  const copied = await page.evaluate(() => navigator.clipboard.readText());
  assert.equal(copied, `git codeweaver search '${QUERY} lang:rust'`);
  const call = JSON.parse(await page.locator("#copy-call").innerText());
  assert.deepEqual(call, { name: "find_code", arguments: { query: `${QUERY} lang:rust` } });
});

await check("pasted lines", async (page) => {
  await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
  await open(page, "/");
  const trace = "thread 'main' panicked\n  at src/net/retry.rs:5\n  in retry_with_backoff";
  await page.evaluate((text) => navigator.clipboard.writeText(text), trace);
  await page.locator("#q").press("Control+v");
  await page.locator(".result").first().waitFor();
  assert.equal(await page.inputValue("textarea#q"), trace);
  await address(page, ({ searchParams }) => searchParams.get("q") === trace);
  assert.match((await paths(page))[0], /retry\.rs/);
  await page.reload();
  assert.equal(await page.inputValue("textarea#q"), trace);
});

await check("without scripts", async (page) => {
  await open(page, "/");
  await page.fill("#q", QUERY);
  await page.locator(".search button").click();
  await page.waitForURL("**/search?**");
  assert.match((await paths(page))[0], /retry\.rs/);
  await page.locator(".result .open").first().click();
  await page.waitForURL("**/file?**");
  assert.match(await page.locator("#text").innerText(), /fn retry_with_backoff/);
  assert.ok((await selectedLines(page)).length > 0, "the lines of the result are selected");
  await page.locator("header nav a", { hasText: "Index" }).click();
  assert.match(await page.locator("#status").innerText(), /up to date/);
  for (const path of Object.values(PAGES)) {
    await open(page, path);
    assert.ok((await page.locator("main").innerText()).length > 10, path);
    assert.equal(await page.locator("button[data-copy]:visible").count(), 0, "no button without its script");
  }
}, { javaScriptEnabled: false, expectsErrors: true });

await check("code begins at one column, and tabs are even", async (page) => {
  await open(page, "/file?path=src/tabs.go");
  const [starts, tabs] = await page.evaluate(() => {
    const codes = [...document.querySelectorAll(".line code")];
    const width = (text) => {
      const range = document.createRange();
      range.setStart(text, 0);
      range.setEnd(text, 1);
      return Math.round(range.getBoundingClientRect().width);
    };
    const texts = codes.map((code) => code.firstChild).filter((node) => node.data?.startsWith("\t"));
    return [codes.map((code) => code.getBoundingClientRect().x), texts.map(width)].map((all) => [...new Set(all)]);
  });
  assert.equal(starts.length, 1, `code begins at ${starts}`);
  assert.equal(tabs.length, 1, `tabs are ${tabs} wide`);
});

await check("code is coloured, and a name in it shows its definition", async (page) => {
  await open(page, "/file?path=src/net/fetch.rs");
  const colours = await page.evaluate(() =>
    [".k", ".t", ".f", ".c"].map((piece) => getComputedStyle(document.querySelector("#text " + piece) ?? document.body).color),
  );
  assert.ok(new Set([colours[0], colours[2], colours[3]]).size === 3, String(colours));
  await page.locator("#text .f", { hasText: "retry_with_backoff" }).hover();
  const card = page.locator("#card");
  await card.locator(".code", { hasText: "let mut backoff" }).waitFor();
  assert.match(await card.innerText(), /src\/net\/retry\.rs:4/);
  await page.keyboard.press("Escape");
  await card.waitFor({ state: "hidden" });
  // A part of the name is highlighted here; the whole is looked up.
  await open(page, PAGES.lines);
  await page.locator(".result .f mark, .result mark .f, .result .f", { hasText: "backoff" }).first().click();
  await card.locator("h2 a", { hasText: "retry_with_backoff" }).click();
  await page.waitForURL("**/symbol?**");
  assert.match(await page.locator("main h1").innerText(), /retry_with_backoff/);
});

await check("a use shows its line of code", async (page) => {
  await open(page, PAGES.symbol);
  const line = page.locator(".places li", { hasText: "fetch.rs:5" }).locator(".line");
  assert.equal(await line.textContent(), "retry_with_backoff(|| url.len() > 3)");
  assert.deepEqual(await line.locator("mark").allTextContents(), ["retry_with_backoff"]);
  assert.equal(await line.locator(".i").textContent(), "3");
  await line.locator(".f").first().hover();
  await page.locator("#card .code", { hasText: "let mut backoff" }).waitFor();
});

await check("an error leads on", async (page) => {
  await open(page, "/file?path=no/such/retry.rs");
  await page.locator(".failure a", { hasText: "Search for retry.rs" }).click();
  await page.locator(".result").first().waitFor();
  assert.match((await paths(page))[0], /retry\.rs/);
}, { expectsErrors: true });

await check("hostile names and texts are text", async (page) => {
  await open(page, "/search?q=" + encodeURIComponent("hostile <b>bold</b> constant"));
  const result = page.locator(".result", { hasText: "onerror" });
  assert.match(await result.innerText(), /<img src=x onerror=alert\(1\)>\.py/);
  assert.match(await result.innerText(), /<script>alert\(2\)<\/script>/);
  assert.match(await result.innerText(), /\\u\{202e\}/);
  assert.equal(await page.locator("main img, main script, main b").count(), 0);
  assert.equal(await page.inputValue("#q"), "hostile <b>bold</b> constant");
  for (const path of ["/file?path=", "/history?path=", "/changes?rev=HEAD~1&path=", "/symbol?symbol="]) {
    await open(page, path + encodeURIComponent(HOSTILE));
    assert.equal(await page.locator("main img, main script").count(), 0, path);
    assert.match(await page.locator("main h1").innerText(), /<img src=x onerror=alert\(1\)>/, path);
  }
  await open(page, "/files?path=src");
  assert.match(await page.locator("main").innerText(), /<img src=x onerror=alert\(1\)>\.py/);
}, { expectsErrors: true });

await check("secrets are not served", async (page) => {
  const response = await open(page, "/file?path=.env");
  assert.equal(response.status(), 403);
  assert.ok(!(await page.content()).includes("hunter2"));
  await open(page, PAGES.skipped);
  assert.match(await page.locator("main").innerText(), /secret/i);
}, { expectsErrors: true });

if (tokenBase) {
  await check("token", async (page) => {
    await page.goto(tokenBase + PAGES.file);
    assert.equal(await focused(page), "token");
    await page.evaluate(axe + "\n;0");
    assert.deepEqual((await page.evaluate(() => axe.run())).violations, []);
    await page.keyboard.type("a wrong one");
    await page.keyboard.press("Enter");
    await page.locator("[role=alert]").waitFor();
    await page.locator("#token").fill(token);
    await page.keyboard.press("Enter");
    await page.locator(".home").waitFor();
    await page.goto(tokenBase + PAGES.file);
    assert.match(await page.locator("#text").innerText(), /fn retry_with_backoff/);
  }, { expectsErrors: true, bypassCSP: true });
}

await check("policy and caching", async (page) => {
  const response = await open(page, PAGES.results);
  const policy = response.headers()["content-security-policy"];
  assert.match(policy, /default-src 'none'/);
  assert.ok(!policy.includes("unsafe"));
  const style = await page.locator("link[rel=stylesheet]").getAttribute("href");
  const asset = await page.request.get(base + style);
  assert.match(asset.headers()["cache-control"], /immutable/);
  assert.equal(await page.locator("[style], script:not([src])").count(), 0, "nothing inline");
});

await check("narrow windows", async (page) => {
  for (const [name, path] of Object.entries(PAGES)) {
    await open(page, path);
    for (const width of [390, 320]) {
      await page.setViewportSize({ width, height: 700 });
      const [content, window] = await page.evaluate(() => {
        const root = document.documentElement;
        return [root.scrollWidth, root.clientWidth];
      });
      assert.equal(window, width, "the window is as narrow as it was made");
      assert.ok(content <= window, `${name} is ${content} pixels wide in ${width}`);
    }
  }
}, { expectsErrors: true });

// The schemes differ in their colours alone, which two of the rules are about.
const RULES_OF_SCHEMES = {
  light: {},
  dark: { runOnly: { type: "rule", values: ["color-contrast", "link-in-text-block"] } },
};

await check("accessibility", async (page) => {
  const found = [];
  for (const [name, path] of Object.entries(PAGES)) {
    await open(page, path);
    await page.evaluate(() => document.querySelectorAll("details").forEach((it) => (it.open = true)));
    await page.evaluate(axe + "\n;0");
    const backgrounds = [];
    for (const [colorScheme, rules] of Object.entries(RULES_OF_SCHEMES)) {
      await page.emulateMedia({ colorScheme });
      backgrounds.push(await page.evaluate(() => getComputedStyle(document.body).backgroundColor));
      const { violations } = await page.evaluate((rules) => axe.run(rules), rules);
      for (const { id, help, nodes } of violations) {
        const places = nodes.slice(0, 3).map((node) => node.html.slice(0, 200));
        found.push(`${name}, ${colorScheme}: ${id} (${help}): ${places.join(" | ")}`);
      }
    }
    assert.notEqual(backgrounds[0], backgrounds[1], `${name} has two schemes`);
  }
  assert.deepEqual(found, []);
}, { expectsErrors: true, bypassCSP: true });

await browser.close();
if (failures.length > 0) {
  console.error(failures.join("\n\n"));
  console.error(`${failures.length} of ${nChecks} checks failed`);
  process.exit(1);
}
console.log(`${nChecks} checks passed`);
