
/* The grid of predictions: a slice of the cube, and the panel that takes one prediction apart. */

const [SEEN, FINE, LEAK, SHORTCUT, CANT, UNDETERMINED, UNSURE, NOVEL, IMPOSSIBLE, UNLISTED] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9];
const VERDICTS = ["seen", "fine", "leak", "shortcut", "can't", "not determined", "unsure", "novel", "impossible", "not listed"];
const SIGNS = { [LEAK]: "L", [SHORTCUT]: "S", [CANT]: "×", [UNDETERMINED]: "–", [UNSURE]: "?" };
const VERDICT_TEXTURES = { [LEAK]: "leak", [SHORTCUT]: "shortcut", [CANT]: "cant", [UNDETERMINED]: "hatch", [UNSURE]: "unsure", [NOVEL]: "dots" };
const FIELD_STEPS = 65534, MOST_BARS = 26, CLASS_COLOURS = 8;

Object.assign(TEXTURES, {
  leak: (context, palette, side) => slanted(context, palette.texture, side, false),
  shortcut: (context, palette, side) => { slanted(context, palette.texture, side, false); slanted(context, palette.texture, side, true); },
  cant: (context, palette, side) => { context.fillStyle = palette.texture; context.fillRect(0, 0, 1, side); context.fillRect(side / 2, 0, 1, side); },
  unsure: (context, palette, side) => {
    context.fillStyle = palette.texture;
    for (const at of [side / 4, 3 * side / 4]) { context.beginPath(); context.arc(at, at, 0.9, 0, 7); context.fill(); }
  },
});

/* The planes of cube.py, undone. */
function unpackCells(bytes, size) {
  const cells = { verdict: bytes.slice(0, size), count: new Float64Array(size) };
  let at = size;
  for (const [name, [low, high]] of Object.entries(payload.ranges)) {
    const field = new Float32Array(size), unit = (high - low) / FIELD_STEPS;
    for (let i = 0; i < size; i++) {
      const code = bytes[at + i] * 256 + bytes[at + size + i];
      field[i] = code > FIELD_STEPS ? NaN : low + code * unit;
    }
    cells[name] = field;
    at += 2 * size;
  }
  for (let i = 0; i < size; i++) {
    if (cells.verdict[i] !== SEEN) continue;
    let weight = 1, byte = 128;
    while (byte >= 128) { byte = bytes[at++]; cells.count[i] += (byte & 127) * weight; weight *= 128; }
    cells.count[i] /= payload.unit;
  }
  return cells;
}

function unpackFloats(bytes, size) {
  const words = new Uint32Array(size);
  for (let plane = 0, at = 0; at < bytes.length; plane++) for (let i = 0; i < size; i++, at++) words[i] += bytes[at] * 2 ** (24 - 8 * plane);
  return new Float32Array(words.buffer);
}

/* All that is known: sizes and strides of the cube, its cells, and the parts that each prediction is the sum of. */
class Cube {
  static async load() {
    const cube = new Cube();
    cube.factors = payload.factors.map((one) => ({ ...one, names: one.values.map((value) => payload.values[value]), size: one.values.length }));
    cube.strides = cube.factors.map((_, place) => cube.factors.slice(place + 1).reduce((step, one) => step * one.size, 1));
    cube.size = cube.factors.reduce((size, one) => size * one.size, 1);
    Object.assign(cube, unpackCells(await inflate(payload.cells), cube.size));
    cube.scores = payload.constant.length;
    let from = 0;
    cube.sets = payload.sets.map((factors) => {
      const size = factors.reduce((total, place) => total * cube.factors[place].size, 1), set = { factors, size, from };
      from += size * cube.scores;
      return set;
    });
    cube.parts = unpackFloats(await inflate(payload.parts), from);
    cube.whys = new Map(payload.whys);
    cube.kind = payload.kind === "number" ? "number" : cube.scores > 1 ? "many" : "two";
    cube.findRanges();
    return cube;
  }

  /* The range of each colour scale. A few far-off numbers must not take the contrast from all others: they get the end's colour. */
  findRanges() {
    const range = (number) => {
      const all = new Float32Array(this.size);
      let size = 0;
      for (let i = 0; i < this.size; i++) if (this.isPredicted(i)) { const one = number(i); if (!Number.isNaN(one)) all[size++] = one; }
      if (!size) return { low: 0, high: 1, cut: false };
      const sorted = all.subarray(0, size).sort(), last = size - 1;
      const [low, high] = [sorted[Math.floor(0.005 * last)], sorted[Math.ceil(0.995 * last)]], cut = high > low && sorted[last] - sorted[0] > 1.4 * (high - low);
      return cut ? { low, high, cut } : { low: sorted[0], high: sorted[last], cut };
    };
    const balanced = ({ low, high, cut }) => { const most = Math.max(Math.abs(low), Math.abs(high)) || 1; return { low: -most, high: most, cut }; };
    const predictions = range((index) => this.prediction[index]);
    this.ranges = {
      prediction: this.kind === "two" ? balanced(predictions) : predictions,
      sd: range((index) => this.known("sd", index)),
      error: balanced(range((index) => (this.kind === "number" ? this.error(index) : NaN))),
    };
    this.digits = digitsFor(this.ranges.prediction.high - this.ranges.prediction.low);
  }

  /* What a field knows of a cell: NaN when the record holds no such field at all. */
  known(field, index) { return this[field] ? this[field][index] : NaN; }
  error(index) { return this.prediction[index] - this.known("truth", index); }
  labelOf(index) { return Math.round(this.known("label", index)); }
  truthOf(index) { return Math.round(this.known("truth", index)); }
  hasTruth(index) { return !Number.isNaN(this.known("truth", index)); }
  isPredicted(index) { return this.verdict[index] < NOVEL && !Number.isNaN(this.known("prediction", index)) && (this.kind === "number" || this.labelOf(index) >= 0); }
  isWrong(index) { return this.labelOf(index) !== this.truthOf(index); }

  codes(index) { return this.factors.map((one, place) => Math.floor(index / this.strides[place]) % one.size); }
  index(codes) { return codes.reduce((total, code, place) => total + code * this.strides[place], 0); }

  /* What each conjunction of a combination adds to one score; null where it was never seen. */
  contributions(index, score) {
    const codes = this.codes(index);
    return this.sets.map((set) => {
      const inside = set.factors.reduce((place, factor) => place * this.factors[factor].size + codes[factor], 0);
      const value = this.parts[set.from + score * set.size + inside];
      return { factors: set.factors, value: Number.isNaN(value) ? null : value, names: set.factors.map((factor) => this.factors[factor].names[codes[factor]]) };
    });
  }

  sum(index, score) { return this.contributions(index, score).reduce((total, one) => total + (one.value ?? 0), payload.constant[score]); }

  /* The answer in words: a number, or the class that wins. */
  said(value, label) { return this.kind === "number" ? this.amount(value) : payload.classes[label] ?? "–"; }
  amount(value) { return fixed(value, this.digits + 1); }
  saidPrediction(index) {
    const sd = this.known("sd", index), spread = Number.isNaN(sd) ? "" : ` ± ${this.amount(sd)}`, value = this.amount(this.prediction[index]);
    return this.kind === "number" ? `${value}${spread}` : `${payload.classes[this.labelOf(index)]} (score ${value}${spread})`;
  }
  saidTruth(index) { return this.said(this.known("truth", index), this.truthOf(index)); }

  /* The conjunction that leads away from the truth the most; without a truth, the one that the prediction leans on. */
  misleading(index, score) {
    const target = this.wanted(index, score), predicted = this.prediction[index];
    const wrongWay = target === null ? Math.sign(predicted - payload.constant[score]) : Math.sign(predicted - target) || 1;
    const pulls = this.contributions(index, score).filter((one) => one.value !== null && one.value * wrongWay > 0);
    return pulls.sort((a, b) => Math.abs(b.value) - Math.abs(a.value))[0] ?? null;
  }

  /* What a score should be: the number itself, or +1 and −1 for classes; null when the truth is not known. */
  wanted(index, score) {
    if (!this.hasTruth(index)) return null;
    if (this.kind === "number") return this.truth[index];
    return this.truthOf(index) === (this.kind === "two" ? 1 : score) ? 1 : -1;
  }
}

/* Numbers that are compared are written with the same digits: two for what is as large as `span`. */
const digitsFor = (span) => (span > 0 ? Math.min(8, Math.max(0, 1 - Math.floor(Math.log10(span)))) : 2);
const minus = (text) => (/^-[0.,]*$/.test(text) ? text.slice(1) : text.replace("-", "−"));
/* Shares of rows are said in percent, as in the sentences around. */
const inPercent = (number, digits) => `${minus((100 * number).toLocaleString("en-US", { minimumFractionDigits: digits, maximumFractionDigits: digits }))} %`;
const said = (number) => (payload.share ? `${minus(decimal(100 * number))} %` : minus(decimal(number)));
const fixed = (number, digits) => (payload.share ? inPercent(number, Math.min(6, Math.max(0, digits - 2))) : minus(Math.abs(number) >= 1e7 || digits > 7 ? decimal(number) : number.toLocaleString("en-US", { minimumFractionDigits: digits, maximumFractionDigits: digits })));
const shortened = (text, most = 60) => (text.length > most ? `${text.slice(0, most - 1)}…` : text);
const conjunction = (one) => one.names.map((name) => shortened(name, 40)).join(" + ");

class GridView extends MapView {
  constructor(canvas, cube) {
    super(canvas);
    this.cube = cube;
    this.order = "count";
    this.mode = "prediction";
    this.markSeen = true;
    this.at = cube.codes(payload.start ?? commonest(cube));
  }

  colours({ rgb, ramp }) {
    const both = [...ramp("--minus", "--zero"), ...ramp("--zero", "--plus").slice(1)];
    const classes = Array.from({ length: CLASS_COLOURS + 1 }, (_, place) => mixRamp(rgb("--paper"), rgb(`--class-${place}`)));
    return {
      amount: ramp("--amount-low", "--amount-high"), tint: ramp("--tint-low", "--tint-high"), both, classes,
      verdicts: { [SEEN]: rgb("--v-seen"), [FINE]: rgb("--v-fine"), [LEAK]: rgb("--v-leak"), [SHORTCUT]: rgb("--v-shortcut"), [CANT]: rgb("--v-cant"), [UNSURE]: rgb("--v-unsure") },
      noneRgb: rgb("--v-none"), inkRgb: rgb("--ink"),
      texture: getComputedStyle(root).getPropertyValue("--texture").trim(),
    };
  }

  /* Two factors as rows and columns; the others stay where `at` has them. */
  slice(rows, columns) {
    const axis = (place) => ({ ...this.cube.factors[place], which: place });
    this.map = { rows: axis(rows), columns: axis(columns) };
    this.refresh();
    this.clearMarks();
    this.pin = { row: this.at[rows], column: this.at[columns] };
    this.arrange();
    this.layout();
    this.fit();
  }

  /* After another value of a factor that is not drawn. */
  refresh() {
    const { rows, columns } = this.map, { strides } = this.cube;
    const from = this.cube.index(this.at.map((code, place) => (place === rows.which || place === columns.which ? 0 : code)));
    this.map.index = (place) => from + Math.floor(place / columns.size) * strides[rows.which] + (place % columns.size) * strides[columns.which];
    this.image = null;
  }

  indexOf({ row, column }) { return this.map.index(row * this.map.columns.size + column); }

  sorted(axis, places) {
    if (this.order === "count") return places.sort((a, b) => axis.counts[b] - axis.counts[a] || a - b);
    if (this.order === "prediction") {
      const means = this.means(axis);
      return places.sort((a, b) => means[b] - means[a] || a - b);
    }
    return super.sorted(axis, places);
  }

  means(axis) {
    const { rows, columns } = this.map, across = axis === rows, sums = new Float64Array(axis.size), cube = this.cube;
    for (let row = 0; row < rows.size; row++) {
      for (let column = 0; column < columns.size; column++) {
        const index = this.indexOf({ row, column });
        if (cube.isPredicted(index)) sums[across ? row : column] += cube.kind === "many" ? cube.labelOf(index) : cube.prediction[index];
      }
    }
    return sums;
  }

  /* A cell's colour in the mode that is on; null where the mode has nothing to say. What nothing seen fixes is a guess:
     it keeps a breath of its colour, and is hatched and outlined. */
  fill(index) {
    const colour = this.plainFill(index);
    return colour && this.cube.verdict[index] === UNDETERMINED ? mix(colour, this.palette.paperRgb, 0.8) : colour;
  }

  plainFill(index) {
    const { cube, palette } = this, verdict = cube.verdict[index];
    if (this.mode === "verdict") return palette.verdicts[verdict] ?? null;
    if (!cube.isPredicted(index)) return null;
    if (this.mode === "uncertainty") return this.shade(palette.tint, cube.known("sd", index), cube.ranges.sd);
    if (this.mode === "error") return this.errorFill(index);
    if (cube.kind === "number") return this.shade(palette.amount, cube.prediction[index], cube.ranges.prediction);
    if (cube.kind === "two") return this.balance(cube.prediction[index], cube.ranges.prediction.high);
    return palette.classes[Math.min(CLASS_COLOURS, cube.labelOf(index))][shadeStep(0.45 + 0.3 * (cube.prediction[index] + 1))];
  }

  errorFill(index) {
    const { cube, palette } = this;
    if (!cube.hasTruth(index)) return palette.noneRgb;
    return cube.kind === "number" ? this.balance(cube.error(index), cube.ranges.error.high) : palette.verdicts[cube.isWrong(index) ? SHORTCUT : FINE];
  }

  shade(ramp, value, { low, high }) { return Number.isNaN(value) ? null : ramp[shadeStep(high > low ? (value - low) / (high - low) : 0.6)]; }
  balance(value, most) { return this.palette.both[Math.round((Math.min(1, Math.max(-1, value / most)) + 1) * (SHADES - 1))]; }

  colourOf(place) {
    const index = this.map.index(place), verdict = this.cube.verdict[index], { palette } = this;
    const colour = this.fill(index) ?? (verdict === IMPOSSIBLE ? palette.impossibleRgb : verdict === UNLISTED ? palette.noneRgb : palette.paperRgb);
    return verdict === SEEN && this.markSeen ? mix(colour, palette.inkRgb, 0.7) : colour;
  }

  textureOf(place) {
    const index = this.map.index(place), verdict = this.cube.verdict[index];
    if (verdict === NOVEL) return "dots";
    if (this.mode === "verdict") return VERDICT_TEXTURES[verdict] ?? null;
    if (verdict === UNDETERMINED) return "hatch";
    if (this.mode === "error" && this.cube.kind !== "number" && this.cube.isPredicted(index) && this.cube.hasTruth(index) && this.cube.isWrong(index)) return "shortcut";
    return verdict < NOVEL && !this.fill(index) ? "hatch" : null;
  }

  drawCell(place, x, y, w, h) {
    const index = this.map.index(place), verdict = this.cube.verdict[index], colour = this.fill(index), { context } = this;
    if (verdict === NOVEL) { this.drawDot(x, y, w, h); return; }
    if (verdict === IMPOSSIBLE) { this.drawImpossible(x, y, w, h); return; }
    context.fillStyle = asCss(colour ?? (verdict === UNLISTED ? this.palette.noneRgb : this.palette.paperRgb));
    context.fillRect(x, y, w, h);
    const texture = this.textureOf(place), ink = colour ? inkOn(colour) : this.palette.ink;
    if (texture === "hatch") this.drawHatched(x, y, w, h);
    else if (texture) { context.fillStyle = this.pattern(texture); context.fillRect(x, y, w, h); }
    if (h >= 14 && w >= 14) this.drawText(index, colour, ink, Boolean(texture), x, y, w, h);
    if (verdict === SEEN && this.markSeen) this.drawSeen(ink, x, y, w, h);
  }

  drawSeen(ink, x, y, w, h) {
    const { context } = this, small = Math.min(w, h) < 11, radius = small ? Math.min(1.5, Math.min(w, h) / 4) : 2.4;
    context.fillStyle = ink;
    context.beginPath();
    context.arc(small ? x + w / 2 : x + w - 5, small ? y + h / 2 : y + 5, radius, 0, 7);
    context.fill();
  }

  drawText(index, colour, ink, textured, x, y, w, h) {
    const text = this.textOf(index, w);
    if (!text) return;
    if (textured) {
      this.context.font = this.font(11, 600);
      const wide = Math.min(w, this.measure(text) + 4);
      this.context.fillStyle = colour ? asCss(colour) : this.palette.paper;
      this.context.fillRect(x + (w - wide) / 2, y + h / 2 - 7, wide, 14);
    }
    this.write(text, ink, textured || this.mode === "verdict" ? 600 : 400, x, y, w, h);
  }

  textOf(index, room) {
    const { cube } = this;
    if (this.mode === "verdict") return SIGNS[cube.verdict[index]] ?? "";
    if (room < 25 || !cube.isPredicted(index)) return "";
    if (this.mode === "uncertainty") return Number.isNaN(cube.known("sd", index)) ? "" : payload.share ? said(Number(cube.sd[index].toPrecision(2))) : minus(String(Number(cube.sd[index].toPrecision(2))));
    if (this.mode === "error") return !cube.hasTruth(index) ? "" : cube.kind === "number" ? this.brief(cube.error(index)) : cube.isWrong(index) ? "✗" : "✓";
    return cube.kind === "many" ? this.shorten(payload.classes[cube.labelOf(index)], room - 6, 11, 400) : this.brief(cube.prediction[index]);
  }

  brief(number) { return Math.abs(number) >= 10000 ? `${minus(String(Number((number / 1000).toPrecision(3))))}k` : fixed(number, this.cube.digits); }

  describe(cell) {
    const { cube } = this, index = this.indexOf(cell), verdict = cube.verdict[index], { rows, columns } = this.map;
    const lines = [named(this.map, cell)];
    const others = cube.factors.map((one, place) => [one, place]).filter(([, place]) => place !== rows.which && place !== columns.which);
    if (cube.isPredicted(index)) lines.push(`Predicted ${payload.target}: ${cube.saidPrediction(index)}`);
    else lines.push("No prediction.");
    if (cube.hasTruth(index)) lines.push(`Truth: ${cube.saidTruth(index)}${cube.kind === "number" ? `, error ${cube.amount(cube.error(index))}` : cube.isWrong(index) ? ", wrong" : ", right"}`);
    lines.push(verdict === SEEN ? `Seen in ${rowsText(cube.count[index])}` : `Not seen. Verdict: ${VERDICTS[verdict]}`);
    for (const axis of [[rows, cell.row], [columns, cell.column]]) lines.push(`${axis[0].factor} = ${shortened(axis[0].names[axis[1]])}: ${rowsText(axis[0].counts[axis[1]])}`);
    for (const [one, place] of others) lines.push(`${one.factor} = ${shortened(one.names[this.at[place]])}`);
    return lines;
  }

  told() { tellPin(this); }

  axes() { return this.cube.factors; }
  chosen() { return [...this.at]; }
  choose(places) { goTo(this, this.cube.index(places)); }
}

const rowsText = (count) => (count === 1 ? "one row" : `${count === Math.round(count) ? whole(count) : decimal(count)} rows`);
const mixRamp = (from, to) => Array.from({ length: SHADES }, (_, step) => mix(from, to, step / (SHADES - 1)));

function commonest(cube) {
  return cube.index(cube.factors.map((one) => one.counts.indexOf(Math.max(...one.counts))));
}

/* The panel. What was pinned last stays in it, so that it is never empty. */

function tellPin(view) {
  const moved = view.cursor && view.dataPlace(view.cursor), box = byId("pinned");
  box.hidden = !moved;
  box.textContent = moved ? `${view.describe(moved).join(". ")}.` : "";
  if (!view.pin) return;
  const { rows, columns } = view.map;
  view.at[rows.which] = view.pin.row;
  view.at[columns.which] = view.pin.column;
  showPanel(view.cube, view.cube.index(view.at));
}

function showPanel(cube, index) {
  const codes = cube.codes(index), winner = cube.kind === "many" && cube.isPredicted(index) ? cube.labelOf(index) : 0;
  byId("panel").dataset.cell = index;
  byId("panel-title").textContent = cube.factors.map((one, place) => `${one.factor}=${shortened(one.names[codes[place]])}`).join(", ");
  byId("score").value = String(winner);
  byId("panel-words").textContent = panelWords(cube, index, winner);
  drawContributions(cube, index, winner);
}

function panelWords(cube, index, score) {
  if (!cube.isPredicted(index)) return `Nothing is predicted. ${whyOf(cube, index, score)}`;
  const truth = !cube.hasTruth(index) ? "" : cube.kind === "number"
    ? ` In truth it is ${cube.saidTruth(index)}: the prediction is ${cube.amount(Math.abs(cube.error(index)))} too ${cube.error(index) > 0 ? "high" : "low"}.`
    : ` In truth it is ${cube.saidTruth(index)}: the prediction is ${cube.isWrong(index) ? "wrong" : "right"}.`;
  return `Predicted ${payload.target}: ${cube.saidPrediction(index)}.${truth} ${whyOf(cube, index, score)}`;
}

function whyOf(cube, index, score) {
  const verdict = cube.verdict[index], why = cube.whys.get(index);
  const head = verdict === FINE || verdict === SEEN ? "" : `Verdict: ${VERDICTS[verdict]}. `;
  if (why) return head + why;
  const pull = verdict === SHORTCUT ? cube.misleading(index, score) : null;
  const leak = cube.known("unleaked", index);
  return head + {
    [SEEN]: () => `It was seen in ${rowsText(cube.count[index])}, so a part of its answer is memorised in the full combination.`,
    [FINE]: () => "It was never seen, and a kernel-like learner is expected to handle it.",
    [LEAK]: () => (Number.isNaN(leak) ? "A part of what was seen is memorised in the full combinations, where this one cannot use it."
      : `Without what was memorised in the full combinations it would be ${cube.kind === "number" ? "" : "a score of "}${cube.amount(leak)}.`),
    [SHORTCUT]: () => (pull ? `${pull.names.length > 1 ? "The conjunction" : "The value"} ${conjunction(pull)} pulls ${cube.hasTruth(index) ? "the wrong way" : "it"}, by ${cube.amount(Math.abs(pull.value))}.` : "What went with the answer among the seen combinations misleads here."),
    [CANT]: () => "No sum over the conjunctions that were seen can be right here.",
    [UNDETERMINED]: () => "Nothing seen fixes its answer, so the prediction is a guess.",
    [UNSURE]: () => "The prediction is too uncertain to lean on.",
    [NOVEL]: () => "It holds a value that was never seen.",
    [IMPOSSIBLE]: () => "It was declared impossible.",
    [UNLISTED]: () => "It was not among the combinations that were predicted.",
  }[verdict]();
}

/* The rows of the bar chart: the constant, every conjunction, and their sum. */
function contributionRows(cube, index, score) {
  const all = cube.contributions(index, score), bySize = document.querySelector("[name=bars]:checked")?.value === "size";
  const full = all.length && Math.max(...all.map((one) => one.factors.length));
  const rows = all.map((one) => ({
    value: one.value, order: one.factors.length, name: conjunction(one), full: one.names.join(" + "),
    factor: one.factors.length === full && full > 1 ? "full combination" : one.factors.map((place) => cube.factors[place].factor).join(" + "),
  }));
  if (!bySize) rows.sort((a, b) => a.order - b.order);
  else rows.sort((a, b) => Math.abs(b.value ?? 0) - Math.abs(a.value ?? 0) || (a.value === null) - (b.value === null));
  return [{ name: "constant", value: payload.constant[score], factor: "", constant: true }, ...gathered(rows)];
}

/* Hundreds of conjunctions are too many bars: those never seen become one line, the smallest another. */
function gathered(rows) {
  if (rows.length <= MOST_BARS) return rows;
  const seen = rows.filter((row) => row.value !== null), unseen = rows.length - seen.length;
  const kept = new Set([...seen].sort((a, b) => Math.abs(b.value) - Math.abs(a.value)).slice(0, MOST_BARS - 2)), rest = seen.filter((row) => !kept.has(row));
  const shown = seen.filter((row) => kept.has(row));
  if (rest.length) shown.push({ name: `${whole(rest.length)} smaller ones together`, value: rest.reduce((total, row) => total + row.value, 0), factor: "" });
  if (unseen) shown.push({ name: `${whole(unseen)} conjunctions`, value: null, factor: "" });
  return shown;
}

function drawContributions(cube, index, score) {
  const box = byId("contributions"), rows = contributionRows(cube, index, score), sum = cube.sum(index, score), wanted = cube.wanted(index, score);
  /* A number's bars begin at the constant, or it would dwarf them; a class's begin at zero, where the sides meet. */
  const zero = cube.kind === "number" ? payload.constant[score] : 0;
  const reach = [zero, sum, wanted ?? zero, ...rows.filter((row) => row.value !== null && !(row.constant && zero)).map((row) => zero + row.value)];
  const low = Math.min(...reach), high = Math.max(...reach), room = (high - low || 1) * 0.04;
  const place = (value) => 100 * (value - low + room) / (high - low + 2 * room || 1);
  const scale = { zero, place, wanted, digits: Math.max(cube.digits + 1, digitsFor((high - low) / 9)) };
  box.style.setProperty("--zero-at", `${place(zero).toFixed(3)}%`);
  const lines = rows.map((row) => barLine(row, row.constant && zero ? zero : zero + (row.value ?? 0), scale));
  const total = { name: cube.kind === "number" ? (Math.abs(sum - cube.prediction[index]) > (high - low) / 1e3 ? "sum, beyond what a share can be" : "sum = prediction") : cube.kind === "two" ? `sum, towards ${shortened(sum >= 0 ? payload.classes[1] : payload.classes[0], 24)}` : `sum = score of ${shortened(payload.scores[score], 24)}`, value: sum, factor: "", total: true };
  box.replaceChildren(headLine(cube, scale), ...lines, barLine(total, sum, scale));
  box.dataset.sum = sum;
  byId("panel-note").textContent = noteUnder(cube, rows, zero, score);
}

function noteUnder(cube, rows, zero, score) {
  const start = cube.kind === "number" && zero ? "Bars begin at the constant. " : "";
  const sides = cube.kind === "two" ? `To the right speaks for ${payload.classes[1]}, to the left for ${payload.classes[0]}. ` : cube.kind === "many" ? `To the right speaks for ${payload.scores[score]}; the class with the highest score wins. ` : "";
  return `${start}${sides}${rows.some((row) => row.value === null) ? "What was never seen adds nothing." : ""}`;
}

const make = (tag, className, text = "") => Object.assign(document.createElement(tag), { className, textContent: text });

function barLine(row, end, { zero, place, wanted, digits }) {
  const line = make("div", `c-row${row.value === null ? " unseen" : ""}${row.total ? " sum" : ""}${place(zero) > 60 ? " left" : ""}`);
  const name = make("span", "c-name"), track = make("span", "c-track");
  name.append(make("small", "", row.factor), make("bdi", "", row.name));
  name.title = row.full ?? row.name;
  if (row.value !== null) {
    const bar = make("i", end < zero ? "minus" : "plus"), from = Math.min(place(zero), place(end));
    bar.style.left = `${from}%`;
    bar.style.width = `${Math.abs(place(end) - place(zero))}%`;
    if (end !== zero) track.append(bar);
    line.dataset.value = row.value;
  }
  if (wanted !== null) track.append(at(make("span", "truth"), place(wanted)));
  const text = row.value === null ? "–" : `${row.value > 0 && !row.total && !row.constant ? "+" : ""}${fixed(row.value, digits)}`;
  line.append(name, track, make("span", "c-value", text));
  return line;
}

function headLine(cube, { zero, place, wanted, digits }) {
  const line = make("div", "c-row head"), track = make("span", "c-track"), far = wanted === null || Math.abs(place(wanted) - place(zero)) * byId("contributions").clientWidth > 24000;
  const side = (share) => (share < 12 ? "start" : share > 88 ? "end" : "");
  if (far) track.append(at(make("span", side(place(zero)), fixed(zero, digits)), place(zero)));
  if (wanted !== null) {
    const answer = cube.kind === "number" ? fixed(wanted, digits) : cube.saidTruth(Number(byId("panel").dataset.cell));
    track.append(at(make("span", `of-truth ${side(place(wanted))}`, `truth: ${shortened(answer, 24)}`), place(wanted)));
  }
  line.append(make("span", ""), track, make("span", ""));
  return line;
}

function at(element, share) { element.style.left = `${share}%`; return element; }

/* What stands around the grid and changes with the slice and the mode. */
function showAround(view) {
  const { map, cube } = view, tally = new Array(VERDICTS.length).fill(0), size = map.rows.size * map.columns.size;
  /* Elements of a set against each other: each pair stands on both sides of the diagonal, and counts once. */
  const { rows, columns } = map, once = rows.factor !== columns.factor;
  for (let place = 0; place < size; place++) {
    if (once || rows.names[Math.floor(place / columns.size)] <= columns.names[place % columns.size]) tally[cube.verdict[map.index(place)]]++;
  }
  for (const line of document.querySelectorAll("#map [data-verdict]")) {
    const count = tally[VERDICTS.indexOf(line.dataset.verdict)];
    const total = Number(line.dataset.total || 0);  // of the whole space, where the headline speaks of it
    line.querySelector("[data-count]").textContent = total > count ? `${whole(count)} of ${whole(total)}` : whole(count);
    line.classList.toggle("none", !count);
    line.hidden = !count && ["not determined", "novel", "impossible", "not listed"].includes(line.dataset.verdict);
  }
  document.querySelector(".legends").dataset.now = view.mode;
  for (const legend of document.querySelectorAll(".legends [data-mode]")) legend.hidden = legend.dataset.mode !== view.mode;
  for (const label of document.querySelectorAll("[data-slice]")) {
    const place = Number(label.dataset.slice);
    label.hidden = place === map.rows.which || place === map.columns.which;
    label.querySelector("select").value = String(view.at[place]);
  }
  view.canvas.setAttribute("aria-label", `Predictions of ${payload.target} for ${map.rows.factor} (${whole(map.rows.size)} rows) by ${map.columns.factor} (${whole(map.columns.size)} columns), coloured by ${view.mode}: ${VERDICTS.map((name, code) => `${whole(tally[code])} ${name}`).join(", ")}.`);
}

function fillLegends(view) {
  const { cube, palette } = view;
  for (const [name, { low, high, cut }] of Object.entries(cube.ranges)) {
    for (const [side, value, sign] of [["low", low, "≤ "], ["high", high, "≥ "]]) {
      for (const element of document.querySelectorAll(`[data-${side}="${name}"]`)) element.textContent = `${cut && (side === "high" || low) ? sign : ""}${said(value)}`;
    }
  }
  for (const box of document.querySelectorAll("[data-class]")) box.style.background = asCss(palette.classes[Number(box.dataset.class)][SHADES - 1]);
  byId("score").replaceChildren(...(payload.scores.length ? payload.scores : [payload.target]).map((name, place) => new Option(shortened(name, 40), String(place))));
}

function fillSlices(view) {
  for (const label of document.querySelectorAll("[data-slice]")) {
    const place = Number(label.dataset.slice), one = view.cube.factors[place], select = label.querySelector("select");
    const order = one.names.map((_, code) => code).sort((a, b) => one.counts[b] - one.counts[a] || a - b);
    select.replaceChildren(...order.map((code) => new Option(shortened(one.names[code]), String(code))));
    select.addEventListener("change", () => { view.at[place] = Number(select.value); view.refresh(); if (view.order === "prediction") view.arrange(); showAround(view); tellPin(view); view.redraw(); });
  }
}

function goTo(view, index) {
  view.at = view.cube.codes(index);
  const { rows, columns } = view.map;
  view.refresh();
  view.pin = { row: view.at[rows.which], column: view.at[columns.which] };
  view.reveal(rows.place[view.pin.row], columns.place[view.pin.column], false);
  showAround(view);
  tellPin(view);
}

function listenToLists(view) {
  for (const line of document.querySelectorAll("tr[data-cell]")) {
    const cell = line.cells[0], button = make("button", "link");
    button.type = "button";
    button.append(...cell.childNodes);
    cell.append(button);
    line.addEventListener("click", () => { goTo(view, Number(line.dataset.cell)); byId("panel").scrollIntoView({ block: "center" }); });
  }
}

async function startGrid() {
  const view = new GridView(byId("canvas"), await Cube.load()), pair = byId("pair");
  const choose = () => { view.slice(...(pair ? pair.value.split(",").map(Number) : [0, 1])); showAround(view); tellPin(view); settleTouch(view); };
  const pairs = pair ? [...pair.options].map(({ value }) => value.split(",").map((place) => view.cube.factors[place].factor).join("~")) : [];
  fillLegends(view);
  fillSlices(view);
  choose();
  if (!view.pin) showPanel(view.cube, view.cube.index(view.at));
  view.draw();
  listen(view);
  listenToLists(view);
  keepView(view, pairs, choose);
  for (const input of document.querySelectorAll("[name=mode]")) {
    input.addEventListener("change", () => { view.mode = input.value; view.image = null; showAround(view); view.redraw(); });
  }
  for (const input of document.querySelectorAll("[name=bars]")) {
    input.addEventListener("change", () => drawContributions(view.cube, Number(byId("panel").dataset.cell), Number(byId("score").value)));
  }
  byId("score").addEventListener("change", () => drawContributions(view.cube, Number(byId("panel").dataset.cell), Number(byId("score").value)));
  byId("mark-seen").addEventListener("change", (event) => { view.markSeen = event.target.checked; view.image = null; view.redraw(); });
}

async function* cellLines() {
  const cube = await Cube.load(), fields = ["prediction", "sd", "truth"].filter((name) => cube[name] && (cube.kind === "number" || name !== "truth"));
  const labels = cube.kind === "number" ? [] : ["label", "truth"].filter((name) => cube[name]);
  yield [...cube.factors.map((one) => one.factor), "verdict", "rows", ...labels.map((name) => (name === "label" ? "predicted" : name)), ...fields.map((name) => (name === "prediction" && labels.length ? "score" : name))];
  for (let index = 0; index < cube.size; index++) {
    const codes = cube.codes(index);
    yield [
      ...cube.factors.map((one, place) => one.names[codes[place]]), VERDICTS[cube.verdict[index]], cube.count[index],
      ...labels.map((name) => payload.classes[Math.round(cube[name][index])] ?? ""), ...fields.map((name) => cube[name][index]),
    ];
  }
}

begin(startGrid, cellLines);
