/** Voice-to-voice time of each turn, and their median. */

const PARTS = [['endpointing', 'pause'], ['stt', 'hearing'], ['llm', 'thinking'], ['tts', 'voice']];
const MAX_SHOWN = 8;

export class Latency {
  constructor({ list, median, note }) {
    this.list = list;
    this.median = median;
    this.note = note;
    this.reset();
  }

  reset() {
    this.turns = [];
    this.show();
  }

  add(metrics) {
    this.turns.push(metrics);
    this.show();
  }

  show() {
    const totals = this.turns.map((turn) => turn.voice_to_voice_ms);
    const count = totals.length;
    this.median.textContent = count === 0 ? '–' : `${Math.round(medianOf(totals))} ms`;
    this.note.textContent = count === 0 ? 'no turn yet' : `median of ${count} ${count === 1 ? 'turn' : 'turns'}`;
    const longest = Math.max(1, ...totals);
    const first = Math.max(0, count - MAX_SHOWN);
    this.list.replaceChildren(...this.turns.slice(first).map((turn, index) => row(turn, first + index + 1, longest)));
  }
}

function row(turn, number, longest) {
  const total = Math.round(turn.voice_to_voice_ms);
  const item = document.createElement('li');
  const bar = Object.assign(document.createElement('span'), { className: 'bar-of-turn' });
  for (const [part, name] of PARTS) {
    const ms = Math.round(turn[`${part}_ms`] ?? 0);
    const piece = Object.assign(document.createElement('i'), { className: part, title: `${name}: ${ms} ms` });
    piece.style.width = `${Math.max(0, Math.min(100, (ms / longest) * 100))}%`;
    bar.append(piece);
  }
  const label = Object.assign(document.createElement('span'), { className: 'turn-number', textContent: String(number) });
  const value = Object.assign(document.createElement('span'), { className: 'turn-ms', textContent: `${total} ms` });
  item.append(label, bar, value);
  return item;
}

function medianOf(values) {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  return sorted.length % 2 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}
