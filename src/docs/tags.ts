import type { Tag } from './open-api.ts';

/** Groups of operations in the order they are shown, by the path they begin with. */
const GROUPS: readonly (Tag & { path: string })[] = [
  { path: '/v1/agents', name: 'Agents', description: 'An agent is a prompt, a voice and a behaviour. It calls leads, answers phone numbers and talks to browsers.' },
  { path: '/v1/calls', name: 'Calls', description: 'Every conversation, telephone or realtime: what was said, heard and decided, and the controls of a live one.' },
  { path: '/v1/realtime', name: 'Realtime', description: 'Conversations without a phone line: open a session here, then speak over a WebSocket. The messages are described at [the realtime protocol](/docs/realtime).' },
  { path: '/v1/leads', name: 'Leads', description: 'The people that agents call, with their fields, which prompts can use as merge fields.' },
  { path: '/v1/campaigns', name: 'Campaigns', description: 'One agent calls a list of leads, within calling hours, with retries and a breaker. Each lead is dialled exactly once per attempt.' },
  { path: '/v1/knowledge-bases', name: 'Knowledge bases', description: 'Facts that an agent can draw on in a call: documents, split into passages and searched by words and by meaning.' },
  { path: '/v1/phone-numbers', name: 'Phone numbers', description: 'Numbers that agents answer and call from. Each reaches the telephone network through a SIP trunk.' },
  { path: '/v1/sip-trunks', name: 'SIP trunks', description: 'Connections to carriers, PBXs and softphones.' },
  { path: '/v1/appointments', name: 'Appointments', description: 'A calendar per agent. Agents book in the middle of calls; two bookings of one slot never both succeed.' },
  { path: '/v1/usage', name: 'Usage', description: 'What each call used, row by row. The rows of a call add up to its cost, to the micro-dollar.' },
  { path: '/v1/billing', name: 'Billing', description: 'One prepaid balance for every engine. Money is an integer in micro-USD: 1 000 000 is one dollar.' },
  { path: '/v1/api-keys', name: 'API keys', description: 'Keys are live or test and hold scopes; there is no wildcard, and write does not imply read. A secret is shown once.' },
  { path: '/v1/engines', name: 'Engines', description: 'What the installation can serve now, with unit prices. Choose models from this list rather than from memory.' },
  { path: '/v1/voices', name: 'Voices', description: 'Cloned voices. Put a voice\'s `provider_voice_id` into an agent\'s `voice.tts.voice`.' },
  { path: '/v1/webhook', name: 'Webhooks', description: 'Where the account\'s events go and how each delivery went. The payloads, and how to verify them, are described at [events](/docs/events).' },
  { path: '/v1/mcp-servers', name: 'MCP servers', description: 'Other applications\' tools that an agent can use during a call.' },
];

const OTHER: Tag = { name: 'Other', description: 'Everything else.' };

/** The group of an operation. */
export function tagOf(path: string): Tag {
  const group = GROUPS.find((each) => path === each.path || path.startsWith(`${each.path}/`) || path.startsWith(`${each.path}.`));
  return group === undefined ? OTHER : { name: group.name, description: group.description };
}

/** Orders groups as the table above does. */
export function rankOf({ name }: Tag): number {
  const rank = GROUPS.findIndex((group) => group.name === name);
  return rank < 0 ? GROUPS.length : rank;
}
