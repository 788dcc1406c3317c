
/* Every picture of the page as SVG or PNG: boxes, lines and letters as the browser has placed them, in the colours of paper. */

const SVG = Object.assign(document.createElement("template"), { innerHTML: "<svg></svg>" }).content.firstChild.namespaceURI;
const LEFT_OUT = ".saves, .controls, button, noscript, [hidden], .only-print, script, #tip, input";
const DRAWN_STYLES = ["fill", "fill-opacity", "stroke", "stroke-width", "stroke-opacity", "stroke-dasharray", "opacity", "font-size", "font-family", "font-weight", "text-anchor", "paint-order", "vector-effect", "display"];
const MARGIN = 16, SHARPNESS = 3;
const clear = (colour) => colour === "transparent" || /,\s*0\)$/.test(colour);
const element = (tag, attributes) => {
  const made = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, typeof value === "number" ? +value.toFixed(2) : value);
  return made;
};

/* One drawing: where it begins on the page, what is in it, how far it reaches, and the patterns that it uses. */
class Drawing {
  constructor(box) {
    this.origin = { x: box.left - MARGIN, y: box.top - MARGIN };
    this.right = box.width; this.bottom = 0;
    this.svg = element("svg", {});
    this.defs = element("defs", {});
    this.paper = element("rect", { fill: getComputedStyle(document.body).backgroundColor });
    this.svg.append(this.defs, this.paper);
  }

  at(box) { return { x: box.left - this.origin.x, y: box.top - this.origin.y, width: box.width, height: box.height }; }

  add(made, box) {
    this.right = Math.max(this.right, box.right - this.origin.x);
    this.bottom = Math.max(this.bottom, box.bottom - this.origin.y);
    this.svg.append(made);
  }

  define(made) {
    made.id = `d${this.defs.childElementCount}`;
    this.defs.append(made);
    return `url(#${made.id})`;
  }

  text() {
    const width = Math.ceil(this.right + MARGIN), height = Math.ceil(this.bottom + MARGIN);
    for (const [name, value] of Object.entries({ width, height, viewBox: `0 0 ${width} ${height}` })) this.svg.setAttribute(name, value);
    for (const [name, value] of Object.entries({ width, height })) this.paper.setAttribute(name, value);
    return new XMLSerializer().serializeToString(this.svg);
  }
}

/* A text node, line by line as the browser has broken it. */
function writeLines(drawing, node) {
  const style = getComputedStyle(node.parentElement), range = document.createRange(), lines = [];
  for (const match of node.data.matchAll(/\S+\s*/g)) {
    range.setStart(node, match.index);
    range.setEnd(node, match.index + match[0].trimEnd().length);
    const box = range.getBoundingClientRect(), last = lines.at(-1);
    if (!box.width) continue;
    if (last && Math.abs(last.box.top - box.top) < 2) { last.words.push(match[0].trim()); last.right = box.right; } else lines.push({ box, words: [match[0].trim()], right: box.right });
  }
  const measured = document.createElement("canvas").getContext("2d");
  measured.font = `${style.fontWeight} ${style.fontSize} ${style.fontFamily}`;
  const { fontBoundingBoxAscent: above, fontBoundingBoxDescent: below } = measured.measureText("x");
  for (const { box, words, right } of lines) {
    const place = drawing.at(box);
    const made = element("text", { x: place.x, y: place.y + (box.height * above) / (above + below), fill: style.color, "font-family": style.fontFamily, "font-size": style.fontSize, "font-weight": style.fontWeight });
    made.textContent = words.join(" ");
    drawing.add(made, { right, bottom: box.bottom });
  }
}

/* What a background is painted with besides its colour: a ramp, lines or dots. */
function paints(drawing, style) {
  const found = style.backgroundImage.match(/(repeating-)?(linear|radial)-gradient\((?:[^()]|\([^()]*\))*\)/g) ?? [];
  return found.map((gradient) => {
    const colours = (gradient.match(/rgba?\([^)]*\)/g) ?? []).filter((colour) => !clear(colour));
    const turn = Number(/(-?[\d.]+)deg/.exec(gradient)?.[1] ?? 180);
    if (gradient.startsWith("linear")) {
      const ramp = element("linearGradient", {});
      colours.forEach((colour, place) => ramp.append(element("stop", { offset: place / Math.max(1, colours.length - 1), "stop-color": colour })));
      return drawing.define(ramp);
    }
    const dots = gradient.startsWith("radial");
    const tile = element("pattern", { width: 5, height: 5, patternUnits: "userSpaceOnUse", ...(dots ? {} : { patternTransform: `rotate(${turn - 90})` }) });
    tile.append(dots ? element("circle", { cx: 2.5, cy: 2.5, r: 0.9, fill: colours[0] }) : element("rect", { width: 0.9, height: 5, fill: colours[0] }));
    return drawing.define(tile);
  });
}

function drawBox(drawing, node, style, box) {
  const place = drawing.at(box), turned = /^matrix\([^,]+, *-?0?\.[1-9]/.test(style.transform);
  const radius = style.borderTopLeftRadius.endsWith("%") ? (parseFloat(style.borderTopLeftRadius) / 100) * box.width : parseFloat(style.borderTopLeftRadius) || 0;
  const shape = (attributes) => {
    const [x, y, w, h] = [place.x, place.y, place.width, place.height];
    drawing.add(turned ? element("path", { d: `M${x + w / 2} ${y}L${x + w} ${y + h / 2}L${x + w / 2} ${y + h}L${x} ${y + h / 2}Z`, ...attributes }) : element("rect", { ...place, rx: radius, opacity: Number(style.opacity), ...attributes }), box);
  };
  if (!clear(style.backgroundColor)) shape({ fill: style.backgroundColor });
  if (style.backgroundSize.startsWith("1px")) {
    const x = place.x + (parseFloat(style.backgroundPositionX) / 100) * (place.width - 1);
    drawing.add(element("line", { x1: x, x2: x, y1: place.y, y2: place.y + place.height, stroke: /rgba?\([^)]*\)/.exec(style.backgroundImage)[0] }), box);
  } else for (const fill of paints(drawing, style)) shape({ fill });
  const widths = ["Top", "Right", "Bottom", "Left"].map((side) => (style[`border${side}Style`] === "none" || clear(style[`border${side}Color`]) ? 0 : parseFloat(style[`border${side}Width`])));
  if (widths.every((width) => width && width === widths[0])) { shape({ fill: "none", stroke: style.borderTopColor, "stroke-width": widths[0] }); return; }
  const { x, y, width: w, height: h } = place;
  [[x, y, x + w, y], [x + w, y, x + w, y + h], [x, y + h, x + w, y + h], [x, y, x, y + h]].forEach(([x1, y1, x2, y2], side) => {
    const name = ["Top", "Right", "Bottom", "Left"][side];
    if (widths[side]) drawing.add(element("line", { x1, y1, x2, y2, stroke: style[`border${name}Color`], "stroke-width": widths[side], ...(style[`border${name}Style`] === "dashed" ? { "stroke-dasharray": "4 3" } : {}) }), box);
  });
}

/* An SVG of the page with the look that the style sheet gives it, written into it. */
function inlined(drawing, node, box) {
  const copy = node.cloneNode(true), from = [node, ...node.querySelectorAll("*")], to = [copy, ...copy.querySelectorAll("*")];
  from.forEach((original, place) => {
    const style = getComputedStyle(original);
    to[place].removeAttribute("class");
    to[place].setAttribute("style", DRAWN_STYLES.map((name) => `${name}:${style.getPropertyValue(name)}`).join(";"));
  });
  for (const [name, value] of Object.entries(drawing.at(box))) copy.setAttribute(name, +value.toFixed(2));
  copy.style.overflow = "visible";
  drawing.add(copy, box);
}

function drawNode(drawing, node) {
  if (node.nodeType === Node.TEXT_NODE) { writeLines(drawing, node); return; }
  if (node.nodeType !== Node.ELEMENT_NODE || node.matches(LEFT_OUT)) return;
  const style = getComputedStyle(node), box = node.getBoundingClientRect();
  if (style.display === "none" || style.visibility === "hidden") return;
  if (node instanceof SVGSVGElement) { inlined(drawing, node, box); return; }
  if (node instanceof HTMLCanvasElement) { drawing.add(element("image", { ...drawing.at(box), href: node.toDataURL() }), box); return; }
  if (style.display !== "contents" && box.width && box.height) drawBox(drawing, node, style, box);
  for (const child of node.childNodes) drawNode(drawing, child);
}

/* In the colours and at the fineness of paper, whatever the screen's are. */
function svgOf(picture) {
  dispatchEvent(new Event("beforeprint"));
  try {
    const drawing = new Drawing(picture.getBoundingClientRect());
    for (const child of picture.childNodes) drawNode(drawing, child);
    return drawing.text();
  } finally {
    dispatchEvent(new Event("afterprint"));
  }
}

async function pngOf(text) {
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(text)}`;
  await image.decode();
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [image.width * SHARPNESS, image.height * SHARPNESS];
  canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
  return new Promise((done) => { canvas.toBlob(done, "image/png"); });
}

async function savePicture(picture, name, kind) {
  const text = svgOf(picture);
  if (kind === "svg") save([text], "image/svg+xml", `${name}.svg`);
  else save([await pngOf(text)], "image/png", `${name}.png`);
}

function fileName(picture) {
  const title = picture.dataset.picture ?? picture.querySelector("h3")?.textContent ?? picture.closest("section").id;
  return title.trim().toLowerCase().replace(/[^a-z0-9]+/g, "-").replace(/^-|-$/g, "").slice(0, 60) || "picture";
}

function saveButton(text, label, action) {
  const button = Object.assign(document.createElement("button"), { type: "button", textContent: text, title: label });
  button.setAttribute("aria-label", label);
  button.addEventListener("click", action);
  return button;
}

for (const picture of document.querySelectorAll("[data-picture], figure")) {
  const drawn = [...picture.children].some((child) => !child.matches("h3, figcaption") && (child.childElementCount || child.matches("svg")));
  if (!drawn) continue;
  const bar = Object.assign(document.createElement("div"), { className: "saves" }), name = fileName(picture);
  for (const kind of ["svg", "png"]) bar.append(saveButton(kind.toUpperCase(), `Save this picture as ${kind.toUpperCase()}`, () => savePicture(picture, name, kind)));
  if (picture.matches("figure")) picture.append(bar); else picture.after(bar);
}

/* The cells behind a map, all of them, a line each. */
async function saveCells(lines) {
  const parts = ["\ufeff"];
  let piece = [];
  for await (const line of lines()) {
    piece.push(line.map((cell) => (typeof cell === "number" ? cellNumber(cell) : csvCell(cell))).join(","));
    if (piece.length === 5000) { parts.push(`${piece.join("\r\n")}\r\n`); piece = []; }
  }
  if (piece.length) parts.push(`${piece.join("\r\n")}\r\n`);
  save(parts, "text/csv", "cells.csv");
}

function offerCells(lines) {
  document.querySelector("[data-picture=map] + .saves")?.append(saveButton("CSV of all cells", "Save every cell of the map as CSV", () => saveCells(lines)));
}
const cellNumber = (number) => (Number.isNaN(number) ? "" : String(Number.isInteger(number) ? number : Number(number.toPrecision(5))));
