/** `npm run lint`: type check, oxlint with its type-aware rules, and the import rules, side by side. Exit code 1 on any finding. */
import { spawn } from 'node:child_process';
import { lintSteps, type LintStep } from './support/lint-steps.ts';

const LINT_TIMEOUT_MS = 60_000;

interface StepResult { ok: boolean; output: string }

function runStep(step: LintStep): Promise<StepResult> {
  return new Promise((resolve) => {
    const child = spawn(process.execPath, [...step.command, ...step.args], { env: { ...process.env, NO_COLOR: '1' }, stdio: ['ignore', 'pipe', 'pipe'], timeout: LINT_TIMEOUT_MS, killSignal: 'SIGKILL' });
    const chunks: Buffer[] = [];
    child.stdout.on('data', (chunk: Buffer) => chunks.push(chunk));
    child.stderr.on('data', (chunk: Buffer) => chunks.push(chunk));
    child.once('error', (error) => resolve({ ok: false, output: String(error) }));
    child.once('close', (code, signal) => {
      const killed = signal ? `\nkilled by ${signal} (limit ${LINT_TIMEOUT_MS} ms)` : '';
      resolve({ ok: code === 0, output: Buffer.concat(chunks).toString() + killed });
    });
  });
}

const steps = lintSteps(process.cwd());
const results = await Promise.all(steps.map(runStep));
for (const [index, result] of results.entries()) {
  const name = steps[index]?.name ?? '';
  console.log(`${result.ok ? 'ok    ' : 'FAILED'} ${name}`);
  if (!result.ok) console.log(result.output.trimEnd());
}
if (results.some((result) => !result.ok)) process.exitCode = 1;
