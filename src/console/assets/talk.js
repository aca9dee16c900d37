import { Latency } from './latency.js';
import { RealtimeSession } from './realtime-session.js';
import { elements, hideNotice, showAgents, showLevel, showMuted, showNotice, showSeconds, showState } from './screen.js';
import { createSession, listAgents } from './session-api.js';
import { MicrophoneFailure, openMicrophone, Sound } from './sound.js';
import { Transcript } from './transcript.js';

const SIGN_IN = 'Open the sign-in link that Wirevoice printed when it started. It works once and for a short time; starting Wirevoice again prints a fresh one.';
const END_SENTENCES = {
  caller_hangup: 'You ended the call.', agent_hangup: 'The agent ended the call.', api_hangup: 'The call was ended from outside.',
  silence_timeout: 'The call ended after a long silence.', max_duration: 'The call reached its longest time.', service_shutdown: 'The service is shutting down.',
  insufficient_credits: 'The balance is used up.', session_not_joined: 'The session was opened too late.',
};

const transcript = new Transcript(elements.transcript, elements.empty);
const latency = new Latency(elements.latency);
/** The call there is: { sound, session, muted, timer }. */
let call;

elements.talk.addEventListener('click', () => {
  if (call) call.session?.send({ type: 'interrupt' });
  else void start({ typing: false });
});
elements.typeInstead.addEventListener('click', () => void start({ typing: true }));
elements.end.addEventListener('click', () => end());
elements.mute.addEventListener('click', () => mute(!call.muted));
elements.noticeClose.addEventListener('click', hideNotice);
elements.modes.addEventListener('change', () => void loadAgents());
elements.typing.addEventListener('submit', (event) => {
  event.preventDefault();
  const text = elements.text.value.trim();
  if (text === '' || !call) return;
  call.session?.send({ type: 'input.text', text });
  elements.text.value = '';
});
void loadAgents();

function mode() {
  return elements.modes.querySelector('input:checked').value;
}

async function loadAgents() {
  try {
    const agents = await listAgents(mode());
    showAgents(agents);
    if (agents.length === 0) showNotice('No agent yet', `There is no agent in ${mode()} mode. Make one with POST /v1/agents, then reload this page.`);
    else hideNotice();
  } catch (error) {
    showAgents([]);
    showFailure(error);
  }
  showState('idle');
}

async function start({ typing }) {
  hideNotice();
  transcript.reset();
  latency.reset();
  showMuted(false);
  showSeconds(0);
  showState('connecting');
  const mine = { sound: undefined, session: undefined, muted: false, timer: undefined };
  call = mine;
  try {
    const microphone = typing ? undefined : await openMicrophone();
    mine.sound = await Sound.open(microphone);
    const { url, client_secret: secret } = await createSession(mode(), elements.agent.value);
    if (call !== mine) return await mine.sound.close();
    mine.session = new RealtimeSession({ url, secret: secret.value });
    join(mine);
  } catch (error) {
    await mine.sound?.close();
    if (call !== mine) return;
    call = undefined;
    showFailure(error);
    showState('idle');
  }
}

/** Ties the call's sound and session together. */
function join(mine) {
  const { sound, session } = mine;
  sound.addEventListener('frame', ({ detail }) => {
    if (!mine.muted) session.sendAudio(detail.frame);
    showLevel('caller', mine.muted ? 0 : detail.level);
  });
  sound.addEventListener('level', ({ detail }) => showLevel('agent', detail.level));
  sound.addEventListener('position', ({ detail }) => session.send({ type: 'playback.position', item_id: detail.itemId, played_ms: detail.playedMs }));
  sound.addEventListener('lost', () => showNotice('The microphone is gone', 'The agent no longer hears you. You can type, or end the call and start again.'));
  session.addEventListener('audio', ({ detail }) => sound.play(detail));
  session.addEventListener('message', ({ detail }) => ON_MESSAGE[detail.type]?.(mine, detail));
  session.addEventListener('dropped', () => {
    sound.clear();
    showState('dropped');
  });
  session.addEventListener('ended', ({ detail }) => finish(mine, detail));
}

/** What each of the service's messages does to the page. */
const ON_MESSAGE = {
  'session.ready': onReady,
  state: (_, { state }) => showState(state),
  'transcript.partial': (_, { text }) => transcript.partial(text),
  'transcript.final': (_, { text }) => transcript.final(text),
  'agent.text': (_, { item_id: itemId, text }) => transcript.agent(itemId, text),
  'agent.audio.start': ({ sound }, { item_id: itemId }) => sound.startItem(itemId),
  'agent.audio.end': ({ sound }) => sound.endItem(),
  'agent.corrected': (_, { item_id: itemId, heard_text: heardText }) => transcript.corrected(itemId, heardText),
  'audio.clear': ({ sound }) => sound.clear(),
  'turn.metrics': (_, metrics) => latency.add(metrics),
  warning: (_, { message }) => showNotice('Note', message),
  error: (_, { message }) => showNotice('Something went wrong', message),
};

function onReady(mine, { resumed }) {
  if (mine.muted) mine.session.send({ type: 'mute', muted: true });
  if (resumed) return;
  showState('listening');
  const startedAt = performance.now();
  mine.timer = setInterval(() => showSeconds((performance.now() - startedAt) / 1000), 500);
}

function mute(muted) {
  call.muted = muted;
  if (call.sound) call.sound.muted = muted;
  call.session?.send({ type: 'mute', muted });
  showMuted(muted);
}

function end() {
  const mine = call;
  if (mine?.session) return mine.session.end();
  call = undefined;
  showState('idle');
}

function finish(mine, { code, reason, endReason }) {
  clearInterval(mine.timer);
  void mine.sound.close();
  if (call !== mine) return;
  call = undefined;
  showLevel('caller', 0);
  showLevel('agent', 0);
  const sentence = END_SENTENCES[endReason] ?? (endReason ? `The call ended: ${endReason.replaceAll('_', ' ')}.` : undefined);
  showState('idle', sentence);
  if (sentence) return transcript.note(sentence);
  showNotice('The connection was lost', code === 1006 ? 'The service could not be reached any more. Press Talk to call again.' : `${reason || `It was closed with code ${code}`}. Press Talk to call again.`);
}

function showFailure(error) {
  if (error instanceof MicrophoneFailure) return showNotice(error.title, error.message, { typeInstead: true });
  if (error.status === 401 || error.code === 'invalid_csrf_token') return showNotice('You are not signed in', SIGN_IN);
  if (error.status === 429 || error.status === 503) return showNotice('The service is busy', error.message);
  return showNotice('The call could not start', error.message);
}
