"use strict";
// Everything is set as text (textContent); nothing of the notes is ever read as markup.
const data = JSON.parse(document.getElementById("data").textContent);
const PAGE = 25;
const kinds = { revealing: "revealing", mixed: "partly templated", templated: "templated" };
let wanted = [];
const leakOf = new WeakMap();

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
  for (const [key, name] of Object.entries(names)) {
    const option = make("option", "", name);
    option.value = key;
    document.getElementById(id).append(option);
  }
};
const fits = (span) =>
  (!value("section") || span.section === value("section")) &&
  (!value("k") || (value("k") === "1" ? span.patient_count === 1 : span.patient_count > 1)) &&
  (!value("kind") || span.kind === value("kind"));
const spansWanted = () => value("section") || value("k") || value("kind");
const matches = (leak) =>
  (!value("tier") || leak.tier === value("tier")) &&
  (!value("arm") || leak.arm === value("arm")) &&
  (!value("diagnosis") || leak.stated.some((item) => item.diagnosis === value("diagnosis"))) &&
  (!spansWanted() || leak.spans.some(fits));

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
    box.append(node);
  }
  return box;
};
const describe = (span) =>
  `${kinds[span.kind]}, ${data.sections[span.section]}, K = ${span.patient_count}` +
  `, in ${span.copy_forward_count} of the patient's notes` + (span.stitched ? ", stitched" : "") + (span.echo ? ", in the prompt" : "");
const classes = (span) => span.kind + (span.patient_count > 1 ? " shared" : "") + (span.echo ? " echo" : "");
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

const open = (leak, box) => {
  const columns = make("div", "columns");
  const left = make("section", "side");
  left.append(make("h2", "", "What the model wrote"));
  const prompt = make("details");
  const asked = marked(leak.prompt, []);
  label(asked, "Prompt");
  prompt.append(make("summary", "", "The prompt"), asked);
  left.append(prompt);
  const marks = leak.spans.map((span) => ({ start: span.start, end: span.end, cls: classes(span), title: describe(span) }));
  for (const item of leak.stated) {
    for (const found of place(leak.text, item.spans)) {
      marks.push({ ...found, cls: "stated", title: `read as ${data.diagnoses[item.diagnosis]}: ${item.says}` });
    }
  }
  const written = marked(leak.text, marks);
  label(written, "Generated text");
  left.append(written);
  const right = make("section", "side");
  right.append(make("h2", "", "Where it stands"));
  const ids = [...new Set(leak.spans.map((span) => span.note_id))];
  if (!ids.length) right.append(make("p", "empty", "In none of the patient's notes: the text states a diagnosis, but repeats no run of them."));
  for (const id of ids) {
    const note = data.notes[id];
    const own = leak.spans.filter((span) => span.note_id === id);
    right.append(make("h3", "", `Note ${id}` + (note && note.visit_date ? `, ${note.visit_date}` : "")));
    const text = marked(note.text, own.map((span) => (
      { start: span.note_start, end: span.note_end, cls: classes(span), title: describe(span) })));
    label(text, `Source note ${id}`);
    right.append(text);
  }
  const list = make("ul", "spans");
  for (const span of leak.spans) {
    if (fits(span)) list.append(make("li", "", `${describe(span)}; note ${span.note_id}`));
  }
  columns.append(left, right);
  box.append(columns, list);
  requestAnimationFrame(() => {
    for (const pre of columns.querySelectorAll("pre.text")) {
      const first = pre.querySelector("mark");
      if (first) pre.scrollTop = Math.max(0, first.offsetTop - pre.offsetTop - 40);
    }
  });
};
const card = (leak) => {
  const box = make("details", "leak");
  const stated = leak.stated.map((item) => `${data.diagnoses[item.diagnosis]} ${item.says}`).join(", ");
  const head = make("summary");
  head.append(
    make("strong", "", `Patient ${leak.patient_id}`),
    ` · ${data.tiers[leak.tier]} · ${leak.arm} · ${leak.attributable_tokens} of ${leak.tokens} tokens attributable` + (stated ? ` · ${stated}` : ""),
  );
  box.append(head);
  leakOf.set(box, leak);
  box.addEventListener("toggle", () => { if (box.open) fillIn(box); });
  return box;
};
const fillIn = (box) => { if (box.childElementCount === 1) open(leakOf.get(box), box); };
const cards = document.getElementById("leaks");
const showMore = () => {
  const shown = cards.childElementCount;
  cards.append(...wanted.slice(shown, shown + PAGE).map(card));
  document.getElementById("count").textContent = `${cards.childElementCount} of ${wanted.length} shown`;
  document.getElementById("more").hidden = wanted.length <= cards.childElementCount;
  return cards.children[shown];
};
const render = () => {
  wanted = data.leaks.filter(matches);
  cards.replaceChildren();
  showMore();
  if (!wanted.length) cards.append(make("p", "empty", data.leaks.length
    ? "No evidence for this choice. That is no proof that nothing leaks: other filters may show some."
    : "No evidence. That is no proof that nothing leaks: the report says what was measured."));
};
fill("tier", data.tiers);
fill("diagnosis", data.diagnoses);
fill("section", data.sections);
document.getElementById("filters").addEventListener("change", render);
document.getElementById("filters").addEventListener("submit", (event) => event.preventDefault());
// The button may be gone after this: whoever uses keys goes on at the first card that is new.
document.getElementById("more").addEventListener("click", () => showMore().firstElementChild.focus());
// What is folded is printed: every card that is shown is opened first.
window.addEventListener("beforeprint", () => {
  for (const box of document.querySelectorAll("details.leak")) {
    fillIn(box);
    box.open = true;
  }
});
render();
