"use strict";
const root = document.documentElement;
root.classList.add("js");
root.dataset.errors = "";
const noteError = (text) => { root.dataset.errors += `${text}\n`; };
addEventListener("error", (event) => noteError(event.message));
addEventListener("unhandledrejection", (event) => noteError(String(event.reason)));

const payload = JSON.parse(document.getElementById("payload").textContent);
const byId = (id) => document.getElementById(id);
const collator = new Intl.Collator(undefined, { numeric: true, sensitivity: "base" });
const whole = (number) => Math.round(number).toLocaleString("en-US");
const decimal = (number) => (Math.abs(number) >= 1000 ? whole(number) : String(Number(number.toPrecision(3))));

/* Lists: sorted by a click on a heading, downloaded as they are sorted in the record. */

function sortTable(table, column, upward) {
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, place) => head.setAttribute("aria-sort", place !== column ? "none" : upward ? "ascending" : "descending"));
  const key = (row) => row.cells[column].dataset.number ?? row.cells[column].textContent;
  const numeric = heads[column].classList.contains("number");
  const compare = numeric ? (a, b) => Number(a) - Number(b) : collator.compare;
  const unknown = (row) => numeric && Number.isNaN(Number(key(row)));
  const rows = [...table.tBodies[0].rows].sort((a, b) => unknown(a) - unknown(b) || (upward ? 1 : -1) * compare(key(a), key(b)));
  table.tBodies[0].append(...rows);
}

/* A spreadsheet runs a cell that begins like a formula; a quote in front makes it text. Some read signs of full width alike, and `;` as the end of a cell. */
function csvCell(text) {
  const inert = /^[=+\-@＝＋－＠\t\r]/.test(text) ? `'${text}` : text;
  return /[",;\n\r]/.test(inert) ? `"${inert.replaceAll('"', '""')}"` : inert;
}

function csvText(list) {
  const lines = [list.columns, ...list.rows.map((row) => row.map((place) => list.pool[place]))];
  return "\ufeff" + lines.map((line) => line.map(csvCell).join(",")).join("\r\n") + "\r\n";
}

function save(parts, type, file) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob(parts, { type }));
  link.download = file;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

/* On paper, and in what is saved as a picture, the colours are those of the light page. */
addEventListener("beforeprint", () => root.classList.add("printing"));
addEventListener("afterprint", () => root.classList.remove("printing"));

for (const table of document.querySelectorAll("table.sortable")) {
  [...table.tHead.rows[0].cells].forEach((head, column) => {
    head.querySelector("button").addEventListener("click", () => { sortTable(table, column, head.getAttribute("aria-sort") !== "ascending"); remember(); });
  });
}
for (const button of document.querySelectorAll("[data-download]")) {
  button.addEventListener("click", () => {
    const list = payload.lists[Number(button.dataset.download)];
    save([csvText(list)], "text/csv", list.file);
  });
}
