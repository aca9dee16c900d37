import path from 'node:path';

/** One linter: a JavaScript entry point run by this Node, and its arguments. */
export interface LintStep { name: string; command: string[]; args: string[] }

/** The three linters of `npm run lint`. `project` holds node_modules; `tree` is what they look at (the same, except in their tests). */
export function lintSteps(project: string, tree: string = project): LintStep[] {
  const bin = (name: string): string => path.join(project, 'node_modules', ...name.split('/'));
  return [
    { name: 'types (tsc)', command: [bin('typescript/bin/tsc')], args: ['--noEmit', '-p', tree] },
    { name: 'rules (oxlint)', command: [bin('oxlint/bin/oxlint')], args: ['--type-aware', '--deny-warnings', '--format=unix', '-c', path.join(tree, '.oxlintrc.json'), tree] },
    { name: 'import rules', command: [path.join(project, 'test/tool-chain/import-rules.ts')], args: [tree] },
  ];
}
