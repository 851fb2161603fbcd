// What pages do beyond HTML: results while typing, keys, selected lines, definitions of names, copying, a state
// that stays current.
// Every page works without it.
"use strict";

const DEBOUNCE_MS = 120;
const $ = (selector, root = document) => root.querySelector(selector);
const all = (selector, root = document) => [...root.querySelectorAll(selector)];
const main = $("#main");
const form = $("form.search");

/* Results while typing */

let box = $("#q");
let timer = 0;
let running = null;
// The query whose results are shown.
let shown = box ? box.value : "";

const isSearch = () => ["/", "/search"].includes(location.pathname);

// The parameters of the form; without a query, those of the start page.
function parameters() {
  const given = new URLSearchParams();
  for (const [name, value] of new FormData(form)) {
    if (value.trim() !== "") given.append(name, value);
  }
  return given.has("q") ? given : new URLSearchParams();
}

// Shows the results of `search` in place of the page. An answer to an earlier query is never shown.
async function load(search) {
  running?.abort();
  const own = (running = new AbortController());
  document.body.classList.add("busy");
  try {
    const response = await fetch("/results?" + search, { signal: own.signal });
    if (!(response.headers.get("content-type") ?? "").startsWith("text/html")) {
      location.reload(); // The token is needed again.
      return;
    }
    const text = await response.text();
    if (own.signal.aborted) return;
    // The server escapes whatever comes from a repository, and the policy of the page runs no other scripts.
    main.innerHTML = text;
    prepare(main);
    const query = search.get("q");
    document.title = (query ? query + " · " : "") + document.documentElement.dataset.name;
    $("#announce").textContent = ($("#summary", main) ?? $("h1", main))?.textContent ?? "";
    window.scrollTo(0, 0);
  } catch (error) {
    if (error.name !== "AbortError") $("#announce").textContent = "The server does not answer.";
  } finally {
    if (running === own) document.body.classList.remove("busy");
  }
}

// Asks for what is in the box, unless its results are shown already.
function ask(remember) {
  clearTimeout(timer);
  const search = parameters();
  const url = search.size > 0 ? "/search?" + search : "/";
  const isNew = box.value !== shown;
  shown = box.value;
  // The first query from another page is an entry of its own, so that Back leads there again.
  const isElsewhere = !isSearch();
  history[remember || isElsewhere ? "pushState" : "replaceState"](null, "", url);
  return isNew || isElsewhere ? load(search) : undefined;
}

function listenTo(input) {
  input.addEventListener("input", (event) => {
    clearTimeout(timer);
    if (!event.isComposing) timer = setTimeout(ask, DEBOUNCE_MS, false);
  });
  input.addEventListener("compositionend", () => {
    timer = setTimeout(ask, DEBOUNCE_MS, false);
  });
  // Pasted lines, such as those of a stack trace, need a box with lines.
  input.addEventListener("paste", (event) => {
    const text = event.clipboardData.getData("text/plain").trim();
    if (input.tagName !== "INPUT" || !text.includes("\n")) return;
    event.preventDefault();
    const area = document.createElement("textarea");
    Object.assign(area, { id: "q", name: "q", rows: 4, spellcheck: false });
    area.value = input.value.slice(0, input.selectionStart) + text + input.value.slice(input.selectionEnd);
    input.replaceWith(area);
    box = area;
    listenTo(area);
    area.focus();
    ask(true);
  });
}

if (form) {
  listenTo(box);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    ask(true);
  });
  // Back and forward among searches; other pages are loaded by the browser.
  window.addEventListener("popstate", () => {
    if (!isSearch() || box.tagName !== "INPUT") return location.reload();
    const search = new URLSearchParams(location.search);
    box.value = shown = search.get("q") ?? "";
    load(search);
  });
}

/* Keys */

const isEditable = (element) => element.matches("input, textarea, select, [contenteditable]");

// The links among which the arrows move: results, else files.
function stops() {
  return all(".open", main);
}

function move(step) {
  const links = stops();
  const at = links.indexOf(document.activeElement);
  if (at + step < 0) return box?.focus();
  const next = links[at < 0 && step < 0 ? links.length - 1 : Math.min(at + step, links.length - 1)];
  next?.focus({ preventScroll: true });
  (next?.closest(".result") ?? next)?.scrollIntoView({ block: "nearest" });
}

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
  const inBox = event.target === box;
  if (inBox && event.key === "Enter" && box.tagName === "TEXTAREA" && !event.shiftKey) {
    event.preventDefault();
    return form.requestSubmit();
  }
  const isLastLine = inBox && !box.value.slice(box.selectionEnd).includes("\n");
  if (inBox && ((event.key === "ArrowDown" && isLastLine) || event.key === "Escape")) {
    event.preventDefault();
    return stops().length > 0 ? move(1) : (box.blur(), main.focus());
  }
  if (isEditable(event.target)) return;
  // Code scrolls with the arrows while it has the focus.
  const scrolls = event.target.closest(".code, pre, summary") && event.key.startsWith("Arrow");
  const actions = {
    "/": () => (box?.focus(), box?.select()),
    Escape: () => box?.focus(),
    "?": () => location.assign("/help"),
    y: () => permalink(),
    j: () => move(1),
    k: () => move(-1),
    ArrowDown: () => move(1),
    ArrowUp: () => move(-1),
  };
  const hasStops = stops().length > 0 || !["j", "k", "ArrowDown", "ArrowUp"].includes(event.key);
  if (Object.hasOwn(actions, event.key) && hasStops && !scrolls) {
    event.preventDefault();
    actions[event.key]();
  }
});

// Changes the address into one that always shows these contents.
function permalink() {
  const link = $("#permalink");
  if (!link) return;
  const url = new URL(link.href);
  const range = selected();
  if (range) url.hash = hashOf(range);
  history.replaceState(null, "", url);
  navigator.clipboard?.writeText(url.href).catch(() => {}); // Browsers may refuse; the address is there.
  $("#announce").textContent = "The address is a permanent link.";
}

/* Selected lines: `#L10-L20` */

const hashOf = ([first, last]) => "#L" + first + (last > first ? "-L" + last : "");

// The lines that the address names: by its fragment, else by the parameter `lines`.
function selected() {
  const inHash = /^#L(\d+)(?:-L(\d+))?$/.exec(location.hash);
  const parameter = /^(\d+)(?:-(\d+))?$/.exec(new URLSearchParams(location.search).get("lines") ?? "");
  const found = inHash && !(parameter && !inHash[2] && inHash[1] === parameter[1]) ? inHash : parameter;
  if (!found) return null;
  const [a, b] = [Number(found[1]), Number(found[2] ?? found[1])];
  return [Math.min(a, b), Math.max(a, b)];
}

function showSelected(isScrolled) {
  const range = selected();
  for (const line of all(".whole .line.selected")) line.classList.remove("selected");
  $(".whole")?.classList.toggle("ranged", range !== null);
  if (!range) return;
  const [first, last] = range;
  for (let number = first; number <= last; number++) {
    const line = document.getElementById("L" + number);
    if (!line) break;
    line.classList.add("selected");
  }
  if (isScrolled) document.getElementById("L" + first)?.scrollIntoView({ block: "start" });
}

const text = $("#text");
if (text) {
  text.addEventListener("click", (event) => {
    const number = Number(event.target.closest("a.n")?.textContent);
    if (!number || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    const start = event.shiftKey ? selected()?.[0] ?? number : number;
    const url = new URL(location.href);
    url.searchParams.delete("lines");
    url.hash = hashOf([Math.min(start, number), Math.max(start, number)]);
    history.replaceState(null, "", url);
    showSelected(false);
  });
  window.addEventListener("hashchange", () => showSelected(true));
  showSelected(location.hash.includes("-"));
}

/* Names in code: a card with the definition */

const CARD_DELAY_MS = 300;
const CARD_LINES = 12;
let card = null;
let cardTimer = 0;
// The element whose name the card is about, or will be.
let named = null;

const pieceAt = (target) => target.closest?.(".line .f, .line .t") ?? null;

// The whole name of which an element shows all or, next to a highlighted part, some.
function nameOf(piece) {
  const code = piece.closest("code");
  const before = document.createRange();
  before.setStart(code, 0);
  before.setEndBefore(piece);
  const at = before.toString().length;
  const [start] = /[\w$]*$/.exec(code.textContent.slice(0, at));
  const [end] = /^[\w$]*[?!]?/.exec(code.textContent.slice(at));
  return (start + end).replace(/!$/, "");
}

function hideCard() {
  clearTimeout(cardTimer);
  card?.remove();
  card = named = null;
}

// Shows the place and the first lines of a definition, taken from its page.
async function showCard(piece) {
  const search = new URLSearchParams({ symbol: nameOf(piece) });
  const rev = new URLSearchParams(location.search).get("rev");
  if (rev) search.set("rev", rev);
  const response = await fetch("/symbol?" + search).catch(() => null);
  if (!response?.ok || named !== piece || !piece.isConnected) return;
  const page = new DOMParser().parseFromString(await response.text(), "text/html");
  if (named !== piece) return;

  const [heading, code] = [$("#main h1", page), $("section.symbol .code", page)];
  if (!heading) return;
  const title = document.createElement("h2");
  const link = document.createElement("a");
  link.href = "/symbol?" + search;
  link.append(...heading.childNodes);
  title.append(link);
  for (const line of all(".line", code ?? page).slice(CARD_LINES)) line.remove();

  card?.remove();
  card = document.createElement("div");
  card.id = "card";
  card.role = "group";
  card.ariaLabel = "Definition";
  card.append(title, ...all("section.symbol > .facts, .nothing > p:first-of-type", page), ...(code ? [code] : []));
  main.append(card);
  const [at, room] = [piece.getBoundingClientRect(), document.documentElement.clientWidth - card.offsetWidth - 8];
  card.style.left = Math.max(8, Math.min(at.left, room)) + scrollX + "px";
  const fitsBelow = at.bottom + card.offsetHeight < innerHeight || at.top < card.offsetHeight;
  card.style.top = (fitsBelow ? at.bottom : at.top - card.offsetHeight) + scrollY + "px";
  card.addEventListener("pointerleave", hideCard);
}

function cardFor(piece, delay) {
  clearTimeout(cardTimer);
  named = piece;
  cardTimer = setTimeout(showCard, delay, piece);
}

document.addEventListener("pointerover", (event) => {
  if (event.pointerType !== "mouse" || card?.contains(event.target)) return;
  const piece = pieceAt(event.target);
  if (piece && piece !== named) cardFor(piece, CARD_DELAY_MS);
  if (!piece && !card) clearTimeout(cardTimer), (named = null);
});
document.addEventListener("click", (event) => {
  if (card?.contains(event.target)) return;
  const piece = pieceAt(event.target);
  // Text that is being selected is not asked for.
  if (piece && String(getSelection()) === "") cardFor(piece, 0);
  else hideCard();
});
document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape" || !card) return;
  event.stopPropagation();
  hideCard();
}, true);

/* Copying */

function prepare(root) {
  // An answer that there may be later, such as during the first index.
  const later = $("[data-retry]", root);
  if (later && isSearch()) setTimeout(() => later.isConnected && load(parameters()), Number(later.dataset.retry));
  for (const button of all("button[data-copy]", root)) {
    button.hidden = !navigator.clipboard;
    button.addEventListener("click", async () => {
      const label = button.innerHTML;
      try {
        await navigator.clipboard.writeText(document.getElementById(button.dataset.copy).textContent);
        button.textContent = "Copied";
      } catch {
        button.textContent = "The browser refuses";
      }
      setTimeout(() => (button.innerHTML = label), 1500);
    });
  }
}
prepare(document);

/* What is loaded when it is opened: a part of another page */

for (const details of all("details[data-load]")) {
  details.addEventListener("toggle", async () => {
    const place = $(".loaded", details);
    if (!details.open || place.childElementCount > 0) return;
    place.textContent = "…";
    const response = await fetch(details.dataset.load).catch(() => null);
    const page = response?.ok ? new DOMParser().parseFromString(await response.text(), "text/html") : null;
    place.replaceChildren(...(page ? all(details.dataset.part, page) : ["The server does not answer."]));
  });
}

/* The state of the index */

// Replaces the state by a current one, at the interval that it names.
async function refresh() {
  const state = $("#status");
  if (!state) return;
  if (!document.hidden) {
    const response = await fetch("/status").catch(() => null);
    const page = response?.ok ? new DOMParser().parseFromString(await response.text(), "text/html") : null;
    const current = page && $("#status", page);
    const isUsed = state.contains(document.activeElement) || String(getSelection()) !== "";
    if (current && state.isConnected && !isUsed) state.replaceWith(document.adoptNode(current));
  }
  setTimeout(refresh, Number($("#status")?.dataset.refresh) || 10000);
}
if ($("#status")) setTimeout(refresh, Number($("#status").dataset.refresh));
