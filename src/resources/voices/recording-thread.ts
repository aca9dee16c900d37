/** A thread that looks at recordings, one after another, and is ended when one keeps it too long. */
import { parentPort, workerData } from 'node:worker_threads';
import { inspect } from './recording-format.ts';

const { files } = workerData as { files: Uint8Array[] };
for (const file of files) {
  const finding = await inspect(Buffer.from(file.buffer, file.byteOffset, file.byteLength));
  parentPort?.postMessage(finding);
}
