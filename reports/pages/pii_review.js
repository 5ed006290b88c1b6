"use strict";
// Everything is set as text (textContent); nothing of a sample is ever read as markup. What is kept and downloaded are
// places (in code points, as the samples count them), categories and letters: no words.
const data = JSON.parse(document.getElementById("data").textContent);
const KEY = `clinaudit-review:${data.digest}`;
const categories = Object.fromEntries(data.categories.map((category) => [category.id, category]));
const stepNames = ["1 Identifiers", "2 Needed for the question", "3 Masked text"];
const byId = (id) => document.getElementById(id);
const points = data.samples.map((sample) => Array.from(sample.description));
const ofSample = Object.fromEntries(data.samples.map((sample) => [sample.id, sample]));
let state = { reviewer: "", reviews: {} };
let at = 0;
let step = 0;
let isKept = true;
let isDownloaded = true;

const make = (tag, cls, text) => {
  const node = document.createElement(tag);
  if (cls) node.className = cls;
  if (text !== undefined) node.textContent = text;
  return node;
};
const labelled = (name, control) => {
  const label = make("label", "", name + " ");
  label.append(control);
  return label;
};
const button = (name, act, cls) => {
  const node = make("button", cls, name);
  node.type = "button";
  node.addEventListener("click", act);
  return node;
};
const choice = (options, value) => {
  const node = make("select");
  for (const [key, name] of options) {
    const option = make("option", "", name);
    option.value = key;
    node.append(option);
  }
  if (value !== undefined) node.value = value;
  return node;
};
const say = (text) => { byId("kept").textContent = text; };

// What is kept between visits, in this browser alone.
try {
  const kept = JSON.parse(localStorage.getItem(KEY));
  if (kept) state = kept;
} catch { isKept = false; }
const keep = () => {
  isDownloaded = false;
  try {
    localStorage.setItem(KEY, JSON.stringify(state));
  } catch { isKept = false; }
  say(isKept ? "Kept in this browser. Download the review when you are done." :
    "This browser keeps nothing: download the review before you close the page.");
};

// A review of one sample, and whether it differs from the draft.
const sample = () => data.samples[at];
const wordsOf = (entity, text = points[at]) => text.slice(entity.start, entity.end).join("");
const sorted = (entities) => entities.sort((a, b) => a.start - b.start);
const review = () => {
  const { id, entities } = sample();
  state.reviews[id] ??= {
    entities: entities.map((entity) => ({ ...entity })), detection: null, query_related: null, masked: null,
  };
  return state.reviews[id];
};
const isDone = (each) => Boolean(each && each.detection && each.query_related && each.masked);
const placeKeys = (entities) => entities.map((e) => `${e.start} ${e.end} ${e.category} ${e.subject}`).sort().join("\n");
const neededKeys = (entities, text) =>
  [...new Set(entities.filter((e) => e.needed).map((e) => `${e.subject} ${wordsOf(e, text)}`))].sort().join("\n");
const decisions = () => {
  const draft = sample().entities;
  const { entities } = review();
  return {
    detection: placeKeys(draft) === placeKeys(entities) ? "accepted" : "corrected",
    query_related: neededKeys(draft) === neededKeys(entities) ? "accepted" : "corrected",
  };
};
/** After a change: what was decided before stays decided, as what it is now. */
const changed = () => {
  const now = decisions();
  const mine = review();
  for (const task of ["detection", "query_related"]) if (mine[task]) mine[task] = now[task];
  keep();
  render();
};
const subjects = () => [...new Set([...sample().entities, ...review().entities].map((e) => e.subject))].sort();
const nextLetter = () => {
  for (let i = 0; ; i += 1) {
    const letter = String.fromCharCode(65 + (i % 26)) + (i < 26 ? "" : Math.floor(i / 26));
    if (!subjects().includes(letter)) return letter;
  }
};

// The text, with its marks.
const shownText = (name, pieces) => {
  const box = make("pre", "text");
  box.tabIndex = 0;
  box.setAttribute("role", "group");
  box.setAttribute("aria-label", name);
  box.append(...pieces);
  return box;
};
const markedText = (name) => {
  const pieces = [];
  let from = 0;
  for (const entity of review().entities) {
    pieces.push(points[at].slice(from, entity.start).join(""));
    const mark = make("mark", entity.needed ? "needed" : "", wordsOf(entity));
    mark.dataset.subject = entity.subject;
    mark.title = `${categories[entity.category].name}, of ${entity.subject}${entity.needed ? ", needed" : ""}`;
    pieces.push(mark);
    from = entity.end;
  }
  pieces.push(points[at].slice(from).join(""));
  return shownText(name, pieces);
};
const maskedText = () => {
  const pieces = [];
  let from = 0;
  for (const entity of review().entities) {
    pieces.push(points[at].slice(from, entity.start).join(""));
    const tag = `<${categories[entity.category].tag}>`;
    pieces.push(entity.needed ? make("mark", "needed", wordsOf(entity)) : make("mark", "tag", tag));
    from = entity.end;
  }
  pieces.push(points[at].slice(from).join(""));
  return shownText("The text as it would be sent", pieces);
};

// Step 1: the identifiers.
const categoryChoice = (value) => {
  const node = make("select");
  for (const type of new Set(data.categories.map((category) => category.type))) {
    const group = make("optgroup");
    group.label = type;
    for (const category of data.categories.filter((each) => each.type === type)) {
      const option = make("option", "", category.name);
      option.value = category.id;
      group.append(option);
    }
    node.append(group);
  }
  if (value) node.value = value;
  return node;
};
const subjectChoice = (value) => {
  const options = subjects().map((letter) => [letter, letter]);
  const next = nextLetter();
  return choice([...options, [next, `${next}, new`]], value);
};
const entityTable = () => {
  const table = make("table");
  table.append(make("caption", "", `${review().entities.length} places are marked`));
  const head = make("tr");
  for (const name of ["Words", "Category", "Whose", "Place", "Mark"]) {
    const cell = make("th", "", name);
    cell.scope = "col";
    head.append(cell);
  }
  const body = make("tbody");
  for (const entity of review().entities) {
    const words = wordsOf(entity);
    const row = make("tr");
    const first = make("th", "", words);
    first.scope = "row";
    const controls = [
      [categoryChoice(entity.category), "category", (value) => { entity.category = value; }],
      [subjectChoice(entity.subject), "letter", (value) => { entity.subject = value; entity.needed = isNeeded(entity); }],
    ];
    const cells = controls.map(([control, name, set]) => {
      control.id = `${name} ${entity.start}`;
      control.setAttribute("aria-label", `${name} of “${words}”, characters ${entity.start} to ${entity.end}`);
      control.addEventListener("change", () => { set(control.value); leaveNameOut(entity); changed(); });
      const cell = make("td");
      cell.append(control);
      return cell;
    });
    const remove = button("Remove", () => {
      const mine = review();
      mine.entities = mine.entities.filter((each) => each !== entity);
      changed();
    });
    remove.id = `remove ${entity.start}`;
    remove.setAttribute("aria-label", `Remove the mark of “${words}”, characters ${entity.start} to ${entity.end}`);
    const last = make("td");
    last.append(remove);
    row.append(first, ...cells, make("td", "place", `${entity.start}–${entity.end}`), last);
    body.append(row);
  }
  const top = make("thead");
  top.append(head);
  table.append(top, body);
  const box = make("div", "scroll");
  box.tabIndex = 0;
  box.setAttribute("role", "group");
  box.setAttribute("aria-label", "Marked places");
  box.append(table);
  return box;
};
/** One entity is needed at every place or at none. */
const isNeeded = (entity) => review().entities.some((each) =>
  each !== entity && each.subject === entity.subject && wordsOf(each) === wordsOf(entity) && each.needed);
/** A name is never needed. */
const leaveNameOut = (entity) => { if (categories[entity.category].type === "PER") entity.needed = false; };
const placesOf = (words) => {
  const found = [];
  const text = sample().description;
  for (let from = words ? text.indexOf(words) : -1; from >= 0; from = text.indexOf(words, from + words.length)) {
    const start = Array.from(text.slice(0, from)).length;
    found.push({ start, end: start + Array.from(words).length });
  }
  return found;
};
const isFree = (place) => review().entities.every((each) => each.end <= place.start || place.end <= each.start);
const addForm = (text) => {
  const box = make("fieldset");
  box.append(make("legend", "", "Mark more"));
  const words = make("input");
  words.id = "words";
  words.autocomplete = "off";
  words.spellcheck = false;
  const where = choice([["", "no such words"]]);
  const category = categoryChoice();
  const subject = subjectChoice();
  const every = make("input");
  every.type = "checkbox";
  every.checked = true;
  const fillPlaces = (wanted) => {
    const free = placesOf(words.value).filter(isFree);
    const name = ({ start, end }) =>
      `${start}–${end}: …${points[at].slice(Math.max(0, start - 12), end + 12).join("").replace(/\s+/g, " ")}…`;
    where.replaceChildren(...choice(free.length
      ? free.map((place) => [`${place.start} ${place.end}`, name(place)])
      : [["", words.value ? "nowhere that is not marked" : "no words yet"]]).children);
    if (wanted && free.some((place) => place.start === wanted.start)) where.value = `${wanted.start} ${wanted.end}`;
  };
  words.addEventListener("input", () => fillPlaces());
  // A selection with the mouse fills the words in.
  text.addEventListener("mouseup", () => {
    const selection = getSelection();
    if (selection.isCollapsed || !text.contains(selection.anchorNode) || !text.contains(selection.focusNode)) return;
    const range = selection.getRangeAt(0);
    const before = document.createRange();
    before.setStart(text, 0);
    before.setEnd(range.startContainer, range.startOffset);
    const chosen = range.toString();
    words.value = chosen.trim();
    const lead = Array.from(chosen.slice(0, chosen.length - chosen.trimStart().length)).length;
    const start = Array.from(before.toString()).length + lead;
    fillPlaces({ start, end: start + Array.from(words.value).length });
  });
  const add = button("Mark it", () => {
    if (!where.value) { say("These words stand nowhere that is not marked already."); words.focus(); return; }
    const [start, end] = where.value.split(" ").map(Number);
    const places = every.checked ? placesOf(words.value).filter(isFree) : [{ start, end }];
    const mine = review();
    for (const place of places) {
      const entity = { ...place, category: category.value, subject: subject.value, needed: false };
      entity.needed = isNeeded(entity);
      leaveNameOut(entity);
      mine.entities.push(entity);
    }
    sorted(mine.entities);
    changed();
    byId("words").focus();
  });
  const tick = make("label", "tick");
  tick.append(every, "and every other place of the same words");
  fillPlaces();
  box.append(labelled("Words, as they stand in the text", words), labelled("Where", where),
    labelled("Category", category), labelled("Whose", subject), tick, add);
  return box;
};
const detectionStep = () => {
  const left = make("section");
  const text = markedText("The text, with its marks");
  left.append(make("h2", "", "Text"), make("p", "hint", "Select words with the mouse, or type them under “Mark more”."), text);
  const right = make("section");
  right.append(make("h2", "", "Identifiers in it"), entityTable(), addForm(text));
  const name = decisions().detection === "accepted" ? "All right as it is: go on" : "Corrected: go on";
  right.append(button(name, () => decide("detection"), "go"));
  return [left, right];
};

// Step 2: what the question needs.
const relevanceStep = () => {
  const left = make("section");
  left.append(make("h2", "", "Question"), make("blockquote", "", sample().query), make("h2", "", "Text"),
    markedText("The text, with what is needed doubly underlined"));
  const right = make("section");
  const box = make("fieldset");
  box.append(make("legend", "", "The question cannot be answered without"));
  const list = make("div");
  const seen = new Set();
  for (const entity of review().entities) {
    const key = `${entity.subject} ${wordsOf(entity)}`;
    if (seen.has(key) || categories[entity.category].type === "PER") continue;
    seen.add(key);
    const tick = make("input");
    tick.type = "checkbox";
    tick.checked = entity.needed;
    tick.id = `need ${entity.start}`;
    tick.addEventListener("change", () => {
      for (const each of review().entities) {
        if (each.subject === entity.subject && wordsOf(each) === wordsOf(entity)) each.needed = tick.checked;
      }
      changed();
    });
    const label = make("label", "tick");
    label.append(tick, make("span", "", `${wordsOf(entity)} (${categories[entity.category].name}, of ${entity.subject})`));
    list.append(label);
  }
  if (!seen.size) list.append(make("p", "empty", "Nothing is marked that a question could need. Names are never needed."));
  box.append(list);
  const name = decisions().query_related === "accepted" ? "All right as it is: go on" : "Corrected: go on";
  right.append(make("h2", "", "Needed"), box, button(name, () => decide("query_related"), "go"));
  return [left, right];
};

// Step 3: the masked text.
const maskingStep = () => {
  const left = make("section");
  left.append(make("h2", "", "As it would be sent"), maskedText());
  const right = make("section");
  right.append(make("h2", "", "Question"), make("blockquote", "", sample().query));
  const box = make("fieldset");
  box.append(make("legend", "", "The masked text"));
  for (const [value, name] of [["readable", "reads well"], ["unreadable", "does not read well"]]) {
    const tick = make("input");
    tick.type = "radio";
    tick.name = "masked";
    tick.checked = review().masked === value;
    tick.addEventListener("change", () => { review().masked = value; keep(); progress(); });
    const label = make("label", "tick");
    label.append(tick, name);
    box.append(label);
  }
  right.append(box, button("To the next sample", goToOpen, "go"));
  return [left, right];
};

const decide = (task) => {
  review()[task] = decisions()[task];
  step += 1;
  keep();
  render();
  byId("steps").querySelector("[aria-current]").focus();
};
const progress = () => {
  const count = data.samples.filter(({ id }) => isDone(state.reviews[id])).length;
  byId("done").textContent = `${count} of ${data.samples.length} done`;
  byId("steps").replaceChildren(...stepNames.map((name, index) => {
    const task = ["detection", "query_related", "masked"][index];
    const node = button(name + (review()[task] ? " ✓" : ""), () => { step = index; render(); });
    node.setAttribute("aria-label", `Step ${name}${review()[task] ? ", done" : ""}`);
    if (index === step) node.setAttribute("aria-current", "step");
    return node;
  }));
};
const render = () => {
  byId("number").value = at + 1;
  byId("previous").disabled = at === 0;
  byId("next").disabled = at + 1 >= data.samples.length;
  progress();
  // Whoever works by keys, or has scrolled, goes on at the same place.
  const work = byId("work");
  const focused = document.activeElement;
  const inside = work.contains(focused);
  const scrolled = [...work.querySelectorAll("pre.text")].map((each) => each.scrollTop);
  const columns = make("div", "columns");
  columns.append(...[detectionStep, relevanceStep, maskingStep][step]());
  work.replaceChildren(columns);
  work.querySelectorAll("pre.text").forEach((each, index) => { each.scrollTop = scrolled[index] ?? 0; });
  if (inside) (byId(focused.id) ?? byId("words") ?? byId("steps").querySelector("[aria-current]"))?.focus({ preventScroll: true });
};
const goTo = (index) => {
  if (!data.samples[index]) return;
  at = index;
  step = 0;
  byId("work").replaceChildren();
  render();
};
const goToOpen = () => {
  const order = [...data.samples.keys()];
  const next = [...order.slice(at + 1), ...order.slice(0, at + 1)].find((index) => !isDone(state.reviews[data.samples[index].id]));
  if (next === undefined) { say("All samples are done: download the review."); return; }
  goTo(next);
};

// The file: what is decided, and nothing else.
const exported = () => ({
  review: "1.0",
  samples: data.digest,
  reviewer: state.reviewer,
  reviews: data.samples.filter(({ id }) => state.reviews[id]?.detection).map(({ id }) => {
    const { entities, detection, query_related, masked } = state.reviews[id];
    return { id, entities, detection, query_related, masked };
  }),
});
byId("download").addEventListener("click", () => {
  if (!state.reviewer.trim()) { say("Give your name or initials first: they tell the reviews apart."); byId("reviewer").focus(); return; }
  const link = make("a");
  link.href = URL.createObjectURL(new Blob([JSON.stringify(exported(), null, 1) + "\n"], { type: "application/json" }));
  link.download = `review-${state.reviewer.trim().replace(/[^A-Za-z0-9]+/g, "-")}.json`;
  link.click();
  isDownloaded = true;
  say(`Downloaded: ${exported().reviews.length} samples. Keep the file where only those cleared can read it.`);
});
byId("load").addEventListener("change", async () => {
  const [file] = byId("load").files;
  if (!file) return;
  try {
    const given = JSON.parse(await file.text());
    if (given.samples !== data.digest) { say("This file reviews other samples; nothing was read."); return; }
    for (const { id, ...rest } of given.reviews) {
      const fits = ofSample[id] && rest.entities.every((each) => categories[each.category] && each.start < each.end);
      if (fits) state.reviews[id] = { ...rest, entities: sorted(rest.entities) };
    }
    state.reviewer = given.reviewer;
  } catch { say("This is no file of a review; nothing was read."); return; }
  byId("reviewer").value = state.reviewer;
  keep();
  render();
});
byId("reviewer").value = state.reviewer;
byId("reviewer").addEventListener("input", () => { state.reviewer = byId("reviewer").value; keep(); });
byId("previous").addEventListener("click", () => goTo(at - 1));
byId("next").addEventListener("click", () => goTo(at + 1));
byId("open").addEventListener("click", goToOpen);
byId("number").addEventListener("change", () => goTo(Number(byId("number").value) - 1));
for (const form of document.querySelectorAll("form")) form.addEventListener("submit", (event) => event.preventDefault());
document.addEventListener("keydown", (event) => {
  const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
  if (!by || event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) return;
  if (event.target.closest("input, select, pre, .scroll")) return;
  goTo(at + by);
  event.preventDefault();
});
window.addEventListener("beforeunload", (event) => { if (!isKept && !isDownloaded) event.preventDefault(); });
if (data.samples.length) goTo(0);
else byId("work").append(make("p", "empty", "There are no samples."));
