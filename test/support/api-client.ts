import { until } from './until.ts';

/** `body` as JSON says; a scenario names the fields it looks at. */
export interface ApiAnswer { status: number; headers: Headers; body: Record<string, unknown> & { error?: { code: string; param?: string } } }

/** Fields of a call that scenarios look at. */
export interface CallView {
  id: string;
  status: string;
  end_reason: string | null;
  end_detail: string | null;
  outcome: string | null;
  from: string;
  to: string;
  answered_at: string | null;
  ended_at: string | null;
  duration_ms: number | null;
  recording: { available: boolean; channels: string | null; duration_ms: number | null };
  interruptions: { by_caller: number; false_alarms: number };
  latency: { voice_to_voice: { p50: number; count: number }; answer_to_first_audio_ms: number | null } | null;
  quality: { codec: string; packets_lost_pct: number } | null;
}

export interface TranscriptView { role: 'agent' | 'caller' | 'tool'; text: string; heard_text?: string; interrupted?: boolean; started_ms: number; ended_ms: number }
export interface LogView { at: string; source: string; event: string; detail?: Record<string, unknown> }

/** The REST API as a customer's program calls it. */
export interface ApiClient {
  request(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<ApiAnswer>;
  /** The newest call `matches`, waited for. */
  call(matches: (call: CallView) => boolean, withinMs?: number): Promise<CallView>;
  /** The call once it has ended. */
  ended(callId: string, withinMs?: number): Promise<CallView>;
  transcript(callId: string): Promise<TranscriptView[]>;
  log(callId: string): Promise<LogView[]>;
  recording(callId: string, range?: string): Promise<{ status: number; headers: Headers; bytes: Buffer }>;
}

const REQUEST_LIMIT_MS = 10_000;

export function apiClient(url: string, key: string): ApiClient {
  const send = (method: string, path: string, body: unknown, headers: Record<string, string>): Promise<Response> => fetch(`${url}${path}`, {
    method,
    headers: { authorization: `Bearer ${key}`, ...(body === undefined ? {} : { 'content-type': 'application/json' }), ...headers },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    signal: AbortSignal.timeout(REQUEST_LIMIT_MS),
  });
  const request: ApiClient['request'] = async (method, path, body, headers = {}) => {
    const answer = await send(method, path, body, headers);
    return { status: answer.status, headers: answer.headers, body: (await answer.json()) as ApiAnswer['body'] };
  };
  const read = async <Body>(path: string): Promise<Body> => {
    const answer = await request('GET', path);
    if (answer.status !== 200) throw new Error(`GET ${path}: ${answer.status} ${JSON.stringify(answer.body)}`);
    return answer.body as Body;
  };
  return {
    request,
    async call(matches, withinMs = 5000) {
      let seen: CallView[] = [];
      return until('a call that matches', withinMs, async () => {
        seen = (await read<{ data: CallView[] }>('/v1/calls?limit=20')).data;
        return seen.find(matches);
      }, () => seen.slice(0, 3));
    },
    async ended(callId, withinMs = 5000) {
      let call: CallView | undefined;
      return until(`the end of call ${callId}`, withinMs, async () => {
        call = await read<CallView>(`/v1/calls/${callId}`);
        return call.ended_at === null ? undefined : call;
      }, () => call);
    },
    transcript: async (callId) => (await read<{ items: TranscriptView[] }>(`/v1/calls/${callId}/transcript`)).items,
    log: async (callId) => (await read<{ entries: LogView[] }>(`/v1/calls/${callId}/log`)).entries,
    async recording(callId, range) {
      const answer = await send('GET', `/v1/calls/${callId}/recording`, undefined, range === undefined ? {} : { range });
      return { status: answer.status, headers: answer.headers, bytes: Buffer.from(await answer.arrayBuffer()) };
    },
  };
}
