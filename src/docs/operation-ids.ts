import { pascal } from './open-api.ts';

/** Operations whose path does not say it well. */
const EXCEPTIONS: Readonly<Record<string, string>> = {
  'POST /v1/agents/:id/test-call': 'placeTestCall',
  'POST /v1/leads/bulk': 'importLeads',
  'POST /v1/realtime/sessions': 'createRealtimeSession',
  'POST /v1/billing/top-ups': 'createTopUp',
  'GET /v1/billing/top-ups/:id': 'getTopUp',
  'GET /v1/billing/statements': 'getBillingStatement',
  'GET /v1/billing/prices': 'listPrices',
  'GET /v1/billing/transactions': 'listTransactions',
  'GET /v1/usage': 'listUsage',
  'GET /v1/usage/summary': 'getUsageSummary',
  'GET /v1/appointments/availability': 'getAvailability',
  'POST /v1/appointments/calendar': 'createAppointmentCalendar',
  'GET /v1/appointments.ics': 'getAppointmentFeed',
  'POST /v1/calls/:id/hangup': 'hangUpCall',
  'POST /v1/calls/:id/say': 'sayInCall',
  'POST /v1/calls/:id/context': 'addCallContext',
  'POST /v1/calls/:id/dtmf': 'sendCallDigits',
  'POST /v1/calls/:id/turn-replay': 'replayCallTurns',
  'GET /v1/calls/:id/events': 'streamCallEvents',
  'GET /v1/calls/:id/listen': 'listenToCall',
  'GET /v1/campaigns/:id/events': 'streamCampaignEvents',
};

const CRUD: Readonly<Record<string, string>> = { PATCH: 'update', PUT: 'replace', DELETE: 'delete' };

/** What an operation's id is made from. `creates`: a POST to the path of a list. */
export interface NamedRoute { method: string; url: string; lists: boolean; creates: boolean }

/** A unique name such as `createAgent`, `listLeads` or `pauseCampaign`; `url` in the router's form. */
export function operationId({ method, url, lists, creates }: NamedRoute): string {
  const known = EXCEPTIONS[`${method} ${url}`];
  if (known !== undefined) return known;
  const parts = url.split('/').slice(2).filter((part) => !part.startsWith(':'));
  const last = parts.at(-1) ?? '';
  const owners = parts.slice(0, -1).map(singular).map(pascal).join('');
  if (method === 'GET') return lists ? `list${owners}${pascal(last)}` : `get${owners}${pascal(singular(last))}`;
  if (method === 'POST' && !creates) {
    const [verb = '', ...rest] = last.split('-');
    return `${verb}${owners}${rest.map(pascal).join('')}`;
  }
  return `${CRUD[method] ?? 'create'}${owners}${pascal(singular(last))}`;
}

/** The English of our nouns: `agents`, `knowledge-bases`, `api-keys`, but `test`, `status`, `access`. */
export function singular(noun: string): string {
  return /[^s]s$/.test(noun) && !noun.endsWith('us') ? noun.slice(0, -1) : noun;
}
