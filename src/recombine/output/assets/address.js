
/* What is shown stands in the address, so that a link shows it to somebody else: #map&cell=material:wool,garment:hat&order=name.
   Each part of the page tells what is not as it was at first, and brings it back. What an address names that is not here is
   passed over, and nothing of it is ever written into the page. */

const LONGEST_NAME = 60, LONGEST_ADDRESS = 4000, WAIT = 250;
const kept = [], recalled = { once: false, waiting: 0, section: "" };

/* `tell()` gives what stands in the address, "" for what is as at first; `bring(text)` brings it back; `where` is its section. */
const keep = (name, where, tell, bring) => { kept.push({ name, where, tell, bring }); };

/* Text as an address can hold it, and back; null where it is broken. */
function encoded(text) {
  try { return encodeURIComponent(text).replaceAll("%20", "+"); } catch { return null; }
}
function decoded(text) {
  try { return decodeURIComponent(text.replaceAll("+", " ")); } catch { return null; }
}

/* One of many by its name, or by its place (@3) where the name is long, broken, or that of an earlier one too. */
function nameOf(names, place) {
  const name = names[place];
  return (name.length <= LONGEST_NAME && names.indexOf(name) === place ? encoded(name) : null) ?? `@${place}`;
}

function placeOf(names, text) {
  const place = /^@\d{1,7}$/.test(text) ? Number(text.slice(1)) : names.indexOf(decoded(text));
  return place >= 0 && place < names.length ? place : null;
}

/* Values of some axes (a factor and its names each), as material:wool,garment:hat; and the place on each axis, or null. */
function valuesText(axes, places) {
  const factors = axes.map((axis) => axis.factor);
  return places.map((place, k) => (place === null ? "" : `${nameOf(factors, k)}:${nameOf(axes[k].names, place)}`)).filter(Boolean).join(",");
}

function valuesRead(axes, text) {
  const places = axes.map(() => null), factors = axes.map((axis) => axis.factor);
  for (const part of text.split(",")) {
    const [factor, value, ...more] = part.split(":"), k = placeOf(factors, factor);
    if (k !== null && value !== undefined && !more.length) places[k] = placeOf(axes[k].names, value);
  }
  return places;
}

function address() {
  const told = kept.map(({ name, tell }) => [name, tell()]).filter(([, text]) => text);
  return [recalled.section, ...told.map((pair) => pair.join("="))].filter(Boolean).join("&");
}

/* In place of the address that is there, so that going back leaves the page; a frame without an address of its own has none to change. */
function setAddress() {
  clearTimeout(recalled.waiting);
  recalled.waiting = 0;
  const now = address();
  if (now === location.hash.slice(1)) return;
  try { history.replaceState(history.state, "", now ? `#${now}` : location.href.split("#")[0]); } catch { /* it stays as it was */ }
}

function remember() {
  if (recalled.once && !recalled.waiting) recalled.waiting = setTimeout(setAddress, WAIT);
}

const sections = () => [...document.querySelectorAll("main > section")].map((one) => one.id);

async function recall() {
  recalled.once = false;
  const parts = location.hash.slice(1, LONGEST_ADDRESS).split("&"), given = new Map();
  for (const part of parts) if (part.includes("=")) given.set(part.slice(0, part.indexOf("=")), part.slice(part.indexOf("=") + 1));
  recalled.section = parts.find((part) => sections().includes(part)) ?? "";
  for (const { name, bring } of kept) {
    try { await bring(given.get(name) ?? ""); } catch (error) { noteError(String(error)); }
  }
  recalled.once = true;
  const where = recalled.section || kept.find(({ tell }) => tell())?.where;
  if (where) byId(where)?.scrollIntoView();
}

document.addEventListener("change", () => remember());

/* A link of the contents names a section alone: what is shown stays, and stands behind it. */
addEventListener("hashchange", () => {
  const asked = location.hash.slice(1);
  if (!sections().includes(asked)) { recall(); return; }
  recalled.section = asked;
  setAddress();
});

/* Choices among a few: an order, a colouring. */
function keepChoices(where) {
  const inputs = [...document.querySelectorAll("input[type=radio]")];
  for (const name of new Set(inputs.map((input) => input.name))) {
    const own = inputs.filter((input) => input.name === name);
    keep(name, where, () => own.find((input) => input.checked && !input.defaultChecked)?.value ?? "", (text) => {
      const wanted = own.find((input) => input.value === text) ?? own.find((input) => input.defaultChecked);
      if (!wanted.checked) wanted.click();
    });
  }
}

/* Sorted lists, as weakest:leverage:descending: the list's file, the column, the direction. */
function keepSorting() {
  const tables = [...document.querySelectorAll("table.sortable")], files = payload.lists.map((list) => list.file.replace(/\.csv$/, ""));
  const heads = (table) => [...table.tHead.rows[0].cells], names = (table) => heads(table).map((head) => head.textContent);
  const one = (table, k) => {
    const column = heads(table).findIndex((head) => head.getAttribute("aria-sort") !== "none");
    return column < 0 ? "" : `${nameOf(files, k)}:${nameOf(names(table), column)}:${heads(table)[column].getAttribute("aria-sort")}`;
  };
  keep("sort", "lists", () => tables.map(one).filter(Boolean).join(","), (text) => {
    for (const part of text.split(",")) {
      const [file, name = "", direction] = part.split(":"), k = placeOf(files, file);
      const column = k === null ? null : placeOf(names(tables[k]), name);
      if (column !== null && ["ascending", "descending"].includes(direction)) sortTable(tables[k], column, direction === "ascending");
    }
  });
}

/* Copying: where the clipboard is not allowed, the text is shown, selected, to be copied by hand. */

function offer(text, button) {
  byId("offered")?.remove();
  const box = Object.assign(document.createElement("div"), { id: "offered" });
  const area = Object.assign(document.createElement("textarea"), { value: text, readOnly: true, rows: Math.min(14, text.split("\n").length + 1) });
  const label = Object.assign(document.createElement("label"), { textContent: "Copy this by hand (Ctrl+C, or ⌘C); Escape closes it." });
  label.append(area);
  box.append(label);
  button.parentElement.after(box);
  area.addEventListener("keydown", (event) => { if (event.key === "Escape") { box.remove(); button.focus(); } });
  area.focus();
  area.select();
}

async function copy(text, button) {
  const label = button.dataset.label ??= button.textContent;
  try { await navigator.clipboard.writeText(text); } catch { offer(text, button); return; }
  byId("offered")?.remove();
  button.textContent = "Copied";
  setTimeout(() => { button.textContent = label; }, 2000);
}

byId("copy")?.addEventListener("click", () => copy(byId("command").textContent, byId("copy")));
byId("copy-link")?.addEventListener("click", () => { setAddress(); copy(location.href, byId("copy-link")); });
if (location.protocol === "about:") byId("copy-link")?.remove();

/* Tell the page, and whoever tests it, that everything stands, and stands as its address asks. */
function settle(started) {
  started.then(keepSorting).then(recall).then(() => { root.dataset.ready = "true"; }, (error) => noteError(String(error)));
}
