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
const isSamePlace = (a, b) => a.start === b.start && a.end === b.end;
const sorted = (entities) => entities.sort((a, b) => a.start - b.start || (a.subject < b.subject ? -1 : 1));
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
/** The text with each marked place drawn; `draw` gets those who share it. */
const drawnText = (name, draw) => {
  const pieces = [];
  let from = 0;
  for (const entity of review().entities) {
    if (entity.start < from) continue;
    pieces.push(points[at].slice(from, entity.start).join(""), draw(review().entities.filter((each) => isSamePlace(each, entity))));
    from = entity.end;
  }
  pieces.push(points[at].slice(from).join(""));
  return shownText(name, pieces);
};
const markedText = (name) => drawnText(name, (owners) => {
  const needed = owners.some((each) => each.needed);
  const letters = owners.map((each) => each.subject).join(", ");
  const mark = make("mark", needed ? "needed" : "", wordsOf(owners[0]));
  mark.dataset.subject = letters;
  mark.title = `${categories[owners[0].category].name}, of ${letters}${needed ? ", needed" : ""}`;
  return mark;
});
const maskedText = () => drawnText("The text as it would be sent", (owners) => (
  owners.some((each) => each.needed)
    ? make("mark", "needed", wordsOf(owners[0]))
    : make("mark", "tag", `<${categories[owners[0].category].tag}>`)));

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
