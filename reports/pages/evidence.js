"use strict";
// Everything is set as text (textContent); nothing of the notes is ever read as markup.
const data = JSON.parse(document.getElementById("data").textContent);
const PAGE = 25;
const kinds = { revealing: "revealing", templated: "templated", near: "near-verbatim" };
const tierTitles = Object.fromEntries(data.tiers);
const tierOrder = data.tiers.map(([tier]) => tier);
const form = document.getElementById("filters");
const cards = document.getElementById("texts");
const shownAs = new WeakMap();
const sought = new WeakMap();
let wanted = [];

const make = (tag, cls, text) => {
  const node = document.createElement(tag);
  if (cls) node.className = cls;
  if (text !== undefined) node.textContent = text;
  return node;
};
// A text that scrolls has the focus at times, and is read out by its name.
const label = (node, name) => {
  node.setAttribute("role", "group");
  node.setAttribute("aria-label", name);
};
const value = (id) => document.getElementById(id).value;
const fill = (id, names) => {
  for (const [key, name] of names) {
    const option = make("option", "", name);
    option.value = key;
    document.getElementById(id).append(option);
  }
};

// Which texts are shown, and in which order.
const isSpecific = (span) => Math.max(span.patient_count, span.masked_patient_count) === 1;
const fits = (span) =>
  (!value("section") || span.section === value("section")) &&
  (!value("k") || (value("k") === "1") === isSpecific(span)) &&
  (!value("kind") || span.kind === value("kind"));
const isOf = (span) => value("owner") === "any" || span.owner_patient_id === value("owner").slice("of ".length);
const identifies = (span) =>
  span.owner === value("identifier").slice("is ".length) || value("identifier") === "any" ||
  (value("identifier") === "verified" && span.verified);
const spansWanted = () => value("section") || value("k") || value("kind");
const reads = (reading) =>
  (!value("diagnosis") || reading.diagnosis === value("diagnosis")) &&
  (!value("read") || reading.read === value("read")) &&
  (!value("agreement") || reading.agreement === value("agreement"));
const readingsWanted = () => value("diagnosis") || value("read") || value("agreement");
const holds = (item, words) => {
  if (!sought.has(item)) {
    const owners = [...item.others.map((span) => span.owner_patient_id), ...item.identifiers.flatMap((span) => span.holders)];
    sought.set(item, [item.patient_id, item.generation_id, item.prompt, item.text, ...owners].join("\n").toLowerCase());
  }
  return sought.get(item).includes(words);
};
const matches = (item) =>
  (!value("tier") || item.tier === value("tier")) &&
  (!value("arm") || item.arm === value("arm")) &&
  (!value("form") || item.form === value("form")) &&
  (!readingsWanted() || item.readings.some(reads)) &&
  (!spansWanted() || item.spans.some(fits)) &&
  (!value("owner") || item.others.some(isOf)) &&
  (!value("identifier") || item.identifiers.some(identifies)) &&
  holds(item, value("search").trim().toLowerCase());
// Edits and all: what of it is verbatim stands beside it.
const shareOf = (item) => (item.tokens ? item.near_verbatim_attributable_tokens / item.tokens : 0);
const othersShareOf = (item) => (item.tokens ? item.other_patient_tokens / item.tokens : 0);
const compareTexts = (a, b) => (a < b ? -1 : a > b ? 1 : 0);
const orders = {
  share: (a, b) => shareOf(b) - shareOf(a),
  others: (a, b) => othersShareOf(b) - othersShareOf(a),
  tier: (a, b) => tierOrder.indexOf(a.tier) - tierOrder.indexOf(b.tier) || shareOf(b) - shareOf(a),
  patient: (a, b) => compareTexts(a.patient_id, b.patient_id) || tierOrder.indexOf(a.tier) - tierOrder.indexOf(b.tier),
};

// Offsets of the data count code points; a string of the browser counts UTF-16 units.
const marked = (text, marks) => {
  const points = Array.from(text);
  const edges = new Set([0, points.length]);
  for (const mark of marks) edges.add(mark.start).add(mark.end);
  const sorted = [...edges].filter((edge) => edge >= 0 && edge <= points.length).sort((a, b) => a - b);
  const box = make("pre", "text");
  box.tabIndex = 0;
  for (let i = 0; i + 1 < sorted.length; i += 1) {
    const here = marks.filter((mark) => mark.start <= sorted[i] && sorted[i + 1] <= mark.end);
    const piece = points.slice(sorted[i], sorted[i + 1]).join("");
    if (!here.length) { box.append(piece); continue; }
    const node = make("mark", here.map((mark) => mark.cls).join(" "), piece);
    node.title = here.map((mark) => mark.title).join("; ");
    // Of marks with a number it stands where they end: what a title says only a mouse finds.
    const numbers = here.filter((mark) => mark.number && mark.end === sorted[i + 1]).map((mark) => mark.number);
    if (numbers.length) node.dataset.number = numbers.join(", ");
    box.append(node);
  }
  return box;
};
const describe = (span) =>
  span.kind === "near" ? "near-verbatim: in this patient's notes alone, with edits around it" :
  `${kinds[span.kind]}, ${data.sections[span.section]}, K = ${span.patient_count}` +
  `, masked K = ${span.masked_patient_count}` +
  `, in ${span.copy_forward_count} of the patient's notes` + (span.stitched ? ", stitched" : "") + (span.echo ? ", in the prompt" : "");
const classes = (span) => span.kind + (isSpecific(span) ? "" : " shared") + (span.echo ? " echo" : "");
const identifierOwners = Object.fromEntries(data.identifierOwners);
const describeIdentifier = (span) =>
  `${data.identifierKinds[span.hipaa]}: ${identifierOwners[span.owner]}` +
  (span.holders.length ? `, held by ${span.holders.join(", ")}` : "") +
  (span.verified ? ", verified" : "") + (span.verified && span.hipaa === "C" ? " (dates often are, by chance)" : "");
// The numbers are those of the marks.
const identifierList = (text, spans) => {
  const points = Array.from(text);
  const list = make("ol", "identifiers");
  for (const span of spans) {
    const row = make("li");
    row.append(make("strong", "", points.slice(span.char_start, span.char_end).join("")), ` ${describeIdentifier(span)}`);
    list.append(row);
  }
  return list;
};
const describeOthers = (span) =>
  `text of patient ${span.owner_patient_id}, whom nobody asked about, ${span.telling_tokens} tokens that are no boilerplate`;
const place = (text, words) => {
  const found = [];
  for (const word of words) {
    let at = word ? text.indexOf(word) : -1;
    while (at >= 0) {
      const start = Array.from(text.slice(0, at)).length;
      found.push({ start, end: start + Array.from(word).length });
      at = text.indexOf(word, at + word.length);
    }
  }
  return found;
};
const verdicts = { right: "right", wrong: "wrong", open: "neither right nor wrong" };

const readingsTable = (item) => {
  const table = make("table");
  table.append(make("caption", "", "Diagnoses asked about"));
  const head = make("tr");
  for (const name of ["Diagnosis", "Judge", "Truth", "Judge is"]) {
    const cell = make("th", "", name);
    cell.scope = "col";
    head.append(cell);
  }
  const body = make("tbody");
  for (const reading of item.readings) {
    const row = make("tr");
    const first = make("th", "", data.diagnoses[reading.diagnosis]);
    first.scope = "row";
    row.append(first, ...[reading.judge, reading.truth, verdicts[reading.agreement]].map((text) => make("td", "", text)));
    body.append(row);
  }
  const top = make("thead");
  top.append(head);
  table.append(top, body);
  return table;
};
const addressOf = (item) => `#${encodeURIComponent(item.generation_id)}`;
const steps = (item, box) => {
  const row = make("div", "steps");
  const at = wanted.indexOf(item);
  for (const [name, by] of [["Previous text", -1], ["Next text", 1]]) {
    const button = make("button", "", name);
    button.type = "button";
    button.disabled = !wanted[at + by];
    button.addEventListener("click", () => step(box, by));
    row.append(button);
  }
  const link = make("a", "", `Address of this text: ${item.generation_id}`);
  link.href = addressOf(item);
  row.append(link);
  return row;
};
const open = (item, box) => {
  const columns = make("div", "columns");
  const left = make("section", "side");
  left.append(make("h2", "", "What the model wrote"));
  const prompt = make("details");
  const asked = marked(item.prompt, []);
  label(asked, "Prompt");
  prompt.append(make("summary", "", "The prompt"), asked);
  left.append(prompt);
  const marks = item.spans.map((span) => ({ start: span.char_start, end: span.char_end, cls: classes(span), title: describe(span) }));
  for (const span of item.others) marks.push({ start: span.char_start, end: span.char_end, cls: "others", title: describeOthers(span) });
  const identifiers = [...item.identifiers].sort((a, b) => a.char_start - b.char_start || a.char_end - b.char_end);
  identifiers.forEach((span, index) => {
    const cls = `identifier${span.verified ? " verified" : ""}`;
    marks.push({ start: span.char_start, end: span.char_end, cls, title: describeIdentifier(span), number: index + 1 });
  });
  for (const reading of item.readings) {
    for (const found of place(item.text, reading.spans)) {
      marks.push({ ...found, cls: "quoted", title: `${data.diagnoses[reading.diagnosis]}: judge ${reading.judge}` });
    }
  }
  const written = marked(item.text, marks);
  label(written, "Generated text");
  left.append(written);
  if (identifiers.length) left.append(make("h3", "", "Identifiers in this text"), identifierList(item.text, identifiers));
  const right = make("section", "side");
  right.append(make("h2", "", "Where it stands"));
  const ids = [...new Set(item.spans.map((span) => span.source_note_id))];
  if (item.patient_id && !item.spans.some((span) => span.kind !== "near")) right.append(make("p", "empty", `No run of ${data.matchTokens} tokens of it stands in the patient's notes.`));
  for (const id of ids) {
    const note = data.notes[id];
    const own = item.spans.filter((span) => span.source_note_id === id);
    right.append(make("h3", "", `Note ${id}` + (note && note.visit_date ? `, ${note.visit_date}` : "")));
    const text = marked(note.text, own.map((span) => (
      { start: span.note_char_start, end: span.note_char_end, cls: classes(span), title: describe(span) })));
    label(text, `Source note ${id}`);
    right.append(text);
  }
  for (const id of new Set(item.others.map((span) => span.source_note_id))) {
    const note = data.notes[id];
    const own = item.others.filter((span) => span.source_note_id === id);
    const visit = note.visit_date ? `, ${note.visit_date}` : "";
    right.append(make("h3", "", `Note ${id}${visit}, of another patient: ${own[0].owner_patient_id}`));
    const text = marked(note.text, own.map((span) => (
      { start: span.note_char_start, end: span.note_char_end, cls: "others", title: describeOthers(span) })));
    label(text, `Note ${id} of another patient, ${own[0].owner_patient_id}`);
    right.append(text);
  }
  const list = make("ul", "spans");
  for (const span of item.spans) {
    if (fits(span)) list.append(make("li", "", `${describe(span)}; note ${span.source_note_id}`));
  }
  for (const span of item.others) list.append(make("li", "", `${describeOthers(span)}; note ${span.source_note_id}`));
  columns.append(left, right);
  box.append(steps(item, box));
  if (item.readings.length) box.append(readingsTable(item));
  box.append(columns);
  if (list.childElementCount) box.append(list);
  requestAnimationFrame(() => {
    for (const pre of columns.querySelectorAll("pre.text")) {
      const first = pre.querySelector("mark");
      if (first) pre.scrollTop = Math.max(0, first.offsetTop - pre.offsetTop - 40);
    }
  });
};
const card = (item) => {
  const box = make("details", "generated");
  const head = make("summary");
  const share = Math.round(100 * shareOf(item));
  const edited = item.near_verbatim_attributable_tokens - item.attributable_tokens;
  head.append(
    make("strong", "", item.patient_id ? `Patient ${item.patient_id}` : "Nobody"),
    ` · ${tierTitles[item.tier]} · ${data.arms[item.arm] ?? item.arm}` +
      ` · ${share}% attributable (${item.near_verbatim_attributable_tokens} of ${item.tokens} tokens` +
      (edited ? `, ${edited} of them near-verbatim) ` : ") "),
  );
  if (item.others.length) {
    const owners = [...new Set(item.others.map((span) => span.owner_patient_id))].join(", ");
    head.append(make("span", "reading", `${Math.round(100 * othersShareOf(item))}% other patients' text: ${owners}`), " ");
  }
  if (item.identifiers.length) {
    const verified = item.identifiers.filter((span) => span.verified).length;
    head.append(make("span", "reading", `identifiers: ${item.identifiers.length}, verified: ${verified}`), " ");
  }
  // What is said of nobody, or not at all, stands in the card.
  for (const reading of item.readings.filter((each) => each.agreement !== "open")) {
    head.append(make(
      "span", `reading ${reading.agreement}`,
      `${data.diagnoses[reading.diagnosis]}: judge ${reading.judge}; truth: ${reading.truth}; ${reading.agreement}`,
    ), " ");
  }
  box.append(head);
  shownAs.set(box, item);
  box.addEventListener("toggle", () => {
    if (!box.open) return;
    fillIn(box);
    // Only what a reader opens changes the address, not what is opened for printing.
    if (box.contains(document.activeElement)) history.replaceState(null, "", addressOf(item));
  });
  return box;
};
const fillIn = (box) => { if (box.childElementCount === 1) open(shownAs.get(box), box); };
const boxes = () => [...cards.querySelectorAll(":scope > details")];
const showMore = () => {
  const shown = boxes().length;
  cards.append(...wanted.slice(shown, shown + PAGE).map(card));
  document.getElementById("count").textContent = `${boxes().length} of ${wanted.length} shown`;
  document.getElementById("more").hidden = wanted.length <= boxes().length;
  return cards.children[shown];
};
const render = () => {
  wanted = data.texts.filter(matches).sort((a, b) => orders[value("sort")](a, b) || compareTexts(a.generation_id, b.generation_id));
  cards.replaceChildren();
  showMore();
  if (!wanted.length) cards.append(make("p", "empty", data.texts.length
    ? "No text fits this choice. That is no proof that nothing leaks: other filters may show some."
    : "No texts. That is no proof that nothing leaks: the report says what was measured."));
};

// To a text and from one to the next.
const goTo = (at) => {
  while (boxes().length <= at) showMore();
  const box = boxes()[at];
  const head = box.firstElementChild;
  head.focus({ preventScroll: true });
  box.open = true;
  fillIn(box);
  head.scrollIntoView({ block: "start" });
};
const step = (box, by) => {
  const at = wanted.indexOf(shownAs.get(box)) + by;
  if (!wanted[at]) return;
  box.open = false;
  goTo(at);
};
// An address such as #tier=public&arm=train shows the texts of a figure, of those that are on the page.
const filterBy = (names) => {
  form.reset();
  for (const key of ["tier", "arm", "form", "diagnosis"]) {
    const name = names.get(key);
    if (!name) continue;
    const select = document.getElementById(key);
    if (![...select.options].some((option) => option.value === name)) fill(key, [[name, name]]);
    select.value = name;
  }
  render();
};
const goToAddress = () => {
  let id = "";
  try { id = decodeURIComponent(location.hash.slice(1)); } catch { return; }
  if (id.includes("=")) { filterBy(new URLSearchParams(id)); return; }
  const item = data.texts.find((each) => each.generation_id === id);
  if (!item) return;
  if (!wanted.includes(item)) {
    // An address leads to its text whatever is filtered.
    form.reset();
    render();
  }
  goTo(wanted.indexOf(item));
};
document.addEventListener("keydown", (event) => {
  const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
  if (!by || event.altKey || event.ctrlKey || event.metaKey || event.shiftKey || event.target.closest("form")) return;
  const box = document.activeElement.closest(".generated") ?? cards.querySelector(".generated[open]");
  if (box) step(box, by);
  else if (wanted.length && by > 0) goTo(0);
  else return;
  event.preventDefault();
});

fill("tier", data.tiers);
fill("form", Object.entries(data.forms));
fill("arm", Object.entries(data.arms));
fill("diagnosis", Object.entries(data.diagnoses));
fill("read", data.reads);
fill("identifier", data.identifierOwners.map(([owner, words]) => [`is ${owner}`, words]));
fill("owner", data.owners.map((owner) => [`of ${owner}`, owner]));
fill("section", Object.entries(data.sections));
// The search renders as it is typed: once more when it is left would take away the card that is clicked on.
form.addEventListener("change", (event) => { if (event.target.id !== "search") render(); });
document.getElementById("search").addEventListener("input", render);
form.addEventListener("submit", (event) => event.preventDefault());
// The button may be gone after this: whoever uses keys goes on at the first card that is new.
document.getElementById("more").addEventListener("click", () => showMore().firstElementChild.focus());
// What is folded is printed: every card that is shown is opened first.
window.addEventListener("beforeprint", () => {
  for (const box of boxes()) {
    fillIn(box);
    box.open = true;
  }
});
window.addEventListener("hashchange", goToAddress);
render();
goToAddress();
