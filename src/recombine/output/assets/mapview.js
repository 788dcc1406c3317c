
/* A map of cells on a canvas. Data order is the record's; what is drawn is a permutation of it. */

const TALLEST = 660, WIDEST_CELL = 80, HIGHEST_CELL = 34, FEW = 6, FONT = 12;
const SHADES = 64;
const shadeStep = (share) => Math.round(Math.min(1, Math.max(0, share)) * (SHADES - 1));

async function inflate(text) {
  const signs = atob(text), bytes = new Uint8Array(signs.length);
  for (let i = 0; i < bytes.length; i++) bytes[i] = signs.charCodeAt(i);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

/* Colours come from the style sheet, so that light, dark and paper are decided in one place. */

function mix(from, to, share) {
  return from.map((part, place) => Math.round(part + (to[place] - part) * share));
}

function readPalette(more) {
  const style = getComputedStyle(root);
  const rgb = (name) => {
    const hex = style.getPropertyValue(name).trim();
    return [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));
  };
  const css = (name) => style.getPropertyValue(name).trim();
  const ramp = (low, high) => Array.from({ length: SHADES }, (_, step) => mix(rgb(low), rgb(high), step / (SHADES - 1)));
  const palette = { paperRgb: rgb("--paper"), impossibleRgb: rgb("--impossible"), ...more({ rgb, ramp }) };
  for (const name of ["paper", "ink", "quiet", "line", "accent", "hatch", "dot", "impossible", "grid"]) palette[name] = css(`--${name}`);
  return palette;
}

/* Letters that can be read on a colour: of black and white, the one that stands out more, by a ratio of 4.5 at least. */
const light = (part) => (part <= 10 ? part / 3294.6 : ((part / 255 + 0.055) / 1.055) ** 2.4);
const inkOn = ([r, g, b]) => (0.2126 * light(r) + 0.7152 * light(g) + 0.0722 * light(b) > 0.179 ? "#000000" : "#ffffff");

const asCss = ([r, g, b]) => `rgb(${r},${g},${b})`;

function slanted(context, colour, side, down) {
  context.strokeStyle = colour;
  context.lineWidth = 0.8;
  context.beginPath();
  for (const shift of [-side, 0, side]) { context.moveTo(shift - 1, down ? -1 : side + 1); context.lineTo(shift + side + 1, down ? side + 1 : -1); }
  context.stroke();
}

/* What lies over cells: one tile of each, at the screen's own size whatever the cells' is. */
const TEXTURES = {
  hatch: (context, palette, side) => slanted(context, palette.hatch, side, false),
  doubt: (context, palette, side) => { context.fillStyle = palette.hatch; context.fillRect(side / 2, 0, 0.8, side); },
  dots: (context, palette, side) => {
    context.fillStyle = palette.dot;
    context.beginPath();
    context.arc(side / 2, side / 2, 0.8, 0, 7);
    context.fill();
  },
};

/* One map on one canvas: what is shown (order, zoom, place) and what is marked (cursor, pin, found value).
   What a cell looks like and what is said of it is the page's own; a page extends this class with
     drawCell(place, x, y, w, h)  a cell that is large enough for a picture of its own
     colourOf(place)              a cell that is a few pixels small: its colour, as [red, green, blue]
     textureOf(place)             and what lies over it, a name of TEXTURES, or null
     describe({ row, column })    what is known of a cell: a title and sentences
   and, where it wants more, with colours (its own part of the palette), sorted, drawOver and told. */
class MapView {
  constructor(canvas) {
    this.canvas = canvas;
    this.context = canvas.getContext("2d");
    this.zoom = { x: 1, y: 1 };
    this.offset = { x: 0, y: 0 };
    this.order = "island";
    this.readPalette();
    this.clearMarks();
  }

  readPalette() { this.palette = readPalette(this.colours); this.image = null; this.patterns = {}; }
  colours() { return {}; }
  drawOver() {}
  told() {}

  clearMarks() { this.hover = null; this.cursor = null; this.pin = null; this.found = null; }

  show(map) {
    this.map = map;
    this.clearMarks();
    this.arrange();
    this.layout();
    this.fit();
  }

  /* Display place -> data place, for both sides. */
  arrange() {
    for (const side of ["rows", "columns"]) {
      const axis = this.map[side], places = this.sorted(axis, axis.names.map((_, place) => place));
      axis.order = places;
      axis.place = new Array(axis.size);
      places.forEach((data, display) => { axis.place[data] = display; });
    }
    this.image = null;
  }

  sorted(axis, places) {
    return this.order === "name" ? places.sort((a, b) => collator.compare(axis.names[a], axis.names[b])) : places;
  }

  /* How large the canvas is, where the labels go, and the cells' size when everything fits. */
  layout() {
    const { rows, columns } = this.map, context = this.context;
    const width = Math.max(240, Math.floor(this.canvas.parentElement.clientWidth));
    context.font = this.font(FONT, 600);
    const widest = (axis, most) => Math.min(most, axis.names.reduce((far, name) => Math.max(far, this.measure(name.slice(0, 60))), 0));
    const corner = Math.max(this.measure(`${rows.factor} ↓`), this.measure(`${columns.factor} →`), 30) + 6;
    this.left = Math.ceil(Math.max(widest(rows, Math.min(190, width * 0.3)), Math.min(corner, 190, width * 0.3)) + 16);
    const room = width - this.left - 2;
    this.base = { x: Math.min(columns.size > FEW ? WIDEST_CELL : 1.5 * WIDEST_CELL, Math.max(1, room / columns.size)) };
    const longest = widest(columns, 130);
    this.upright = longest + 8 > this.base.x;
    this.top = Math.ceil(this.upright ? Math.max(longest + 14, 40) : 44);
    const height = Math.min(TALLEST, Math.max(320, window.innerHeight - 120) - (this.upright ? 0 : 40));
    this.base.y = Math.min(rows.size > FEW ? HIGHEST_CELL : 1.5 * HIGHEST_CELL, Math.max(1, Math.max(height, 260) / rows.size));
    if (this.base.x >= 6) this.base.x = Math.floor(this.base.x);
    if (this.base.y >= 6) this.base.y = Math.floor(this.base.y);
    this.plot = {
      width: Math.min(room, this.base.x * columns.size),
      height: Math.min(Math.max(height, 260), this.base.y * rows.size),
    };
    this.size = { width, height: Math.ceil(this.top + this.plot.height + 2) };
    this.setResolution(window.devicePixelRatio || 1);
  }

  setResolution(ratio) {
    this.patterns = {};
    this.ratio = ratio;
    this.canvas.width = Math.round(this.size.width * ratio);
    this.canvas.height = Math.round(this.size.height * ratio);
    this.canvas.style.height = `${this.size.height}px`;
  }

  measure(text) { return this.context.measureText(text).width; }
  get cellWidth() { return this.base.x * this.zoom.x; }
  get cellHeight() { return this.base.y * this.zoom.y; }
  get farthest() {
    return {
      x: Math.max(0, this.cellWidth * this.map.columns.size - this.plot.width),
      y: Math.max(0, this.cellHeight * this.map.rows.size - this.plot.height),
    };
  }
  get zoomed() { return this.zoom.x > 1 || this.zoom.y > 1; }

  fit() { this.zoom = { x: 1, y: 1 }; this.offset = { x: 0, y: 0 }; this.redraw(); }

  moveBy(x, y) { this.place(this.offset.x + x, this.offset.y + y); }

  place(x, y) {
    const farthest = this.farthest;
    this.offset = { x: Math.min(farthest.x, Math.max(0, x)), y: Math.min(farthest.y, Math.max(0, y)) };
    this.redraw();
  }

  zoomBy(factor, at) {
    const anchor = at ?? { x: this.plot.width / 2, y: this.plot.height / 2 };
    const next = {};
    for (const [axis, most] of [["x", WIDEST_CELL], ["y", HIGHEST_CELL]]) {
      const old = this.zoom[axis], limit = Math.max(1, most / this.base[axis]);
      this.zoom[axis] = Math.min(limit, Math.max(1, old * factor));
      next[axis] = (this.offset[axis] + anchor[axis]) * (this.zoom[axis] / old) - anchor[axis];
    }
    this.place(next.x, next.y);
  }

  /* Bring a display place into view; `labelled` zooms that side in until its labels can be read. */
  reveal(row, column, labelled) {
    if (labelled && row !== null && this.cellHeight < 18) this.zoom.y = Math.max(1, 18 / this.base.y);
    if (labelled && column !== null && this.cellWidth < 18) this.zoom.x = Math.max(1, 18 / this.base.x);
    const into = (at, size, offset, room) => {
      if (at === null) return offset;
      const start = at * size;
      if (start >= offset && start + size <= offset + room && !labelled) return offset;
      return start + size / 2 - room / 2;
    };
    this.place(into(column, this.cellWidth, this.offset.x, this.plot.width), into(row, this.cellHeight, this.offset.y, this.plot.height));
  }

  /* The display place under a point of the canvas, or null. */
  cellAt(x, y) {
    const inX = x - this.left, inY = y - this.top;
    if (inX < 0 || inY < 0 || inX >= this.plot.width || inY >= this.plot.height) return null;
    const column = Math.floor((inX + this.offset.x) / this.cellWidth), row = Math.floor((inY + this.offset.y) / this.cellHeight);
    return row < this.map.rows.size && column < this.map.columns.size ? { row, column } : null;
  }

  /* Where the keys begin: in the row or column that was searched for, else at the first cell in sight. */
  startingCell() {
    const cell = this.cellAt(this.left, this.top);
    if (this.found) cell[this.found.side === "rows" ? "row" : "column"] = this.map[this.found.side].place[this.found.data];
    return cell;
  }

  dataPlace({ row, column }) { return { row: this.map.rows.order[row], column: this.map.columns.order[column] }; }

  redraw() {
    if (this.pending || !this.map) return;
    this.pending = requestAnimationFrame(() => { this.pending = 0; this.draw(); });
  }

  draw() {
    const context = this.context, { width, height } = this.size;
    context.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    context.fillStyle = this.palette.paper;
    context.fillRect(0, 0, width, height);
    context.save();
    context.beginPath();
    context.rect(this.left, this.top, this.plot.width, this.plot.height);
    context.clip();
    if (Math.min(this.cellWidth, this.cellHeight) < 5) this.drawImage(); else this.drawCells();
    this.drawOver();
    this.drawMarks();
    context.restore();
    context.strokeStyle = this.palette.grid;
    context.lineWidth = 1;
    context.strokeRect(this.left - 0.5, this.top - 0.5, this.plot.width + 1, this.plot.height + 1);
    this.drawLabels();
    this.tellRange();
    remember();
  }

  /* The first and the last row and column in sight, counted from 1. */
  region() {
    return [["rows", "y", this.cellHeight, this.plot.height], ["columns", "x", this.cellWidth, this.plot.width]].map(([side, axis, size, room]) => {
      const first = Math.floor(this.offset[axis] / size + 1e-6) + 1, last = Math.min(this.map[side].size, Math.ceil((this.offset[axis] + room) / size - 1e-6));
      return { side, axis, first, last };
    });
  }

  /* Bring a region into sight, as large as the screen has room for. */
  look(rows, columns) {
    const at = {};
    for (const [axis, [first, last], room] of [["y", rows, this.plot.height], ["x", columns, this.plot.width]]) {
      const most = Math.max(1, (axis === "x" ? WIDEST_CELL : HIGHEST_CELL) / this.base[axis]);
      this.zoom[axis] = Math.min(most, Math.max(1, room / ((last - first + 1) * this.base[axis])));
      at[axis] = (first - 1) * this.base[axis] * this.zoom[axis];
    }
    this.place(at.x, at.y);
  }

  /* When a part of the map is out of sight, say which part is in it. */
  tellRange() {
    const told = this.region().filter(({ axis }) => this.farthest[axis] > 0.5)
      .map(({ side, first, last }) => `${side} ${whole(first)} to ${whole(last)} of ${whole(this.map[side].size)}`);
    byId("range").textContent = told.length ? `In sight: ${told.join(", ")}` : "";
  }

  /* The chosen cell as a place on each axis, or null; and another one. */
  axes() { return [this.map.rows, this.map.columns]; }
  chosen() { return this.pin && [this.pin.row, this.pin.column]; }
  choose(places) { this.pin = places && { row: places[0], column: places[1] }; this.told(); this.redraw(); }

  visible(side, offset, size, room) {
    const first = Math.floor(offset / size);
    return [first, Math.min(this.map[side].size, Math.ceil((offset + room) / size) + 1)];
  }

  /* A few thousand large cells: each with its own fill, hatch, dot and number. */
  drawCells() {
    const { columns } = this.map, w = this.cellWidth, h = this.cellHeight;
    const [top, bottom] = this.visible("rows", this.offset.y, h, this.plot.height);
    const [left, right] = this.visible("columns", this.offset.x, w, this.plot.width);
    const gap = Math.min(w, h) >= 8 ? 1 : 0;
    for (let row = top; row < bottom; row++) {
      const from = this.map.rows.order[row] * columns.size, y = Math.round(this.top + row * h - this.offset.y);
      const high = Math.round(this.top + (row + 1) * h - this.offset.y) - y - gap;
      for (let column = left; column < right; column++) {
        const x = Math.round(this.left + column * w - this.offset.x);
        const wide = Math.round(this.left + (column + 1) * w - this.offset.x) - x - gap;
        this.drawCell(from + columns.order[column], x, y, wide, high);
      }
    }
  }

  drawDot(x, y, w, h) {
    const context = this.context;
    context.fillStyle = this.palette.dot;
    context.beginPath();
    context.arc(x + w / 2, y + h / 2, Math.min(2, Math.min(w, h) / 5), 0, 7);
    context.fill();
  }

  drawHatched(x, y, w, h) {
    const context = this.context;
    context.fillStyle = this.pattern("hatch");
    context.fillRect(x, y, w, h);
    context.strokeStyle = this.palette.hatch;
    context.lineWidth = 1;
    if (Math.min(w, h) >= 14) context.strokeRect(x + 0.5, y + 0.5, w - 1, h - 1);
  }

  drawImpossible(x, y, w, h) {
    const context = this.context, arm = Math.min(4, Math.min(w, h) / 4);
    context.fillStyle = this.palette.impossible;
    context.fillRect(x, y, w, h);
    if (arm < 2) return;
    context.strokeStyle = this.palette.ink;
    context.lineWidth = 1.2;
    context.beginPath();
    for (const side of [-arm, arm]) {
      context.moveTo(x + w / 2 - side, y + h / 2 - arm);
      context.lineTo(x + w / 2 + side, y + h / 2 + arm);
    }
    context.stroke();
  }

  /* A text in the middle of a cell, if there is room for it. */
  write(text, colour, weight, x, y, w, h) {
    const context = this.context;
    context.font = this.font(11, weight);
    if (this.measure(text) > w - 4) return;
    context.fillStyle = colour;
    context.textAlign = "center";
    context.textBaseline = "middle";
    context.fillText(text, x + w / 2, y + h / 2 + 0.5);
  }

  font(size, weight = 400) {
    this.family ??= getComputedStyle(document.body).fontFamily;
    return `${weight} ${size}px ${this.family}`;
  }

  /* Many small cells: one pixel each, stretched; hatch and dots lie over them at the screen's own size. */
  drawImage() {
    this.image ??= this.makeImages();
    const context = this.context, w = this.cellWidth * this.map.columns.size, h = this.cellHeight * this.map.rows.size;
    const x = this.left - this.offset.x, y = this.top - this.offset.y;
    context.imageSmoothingEnabled = false;
    context.drawImage(this.image.fill, x, y, w, h);
    for (const name in this.image.textures) this.drawTexture(name, x, y, w, h);
  }

  drawTexture(name, x, y, w, h) {
    const layer = document.createElement("canvas");
    [layer.width, layer.height] = [this.canvas.width, this.canvas.height];
    const context = layer.getContext("2d");
    context.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    context.imageSmoothingEnabled = false;
    context.drawImage(this.image.textures[name], x, y, w, h);
    context.globalCompositeOperation = "source-in";
    context.fillStyle = this.pattern(name);
    context.fillRect(0, 0, this.size.width, this.size.height);
    this.context.drawImage(layer, 0, 0, this.size.width, this.size.height);
  }

  makeImages() {
    const { rows, columns } = this.map;
    const sheet = () => {
      const canvas = document.createElement("canvas");
      [canvas.width, canvas.height] = [columns.size, rows.size];
      return { canvas, image: new ImageData(columns.size, rows.size) };
    };
    const fill = sheet(), masks = {};
    for (let row = 0, at = 0; row < rows.size; row++) {
      const from = rows.order[row] * columns.size;
      for (let column = 0; column < columns.size; column++, at += 4) {
        const place = from + columns.order[column], colour = this.colourOf(place), texture = this.textureOf(place);
        fill.image.data.set([colour[0], colour[1], colour[2], 255], at);
        if (texture) (masks[texture] ??= sheet()).image.data[at + 3] = 255;
      }
    }
    const done = (one) => { one.canvas.getContext("2d").putImageData(one.image, 0, 0); return one.canvas; };
    return { fill: done(fill), textures: Object.fromEntries(Object.entries(masks).map(([name, one]) => [name, done(one)])) };
  }

  pattern(name) {
    if (this.patterns?.[name]) return this.patterns[name];
    const side = 6, tile = document.createElement("canvas"), ratio = this.ratio;
    tile.width = tile.height = Math.round(side * ratio);
    const context = tile.getContext("2d");
    context.scale(tile.width / side, tile.width / side);
    TEXTURES[name](context, this.palette, side);
    const pattern = this.context.createPattern(tile, "repeat");
    pattern.setTransform(new DOMMatrix().scale(side / tile.width));
    (this.patterns ??= {})[name] = pattern;
    return pattern;
  }

  box(row, column) {
    return [this.left + column * this.cellWidth - this.offset.x, this.top + row * this.cellHeight - this.offset.y, this.cellWidth, this.cellHeight];
  }

  drawMarks() {
    const { rows, columns } = this.map;
    if (this.found?.side === "rows") this.outline([this.left, this.box(rows.place[this.found.data], 0)[1], this.plot.width, this.cellHeight], 2);
    if (this.found?.side === "columns") this.outline([this.box(0, columns.place[this.found.data])[0], this.top, this.cellWidth, this.plot.height], 2);
    if (this.pin) this.outline(this.box(rows.place[this.pin.row], columns.place[this.pin.column]), 3);
    for (const cell of [this.cursor, this.hover]) if (cell) this.outline(this.box(cell.row, cell.column), 1.5);
  }

  outline([x, y, w, h], weight) {
    const context = this.context, out = Math.max(0, 5 - Math.min(w, h)) / 2;
    const box = [x - out - 0.5, y - out - 0.5, w + 2 * out, h + 2 * out];
    context.lineWidth = weight + 2;
    context.strokeStyle = this.palette.paper;
    context.strokeRect(...box);
    context.lineWidth = weight;
    context.strokeStyle = weight === 1.5 ? this.palette.ink : this.palette.accent;
    context.strokeRect(...box);
  }

  /* All labels when there is room for them, else every so many, each with a tick to its place. */
  drawLabels() {
    const context = this.context, { rows, columns } = this.map, palette = this.palette;
    const corner = this.shorten(`${rows.factor} ↓`, this.left - 16, 12, 600);
    context.fillStyle = palette.ink;
    context.font = this.font(FONT, 600);
    context.textBaseline = "alphabetic";
    context.textAlign = "right";
    context.fillText(corner, this.left - 14, this.top - 14);
    if (!this.upright) {
      context.textAlign = "left";
      context.fillText(this.shorten(`${columns.factor} →`, this.plot.width, 12, 600), this.left, 14);
    } else {
      context.fillText(this.shorten(`${columns.factor} →`, this.left - 16, 12, 600), this.left - 14, this.top - 32);
    }
    this.drawRowLabels();
    this.drawColumnLabels();
  }

  drawRowLabels() {
    const { rows } = this.map, h = this.cellHeight, every = h >= 13 ? 1 : Math.ceil(26 / h);
    const [first, last] = this.visible("rows", this.offset.y, h, this.plot.height);
    const marked = this.markedPlaces("rows", h);
    const context = this.context;
    context.textAlign = "right";
    context.textBaseline = "middle";
    for (let row = first; row < last; row++) {
      const y = this.top + (row + 0.5) * h - this.offset.y;
      if (y < this.top || y > this.top + this.plot.height) continue;
      const strong = marked.has(row), near = [...marked].some((one) => Math.abs(one - row) * h < 13);
      if (!strong && (row % every || near)) continue;
      this.tick(this.left - 5, y, this.left - 1, y, every > 1 || strong);
      context.font = this.font(FONT, strong ? 600 : 400);
      context.fillStyle = strong ? this.palette.accent : every > 1 ? this.palette.quiet : this.palette.ink;
      context.fillText(this.shorten(rows.names[rows.order[row]], this.left - 10, FONT, strong ? 600 : 400), this.left - 8, y + 0.5);
    }
  }

  drawColumnLabels() {
    const { columns } = this.map, w = this.cellWidth, every = w >= 13 ? 1 : Math.ceil(26 / w);
    const flat = !this.upright, context = this.context;
    const [first, last] = this.visible("columns", this.offset.x, w, this.plot.width);
    const marked = this.markedPlaces("columns", w);
    for (let column = first; column < last; column++) {
      const x = this.left + (column + 0.5) * w - this.offset.x;
      if (x < this.left || x > this.left + this.plot.width) continue;
      const strong = marked.has(column), near = [...marked].some((one) => Math.abs(one - column) * w < 13);
      if (!strong && (column % every || near)) continue;
      this.tick(x, this.top - 5, x, this.top - 1, every > 1 || strong);
      context.save();
      context.translate(x, this.top - 8);
      if (!flat) context.rotate(-Math.PI / 2);
      context.textAlign = flat ? "center" : "left";
      context.textBaseline = flat ? "alphabetic" : "middle";
      context.font = this.font(FONT, strong ? 600 : 400);
      context.fillStyle = strong ? this.palette.accent : every > 1 ? this.palette.quiet : this.palette.ink;
      context.fillText(this.shorten(columns.names[columns.order[column]], flat ? w - 4 : this.top - 10, FONT, strong ? 600 : 400), 0, 0.5);
      context.restore();
    }
  }

  /* The places whose labels must be read now; of two that would overlap, the livelier one. */
  markedPlaces(side, size) {
    const axis = this.map[side], short = side === "rows" ? "row" : "column";
    const live = this.hover ?? this.cursor, marks = new Set();
    const mark = (place) => { if (![...marks].some((one) => Math.abs(one - place) * size < 13)) marks.add(place); };
    if (live) mark(live[short]);
    if (this.pin) mark(axis.place[this.pin[short]]);
    if (this.found?.side === side) mark(axis.place[this.found.data]);
    return marks;
  }

  tick(x1, y1, x2, y2, wanted) {
    if (!wanted) return;
    this.context.strokeStyle = this.palette.grid;
    this.context.lineWidth = 1;
    this.context.beginPath();
    this.context.moveTo(x1, y1);
    this.context.lineTo(x2, y2);
    this.context.stroke();
  }

  shorten(text, room, size, weight) {
    this.context.font = this.font(size, weight);
    if (this.measure(text) <= room) return text;
    const letters = [...text.slice(0, 120)];
    while (letters.length > 1 && this.measure(`${letters.join("")}…`) > room) letters.pop();
    return `${letters.join("").trimEnd()}…`;
  }
}

/* A combination of two values, each with its factor's name. */
function named({ rows, columns }, { row, column }) {
  const brief = (text) => (text.length > 60 ? `${text.slice(0, 59)}…` : text);
  return `${rows.factor}=${brief(rows.names[row])}, ${columns.factor}=${brief(columns.names[column])}`;
}

/* What is known of the pinned cell, or of the one that the keys have reached, below the map. */
function showPin(view) {
  const box = byId("pinned"), cell = view.pin ?? (view.cursor && view.dataPlace(view.cursor)), link = byId("copy-link");
  box.replaceChildren();
  if (link) link.hidden = !view.pin;
  if (!cell) return;
  const [title, ...rest] = view.describe(cell);
  box.append(Object.assign(document.createElement("b"), { textContent: `${view.pin ? "Pinned: " : ""}${title}. ` }), `${rest[0]} ${rest.slice(1).join("; ")}.`);
}

function setLines(element, lines) {
  element.replaceChildren(...lines.map((line) => Object.assign(document.createElement("div"), { textContent: line })));
}

function showTip(view, x, y) {
  const tip = byId("tip");
  tip.hidden = !view.hover;
  if (!view.hover) return;
  setLines(tip, view.describe(view.dataPlace(view.hover)));
  const right = x + 18 + tip.offsetWidth > view.size.width, low = y + 18 + tip.offsetHeight > view.size.height + 60;
  tip.style.left = `${Math.max(0, right ? x - tip.offsetWidth - 14 : x + 18)}px`;
  tip.style.top = `${low ? y - tip.offsetHeight - 14 : y + 18}px`;
}

function listenToPointer(view) {
  const canvas = view.canvas, held = new Map();
  let moved = 0;
  const at = (event) => {
    const box = canvas.getBoundingClientRect();
    return { x: event.clientX - box.left, y: event.clientY - box.top };
  };
  const spread = () => { const [a, b] = [...held.values()]; return Math.hypot(a.x - b.x, a.y - b.y); };
  const hover = (point) => { view.hover = view.cellAt(point.x, point.y); showTip(view, point.x, point.y); view.redraw(); };
  canvas.addEventListener("pointerdown", (event) => { held.set(event.pointerId, at(event)); moved = 0; canvas.setPointerCapture(event.pointerId); });
  canvas.addEventListener("pointermove", (event) => {
    const point = at(event), last = held.get(event.pointerId);
    if (!last) { hover(point); return; }
    const before = held.size === 2 ? spread() : 0;
    held.set(event.pointerId, point);
    moved += Math.abs(point.x - last.x) + Math.abs(point.y - last.y);
    if (moved < 4) return;
    canvas.classList.add("drag");
    view.hover = null;
    showTip(view);
    if (held.size === 2 && before) view.zoomBy(spread() / before, { x: point.x - view.left, y: point.y - view.top });
    else view.moveBy(last.x - point.x, last.y - point.y);
    settleTouch(view);
  });
  const release = (event) => {
    const point = held.get(event.pointerId);
    held.delete(event.pointerId);
    canvas.classList.remove("drag");
    if (!point || event.type === "pointercancel" || moved >= 4) return;
    const cell = view.cellAt(point.x, point.y), data = cell && view.dataPlace(cell);
    const same = data && view.pin && data.row === view.pin.row && data.column === view.pin.column;
    view.pin = same ? null : data;
    view.cursor = null;
    view.told();
    view.redraw();
  };
  canvas.addEventListener("pointerup", release);
  canvas.addEventListener("pointercancel", release);
  canvas.addEventListener("pointerleave", () => { view.hover = null; showTip(view); view.redraw(); });
  canvas.addEventListener("wheel", (event) => {
    if (document.activeElement !== canvas && !event.ctrlKey && !event.metaKey) return;
    if (event.deltaY > 0 && !view.zoomed) return;
    event.preventDefault();
    const point = at(event);
    view.zoomBy(Math.exp(-Math.sign(event.deltaY) * Math.min(0.35, Math.abs(event.deltaY) / 300)), { x: point.x - view.left, y: point.y - view.top });
    hover(point);
    settleTouch(view);
  }, { passive: false });
}

/* A finger scrolls the page while the map fits, and the map once it is zoomed in. */
function settleTouch(view) {
  const { x, y } = view.farthest;
  view.canvas.style.touchAction = x && y ? "none" : y ? "pan-x" : x ? "pan-y" : "pan-x pan-y";
}

function listenToKeys(view) {
  const steps = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
  const move = ([down, right], far) => {
    const old = view.cursor ?? view.hover ?? view.startingCell();
    const within = (place, size) => Math.min(size - 1, Math.max(0, place));
    const first = !view.cursor && !view.hover;
    view.cursor = first ? old : { row: within(old.row + down * far, view.map.rows.size), column: within(old.column + right * far, view.map.columns.size) };
    view.hover = null;
    showTip(view);
    view.reveal(view.cursor.row, view.cursor.column, false);
  };
  const letGo = () => { view.pin = null; view.cursor = null; view.found = null; };
  const pin = () => { if (view.cursor) view.pin = view.dataPlace(view.cursor); };
  const keys = { "+": () => view.zoomBy(1.5, cursorPoint(view)), "=": () => view.zoomBy(1.5, cursorPoint(view)), "-": () => view.zoomBy(1 / 1.5, cursorPoint(view)), 0: () => view.fit(), Escape: letGo, Enter: pin, " ": pin };
  view.canvas.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (steps[event.key]) move(steps[event.key], event.shiftKey ? 10 : 1);
    else if (keys[event.key]) keys[event.key]();
    else return;
    event.preventDefault();
    view.told();
    settleTouch(view);
    view.redraw();
  });
  view.canvas.addEventListener("blur", () => { view.cursor = null; view.redraw(); });
}

function cursorPoint(view) {
  if (!view.cursor) return undefined;
  const [x, y, w, h] = view.box(view.cursor.row, view.cursor.column);
  return { x: x + w / 2 - view.left, y: y + h / 2 - view.top };
}

/* The search box: values of the two factors on the map, those that begin with the text first. */

function matchesFor(view, text) {
  const wanted = text.trim().toLowerCase(), found = [];
  if (!wanted) return found;
  for (const side of ["rows", "columns"]) {
    view.map[side].names.forEach((name, data) => {
      const at = name.toLowerCase().indexOf(wanted);
      if (at >= 0) found.push({ side, data, name, rank: at === 0 ? 0 : 1 });
    });
  }
  return found.sort((a, b) => a.rank - b.rank || a.name.length - b.name.length).slice(0, 8);
}

function listenToSearch(view) {
  const input = byId("search"), list = byId("matches");
  let matches = [], chosen = 0;
  const close = () => { list.hidden = true; input.setAttribute("aria-expanded", "false"); input.removeAttribute("aria-activedescendant"); };
  const go = (match) => {
    view.found = match;
    const display = view.map[match.side].place[match.data];
    view.reveal(match.side === "rows" ? display : null, match.side === "columns" ? display : null, true);
    settleTouch(view);
    close();
  };
  const item = (match, place) => {
    const line = Object.assign(document.createElement("li"), { id: `match-${place}` });
    line.setAttribute("role", "option");
    line.setAttribute("aria-selected", String(place === chosen));
    const name = match.name.length > 60 ? `${match.name.slice(0, 59)}…` : match.name;
    line.append(Object.assign(document.createElement("bdi"), { textContent: name }), Object.assign(document.createElement("small"), { textContent: view.map[match.side].factor }));
    line.addEventListener("pointerdown", (event) => { event.preventDefault(); input.value = name; go(match); });
    return line;
  };
  const nothing = () => Object.assign(document.createElement("li"), { className: "nothing", textContent: "No such value in this pair" });
  const show = () => {
    list.replaceChildren(...(matches.length ? matches.map(item) : [nothing()]));
    list.hidden = !input.value.trim();
    input.setAttribute("aria-expanded", String(!list.hidden));
    if (matches.length) input.setAttribute("aria-activedescendant", `match-${chosen}`);
  };
  input.addEventListener("input", () => {
    matches = matchesFor(view, input.value);
    chosen = 0;
    if (!input.value.trim()) { view.found = null; view.redraw(); }
    show();
  });
  input.addEventListener("keydown", (event) => {
    if (event.key === "Escape") close();
    else if (event.key === "Enter" && matches.length) go(matches[chosen]);
    else if ((event.key === "ArrowDown" || event.key === "ArrowUp") && matches.length) {
      chosen = (chosen + (event.key === "ArrowDown" ? 1 : matches.length - 1)) % matches.length;
      show();
    } else return;
    event.preventDefault();
  });
  input.addEventListener("blur", close);
}

/* Everything that moves, marks, searches, resizes and prints a view. */
function listen(view) {
  const recolour = () => { view.readPalette(); view.draw(); };
  listenToPointer(view);
  listenToKeys(view);
  listenToSearch(view);
  for (const input of document.querySelectorAll("[name=order]")) {
    input.addEventListener("change", () => { view.order = input.value; view.cursor = null; view.arrange(); view.redraw(); });
  }
  const zoom = (factor) => { view.zoomBy(factor); settleTouch(view); };
  byId("zoom-in").addEventListener("click", () => zoom(1.6));
  byId("zoom-out").addEventListener("click", () => zoom(1 / 1.6));
  byId("zoom-fit").addEventListener("click", () => { view.fit(); settleTouch(view); });
  let width = view.canvas.parentElement.clientWidth;
  new ResizeObserver(() => {
    const now = view.canvas.parentElement.clientWidth;
    if (now === width || root.classList.contains("printing")) return;
    width = now;
    const [rows, columns] = view.region(), zoomed = view.zoomed;
    view.layout();
    view.fit();
    if (zoomed) view.look([rows.first, rows.last], [columns.first, columns.last]);
    settleTouch(view);
  }).observe(view.canvas.parentElement);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", recolour);
  addEventListener("beforeprint", () => { view.setResolution(Math.max(3, view.ratio)); recolour(); });
  addEventListener("afterprint", () => { view.setResolution(window.devicePixelRatio || 1); recolour(); });
}

/* What of a view stands in the address: the pair of factors, the choices above the map, the cell, a value found, what is in sight. */
function keepView(view, pairs, show) {
  const pair = byId("pair"), input = byId("search");
  const turn = (place) => { input.value = ""; return show(place); };
  pair?.addEventListener("change", () => turn(pair.selectedIndex));
  keep("pair", "map", () => (pair?.selectedIndex > 0 ? nameOf(pairs, pair.selectedIndex) : ""), async (text) => {
    const place = placeOf(pairs, text) ?? 0;
    if (!pair || pair.selectedIndex === place) return;
    pair.selectedIndex = place;
    await turn(place);
  });
  keepChoices("map");
  const first = view.chosen(), same = (places) => String(places) === String(first);
  keep("cell", "map", () => (view.chosen() && !same(view.chosen()) ? valuesText(view.axes(), view.chosen()) : ""), (text) => {
    const places = valuesRead(view.axes(), text);
    view.choose(places.includes(null) ? first : places);
  });
  const sides = ["rows", "columns"], axes = () => [view.map.rows, view.map.columns];
  keep("find", "map", () => (view.found ? valuesText(axes(), sides.map((side) => (side === view.found.side ? view.found.data : null))) : ""), (text) => {
    const places = valuesRead(axes(), text), k = places.findIndex((place) => place !== null);
    view.found = k < 0 ? null : { side: sides[k], data: places[k] };
    input.value = k < 0 ? "" : axes()[k].names[places[k]];
    view.redraw();
  });
  keep("zoom", "map", () => (view.zoomed ? view.region().map(({ first: from, last }) => `${from}-${last}`).join(",") : ""), (text) => {
    const read = /^(\d{1,7})-(\d{1,7}),(\d{1,7})-(\d{1,7})$/.exec(text)?.slice(1).map(Number);
    const fits = read && [0, 2].every((k) => read[k] >= 1 && read[k] <= read[k + 1] && read[k + 1] <= axes()[k / 2].size);
    if (fits) view.look(read.slice(0, 2), read.slice(2)); else view.fit();
    settleTouch(view);
  });
}

function begin(start, lines) {
  if (byId("canvas")) offerCells(lines);
  settle(byId("canvas") ? start() : Promise.resolve());
}
