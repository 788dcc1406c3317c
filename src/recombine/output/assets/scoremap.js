
/* The evaluation's map: the score of every pair of values. Data order is by tested rows. */

const [TESTED, TRAINED, IMPOSSIBLE] = [1, 2, 4];
const STEPS = 65534;
const spoken = (number) => (Number.isNaN(number) ? "no score" : payload.share ? `${Math.round(100 * number)} %` : decimal(number));

/* The planes of scoremap.py, undone. */
function unpack(bytes, size) {
  const state = bytes.slice(0, size), score = new Float64Array(size).fill(NaN), count = new Float64Array(size);
  const tested = state.reduce((sum, one) => sum + (one & TESTED), 0);
  let high = size, low = size + tested, next = low + tested;
  for (let i = 0; i < size; i++) {
    if (!(state[i] & TESTED)) continue;
    const code = bytes[high++] * 256 + bytes[low++];
    if (code <= STEPS) score[i] = payload.low + (code / STEPS) * (payload.high - payload.low);
    let weight = 1, byte = 128;
    while (byte >= 128) { byte = bytes[next++]; count[i] += (byte & 127) * weight; weight *= 128; }
  }
  return { state, score, count };
}

async function loadMap(place) {
  const raw = payload.maps[place], side = (axis) => ({ ...axis, size: axis.names.length });
  const rows = side(raw.rows), columns = side(raw.columns);
  return { rows, columns, ...unpack(await inflate(raw.cells), rows.size * columns.size) };
}

class ScoreMap extends MapView {
  colours({ ramp }) {
    const score = ramp("--score-worst", "--score-best");
    return { score, onScore: score.map(inkOn) };
  }

  sorted(axis, places) {
    if (this.order !== "score") return super.sorted(axis, places);
    const sign = payload.worst <= payload.best ? 1 : -1;
    const key = (place) => (axis.scores[place] === null ? Infinity : sign * axis.scores[place]);
    return places.sort((a, b) => key(a) - key(b) || a - b);
  }

  shadeOf(place) {
    const span = payload.best - payload.worst;
    return span ? shadeStep((this.map.score[place] - payload.worst) / span) : SHADES >> 1;
  }

  known(place) { return (this.map.state[place] & TESTED) && !Number.isNaN(this.map.score[place]); }

  colourOf(place) {
    if (this.known(place)) return this.palette.score[this.shadeOf(place)];
    return this.map.state[place] & IMPOSSIBLE ? this.palette.impossibleRgb : this.palette.paperRgb;
  }

  textureOf(place) { return this.map.state[place] & (TESTED | IMPOSSIBLE) ? null : "hatch"; }

  drawCell(place, x, y, w, h) {
    const context = this.context, state = this.map.state[place];
    let ink = this.palette.ink;
    if (this.known(place)) {
      const shade = this.shadeOf(place);
      ink = this.palette.onScore[shade];
      context.fillStyle = asCss(this.palette.score[shade]);
      context.fillRect(x, y, w, h);
      if (this.cellHeight >= 16 && this.cellWidth >= 30) this.write(spoken(this.map.score[place]).replace(" %", ""), ink, 400, x, y, w, h);
    } else if (state & IMPOSSIBLE) {
      this.drawImpossible(x, y, w, h);
    } else if (!(state & TESTED)) {
      this.drawHatched(x, y, w, h);
    }
    if (state & TRAINED && Math.min(w, h) >= 7) {
      context.fillStyle = ink;
      context.beginPath();
      context.arc(x + w - 4, y + 4, Math.min(2.2, w / 6), 0, 7);
      context.fill();
    }
  }

  describe({ row, column }) {
    const { rows, columns, state, count, score } = this.map, place = row * columns.size + column;
    const tested = state[place] & TESTED ? `Tested: ${payload.score} ${spoken(score[place])} on ${count[place] === 1 ? "one row" : `${whole(count[place])} rows`}.` : state[place] & IMPOSSIBLE ? "Declared impossible." : "Untested: nothing is known about it.";
    const trained = !payload.trained ? "" : state[place] & TRAINED ? " Seen together in training." : " Never seen together in training.";
    const side = (axis, at) => `${axis.factor} = ${axis.names[at]}: ${axis.scores[at] === null ? "untested" : `${spoken(axis.scores[at])} on ${whole(axis.counts[at])} rows`}`;
    return [named(this.map, { row, column }), tested + trained, side(rows, row), side(columns, column)];
  }

  told() { showPin(this); }
}

function showPair(view, place) {
  const { rows, columns } = view.map;
  document.querySelectorAll("[data-cut]").forEach((one, at) => { one.hidden = at !== place || !one.textContent; });
  view.canvas.setAttribute("aria-label", `Map of ${payload.score} for ${rows.factor} (${whole(rows.size)} rows) by ${columns.factor} (${whole(columns.size)} columns).`);
}

async function startMap() {
  const view = new ScoreMap(byId("canvas"));
  view.order = "count";
  const show = async (place) => { view.show(await loadMap(place)); showPair(view, place); view.told(); settleTouch(view); view.draw(); };
  byId("ramp-worst").textContent = spoken(payload.worst);
  byId("ramp-best").textContent = spoken(payload.best);
  await show(0);
  listen(view);
  keepView(view, payload.maps.map(({ rows, columns }) => `${rows.factor}~${columns.factor}`), show);
}

async function* cellLines() {
  yield ["first factor", "first value", "second factor", "second value", "tested rows", payload.score, ...(payload.trained ? ["seen together in training"] : [])];
  for (let place = 0; place < payload.maps.length; place++) {
    const { rows, columns, state, count, score } = await loadMap(place);
    for (let at = 0; at < state.length; at++) {
      const row = Math.floor(at / columns.size), column = at % columns.size;
      yield [rows.factor, rows.names[row], columns.factor, columns.names[column], count[at], score[at], ...(payload.trained ? [state[at] & TRAINED ? "yes" : "no"] : [])];
    }
  }
}

begin(startMap, cellLines);
