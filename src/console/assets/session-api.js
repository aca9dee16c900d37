/** The REST calls this page makes, as the person signed in. */

const CSRF_COOKIE = 'wirevoice_csrf';

/** An API's refusal; `status` 0: the service was not reached. */
export class ApiFailure extends Error {
  constructor(status, code, message) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

/** Agents of a mode, newest first. */
export async function listAgents(mode) {
  const { data } = await request('GET', '/v1/agents?limit=100', mode);
  return data;
}

/** A realtime session: `url`, and the `client_secret` that opens it once. */
export function createSession(mode, agentId) {
  const format = { encoding: 'pcm16', sample_rate: 16000 };
  return request('POST', '/v1/realtime/sessions', mode, { agent_id: agentId, audio: { input: format, output: format } });
}

async function request(method, path, mode, body) {
  const headers = { 'Wirevoice-Mode': mode, 'X-CSRF-Token': cookie(CSRF_COOKIE) };
  if (body) headers['Content-Type'] = 'application/json';
  let response;
  try {
    response = await fetch(path, { method, headers, credentials: 'same-origin', body: body ? JSON.stringify(body) : undefined });
  } catch {
    throw new ApiFailure(0, 'unreachable', 'The service does not answer. Is it still running?');
  }
  const answer = await response.json().catch(() => ({}));
  if (response.ok) return answer;
  const { code = 'unknown', message = `The service answered ${response.status}.` } = answer.error ?? {};
  throw new ApiFailure(response.status, code, message);
}

function cookie(name) {
  const found = document.cookie.split('; ').find((pair) => pair.startsWith(`${name}=`));
  return found ? decodeURIComponent(found.slice(name.length + 1)) : '';
}
