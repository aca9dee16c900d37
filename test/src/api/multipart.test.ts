import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox';
import Fastify from 'fastify';
import { connect, type Socket } from 'node:net';
import t from 'tap';
import { installMultipart } from '../../../src/api/multipart.ts';
import { form } from '../../support/voice-requests.ts';
import { until } from '../../support/until.ts';

const KB = 1024;
const RULES = { files: 'files', maxFiles: 2, maxFileBytes: 100 * KB, maxBytes: 150 * KB, tooLarge: 'recording_too_large', tooMany: 'too_many_recordings', booleans: ['sure'] } as const;

t.test('forms', async (t) => {
  const app = Fastify().withTypeProvider<TypeBoxTypeProvider>();
  await installMultipart(app as never, 200 * KB);
  app.post('/form', { config: { multipart: RULES } }, async ({ body, uploads }) => ({ body, files: uploads.map(({ filename, mediaType, data }) => [filename, mediaType, data.length]) }));
  const url = await app.listen({ port: 0, host: '127.0.0.1' });
  t.teardown(() => app.close());
  const post = async (fields: Record<string, string>, files: Buffer[]): Promise<{ status: number; body: Record<string, unknown> }> => {
    const { contentType, body } = form(fields, files);
    const answer = await fetch(`${url}/form`, { method: 'POST', headers: { 'content-type': contentType }, body });
    return { status: answer.status, body: await answer.json() as Record<string, unknown> };
  };

  t.match(await post({ name: 'Ada', sure: 'true' }, [Buffer.alloc(5)]), { status: 200, body: { body: { name: 'Ada', sure: true }, files: [['voice', 'application/octet-stream', 5]] } });
  t.match(await post({}, [Buffer.alloc(100 * KB)]), { status: 200 }, 'a file of all it may have');
  t.match(await post({}, [Buffer.alloc(100 * KB + 1)]), { status: 413, body: { code: 'recording_too_large' } }, 'and one byte');
  t.match(await post({}, [1, 2, 3].map(() => Buffer.alloc(5))), { status: 400, body: { code: 'too_many_recordings' } });
  t.match(await post({}, [Buffer.alloc(90 * KB), Buffer.alloc(90 * KB)]), { status: 413, body: { code: 'body_too_large' } }, 'together too much');

  t.test('all forms together have their limit too', async (t) => {
    const { hostname, port } = new URL(url);
    const slow: Socket = connect(Number(port), hostname);
    slow.write('POST /form HTTP/1.1\r\nHost: x\r\nContent-Type: multipart/form-data; boundary=b\r\nContent-Length: 140000\r\n\r\n--b\r\nContent-Disposition: form-data; name="files"; filename="a"\r\n\r\n');
    slow.write(Buffer.alloc(95 * KB));
    const big = (): Promise<{ status: number }> => post({}, [Buffer.alloc(99 * KB), Buffer.alloc(20 * KB)]);
    await until('the slow form to take its room', 5000, async () => (await big()).status === 503 || undefined);
    t.match(await post({}, [Buffer.alloc(50 * KB)]), { status: 200 }, 'a small one still fits beside it');
    slow.destroy();
    await until('its room to be free again', 5000, async () => (await big()).status === 200 || undefined);
  });
});
