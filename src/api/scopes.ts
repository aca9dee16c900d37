/** Every scope a key can hold. No wildcard, no admin scope, and a write scope does not imply the read scope. */
export const SCOPES = [
  'agents:read', 'agents:write', 'calls:read', 'calls:write',
  'sip_trunks:read', 'sip_trunks:write', 'phone_numbers:read', 'phone_numbers:write',
  'leads:read', 'leads:write', 'campaigns:read', 'campaigns:write',
  'knowledge_bases:read', 'knowledge_bases:write', 'appointments:read', 'appointments:write',
  'usage:read', 'billing:read', 'billing:write', 'api_keys:read', 'api_keys:write',
  'voices:write', 'webhooks:read', 'webhooks:write',
] as const;

export type Scope = (typeof SCOPES)[number];

/** What a route asks of its caller: a scope, any valid key, or nothing. */
export type RouteScope = Scope | 'any_key' | 'public';
