/**
 * The environment for a Node process that a test starts (the service, a linter): without what tap puts into NODE_OPTIONS. Its
 * loader would slow the child's start, watch its every `require`, and breaks programs that load ES modules from CommonJS.
 */
export function plainEnvironment(extra: Record<string, string> = {}): Record<string, string> {
  const inherited = Object.entries(process.env).flatMap(([name, value]) => (value === undefined || name === 'NODE_OPTIONS' || /^_?TAP/.test(name) ? [] : [[name, value] as const]));
  return { ...Object.fromEntries(inherited), ...extra };
}
