// The page: one question at a time, its answer as it comes, its sources.

import { ask, Trouble } from "./stream.js";
import { language, text, translate } from "./texts.js";
import { drawAnswer, drawNearest, drawSources, make, openSource } from "./view.js";

const at = (id) => document.getElementById(id);
const [form, question, go, result] = ["ask", "question", "go", "result"].map(at);
const sources = document.querySelector("#sources ol");
let running = null;

translate(document);
question.placeholder = text.placeholder;
drawExamples();
grow(); // a browser may have kept what was written before a reload
form.addEventListener("submit", (event) => {
  event.preventDefault();
  if (running) running.abort();
  else start(question.value.trim());
});
question.addEventListener("keydown", (event) => {
  // Enter asks, but not the Enter that ends the writing of a Chinese word.
  if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
    event.preventDefault();
    if (!running) form.requestSubmit();
  }
});
question.addEventListener("input", grow);

function drawExamples() {
  const place = at("examples");
  place.setAttribute("aria-label", text.examples);
  for (const example of text.try) {
    const button = make("button", "example", example);
    button.type = "button";
    button.addEventListener("click", () => {
      if (running) return;
      question.value = example;
      grow();
      form.requestSubmit();
    });
    place.append(button);
  }
}

function grow() {
  question.style.height = "auto";
  question.style.height = `${question.scrollHeight}px`;
}

async function start(asked) {
  if (!asked) return question.focus();
  running = new AbortController();
  clear(asked);
  try {
    await follow(asked, running.signal);
  } catch (error) {
    complain(error, asked);
  } finally {
    running = null;
    go.textContent = text.ask;
    result.classList.remove("streaming");
  }
}

function clear(asked) {
  result.hidden = false;
  at("examples").hidden = true;
  result.className = "result streaming";
  at("asked").textContent = asked;
  at("answer").replaceChildren();
  sources.replaceChildren();
  at("facts").textContent = "";
  for (const id of ["verdict", "sources", "nearest"]) at(id).hidden = true;
  at("status").textContent = text.searching;
  go.textContent = text.stop;
}

/** Draw the answer while it comes. A mark becomes a button as soon as its citation is known. */
async function follow(asked, signal) {
  const citations = [];
  let said = "";
  for await (const { name, data } of ask(asked, signal)) {
    if (name === "retrieval") at("status").textContent = text.reading(data.retrieved.length);
    if (name === "citation") citations.push(data);
    if (name === "delta") said += data.text;
    if (name === "delta" || name === "citation") show(said, citations);
    if (name === "done") finish(data);
  }
}

function show(said, citations) {
  drawAnswer(at("answer"), said, citations, (number, from) => openSource(sources, number, from));
  drawSources(sources, citations);
  at("sources").hidden = citations.length === 0;
}

function finish(answer) {
  show(answer.answer, answer.citations);
  result.classList.toggle("unanswered", !answer.answered);
  at("verdict").hidden = answer.answered;
  at("verdict").textContent = text.unanswered;
  drawNearest(document.querySelector("#nearest ul"), answer.nearest);
  at("nearest").hidden = answer.nearest.length === 0;
  at("facts").textContent = facts(answer).join(" · ");
  at("status").textContent = "";
}

function facts(answer) {
  const said = [];
  if (answer.answered) said.push(answer.mode === "llm" ? text.by(answer.model) : text.verbatim);
  if (answer.dropped) said.push(text.dropped(answer.dropped));
  const seconds = new Intl.NumberFormat(language, { maximumFractionDigits: 1, style: "unit", unit: "second" });
  if (answer.timings_ms.total) said.push(seconds.format(Math.max(0.1, answer.timings_ms.total / 1000)));
  return [...said, ...answer.degraded];
}

/** An error as a sentence, with a way on. */
function complain(error, asked) {
  const status = at("status");
  if (error.name === "AbortError") {
    status.textContent = text.stopped;
    return;
  }
  if (!(error instanceof Trouble)) console.error(error);
  const { kind = "other", problem = {} } = error;
  const again = make("button", "again", text.again);
  again.type = "button";
  again.addEventListener("click", () => start(asked));
  const reference = problem.request_id ? make("span", "quiet", text.reference(problem.request_id)) : null;
  status.replaceChildren(make("span", "trouble", text.errors[kind] ?? text.errors.other), again);
  if (reference) status.append(reference);
}
