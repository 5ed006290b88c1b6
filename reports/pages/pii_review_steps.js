"use strict";
// The three steps of one sample, drawn anew after each change. Stands before pii_review.js in the page's one script, which
// holds the sample, what was made of it, and what draws text.

// Step 1: the identifiers.
// Made once: a text of many persons shows a hundred of it.
let allCategories;
const categoryChoice = (value) => {
  allCategories ??= makeCategories();
  const node = allCategories.cloneNode(true);
  if (value) node.value = value;
  return node;
};
const makeCategories = () => {
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
  for (const [nth, entity] of review().entities.entries()) {
    const words = wordsOf(entity);
    const place = `“${words}” of ${entity.subject}, characters ${entity.start} to ${entity.end}`;
    const row = make("tr");
    const first = make("th", "", words);
    first.scope = "row";
    const controls = [
      [categoryChoice(entity.category), "category", (value) => {
        for (const each of review().entities.filter((other) => isSamePlace(other, entity))) {
          each.category = value;
          leaveNameOut(each);
        }
      }],
      [subjectChoice(entity.subject), "letter", (value) => {
        const mine = review();
        mine.entities = mine.entities.filter((each) => !isSamePlace(each, entity) || each.subject !== value || each === entity);
        entity.subject = value;
        entity.needed = isNeeded(entity);
        leaveNameOut(entity);
      }],
    ];
    const cells = controls.map(([control, name, set]) => {
      control.id = `${name} ${nth}`;
      control.setAttribute("aria-label", `${name} of ${place}`);
      control.addEventListener("change", () => { set(control.value); changed(); });
      const cell = make("td");
      cell.append(control);
      return cell;
    });
    const remove = button("Remove", () => {
      const mine = review();
      mine.entities = mine.entities.filter((each) => each !== entity);
      changed();
    });
    remove.id = `remove ${nth}`;
    remove.setAttribute("aria-label", `Remove the mark of ${place}`);
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
const ownersOf = (place) => review().entities.filter((each) => isSamePlace(each, place));
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
    const found = placesOf(words.value);
    // Where it is somebody's already, somebody else may share it.
    const open = [...found.filter(isFree), ...found.filter((place) => ownersOf(place).length)];
    const name = (place) => {
      const around = points[at].slice(Math.max(0, place.start - 12), place.end + 12).join("").replace(/\s+/g, " ");
      const owners = ownersOf(place).map((each) => each.subject).join(", ");
      return `${place.start}–${place.end}: …${around}…${owners && ` (${owners} has it: share it)`}`;
    };
    where.replaceChildren(...choice(open.length
      ? open.map((place) => [`${place.start} ${place.end}`, name(place)])
      : [["", words.value ? "no such words, or part of a mark" : "no words yet"]]).children);
    // Options that move to another list keep what they were.
    where.selectedIndex = 0;
    if (wanted && open.some((place) => place.start === wanted.start)) where.value = `${wanted.start} ${wanted.end}`;
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
    if (!where.value) { say("These words do not stand in the text, or only within a mark."); words.focus(); return; }
    const [start, end] = where.value.split(" ").map(Number);
    const owners = ownersOf({ start, end });
    if (owners.some((each) => each.subject === subject.value)) { say(`${subject.value} has it already.`); subject.focus(); return; }
    const isShared = owners.length > 0;
    const places = every.checked && !isShared ? placesOf(words.value).filter(isFree) : [{ start, end }];
    const mine = review();
    for (const place of places) {
      const entity = { ...place, category: isShared ? owners[0].category : category.value, subject: subject.value, needed: false };
      entity.needed = isNeeded(entity);
      leaveNameOut(entity);
      mine.entities.push(entity);
    }
    sorted(mine.entities);
    changed();
    byId("words").focus();
  });
  const tick = make("label", "tick");
  tick.append(every, "and every other place of these words that is nobody’s");
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
    tick.id = `need ${list.childElementCount}`;
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
