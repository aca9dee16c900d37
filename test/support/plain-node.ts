/**
 * How a test starts a Node process of its own (the service, a linter) as it runs in earnest. tap's hook adds its loader to
 * NODE_OPTIONS of whatever a test spawns, whatever `env` says: that slows the start, watches every `require`, and breaks
 * programs that load ES modules from CommonJS. env(1) takes it out again and then becomes Node, so the pid is Node's own.
 *
 *     spawn(...plainNode(['src/main.ts']), { cwd: root })
 */
export function plainNode(args: string[]): [command: string, args: string[]] {
  return ['/usr/bin/env', ['-u', 'NODE_OPTIONS', process.execPath, ...args]];
}
