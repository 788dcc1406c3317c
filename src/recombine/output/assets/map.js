
/* The audit's map. Data order is by island, then count. */

const [UNDETERMINED, DETERMINED, SEEN, NOVEL, IMPOSSIBLE, THIN] = [0, 1, 2, 3, 4, 5];
const STATE_NAMES = ["undetermined", "determined", "seen", "novel", "impossible", "thin"];
const hasRows = (state) => state === SEEN || state === THIN;
const STEPS = 4094;

/* The planes of map_packing.py, undone. */
function unpack(bytes, size) {
  const state = bytes.slice(0, size), leverage = new Float32Array(size).fill(NaN), count = new Float64Array(size);
  const answer = new Float32Array(size).fill(NaN);
  const tally = [0, 0, 0, 0, 0, 0];
  for (let i = 0; i < size; i++) tally[state[i]]++;
  const ratio = Math.log(payload.high / payload.low) / STEPS;
  let high = size, low = size + tally[DETERMINED], next = low + tally[DETERMINED], most = 1;
  for (let i = 0; i < size; i++) {
    if (state[i] === DETERMINED) {
      const code = bytes[high++] * 256 + bytes[low++];
      if (code <= STEPS) leverage[i] = payload.low * Math.exp(code * ratio);
    } else if (hasRows(state[i])) {
      let weight = 1, byte = 128;
      while (byte >= 128) { byte = bytes[next++]; count[i] += (byte & 127) * weight; weight *= 128; }
      if (count[i] > most) most = count[i];
    }
  }
  const held = tally[SEEN] + tally[THIN];
  for (let i = 0, at = next; payload.answers && i < size; i++) {
    if (!hasRows(state[i])) continue;
    const code = bytes[at] * 256 + bytes[held + at++], [lowest, highest] = payload.answers;
    if (code <= STEPS) answer[i] = lowest + (highest - lowest) * code / STEPS;
  }
  return { state, leverage, count, answer, tally, most };
}

/* Elements of a set against each other: each pair stands on both sides of the diagonal, and counts once. */
function halfTally(state, size) {
  const tally = [0, 0, 0, 0, 0, 0];
  for (let i = 0; i < size; i++) for (let j = i; j < size; j++) tally[state[i * size + j]]++;
  return tally;
}

async function loadMap(place) {
  const raw = payload.maps[place];
  const side = (axis) => ({ ...axis, names: axis.values.map((value) => payload.values[value]), size: axis.values.length });
  const rows = side(raw.rows), columns = side(raw.columns);
  const cells = unpack(await inflate(raw.cells), rows.size * columns.size);
  if (rows.factor === columns.factor) cells.tally = halfTally(cells.state, rows.size);
  return { rows, columns, ...cells };
}

class AuditMap extends MapView {
  colours({ ramp }) {
    const seen = ramp("--seen-low", "--seen-high");
    return { seen, tint: ramp("--tint-low", "--tint-high"), onSeen: seen.map(inkOn) };
  }

  /* One kind of number at a time: rows, leverage or answers; a cell that has none of it keeps one even shade. */
  numberOf(place) {
    const { state, count, leverage, answer } = this.map, seen = hasRows(state[place]);
    if (this.shown === "leverage") return leverage[place];
    return !seen ? NaN : this.shown === "answers" ? answer[place] : count[place];
  }

  shadeOf(place) {
    const number = this.numberOf(place), { most } = this.map;
    if (Number.isNaN(number)) return shadeStep(hasRows(this.map.state[place]) ? 0.35 : 0.2);
    if (this.shown === "leverage") return shadeStep(Math.log(number / payload.low) / Math.log(payload.high / payload.low));
    if (this.shown === "answers") return shadeStep((number - payload.answers[0]) / (payload.answers[1] - payload.answers[0] || 1));
    return shadeStep(most > 1 ? Math.log(Math.max(1, number)) / Math.log(most) : 0.6);
  }

  colourOf(place) {
    const { palette } = this, state = this.map.state[place];
    if (hasRows(state) || state === DETERMINED) return (hasRows(state) ? palette.seen : palette.tint)[this.shadeOf(place)];
    return state === IMPOSSIBLE ? palette.impossibleRgb : palette.paperRgb;
  }

  textureOf(place) {
    const state = this.map.state[place];
    if (state === DETERMINED && payload.doubtful) return "doubt";
    return state === UNDETERMINED ? "hatch" : state === NOVEL ? "dots" : null;
  }

  drawCell(place, x, y, w, h) {
    const context = this.context, palette = this.palette, state = this.map.state[place];
    if (hasRows(state) || state === DETERMINED) {
      const shade = this.shadeOf(place), seen = hasRows(state);
      context.fillStyle = asCss((seen ? palette.seen : palette.tint)[shade]);
      context.fillRect(x, y, w, h);
      if (state === THIN) this.drawThin(palette.onSeen[shade], x, y, w, h);
      if (!seen && payload.doubtful) { context.fillStyle = this.pattern("doubt"); context.fillRect(x, y, w, h); }
      this.drawNumber(place, seen ? palette.onSeen[shade] : palette.ink, x, y, w, h);
    } else if (state === UNDETERMINED) {
      this.drawHatched(x, y, w, h);
    } else if (state === NOVEL) {
      this.drawDot(x, y, w, h);
    } else {
      this.drawImpossible(x, y, w, h);
    }
  }

  /* A handful of rows: framed with dashes, so that it is not taken for a common one. */
  drawThin(colour, x, y, w, h) {
    if (Math.min(w, h) < 8) return;
    this.context.strokeStyle = colour;
    this.context.lineWidth = 1.5;
    this.context.setLineDash([4, 3]);
    this.context.strokeRect(x + 3, y + 3, w - 6, h - 6);
    this.context.setLineDash([]);
  }

  drawNumber(place, colour, x, y, w, h) {
    if (this.cellHeight < 16 || this.cellWidth < 25) return;
    const rows = this.shown === "rows", number = this.numberOf(place) * (this.shown === "answers" && payload.answer_share ? 100 : 1);
    if (Number.isNaN(number)) return;
    const text = number >= 10000 ? `${Number((number / 1000).toPrecision(3))}k` : rows ? whole(number) : String(Number(number.toPrecision(2)));
    this.write(text, colour, rows ? 600 : 400, x, y, w, h);
  }

  drawOver() {
    if (this.order !== "island") return;
    const context = this.context;
    context.strokeStyle = this.palette.ink;
    context.lineWidth = 1;
    context.beginPath();
    const { rows, columns } = this.map;
    for (let row = 1; rows.islands && row < rows.size; row++) {
      if (rows.islands[row] === rows.islands[row - 1]) continue;
      const y = Math.round(this.top + row * this.cellHeight - this.offset.y) - 0.5;
      context.moveTo(this.left, y); context.lineTo(this.left + this.plot.width, y);
    }
    for (let column = 1; columns.islands && column < columns.size; column++) {
      if (columns.islands[column] === columns.islands[column - 1]) continue;
      const x = Math.round(this.left + column * this.cellWidth - this.offset.x) - 0.5;
      context.moveTo(x, this.top); context.lineTo(x, this.top + this.plot.height);
    }
    context.stroke();
  }

  describe(cell) { return describe(this.map, cell); }

  told() { showPin(this); }
}

/* What is known of one cell, in sentences. */

/* A share is said in percent, as everywhere on the page. */
const saidAnswer = (number) => (payload.answer_share ? `${decimal(100 * number)} %` : decimal(number));
const answerOf = (map, place) => (Number.isNaN(map.answer[place]) ? "" : `, ${payload.answer}: ${saidAnswer(map.answer[place])}`);

function describe(map, { row, column }) {
  const place = row * map.columns.size + column, state = map.state[place];
  const about = {
    [SEEN]: () => `Seen in ${map.count[place] === 1 ? "one row" : `${whole(map.count[place])} rows`}${answerOf(map, place)}.`,
    [THIN]: () => `Thin: only ${map.count[place] === 1 ? "one row holds" : `${whole(map.count[place])} rows hold`} it${answerOf(map, place)}.`,
    [DETERMINED]: () => Number.isNaN(map.leverage[place])
      ? "Not seen, but determined; its leverage was not measured."
      : `Not seen, but determined, with leverage ${decimal(map.leverage[place])} (at 1 it would be as uncertain as a single example).`,
    [UNDETERMINED]: () => "Not seen, and undetermined: nothing seen fixes its answer.",
    [NOVEL]: () => "Novel: it holds a value that was never seen.",
    [IMPOSSIBLE]: () => "Declared impossible, or never met where chance would have made them: perhaps they cannot.",
  }[state]();
  const side = (axis, at) => {
    const parts = [];
    if (axis.counts) parts.push(axis.counts[at] === 1 ? "1 row" : `${whole(axis.counts[at])} rows`);
    if (axis.islands && axis.islands[at] >= 0) parts.push(`island ${axis.islands[at] + 1}`);
    const name = axis.names[at].length > 60 ? `${axis.names[at].slice(0, 59)}…` : axis.names[at];
    return `${axis.factor} = ${name}${parts.length ? `: ${parts.join(", ")}` : ""}`;
  };
  return [named(map, { row, column }), about, side(map.rows, row), side(map.columns, column)];
}

/* What stands around the map and changes with the pair. */
function showPair(view, place) {
  const { map } = view;
  STATE_NAMES.forEach((name, state) => {
    const line = document.querySelector(`#map .legend [data-state="${name}"]`);
    line.classList.toggle("none", !map.tally[state]);
    line.querySelector("b").textContent = whole(map.tally[state]);
  });
  byId("ramp-seen-high").textContent = `${whole(map.most)} rows`;
  byId("ramp-seen").hidden = map.most === 1 || view.shown !== "rows";
  byId("ramp-low").textContent = decimal(payload.low);
  byId("ramp-high").textContent = decimal(payload.high);
  byId("ramp-determined").hidden = !map.tally[DETERMINED] || view.shown !== "leverage";
  byId("ramp-answers").hidden = view.shown !== "answers";
  byId("map-shows").textContent = { answers: `In each cell: ${payload.answer}${payload.answer_share ? ", in percent" : ""}.`, rows: "In each cell: its rows.", leverage: "In each cell: its leverage." }[view.shown];
  for (const [place, name] of ["ramp-lowest", "ramp-highest"].entries()) byId(name).textContent = payload.answers ? saidAnswer(payload.answers[place]) : "";
  const cut = document.querySelectorAll("#map-words tbody tr")[place].dataset.cut;
  byId("cut").hidden = !cut;
  byId("cut").textContent = cut ? `Drawn: ${cut}.` : "";
  const told = STATE_NAMES.map((name, state) => `${whole(map.tally[state])} ${name}`).join(", ");
  view.canvas.setAttribute("aria-label", `Map of ${map.rows.factor} (${whole(map.rows.size)} rows) by ${map.columns.factor} (${whole(map.columns.size)} columns): ${told}.`);
}

async function startMap() {
  const view = new AuditMap(byId("canvas"));
  let open = 0;
  view.shown = document.querySelector('[name="shown"]:checked').value;
  for (const input of document.querySelectorAll('[name="shown"]')) {
    input.addEventListener("change", () => { view.shown = input.value; showPair(view, open); view.redraw(); });
  }
  const show = async (place) => { open = place; view.show(await loadMap(place)); showPair(view, place); view.told(); settleTouch(view); view.draw(); };
  await show(0);
  listen(view);
  keepView(view, payload.maps.map(({ rows, columns }) => `${rows.factor}~${columns.factor}`), show);
}

async function* cellLines() {
  yield ["first factor", "first value", "second factor", "second value", "state", "rows", "leverage", "answer"];
  for (let place = 0; place < payload.maps.length; place++) {
    const { rows, columns, state, count, leverage, answer } = await loadMap(place);
    for (let at = 0; at < state.length; at++) {
      const row = Math.floor(at / columns.size), column = at % columns.size;
      yield [rows.factor, rows.names[row], columns.factor, columns.names[column], STATE_NAMES[state[at]], count[at], leverage[at], answer[at]];
    }
  }
}

begin(startMap, cellLines);
