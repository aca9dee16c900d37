/** The page's elements, and what they show. Knows nothing of calls. */

const byId = (id) => document.getElementById(id);

const SAYINGS = {
  idle: ['Talk', 'Press Talk and say hello.'],
  connecting: ['Connecting', 'Opening the microphone and the line…'],
  listening: ['Listening', 'Go on, the agent listens.'],
  thinking: ['Thinking', 'The agent thinks.'],
  speaking: ['Speaking', 'Talk over it, or tap, to interrupt.'],
  dropped: ['Reconnecting', 'The connection broke. The agent waits.'],
};

export const elements = {
  agent: byId('agent'), modes: byId('modes'), talk: byId('talk'), mute: byId('mute'), end: byId('end'), typing: byId('typing'), text: byId('text'),
  transcript: byId('transcript'), empty: byId('empty'), typeInstead: byId('type-instead'), noticeClose: byId('notice-close'),
  latency: { list: byId('turns'), median: byId('median'), note: byId('median-note') },
};

/** One of idle, connecting, listening, thinking, speaking, dropped. `saying` replaces the usual sentence. */
export function showState(state, saying) {
  const [label, sentence] = SAYINGS[state];
  const inCall = state !== 'idle';
  elements.talk.dataset.state = state;
  byId('talk-label').textContent = label;
  byId('state').textContent = saying ?? sentence;
  byId('controls').hidden = !inCall;
  elements.agent.disabled = inCall || elements.agent.value === '';
  elements.modes.disabled = inCall;
  elements.talk.disabled = state === 'idle' ? elements.agent.value === '' : state !== 'speaking';
  const typing = state !== 'idle' && state !== 'connecting';
  elements.text.disabled = !typing;
  byId('send').disabled = !typing;
}

export function showMuted(muted) {
  elements.mute.setAttribute('aria-pressed', String(muted));
  elements.mute.textContent = muted ? 'Unmute' : 'Mute';
}

export function showSeconds(seconds) {
  byId('clock').textContent = `${Math.floor(seconds / 60)}:${String(Math.floor(seconds % 60)).padStart(2, '0')}`;
}

/** `level`: root mean square, 0 to 1; shown on a scale of 50 dB. */
export function showLevel(who, level) {
  const part = level <= 0 ? 0 : Math.max(0, Math.min(1, 1 + (20 * Math.log10(level)) / 50));
  elements.talk.style.setProperty(who === 'agent' ? '--agent-level' : '--caller-level', part.toFixed(3));
  if (who === 'agent') return;
  const meter = byId('meter');
  meter.style.setProperty('--level', part.toFixed(3));
  meter.setAttribute('aria-valuenow', String(Math.round(part * 100)));
}

export function showNotice(title, text, { typeInstead = false } = {}) {
  byId('notice-title').textContent = title;
  byId('notice-text').textContent = text;
  elements.typeInstead.hidden = !typeInstead;
  byId('notice').hidden = false;
}

export function hideNotice() {
  byId('notice').hidden = true;
}

/** Agents to choose from; the chosen one is kept when it is still there. */
export function showAgents(agents) {
  const before = elements.agent.value;
  const options = agents.map(({ id, name }) => new Option(name || id, id));
  elements.agent.replaceChildren(...(options.length > 0 ? options : [new Option('No agent', '')]));
  if (agents.some(({ id }) => id === before)) elements.agent.value = before;
}
