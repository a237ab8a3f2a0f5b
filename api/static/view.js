// Drawing: everything that came from outside is set as text, never as markup.

import { paper as fetchPaper } from "./stream.js";
import { text } from "./texts.js";

export function make(tag, className, ...children) {
  const element = document.createElement(tag);
  if (className) element.className = className;
  element.append(...children.filter((child) => child !== null));
  return element;
}

/** Words as they are read: TeX's \\% is a per cent sign. Offsets are applied before, on the text as it is stored. */
function readable(words) {
  return words.replace(/\\([%&#_])/g, "$1");
}

/** The answer with each cited [n] as a button that calls `open(n)`; other brackets stay text. */
export function drawAnswer(place, said, citations, open) {
  const cited = new Map(citations.map((citation) => [citation.number, citation.paper]));
  const parts = said.split(/\[(\d+)\]/);
  place.replaceChildren(...parts.map((part, at) => (at % 2 ? mark(Number(part), cited, open) : readable(part))));
}

function mark(number, cited, open) {
  if (!cited.has(number)) return `[${number}]`;
  const button = make("button", "mark", String(number));
  button.type = "button";
  button.setAttribute("aria-label", text.mark(number, title(cited.get(number))));
  button.addEventListener("click", () => open(number, button));
  return button;
}

/** One card a number; a paper that is quoted twice has one card with both quotes. What a reader opened stays open. */
export function drawSources(list, citations) {
  const there = new Map([...list.children].map((item) => [item.id, item]));
  const numbers = [...new Set(citations.map((citation) => citation.number))].sort((a, b) => a - b);
  const cards = numbers.map((number) => {
    const quotes = citations.filter((one) => one.number === number);
    const old = there.get(`source-${number}`);
    return old && old.quotes.length === quotes.length ? old : card(quotes);
  });
  if (cards.some((item, at) => list.children[at] !== item)) list.replaceChildren(...cards);
}

function card(citations) {
  const [{ number, paper }] = citations;
  const toggle = make("button", "card-head", make("span", "number", String(number)), name(paper));
  const body = make("div", "card-body");
  const item = make("li", "card", toggle, details(paper), body);
  toggle.type = "button";
  item.id = `source-${number}`;
  item.quotes = citations;
  body.hidden = true;
  toggle.setAttribute("aria-expanded", "false");
  toggle.addEventListener("click", () => setOpen(item, body.hidden));
  return item;
}

/** Open the card of `number` and close the others; focus goes there and Escape brings it back. */
export function openSource(list, number, from) {
  for (const item of list.children) setOpen(item, item.id === `source-${number}`);
  const head = list.querySelector(`#source-${number} .card-head`);
  head.focus({ preventScroll: true });
  head.closest("li").scrollIntoView({ block: "start", behavior: calm() ? "auto" : "smooth" });
  showQuote(head.closest("li"));
  head.onkeydown = (event) => event.key === "Escape" && from.isConnected && from.focus();
}

function setOpen(item, open) {
  const body = item.querySelector(".card-body");
  body.hidden = !open;
  item.classList.toggle("open", open);
  item.querySelector(".card-head").setAttribute("aria-expanded", String(open));
  if (open && !body.hasChildNodes()) fill(body, item.quotes);
}

/** Bring the quoted words into view: on a phone the abstract is longer than the screen. */
function showQuote(place) {
  const quote = place.querySelector(".card-body:not([hidden]) mark");
  if (quote) quote.scrollIntoView({ block: "center", behavior: calm() ? "auto" : "smooth" });
}

async function fill(body, quotes) {
  body.replaceChildren(make("p", "quiet", text.opening));
  try {
    const { abstract } = await fetchPaper(quotes[0].paper.id);
    body.replaceChildren(highlighted(abstract, quotes));
  } catch {
    const told = quotes.map((one) => make("p", "abstract", make("mark", "", readable(one.quote))));
    body.replaceChildren(make("p", "quiet", text.noAbstract), ...told);
  }
  showQuote(body.parentElement);
}

/** The abstract with every quote marked. Offsets count code points, JavaScript's strings UTF-16 units. */
function highlighted(abstract, quotes) {
  const points = Array.from(abstract);
  const cut = (from, to) => readable(points.slice(from, to).join(""));
  const place = make("p", "abstract");
  place.dir = "auto";
  let at = 0;
  for (const { start, end } of [...quotes].sort((a, b) => a.start - b.start)) {
    if (start < at) continue;
    place.append(cut(at, start), make("mark", "", cut(start, end)));
    at = end;
  }
  place.append(cut(at));
  return place;
}

/** Papers that are no sources: without numbers, quotes or marks. */
export function drawNearest(list, papers) {
  list.replaceChildren(...papers.map((paper) => make("li", "", name(paper), details(paper))));
}

function title(paper) {
  return paper.title || text.untitled;
}

function name(paper) {
  const shown = make("span", "title", title(paper));
  shown.dir = "auto";
  if (paper.title_derived) {
    shown.classList.add("derived");
    shown.title = text.derived;
  }
  return shown;
}

function details(paper) {
  const where = [paper.venue, paper.year].filter((part) => part !== null && part !== undefined).join(" ");
  const said = [paper.authors.join(", "), where].filter(Boolean).join(" · ");
  const address = safeAddress(paper.url);
  if (!said && !address) return null;
  const line = make("p", "details", said);
  if (address) {
    const link = make("a", "", text.link);
    Object.assign(link, { href: address, target: "_blank", rel: "noopener noreferrer" });
    line.append(said ? " · " : "", link);
  }
  return line;
}

/** Only addresses of the web become links. */
function safeAddress(address) {
  const parsed = address && URL.canParse(address) ? new URL(address) : null;
  return parsed && ["https:", "http:"].includes(parsed.protocol) ? parsed.href : null;
}

function calm() {
  return matchMedia("(prefers-reduced-motion: reduce)").matches;
}
