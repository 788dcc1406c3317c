
/* The page in short, as Markdown for a pull request: the number on top, its grade, a few numbers, the first lines of a list. */

const LINES_COPIED = 10;
const shown = (node) => (node?.innerText ?? "").replace(/\s+/g, " ").trim();
/* A character that takes no room keeps apart what GitHub would make a mention or a link of, as output/markdown.py does. */
const LINKED = /@(?=\S)|:(?=\/\/)|#(?=[0-9])|www(?=\.)|\bGH-(?=[0-9])|\b(?=[0-9]*[a-f])[0-9a-f]{7,40}\b/gi;
const keptApart = (text) => text.replace(LINKED, (found) => found.replace(/.{1,6}/g, "$&\u2060"));
const plainly = (text) => keptApart(text.replace(/\s+/g, " ").trim().replace(/[\\`*[\]<>&|~]|\b_|_\b/g, "\\$&"));
const told = (node) => plainly(shown(node));

function tableLines(table) {
  const heads = [...table.tHead.rows[0].cells], rows = [...table.tBodies[0].rows];
  const line = (cells) => `| ${cells.join(" | ")} |`;
  const lines = [line(heads.map(told)), line(heads.map((head) => (head.classList.contains("number") ? "---:" : "---")))];
  for (const row of rows.slice(0, LINES_COPIED)) lines.push(line([...row.cells].map(told)));
  const title = told(table.closest(".list, section").querySelector("h3, h2"));
  const cut = rows.length > LINES_COPIED ? `, the first ${LINES_COPIED} of ${whole(rows.length)} lines` : "";
  return [`**${title}**${cut}`, lines.join("\n")];
}

/* A line of a legend, of bars or of dots: its name and number, and what stands small beside them. */
function numberLines(box) {
  const aside = (node) => node?.querySelector("small, .bar-note");
  const line = (parts, note) => `- ${parts.map(told).filter(Boolean).join(": ")}${shown(note) ? ` (${told(note)})` : ""}`;
  const bare = (node) => { const copy = node.cloneNode(true); for (const note of copy.querySelectorAll("small, .bar-note")) note.remove(); return { innerText: copy.textContent }; };
  const items = [...box.querySelectorAll("li:not(.none)")].map((item) => {
    const parts = item.querySelector(".bar-label") ? [item.querySelector(".bar-label"), item.querySelector(".bar-text")] : [bare(item)];
    return line(parts, aside(item));
  });
  const names = [...box.querySelectorAll(".dot-name")], texts = [...box.querySelectorAll(".dot-text")];
  return [...items, ...names.map((name, k) => line([name, bare(texts[k])], aside(texts[k])))];
}

/* What is told of the cell that was chosen; nothing where none was. */
function chosenCell() {
  if (!kept.some(({ name, tell }) => name === "cell" && tell())) return "";
  return byId("panel") ? `**${told(byId("panel-title"))}**: ${told(byId("panel-words"))}` : told(byId("pinned"));
}

function fenced(text) {
  const fence = "`".repeat(Math.max(3, ...[...text.matchAll(/`+/g)].map(([run]) => run.length + 1)));
  return `${fence}console\n$ ${text}\n${fence}`;
}

function pageAsMarkdown() {
  const header = document.querySelector("header"), one = (selector) => told(header.querySelector(selector));
  const notes = [...header.querySelectorAll(".verdict .quiet")].map(({ textContent }) => plainly(textContent));
  const table = document.querySelector("[data-table]") ?? document.querySelector("table.sortable");
  const parts = [
    `### ${one(".big") ? `${one(".big")} ${one(".what")}` : plainly(document.title)}`,
    [one(".badge") && `Graded **${one(".badge")}**`, ...notes].filter(Boolean).join("; "),
    one("h1"),
    one(".next span") && `**Next**: ${one(".next span")}`,
    [...document.querySelectorAll("[data-numbers]")].flatMap(numberLines).join("\n"),
    chosenCell(),
    ...(table ? tableLines(table) : []),
    [...header.querySelectorAll(".meta span")].map(told).filter(Boolean).join(", "),
    byId("command") ? fenced(byId("command").textContent.trim()) : "",
  ];
  return `${parts.filter(Boolean).join("\n\n")}\n`;
}

byId("markdown").addEventListener("click", () => copy(pageAsMarkdown(), byId("markdown")));
