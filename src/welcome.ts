import type { Gateway } from './gateway.ts';

/** What a person needs after a start: where to talk, whom to call, and, the first time, the keys. */
export function welcome(gateway: Gateway, address: { publicUrl: string; publicAddress: string; llmModel: string; llmBaseUrl: string }): string {
  const { apiKeys, signInUrl, numbers } = gateway.firstStart;
  const sip = (number: string): string => `sip:${number}@${address.publicAddress}:${gateway.sipPort}`;
  const keys = apiKeys === undefined ? [] : [
    'API keys, shown this once. Keep them:',
    `  live  ${apiKeys.live}`,
    `  test  ${apiKeys.test}`,
    '',
  ];
  const brain = address.llmModel === ''
    ? 'No language model is configured (LLM_BASE_URL, LLM_MODEL): the offline agent answers. It is not a language model.'
    : `Language model: ${address.llmModel} at ${address.llmBaseUrl}`;
  return [
    '',
    'Wirevoice is ready.',
    '',
    `Talk in your browser   ${signInUrl}`,
    '                       (works once, within 15 minutes; a restart prints a new one)',
    `Call with a softphone  ${sip(numbers.live)}    live mode`,
    `                       ${sip(numbers.test)}    test mode`,
    `API                    ${address.publicUrl}/v1`,
    `Reference              ${address.publicUrl}/docs`,
    '',
    ...keys,
    brain,
    '',
  ].join('\n');
}
