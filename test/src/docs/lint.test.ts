import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import t from 'tap';
import { openApiDocument } from '../../../src/docs/document.ts';
import { startApiHarness } from '../../support/api-harness.ts';

const CLI = path.resolve(import.meta.dirname, '../../../node_modules/@redocly/cli/bin/cli.js');
const CONFIG = path.join(import.meta.dirname, 'redocly.yaml');
/** Neither a word home nor a look for updates. */
const SILENT = { REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true', CI: 'true' };

const lint = (file: string): Promise<{ code: number; output: string }> => promisify(execFile)(process.execPath, [CLI, 'lint', file, `--config=${CONFIG}`, '--format=json'], { env: { PATH: process.env['PATH'], HOME: path.dirname(file), ...SILENT } })
  .then(({ stdout }) => ({ code: 0, output: stdout }), (error: { code: number; stdout: string }) => ({ code: error.code, output: error.stdout }));

t.test('the OpenAPI document passes its linter', async (t) => {
  const directory = mkdtempSync(path.join(tmpdir(), 'wv-lint-'));
  const api = await startApiHarness();
  t.teardown(async () => {
    await api.close();
    rmSync(directory, { recursive: true });
  });
  const file = path.join(directory, 'openapi.json');
  const document = openApiDocument({ routes: api.app.knownRoutes.all(), publicUrl: 'https://voice.example.net', versions: api.context.versions.versions });
  writeFileSync(file, JSON.stringify(document));
  const clean = await lint(file);
  t.equal(clean.code, 0, clean.output);
  t.match(JSON.parse(clean.output), { totals: { errors: 0, warnings: 0, ignored: 0 } });

  t.test('and the linter would find a fault', async (t) => {
    writeFileSync(file, JSON.stringify({ ...document, tags: [], components: {} }));
    t.not((await lint(file)).code, 0);
  });
});
